//! Checks `docs/openapi.yaml` against the running server: every path, method, status and field in it is seen
//! here, and every answer fits its schema.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::openapi::{Api, CLUSTER, LOOK_UP, OPERATIONS, PAGE, PAGE_OF_URL, STORE, document};
use crate::common::serve::{Answer, Client, Server};
use crate::common::{article, write};

const TOKEN: &str = "a-token-of-the-tests";

/// Types of problems that other tests cover, or that cannot be provoked.
const NOT_SEEN_HERE: [&str; 6] = [
    "internal",
    "stopping",
    // tests/local/serve.rs, on a full disk.
    "not-durable",
    // tests/local/hostile_api.rs.
    "broken-body",
    // tests/kafka/look_ups.rs: only workers answer these.
    "not-here",
    "not-ready",
];

/// Answers that only workers give: the table is elsewhere, and nothing is stored over HTTP.
const OF_WORKERS: [((&str, &str), &str); 3] = [(LOOK_UP, "421"), (CLUSTER, "421"), (STORE, "404")];

/// The answer of a server whose files have failed, which tests/local/serve.rs covers.
const OF_FAILED: ((&str, &str), &str) = (("get", "/readyz"), "503");

fn server(folder: &Path, name: &str, config: &str) -> Server {
    let config = write(folder, &format!("{name}.toml"), config);
    Server::start(&folder.join(name), &["--config", config.to_str().expect("UTF-8")])
}

fn page(id: &str, text: &str) -> Value {
    json!({ "id": id, "url": format!("https://a.example/{id}"), "text": text })
}

/// A server with a token and small limits, and a client that has the token.
struct Limited {
    _server: Server,
    client: Client,
}

impl Limited {
    fn start(folder: &Path) -> Self {
        let token: PathBuf = write(folder, "token", format!("{TOKEN}\n"));
        let config = format!(
            "[api]\ntoken_file = {token:?}\nbody_bytes_max = 65536\nbatch_pages_max = 5\nbody_timeout_ms = 3000\n\
             [input.filter]\nstatuses = [\"200\"]\n[canonical]\nprefer = [\"longest\"]\n\
             [recrawls]\nenabled = true\n"
        );
        let server = server(folder, "limited", &config);
        let client = server.connect();
        Self { _server: server, client }
    }

    #[track_caller]
    fn ask(&mut self, request: &str, content_type: &str, body: impl AsRef<[u8]>) -> Answer {
        let headers = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: {content_type}\r\n");
        let answer = self.client.ask(request, &headers, body.as_ref()).expect("an answer");
        if answer.head.to_ascii_lowercase().contains("connection: close") {
            self.client = self._server.connect();
        }
        answer
    }
}

fn good_answers(api: &mut Api, limited: &mut Limited) {
    let text = article(1, 30);
    let json = "application/json";
    let first = json!({ "id": "a", "url": "https://a.example/", "text": text, "fetched_at": 1_795_248_000,
                        "passthrough": { "job": 7 } });
    let stored = limited.ask("POST /v1/pages", json, first.to_string());
    api.check(STORE, 200, &stored);
    let longer = format!("{text}{}", article(2, 6));
    let batch =
        json!([page("b", &longer), page("c", &article(3, 30)), page("d", "short"), { "id": "no url" }]);
    let batch = limited.ask("POST /v1/pages", json, batch.to_string());
    api.check(STORE, 200, &batch);
    let html = format!(
        "<html lang=\"zh-CN\"><head><meta name=\"author\" content=\"林远舟\"><meta property=\"og:site_name\" content=\"海岸早报\">\
         <link rel=\"canonical\" href=\"http://x/first\"></head><body><article><h1>渡船</h1>\
         <p>来源：新华社 2026-11-20 08:30</p><p>{text}</p></article></body></html>"
    );
    for (query, content_type, body) in [
        ("", "application/x-ndjson", page("e", &text).to_string()),
        ("?url=http://x/&id=x", "text/html", html),
    ] {
        api.check(STORE, 200, &limited.ask(&format!("POST /v1/pages{query}"), content_type, body));
    }
    // Half of this page is also in a stored page, so it is related to that page but not a duplicate.
    let merged = page("m", &format!("{text}{}{}", article(8, 40), article(9, 40)));
    for body in [page("f", &longer), page("g", &article(4, 30)), merged] {
        let found =
            limited.ask("POST /v1/lookup?top=8&corpus=default&max_distance=20", json, body.to_string());
        api.check(LOOK_UP, 200, &found);
    }
    let found = limited.ask("POST /v1/lookup?url=http://x/&id=x", "text/plain; charset=utf-8", &text);
    api.check(LOOK_UP, 200, &found);
    let batch = json!([page("f", &longer), { "text": text, "status": 404 }, { "id": [] }]);
    api.check(LOOK_UP, 200, &limited.ask("POST /v1/lookup?top=2", json, batch.to_string()));
    api.check(PAGE, 200, &limited.ask("GET /v1/pages/b", json, ""));
    let found = limited.ask("GET /v1/pages?url=https%3A%2F%2Fa.example%2Fb", json, "");
    api.check(PAGE_OF_URL, 200, &found);
    assert_eq!(found.body["verdict"]["page_id"], "b");
    for operation in OPERATIONS {
        api.check(operation, 200, &limited.ask(&format!("GET {}", operation.1), json, ""));
    }
    let id = stored.body["verdict"]["cluster_id"].as_str().expect("an id");
    api.check(CLUSTER, 200, &limited.ask(&format!("GET /v1/clusters/{id}?members=5"), json, ""));
    // The page that now represents the cluster has another text.
    let recrawled = limited.ask("POST /v1/pages", json, page("b", &article(5, 30)).to_string());
    api.check(STORE, 200, &recrawled);
}

fn refusals(api: &mut Api, limited: &mut Limited) {
    let json = "application/json";
    let good = page("a", "text").to_string();
    for operation in [LOOK_UP, STORE] {
        let post = format!("POST {}", operation.1);
        let mut check = |request: &str, content_type: &str, body: &[u8], status| {
            api.check(operation, status, &limited.ask(request, content_type, body));
        };
        check(&format!("{post}?nonsense=1"), json, good.as_bytes(), 400);
        check(&post, "application/pdf", b"%PDF-1.7", 415);
        check(&post, json, b"{\"id\":", 422);
        check(&post, json, br#"{"url":"http://a/","text":"t","status":404}"#, 422);
        check(&post, json, " ".repeat(65_537).as_bytes(), 413);
        check(&post.replace("POST", "DELETE"), json, b"", 405);
        let slow = format!(
            "{post} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {json}\r\n\
             Content-Length: 9\r\n\r\n{{"
        );
        limited.client.send(slow.as_bytes()).expect("sent");
        api.check(operation, 408, &limited.client.receive().expect("an answer"));
        limited.client = limited._server.connect();
    }
    let six = json!([1, 2, 3, 4, 5, 6]).to_string();
    api.check(STORE, 413, &limited.ask("POST /v1/pages", json, six));
    api.check(STORE, 400, &limited.ask("POST /v1/pages", json, "[1,"));
    for (operation, path) in [(PAGE, "/v1/pages/nobody"), (CLUSTER, "/v1/clusters/nothing")] {
        api.check(operation, 404, &limited.ask(&format!("GET {path}"), json, ""));
        api.check(operation, 400, &limited.ask(&format!("GET {path}?nonsense=1"), json, ""));
        api.check(operation, 405, &limited.ask(&format!("PUT {path}"), json, ""));
    }
    api.check(PAGE_OF_URL, 400, &limited.ask("GET /v1/pages", json, ""));
    api.check(PAGE_OF_URL, 404, &limited.ask("GET /v1/pages?url=http://nobody/", json, ""));
    let batch = json!([page("a", "text")]).to_string();
    for operation in [LOOK_UP, STORE] {
        api.check(operation, 400, &limited.ask(&format!("POST {}?id=a", operation.1), json, &batch));
    }
    for operation in OPERATIONS {
        let request = format!("GET {}", operation.1);
        let answer = limited.client.ask(&request, "Origin: http://evil.example\r\n", b"").expect("an answer");
        api.check(operation, 403, &answer);
    }
    for (operation, request) in [
        (LOOK_UP, "POST /v1/lookup"),
        (STORE, "POST /v1/pages"),
        (PAGE, "GET /v1/pages/a"),
        (PAGE_OF_URL, "GET /v1/pages?url=a"),
        (CLUSTER, "GET /v1/clusters/a"),
        (OPERATIONS[2], "GET /metrics"),
    ] {
        for (headers, detail, challenge) in [
            ("", "the request has no token", "bearer\r\n"),
            ("Authorization: Basic abc\r\n", "the request has no token", "bearer\r\n"),
            ("Authorization: Bearer wrong\r\n", "the token is wrong", "bearer error=\"invalid_token\""),
        ] {
            let answer = limited.client.ask(request, headers, b"").expect("an answer");
            api.check(operation, 401, &answer);
            assert!(
                answer.body["detail"].as_str().is_some_and(|said| said.starts_with(detail)),
                "{}",
                answer.body
            );
            let head = answer.head.to_ascii_lowercase();
            assert!(head.contains(&format!("www-authenticate: {challenge}")), "{head}");
        }
        let answer = limited.client.ask(request, "Origin: http://evil.example\r\n", b"").expect("an answer");
        api.check(operation, 403, &answer);
    }
    // Without an operation, only the problem is described.
    let nowhere = limited.ask("GET /v2/pages", json, "");
    assert_eq!(nowhere.status, 404);
    assert!(api.validator(&json!({ "$ref": "#/$defs/Problem" })).is_valid(&nowhere.body), "{}", nowhere.body);
    api.problems.insert(nowhere.problem().to_owned());
}

fn too_much(api: &mut Api, folder: &Path) {
    let once = server(folder, "once", "[api]\nrequests_per_second = 1\n");
    let mut client = once.connect();
    for (operation, request) in [
        (LOOK_UP, "POST /v1/lookup"),
        (STORE, "POST /v1/pages"),
        (PAGE, "GET /v1/pages/a"),
        (PAGE_OF_URL, "GET /v1/pages?url=a"),
        (CLUSTER, "GET /v1/clusters/a"),
        (OPERATIONS[2], "GET /metrics"),
    ] {
        let answer = (0..20).find_map(|_| client.ask(request, "", b"").filter(|answer| answer.status == 429));
        api.check(operation, 429, &answer.expect("one of twenty within a second is too many"));
    }
    // Another client's slow body fills the memory for requests.
    let small = server(
        folder,
        "small",
        "[page]\nline_bytes_max = 65536\n[pipeline]\nqueue_bytes = 65536\n[api]\nbody_timeout_ms = 3600000\n",
    );
    let founded = small.connect().store(&page("a", &article(1, 20))).body["verdict"]["cluster_id"].clone();
    let mut slow = small.connect();
    let head = "POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n";
    slow.send(head.as_bytes()).expect("sent");
    slow.send(&[b' '; 1000]).expect("sent");
    let mut client = small.connect();
    for operation in [LOOK_UP, STORE] {
        // Until the first bytes of the slow body have arrived, there is room.
        let ask = |_| {
            Some(client.post(operation.1, "application/json", "{}")).filter(|answer| answer.status == 503)
        };
        api.check(operation, 503, &(0..1000).find_map(ask).expect("there is no room"));
    }
    let cluster = client.get(&format!("/v1/clusters/{}", founded.as_str().expect("an id")));
    api.check(CLUSTER, 503, &cluster);
}

#[test]
fn the_openapi_document_describes_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut api = Api::read();
    let mut limited = Limited::start(folder.path());
    good_answers(&mut api, &mut limited);
    refusals(&mut api, &mut limited);
    too_much(&mut api, folder.path());
    for ((method, path), status) in OF_WORKERS.into_iter().chain([OF_FAILED]) {
        let new = api.seen.insert((path.to_owned(), method.to_owned(), status.to_owned()));
        assert!(new, "{method} {path} {status} was seen after all");
    }
    let missed: Vec<_> = api.statuses().difference(&api.seen).cloned().collect();
    assert!(missed.is_empty(), "never seen: {missed:?}");
    // `serve` never returns these: the place of a record in a topic, and how a worker holds a table.
    let of_topics = ["topic", "partition", "offset", "epoch", "record", "held_as"].map(str::to_owned).into();
    let missed: Vec<_> = api.names().difference(&api.fields).cloned().collect();
    let missed: Vec<_> = BTreeSet::from_iter(missed).difference(&of_topics).cloned().collect();
    assert!(missed.is_empty(), "fields that never had a value: {missed:?}");
    let named = api.definitions["Problem"]["properties"]["type"]["enum"].as_array().expect("names");
    let named: BTreeSet<&str> = named.iter().filter_map(|name| name.as_str()?.rsplit(':').next()).collect();
    let missed: Vec<_> = named
        .into_iter()
        .filter(|name| !api.problems.contains(*name) && !NOT_SEEN_HERE.contains(name))
        .collect();
    assert!(missed.is_empty(), "problems that were never seen: {missed:?}");
}

/// The server must not refuse what the document allows, nor the reverse.
#[test]
fn pages_that_fit_their_schema_are_answered_and_others_are_refused() {
    let api = Api::read();
    let folder = tempfile::tempdir().expect("a folder");
    let config = "[recrawls]\nenabled = true\n";
    let server = server(folder.path(), "fields", config);
    let mut client = server.connect();
    let long = |count: usize| json!("x".repeat(count));
    let fields: [(&str, Vec<Value>); 12] = [
        (
            "id",
            vec![
                json!("a"),
                json!(7),
                json!(7.5),
                json!(true),
                json!(null),
                json!([1]),
                long(256),
                long(257),
            ],
        ),
        ("url", vec![json!("u"), json!(null), json!(""), json!(7), long(8192), long(8193)]),
        ("html", vec![json!("<p>"), json!(null), json!(1), json!({})]),
        ("html_b64", vec![json!("PHA+"), json!("PH A+\n"), json!(null), json!("!!!"), json!(1)]),
        ("text", vec![json!("t"), json!(null), json!([])]),
        ("title", vec![json!("t"), json!(null), json!(1)]),
        ("charset", vec![json!("gbk"), json!("none"), json!(null), json!(1)]),
        ("content_type", vec![json!("text/html"), json!(null), json!(false)]),
        (
            "status",
            vec![json!(200), json!(200.0), json!("404"), json!(null), json!("ok"), json!(-1), json!(200.5)],
        ),
        ("withdrawn", vec![json!(true), json!(false), json!(null), json!("yes")]),
        ("fetched_at", vec![json!("2026-11-21"), json!(1), json!("noon"), json!([1])]),
        ("passthrough", vec![json!(1), json!({ "a": [1] }), long(5000)]),
    ];
    for (operation, schema, named) in [(LOOK_UP, "Page", false), (STORE, "NamedPage", true)] {
        let validator = api.validator(&json!({ "$ref": format!("#/$defs/{schema}") }));
        let mut cases = vec![json!({}), json!({ "url": "http://a/" }), json!({ "unknown": 1, "url": "u" })];
        for (field, values) in &fields {
            cases.extend(values.iter().map(|value| {
                let mut page = if named { json!({ "url": "http://a/" }) } else { json!({}) };
                page[field] = value.clone();
                page
            }));
        }
        for page in cases {
            // A page is withdrawn by its URL.
            if !named && page["withdrawn"] == true {
                continue;
            }
            let answer = client.post(operation.1, "application/json", page.to_string());
            let expected = if validator.is_valid(&page) { 200 } else { 422 };
            assert_eq!(answer.status, expected, "{} {page:.100}: {}", operation.1, answer.body);
        }
    }
    // Names in the query apply to the one page, whatever its type.
    for operation in [LOOK_UP, STORE] {
        assert!(
            api.validator(&api.request_schema(operation)).is_valid(&json!({ "text": "x" })),
            "{operation:?}"
        );
    }
    for (content_type, body) in [("application/json", "{\"text\":\"x\"}"), ("text/plain", "x")] {
        for path in ["/v1/lookup", "/v1/pages"] {
            let answer = client.post(&format!("{path}?url=http://q/&id=q"), content_type, body);
            let verdict = &answer.body["verdict"];
            assert_eq!(
                (answer.status, &verdict["url"], &verdict["page_id"]),
                (200, &json!("http://q/"), &json!("q"))
            );
        }
    }
}

/// Every reference resolves, and the token appears nowhere.
#[test]
fn every_reference_resolves() {
    let text = document("openapi.yaml");
    let api: Value = serde_saphyr::from_str(&text).expect("YAML");
    for pointer in text.split("\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(api.pointer(pointer).is_some(), "{pointer}");
    }
}
