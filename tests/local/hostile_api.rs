//! Hostile clients: whatever they send or do not send, they are answered within the limits, and others are
//! served meanwhile.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::json;

use crate::common::serve::{Client, Server};
use crate::common::wait::{HANG_LIMIT, wait_until};
use crate::common::{article, gzip, write};

const LIMITS: &str = "[page]\nbytes_max = 1048576\nline_bytes_max = 2097152\nwork_max = 1000000000\n[pipeline]\nqueue_bytes = 8388608\n\
                      [api]\nbody_bytes_max = 2097152\nconnections_max = 40\n";

/// A server that waits an hour for slow clients. A client that had to wait for one would wait permanently.
fn server(folder: &std::path::Path) -> Server {
    server_that_waits(folder, 3_600_000)
}

/// A server that waits this long for the head of a request, and as long for its body.
fn server_that_waits(folder: &std::path::Path, ms: u32) -> Server {
    let limits = format!("{LIMITS}head_timeout_ms = {ms}\nbody_timeout_ms = {ms}\n");
    let config = write(folder, "limits.toml", limits);
    Server::start(&folder.join("table"), &["--config", config.to_str().expect("UTF-8")])
}

/// Checks that a good client is served.
#[track_caller]
fn is_served(server: &Server) {
    let page = json!({ "url": "http://a/", "text": article(1, 20) });
    assert_eq!(server.connect().look_up(&page).status, 200);
}

/// Returns the peak memory of the process in bytes.
fn peak_bytes(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a line");
    let kib: usize = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
    kib * 1024
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads the peak of memory from /proc")]
fn hostile_bodies_are_answered_within_the_limits() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    is_served(&server);
    let before = peak_bytes(&server);
    let deep = |open: &str| open.repeat(300_000);
    let bomb = gzip(&vec![b' '; 100 << 20]);
    let twice = gzip(&gzip(&vec![b'['; 100 << 20]));
    let page = |value: &str| format!("{{\"url\":\"http://a/\",\"text\":{value}}}");
    let json = "Content-Type: application/json\r\n";
    let gzipped = "Content-Type: application/json\r\nContent-Encoding: gzip\r\n";
    let codings = format!("{json}Content-Encoding: {}\r\n", ["gzip"; 50].join(", "));
    let unknown = format!("{json}Content-Encoding: compress\r\n");
    let two_lines = format!("{json}Content-Encoding: gzip\r\nContent-Encoding: dcb\r\n");
    let identity = format!("{json}Content-Encoding: identity\r\n");
    let cases: Vec<(&str, &str, Vec<u8>, &[u16])> = vec![
        ("deep arrays", json, deep("[").into(), &[400, 422]),
        ("deep objects", json, deep("{\"a\":").into(), &[422]),
        ("a deep field", json, page(&deep("[")).into(), &[422]),
        (
            "a deep passthrough",
            json,
            format!("{{\"url\":\"u\",\"passthrough\":{}}}", deep("[")).into(),
            &[422],
        ),
        ("too many numbers", json, format!("[{}1]", "1,".repeat(900_000)).into(), &[413, 422]),
        ("no UTF-8", json, b"{\"url\":\"\xff\xfe\"}".to_vec(), &[422]),
        ("UTF-16", json, b"\xff\xfe{\0}\0".to_vec(), &[422]),
        ("nothing", json, Vec::new(), &[422]),
        ("null", json, b"null".to_vec(), &[422]),
        ("a bomb", gzipped, bomb, &[413]),
        ("a bomb within one", gzipped, twice, &[200, 413, 422]),
        ("many codings", &codings, gzip(b"{}"), &[413]),
        ("an unknown coding", &unknown, page("\"t\"").into(), &[415]),
        ("two unknown lines", &two_lines, page("\"t\"").into(), &[415]),
        ("no coding", &identity, page("\"t\"").into(), &[200]),
        ("half of a gzip", gzipped, gzip(page("\"t\"").as_bytes())[..20].to_vec(), &[400]),
        (
            "a page whose compression is cut off",
            "Content-Type: text/html\r\nContent-Encoding: gzip\r\n",
            gzip("<p>text".repeat(1000).as_bytes())[..60].to_vec(),
            &[400],
        ),
        ("no gzip at all", gzipped, page("\"t\"").into(), &[200]),
        ("a huge url", json, format!("{{\"url\":\"{}\"}}", "u".repeat(1 << 20)).into(), &[422]),
        (
            "random bytes",
            "Content-Type: text/html; charset=utf-16\r\n",
            (0..=255).cycle().take(1 << 20).collect(),
            &[200],
        ),
        ("nested markup", "Content-Type: text/html\r\n", "<div>".repeat(200_000).into(), &[200]),
        ("much text", "Content-Type: text/plain\r\n", "春天来了".repeat(80_000).into(), &[200]),
        ("too large", json, vec![b' '; 2 << 20 | 1], &[413]),
        ("far too large", json, vec![b' '; 64 << 20], &[413]),
    ];
    for (what, headers, body, statuses) in cases {
        for path in ["/v1/lookup?id=x", "/v1/pages"] {
            let mut client = server.connect();
            let path = if headers.contains("text/") {
                format!("{}?url=http://x/", path.split('?').next().expect("a path"))
            } else {
                path.split('?').next().expect("a path").to_owned()
            };
            let answer = client.ask(&format!("POST {path}"), headers, &body);
            // A client that continues to send may lose the answer with the connection.
            let status = answer.as_ref().map_or(413, |answer| answer.status);
            let body = answer.map(|answer| answer.body).unwrap_or_default();
            assert!(statuses.contains(&status), "{what} to {path}: {status} {body}");
        }
    }
    is_served(&server);
    let grown = peak_bytes(&server) - before;
    assert!(grown < 200 << 20, "{} MB more than before", grown >> 20);
    server.stop();
}

/// A small body must not need the memory for the largest one until it is decompressed.
#[test]
fn small_compressed_bodies_are_served_while_little_memory_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    // Three bodies of more than 1 MiB occupy 2 MiB each of 8, and the fourth some more.
    let slow: Vec<TcpStream> = [(1 << 20) + 99, (1 << 20) + 99, (1 << 20) + 99, 99]
        .into_iter()
        .map(|sent: usize| {
            let mut stream = TcpStream::connect(server.address()).expect("the port is open");
            let head =
                format!("POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 2 << 20);
            stream.write_all(&[head.as_bytes(), &vec![b' '; sent]].concat()).expect("sent");
            stream
        })
        .collect();
    let json = "Content-Type: application/json\r\n";
    wait_until("little memory is left", || {
        let large = server.connect().ask("POST /v1/lookup", json, &vec![b' '; (1 << 20) + 99]);
        large.is_some_and(|answer| answer.status == 503)
    });
    let page = json!({ "url": "http://a/", "text": article(1, 20) }).to_string();
    let gzipped = format!("{json}Content-Encoding: gzip\r\n");
    let answer =
        server.connect().ask("POST /v1/lookup", &gzipped, &gzip(page.as_bytes())).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    drop(slow);
    // A body that is much larger than its compressed form gets its memory step by step.
    let large = json!({ "url": "http://a/", "text": "the same words ".repeat(60_000) }).to_string();
    let answer =
        server.connect().ask("POST /v1/lookup", &gzipped, &gzip(large.as_bytes())).expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let empty = server.connect().ask("POST /v1/lookup", &gzipped, b"").expect("an answer");
    assert!((400..500).contains(&empty.status), "{}", empty.body);
    server.stop();
}

#[test]
fn broken_framing_is_answered_or_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    let chunked = "POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (request, status) in [
        (format!("{chunked}ZZ\r\n"), 400),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nX: ".to_owned() + &"x".repeat(1 << 20), 431),
        ("\u{1}\u{2}\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
    ] {
        let mut client = server.connect();
        let _ = client.send(request.as_bytes());
        if let Some(answer) = client.receive() {
            assert_eq!(answer.status, status, "{}", answer.body);
        }
    }
    // With chunks, a body's size is not known beforehand.
    let mut client = server.connect();
    let _ = client.send(chunked.as_bytes());
    let chunk = [b"8000\r\n", &[b' '; 0x8000][..], b"\r\n"].concat();
    let sent = (0..2_000).take_while(|_| client.send(&chunk).is_ok()).count();
    let answer = client.receive();
    assert!(answer.is_none_or(|answer| answer.status == 413) && sent < 2_000, "{sent} chunks were taken");
    is_served(&server);
    server.stop();
}

/// Begins a request and sends nothing more.
fn begin_request(server: &Server, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).expect("the port is open");
    let begun: &[u8] = match number % 3 {
        0 => b"",
        1 => b"POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        _ => b"POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
    };
    let _ = stream.write_all(begun);
    stream
}

/// More connections than allowed begin a request and send nothing more.
#[test]
fn slow_clients_block_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    let mut slow = Vec::new();
    for number in 0..120 {
        slow.push(begin_request(&server, number));
        if number % 20 == 0 {
            is_served(&server);
        }
    }
    is_served(&server);
    server.kill();
}

#[test]
fn slow_clients_are_answered_or_closed_after_the_timeout() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_that_waits(folder.path(), 1500);
    let slow: Vec<TcpStream> = (0..120).map(|number| begin_request(&server, number)).collect();
    for mut stream in slow {
        stream.set_read_timeout(Some(*HANG_LIMIT)).expect("a timeout");
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        let was_closed = answer.is_empty() || text.starts_with("HTTP/1.1 408");
        let timed_out = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(was_closed && !timed_out, "{text}");
    }
    server.stop();
}

/// Clients that send requests and never read do not hold memory permanently.
#[test]
fn clients_that_do_not_read_are_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server_that_waits(folder.path(), 1500);
    let pages: Vec<_> = (0..800)
        .map(|n| json!({ "id": n, "url": "u".repeat(1500), "text": format!("{n}{}", article(n, 5)) }))
        .collect();
    let body = json!(pages).to_string();
    let mut deaf: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut deaf {
        let head = format!(
            "POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let _ = client.send(&[head.as_bytes(), body.as_bytes()].concat());
    }
    let began = Instant::now();
    let mut client = server.connect();
    while client
        .ask("POST /v1/pages", "Content-Type: application/json\r\n", body.as_bytes())
        .is_none_or(|answer| answer.status != 200)
    {
        client = server.connect();
        assert!(began.elapsed() < *HANG_LIMIT, "the memory is never given back");
    }
    // The answer's own memory may still be held.
    let page = json!({ "url": "http://a/", "text": article(1, 20) });
    wait_until("a look-up has room", || server.connect().look_up(&page).status == 200);
    server.stop();
}

/// A web page must not post pages through a visitor's browser, which needs no preflight for text/plain,
/// nor read clusters through a host name that resolves to this machine.
#[test]
fn requests_of_other_sites_are_refused_and_those_of_programs_are_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    let port = server.address().rsplit_once(':').expect("a port").1.to_owned();
    let page = json!({ "url": "http://a/", "text": article(1, 20) }).to_string();
    let text = article(2, 20);
    let ask = |request: &str, host: &str, headers: &str, body: &str| {
        let mut client = server.connect();
        let length = body.len();
        let head = format!("{request} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n");
        client.send(&[head.as_bytes(), body.as_bytes()].concat()).expect("sent");
        client.receive().expect("an answer")
    };
    let (json, plain) = ("Content-Type: application/json\r\n", "Content-Type: text/plain\r\n");
    let local = format!("127.0.0.1:{port}");
    for (host, headers) in [
        (&*local, "Origin: http://evil.example\r\n"),
        (&local, "Origin: null\r\nSec-Fetch-Site: cross-site\r\n"),
        (&local, "Origin: http://127.0.0.1:3000\r\nSec-Fetch-Site: same-site\r\n"),
        (&local, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
        ("evil.example", ""),
        ("evil.example", "Origin: http://evil.example\r\n"),
    ] {
        for (request, body) in [
            ("POST /v1/pages?url=http://b/", &*text),
            ("POST /v1/lookup", &text),
            ("GET /v1/pages/x", ""),
            ("GET /v1/clusters/x", ""),
            ("OPTIONS /v1/pages", ""),
        ] {
            let answer = ask(request, host, &format!("{plain}{headers}"), body);
            assert_eq!((answer.status, answer.problem()), (403, "forbidden"), "{request} {host} {headers}");
            assert!(!answer.head.to_ascii_lowercase().contains("access-control-"), "{}", answer.head);
        }
    }
    // Nothing of these requests was stored. Programs may use every name of this machine.
    for host in [&*local, "localhost", &format!("[::1]:{port}"), "10.1.2.3"] {
        let answer = ask("POST /v1/lookup", host, json, &page);
        assert_eq!((answer.status, &answer.body["as_of"]["log_offset"]), (200, &json!(0)), "{host}");
    }
    let answer = ask("POST /v1/lookup", &local, &format!("{json}Origin: http://{local}\r\n"), &page);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// A proxy in front of the server may forward the name that its clients use.
#[test]
fn listed_host_names_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "hosts.toml", "[api]\nhosts = [\"leitong.example\"]\n");
    let table = folder.path().join("table");
    let server = Server::start(&table, &["--config", config.to_str().expect("UTF-8")]);
    for (host, status) in [("leitong.example", 404), ("localhost", 404), ("evil.example", 403)] {
        let mut client = server.connect();
        let request = format!("GET /v1/pages/x HTTP/1.1\r\nHost: {host}\r\n\r\n");
        client.send(request.as_bytes()).expect("sent");
        assert_eq!(client.receive().expect("an answer").status, status, "{host}");
    }
    let config = write(folder.path(), "wrong.toml", "[api]\nhosts = [\"https://leitong.example\"]\n");
    let run = crate::common::run(["config", "check", config.to_str().expect("UTF-8")]);
    assert_eq!(run.status, 2);
    assert!(
        run.stderr.contains("api.hosts: (23 characters, not shown) is not a host name"),
        "{}",
        run.stderr
    );
}

/// Returns everything that the server sends until it closes the connection.
fn raw(server: &Server, request: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(server.address()).expect("the port is open");
    stream.set_read_timeout(Some(*HANG_LIMIT)).expect("a timeout");
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map(|_| answer.to_ascii_lowercase())
}

/// A client that reuses a connection must know if an answer closes it: otherwise its next request is lost.
#[test]
fn an_early_answer_keeps_the_connection_or_says_that_it_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = write(folder.path(), "token", "a-token-of-the-tests\n");
    let config = format!("[api]\ntoken_file = {token:?}\nrequests_per_second = 1\n");
    let config = write(folder.path(), "token.toml", config);
    let limited =
        Server::start(&folder.path().join("limited"), &["--config", config.to_str().expect("UTF-8")]);
    let open = server(folder.path());
    let json = "Content-Type: application/json\r\n";
    for (server, request, headers, status) in [
        (&open, "POST /livez", "", 405),
        (&open, "GET /livez", "", 200),
        (&open, "POST /v1/page", json, 404),
        (&open, "GET /v1/pages/x", json, 404),
        (&open, "DELETE /v1/pages", json, 405),
        (&open, "POST /v1/pages", "Origin: http://evil.example\r\n", 403),
        (&open, "POST /v1/pages", "Content-Type: application/json\r\nContent-Encoding: x\r\n", 415),
        (&limited, "POST /v1/pages", json, 401),
        (&limited, "POST /v1/pages", json, 429),
    ] {
        for bytes in [10, 100_000, 1 << 20] {
            let mut client = server.connect();
            let mut ask = || client.ask(request, headers, &vec![b' '; bytes]);
            let mut answer = ask().expect("an answer");
            for _ in 0..20 {
                let closes = answer.head.to_ascii_lowercase().contains("\r\nconnection: close\r\n");
                assert_eq!(closes, bytes == 1 << 20, "{request} with {bytes} bytes: {}", answer.head);
                let next = ask();
                assert_eq!(next.is_none(), closes, "{request} with {bytes} bytes");
                let Some(next) = next else { break };
                answer = next;
                if answer.status == status {
                    break;
                }
            }
            let expected = if status == 429 { vec![401, 429] } else { vec![status, 429] };
            assert!(expected.contains(&answer.status), "{request} with {bytes} bytes: {}", answer.head);
        }
    }
    is_served(&open);
}

/// A client that is still sending must get the answer, not a reset.
#[test]
fn a_client_that_still_sends_gets_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    let head = "POST /v1/page HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n";
    let body = " ".repeat(200_000);
    let answer = raw(&server, format!("{head}\r\n{body}").as_bytes()).expect("no reset");
    assert!(answer.starts_with("http/1.1 404") && answer.contains("connection: close"), "{answer}");
    // Nothing is read of a body that the client sends only if it is asked to.
    let answer = raw(&server, format!("{head}Expect: 100-continue\r\n\r\n").as_bytes()).expect("no reset");
    assert!(answer.starts_with("http/1.1 404") && answer.contains("connection: close"), "{answer}");
    // A slow rest is not waited for.
    let slow = head.replace("9999999", "9");
    let answer = raw(&server, format!("{slow}\r\n{{").as_bytes()).expect("no reset");
    assert!(answer.starts_with("http/1.1 404") && answer.contains("connection: close"), "{answer}");
    server.stop();
}

#[test]
fn http_1_0_and_head_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = server(folder.path());
    let page = json!({ "id": "a", "url": "http://a/", "text": article(1, 20) });
    let stored = server.connect().store(&page);
    let cluster = stored.body["verdict"]["cluster_id"].as_str().expect("an id");
    for path in [
        "/livez",
        "/readyz",
        "/metrics",
        "/v1/pages/a",
        "/v1/pages?url=http%3A%2F%2Fa%2F",
        "/v1/pages/b",
        "/v1/pages",
        &format!("/v1/clusters/{cluster}"),
        "/v1/clusters/x",
        "/v1/lookup",
        "/v2",
    ] {
        let ask = |method: &str, version: &str, headers: &str| {
            let answer = raw(&server, format!("{method} {path} HTTP/{version}\r\n{headers}\r\n").as_bytes());
            let answer = answer.expect("an answer");
            let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
            (head.lines().next().expect("a status")[9..12].to_owned(), body.to_owned())
        };
        let local = "Host: localhost\r\nConnection: close\r\n";
        let (status, body) = ask("GET", "1.1", local);
        assert_eq!(ask("HEAD", "1.1", local), (status.clone(), String::new()), "{path}");
        let old = ask("GET", "1.0", "");
        assert_eq!(old.0, status, "{path}");
        assert!(path == "/metrics" || old.1 == body, "{path}: {} and {body}", old.1);
        assert_eq!(ask("GET", "1.0", "Host: evil.example\r\n").0, "403", "{path}");
        assert_eq!(ask("GET", "1.1", "Connection: close\r\n").0, "403", "{path}");
    }
    server.stop();
}
