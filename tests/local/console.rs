//! `leitong console` over HTTP, as browsers and other clients use it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::common::wait::HANG_LIMIT;
use crate::common::{self, leitong, serve};

/// A console. It is killed when dropped.
struct Console {
    child: Child,
    address: String,
}

impl Console {
    #[track_caller]
    fn start(more: &[&str]) -> Self {
        let mut child = leitong()
            .args(["console", "--address", "127.0.0.1:0"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("standard error"));
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("UTF-8") > 0, "it does not start: {said}");
            if let Some((_, address)) = line.trim().split_once("serving http://") {
                break address.to_owned();
            }
            said += &line;
        };
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, address }
    }

    /// Sends these bytes; returns the head and the body of the answer.
    #[track_caller]
    fn send(&self, bytes: &[u8]) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("the port is open");
        stream.set_read_timeout(Some(*HANG_LIMIT)).expect("a timeout");
        // The console may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).expect("UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), body.to_owned())
    }

    #[track_caller]
    fn ask(&self, request: &str, headers: &str, body: &[u8]) -> (String, String) {
        let (address, length) = (&self.address, body.len());
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {address}\r\n") };
        let head = format!(
            "{request} HTTP/1.1\r\n{host}Connection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    #[track_caller]
    fn get(&self, path: &str) -> (String, String) {
        self.ask(&format!("GET {path}"), "", b"")
    }

    #[track_caller]
    fn compare(&self, fields: &[(&str, Option<&str>, &[u8])]) -> (String, String) {
        let headers = "Content-Type: multipart/form-data; boundary=xyz\r\n";
        self.ask("POST /compare", headers, &form(fields))
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Encodes a form: field names, file names, values.
fn form(fields: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, value) in fields {
        let file = file.map_or(String::new(), |file| format!("; filename=\"{file}\""));
        let head = format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(&[head.as_bytes(), value, b"\r\n"].concat());
    }
    body.extend_from_slice(b"--xyz--\r\n");
    body
}

const PAGE: &str = "<title>Quay</title><nav>Home</nav><p>Ships come in at noon, when the tide is high and the whole \
                    village stands on the quay to see what they have brought along this time.</p>";

#[test]
fn pages_can_be_pasted_uploaded_or_named() {
    let console = Console::start(&["--pages", "examples/pages.jsonl"]);
    let (head, body) = console.get("/");
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("name=\"a_id\""), "{head}\n{body}");
    let (_, body) = console.ask("GET /", "Accept-Language: zh-TW,zh;q=0.9,en;q=0.1\r\n", b"");
    assert!(body.contains("<html lang=\"zh-CN\">") && body.contains("href=\"/?lang=en\""), "{body}");
    let (head, body) = console.compare(&[
        ("lang", None, b"en"),
        ("a_text", None, PAGE.as_bytes()),
        (
            "b_file",
            Some("q<uay>.html"),
            PAGE.replace("noon", "dusk")
                .replace("the whole village stands", "half the town waits")
                .as_bytes(),
        ),
    ]);
    assert!(head.starts_with("HTTP/1.1 200") && body.contains("Related, not duplicates"), "{head}\n{body}");
    assert!(
        body.contains("q&lt;uay&gt;.html") && body.contains("<span class=\"only\">noon</span>"),
        "{body}"
    );
    let (_, body) = console.get("/compare?a=zh-pc&b=https://office-tw.test/posts/old-pc-slow&lang=zh");
    assert!(body.contains("近似重复") && body.contains("href=\"/compare?a=zh-pc&amp;b="), "{body}");
    let (head, body) = console.get("/compare?a=%3Cscript%3E&b=zh-pc");
    assert!(head.starts_with("HTTP/1.1 404") && body.contains("&lt;script&gt;"), "{head}\n{body}");
    assert!(!body.contains("<script>"), "{body}");
}

/// Each look-up reads the files again. For a pipe, it would wait for another writer.
#[test]
fn files_that_can_be_read_only_once_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pages.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let output = leitong()
        .args(["console", "--address", "127.0.0.1:0", "--pages"])
        .arg(&pipe)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("pages.jsonl: can be read only once"), "{said}");
}

#[test]
fn every_answer_restricts_the_browser() {
    let console = Console::start(&[]);
    for (path, status, kind) in [
        ("/", "200", "text/html"),
        ("/style.css", "200", "text/css"),
        ("/compare", "400", "text/html"),
        ("/../etc/passwd", "404", "text/html"),
        ("/%00%ff?lang=%ff&a=%", "404", "text/html"),
    ] {
        let (head, _) = console.get(path);
        let head = head.to_ascii_lowercase();
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{path}: {head}");
        for line in [
            &format!("content-type: {kind}; charset=utf-8"),
            "content-security-policy: default-src 'none'; style-src 'self'; img-src data:; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: same-origin",
            "x-frame-options: deny",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(line), "{path}: no {line:?} in {head}");
        }
        assert!(!head.contains("access-control") && !head.contains("unsafe"), "{path}: {head}");
    }
}

/// A site that resolves its name to this machine, or submits its own form here, learns nothing.
#[test]
fn other_sites_are_refused() {
    let console = Console::start(&[]);
    let fields = form(&[("a_text", None, PAGE.as_bytes()), ("b_text", None, PAGE.as_bytes())]);
    let kind = "Content-Type: multipart/form-data; boundary=xyz\r\n";
    for (request, headers) in [
        ("GET /", "Host: evil.example\r\n".to_owned()),
        ("GET /", "Host: localhost.evil.example:8643\r\n".to_owned()),
        ("POST /compare", format!("{kind}Origin: http://evil.example\r\n")),
        ("POST /compare", format!("{kind}Origin: null\r\n")),
    ] {
        let (head, body) = console.ask(request, &headers, &fields);
        assert!(head.starts_with("HTTP/1.1 403") && !body.contains('<'), "{headers}: {head}");
    }
    // A link may lead here, but a page of another site must not embed an answer, nor have it computed.
    for (mode, dest, status) in [
        ("navigate", "document", "404"),
        ("no-cors", "image", "403"),
        ("no-cors", "script", "403"),
        ("navigate", "iframe", "403"),
        ("cors", "empty", "403"),
    ] {
        let from =
            format!("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: {mode}\r\nSec-Fetch-Dest: {dest}\r\n");
        let (head, _) = console.ask("GET /compare?a=x&b=y", &from, b"");
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{mode} {dest}: {head}");
    }
    // The connection can be used again, or the answer says that it cannot.
    for length in [9_999, 9_999_999] {
        let request = format!("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        let closing = " ".repeat(9_999) + "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let (head, rest) = console.send((request + &closing).as_bytes());
        assert_eq!(head.contains("\r\nconnection: close"), length > 9_999, "{head}");
        assert_eq!(rest.contains("HTTP/1.1 200"), length == 9_999, "{rest}");
    }
    let own = format!("{kind}Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", console.address);
    assert!(console.ask("POST /compare", &own, &fields).0.starts_with("HTTP/1.1 200"));
    for request in ["DELETE /", "PUT /compare", "POST /", "OPTIONS /compare"] {
        assert!(console.ask(request, "", b"").0.starts_with("HTTP/1.1 405"), "{request}");
    }
}

#[test]
fn broken_and_overlong_forms_are_refused_and_hostile_pages_are_text() {
    let console = Console::start(&[]);
    let kind = "Content-Type: multipart/form-data; boundary=xyz\r\n";
    for (headers, body) in [
        ("Content-Type: text/plain\r\n", &b"x"[..]),
        (kind, b""),
        (kind, b"--xyz"),
        (kind, b"--xyz\r\n\r\n\r\n--xyz--"),
        (kind, b"--xyz--\r\n"),
    ] {
        let (head, _) = console.ask("POST /compare", headers, body);
        assert!(head.starts_with("HTTP/1.1 400"), "{body:?}: {head}");
    }
    let head = format!(
        "POST /compare HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{kind}Content-Length: 99999999\r\n\r\n",
        console.address
    );
    let (head, _) = console.send(head.as_bytes());
    assert!(head.starts_with("HTTP/1.1 413"), "{head}");
    let hostile = format!("<title></title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;{PAGE}");
    let noise: Vec<u8> = (0..60_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (head, body) = console.compare(&[
        ("a_text", None, hostile.as_bytes()),
        ("a_url", None, b"javascript:alert(1)//\"><script>"),
        ("b_file", Some("x"), &noise),
    ]);
    assert!(head.starts_with("HTTP/1.1 200") && !body.contains("<script>"), "{head}\n{body}");
    assert!(body.contains("UNDECIDABLE"), "{body}");
}

/// Markup in ids, URLs and evidence is shown as text.
#[test]
fn pages_and_clusters_of_a_saved_table_are_looked_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    let pages = "examples/pages.jsonl";
    let verdicts = folder.path().join("verdicts.jsonl");
    let [table, verdicts] = [&table, &verdicts].map(|path| path.to_str().expect("UTF-8"));
    let hostile = serde_json::json!({
        "id": "<img src=x onerror=alert(1)>", "url": "https://x.example/\"><script>alert(1)</script>",
        "text": common::article(3, 9),
    });
    let copy =
        serde_json::json!({ "id": "copy", "url": "javascript:alert(1)", "text": common::article(3, 9) });
    let more = common::write(folder.path(), "more.jsonl", format!("{hostile}\n{copy}\n"));
    let more = more.to_str().expect("UTF-8");
    let run = common::run(["dedup", "--table", table, "--output", verdicts, pages, more]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let console = Console::start(&["--table", table, "--verdicts", verdicts, "--pages", pages]);
    let (head, body) = console.get("/page?q=en-rowing-reprint");
    assert!(head.starts_with("HTTP/1.1 200") && body.contains(">NEAR_DUPLICATE<"), "{head}\n{body}");
    assert!(body.contains("sketch matches") && body.contains("distance 6"), "{body}");
    assert!(body.contains("/compare?a=en-rowing&amp;b=en-rowing-reprint&amp;lang=en"), "{body}");
    let (_, by_url) = console.get("/page?q=https://schools-and-clubs.test/news/river-cup&lang=zh");
    assert!(by_url.contains("en-rowing-reprint") && by_url.contains("所属的簇"), "{by_url}");
    let (_, body) = console.get("/page?q=en-rowing");
    assert!(body.contains(">UNIQUE<") && body.contains("Known duplicates: 1"), "{body}");
    let id =
        body.split("<code class=\"note\">").nth(1).and_then(|rest| rest.get(..32)).expect("an id").to_owned();
    let (_, body) = console.get(&format!("/page?q={id}"));
    assert!(body.contains("canonical page") && body.contains("en-rowing-reprint"), "{body}");
    for asked in ["copy", "%3Cimg%20src=x%20onerror=alert(1)%3E"] {
        let (_, body) = console.get(&format!("/page?q={asked}"));
        assert!(body.contains("&lt;img src=x onerror=alert(1)&gt;"), "{body}");
        assert!(
            !body.contains("<img") && !body.contains("<script>") && !body.contains("href=\"java"),
            "{body}"
        );
    }
    assert!(console.get("/page?q=nothing").1.contains("no such page"));
    assert!(console.get("/page").1.contains("type=\"search\""));
    let missing = common::run(["console", "--table", folder.path().join("none").to_str().expect("UTF-8")]);
    assert!(missing.status == 1 && missing.stderr.contains("no table was saved yet"), "{}", missing.stderr);
}

/// A page that came later may represent the cluster (`canonical.prefer`).
#[test]
fn the_page_that_represents_a_cluster_is_shown_with_its_founder() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = |id: &str, url: &str| {
        format!("{}\n", serde_json::json!({ "id": id, "url": url, "text": common::article(5, 9) }))
    };
    let pages = page("founder", "http://m.example/1") + &page("better", "https://www.example/1");
    let pages = common::write(folder.path(), "pages.jsonl", pages);
    let config = common::write(folder.path(), "c.toml", "[canonical]\nprefer = [\"https\"]\n");
    let [table, verdicts] = ["table", "verdicts.jsonl"].map(|name| folder.path().join(name));
    let [pages, config, table, verdicts] =
        [&pages, &config, &table, &verdicts].map(|path| path.to_str().expect("UTF-8"));
    let run = common::run(["dedup", "--config", config, "--table", table, "--output", verdicts, pages]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let console = Console::start(&["--table", table, "--verdicts", verdicts]);
    let (_, body) = console.get("/page?q=better");
    assert!(body.contains("replaces founder as the canonical page"), "{body}");
    assert!(body.contains("<dt>founded by</dt><dd><a href=\"/page?q=founder&amp;lang=en\">"), "{body}");
    // Without verdicts, the table alone has both names.
    let console = Console::start(&["--table", table]);
    for asked in ["better", "founder", "https://www.example/1", "http://m.example/1"] {
        let (_, body) = console.get(&format!("/page?q={asked}"));
        assert!(body.contains("https://www.example/1") && body.contains("founded by"), "{asked}: {body}");
    }
}

/// A look-up does not block programs that store pages.
#[test]
fn a_table_is_read_while_serve_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().to_str().expect("UTF-8");
    let server = serve::Server::start(folder.path(), &[]);
    let page = |id: &str| serde_json::json!({ "id": id, "url": "https://a.example/", "text": common::article(1, 9) });
    for id in ["first", "second"] {
        assert_eq!(server.connect().store(&page(id)).status, 200);
    }
    server.stop();
    let server = serve::Server::start(folder.path(), &[]);
    assert_eq!(server.connect().store(&page("third")).status, 200);
    let console = Console::start(&["--table", table]);
    let (_, body) = console.get("/page?q=second");
    assert!(body.contains(">EXACT_DUPLICATE<") && body.contains("Known duplicates: 1"), "{body}");
    assert!(body.contains("There is also a journal of"), "{body}");
    assert!(console.get("/page?q=third").1.contains("no such page"), "it came since");
    assert_eq!(server.connect().store(&page("fourth")).status, 200);
    server.stop();
    assert!(console.get("/page?q=third").1.contains(">EXACT_DUPLICATE<"));
}

#[test]
fn clients_without_permission_are_refused() {
    let run = common::run(["console", "--address", "0.0.0.0:0"]);
    assert!(run.status == 2 && run.stderr.contains("other machines could reach it"), "{}", run.stderr);
}
