//! `leitong serve`: the verdicts of `dedup` over HTTP, which survive any kill.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leitong_base::random::Random;
use serde_json::{Value, json};

use crate::common::serve::{Answer, Client, Server};
use crate::common::wait::{pause, wait_until};
use crate::common::{self, article, placeless, run_with_input, sample_pages, seed, timeless};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn page(id: &str, text: &str) -> Value {
    json!({ "id": id, "url": format!("https://example.test/{id}"), "text": text })
}

fn verdicts(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let results = answer.body["results"].as_array().expect("a batch");
    results.iter().map(|result| result["verdict"].clone()).collect()
}

fn lines(pages: &[Value]) -> String {
    pages.iter().map(|page| format!("{page}\n")).collect()
}

/// Old centroids on disk, in blocks of 32.
const ON_DISK: &str = "[table]\non_disk = true\nblock_centroids = 32\n";

/// The same pages in the same order, over every endpoint, and with a restart in between.
#[test]
fn serve_gives_the_verdicts_of_dedup() {
    assert_same_verdicts_as_dedup("");
}

#[test]
fn serve_on_disk_gives_the_verdicts_of_dedup() {
    assert_same_verdicts_as_dedup(ON_DISK);
}

#[track_caller]
fn assert_same_verdicts_as_dedup(settings: &str) {
    let mut pages = sample_pages();
    pages.extend((0..120).map(|number| page(&format!("p{number}"), &article(number % 37, 25))));
    let expected = run_with_input(["dedup", "-"], lines(&pages)).verdicts();
    let folder = folder();
    let beside = tempfile::tempdir().expect("a folder");
    let config = common::write(beside.path(), "settings.toml", settings);
    let more = ["--config", config.to_str().expect("UTF-8")];
    let mut found = Vec::new();
    for (round, part) in pages.chunks(50).enumerate() {
        let server = Server::start(folder.path(), &more);
        let mut client = server.connect();
        let (first, rest) = part.split_at(5);
        for page in first {
            // A look-up predicts the decision.
            let preview = client.look_up(page);
            let stored = client.store(page);
            assert_eq!((preview.status, stored.status), (200, 200), "{}", preview.body);
            let pair = [preview.body["verdict"].clone(), stored.body["verdict"].clone()];
            let pair = timeless(&pair);
            assert_eq!(pair[0], pair[1]);
            found.push(stored.body["verdict"].clone());
        }
        let (array, ndjson) = rest.split_at(rest.len() / 2);
        found.extend(verdicts(&client.store(&json!(array))));
        found.extend(verdicts(&client.post("/v1/pages", "application/x-ndjson", lines(ndjson))));
        // A stop loses nothing, and neither does a kill.
        if round % 2 == 0 {
            server.stop()
        } else {
            server.kill()
        };
    }
    common::assert_same("serve and dedup", &placeless(&found), &placeless(&expected));
    let numbers: Vec<u64> = found.iter().filter_map(|verdict| verdict["source"]["line"].as_u64()).collect();
    assert!(numbers.iter().copied().eq(1..=pages.len() as u64));
    // `dedup` can continue with the table after the server has ended cleanly.
    let table = folder.path().to_str().expect("UTF-8");
    let dedup = |pages: &[Value]| {
        run_with_input([&["dedup", "-", "--table", table][..], &more[..]].concat(), lines(pages))
    };
    let left = dedup(&pages[..3]);
    let ended_in_order = pages.chunks(50).len() % 2 == 1;
    if !ended_in_order {
        assert_eq!(left.status, 1);
        assert!(left.stderr.contains("start and stop it on this folder once"), "{}", left.stderr);
        Server::start(folder.path(), &more).stop();
    }
    let run = dedup(&pages[..3]);
    assert!(run.verdicts().iter().all(|verdict| verdict["kind"] != "UNIQUE"), "{}", run.stdout);
}

#[test]
fn a_look_up_changes_nothing_and_says_what_is_near() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let text = article(1, 30);
    let near = text.replace("老船长", "老船工");
    assert_ne!(text, near);
    for _ in 0..3 {
        let answer = client.look_up(&page("a", &text));
        assert_eq!(answer.body["verdict"]["kind"], "UNIQUE");
        assert_eq!(answer.body["as_of"], json!({ "log_partition": 0, "log_offset": 0 }));
    }
    client.store(&page("a", &text));
    // A look-up needs neither URL nor id.
    let answer = client.post("/v1/lookup?top=3", "application/json", json!({ "text": near }).to_string());
    let Value::Object(verdict) = &answer.body["verdict"] else { panic!("{}", answer.body) };
    assert_eq!((&verdict["kind"], &verdict["canonical_page_id"]), (&json!("NEAR_DUPLICATE"), &json!("a")));
    assert_eq!(answer.body["nearest"].as_array().map(Vec::len), Some(1), "{}", answer.body);
    let nearest = &answer.body["nearest"][0];
    for field in ["cluster_id", "distance", "similarity", "evidence", "relation", "share", "canonical_share"]
    {
        assert_eq!(nearest[field], verdict[field], "{field}");
    }
    // The copy is not near under a stricter threshold, or in another corpus.
    assert!(verdict["distance"].as_f64() > Some(0.0), "{verdict:?}");
    for query in ["max_distance=0", "corpus=other"] {
        let answer = client.post(
            &format!("/v1/lookup?{query}"),
            "application/json",
            json!({ "text": near }).to_string(),
        );
        assert_eq!(answer.body["verdict"]["kind"], "UNIQUE", "{query}");
    }
    assert_eq!(client.get("/v1/pages/a").status, 200);
    // Nothing was stored under the URL that a look-up named.
    assert_eq!(client.get("/v1/pages/b").status, 404);
    server.stop();
}

#[test]
fn bodies_come_in_any_charset_and_coding() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let text = article(3, 30);
    client.store(&page("a", &text));
    let html = format!("<html><body><article><p>{text}</p></article></body></html>");
    let kind = |client: &mut Client, content_type: &str, more: &str, body: &[u8]| {
        let headers = format!("Content-Type: {content_type}\r\n{more}");
        let answer = client.ask("POST /v1/lookup?url=http%3A%2F%2Fb%2F", &headers, body).expect("an answer");
        answer.body["verdict"]["kind"].as_str().unwrap_or_default().to_owned()
    };
    let encoded = |label: &str, text: &str| {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).expect("known");
        encoding.encode(text).0.into_owned()
    };
    for label in ["gbk", "gb18030", "utf-8"] {
        let (html, text) = (encoded(label, &html), encoded(label, &text));
        for content_type in [format!("text/html; charset={label}"), "text/html".to_owned()] {
            assert_eq!(kind(&mut client, &content_type, "", &html), "EXACT_DUPLICATE", "{content_type}");
        }
        let plain = format!("text/plain;charset={label}");
        assert_eq!(kind(&mut client, &plain, "", &text), "EXACT_DUPLICATE", "{plain}");
    }
    // A wrong or unknown charset is ignored.
    for wrong in ["text/html; charset=gbk", "text/html; charset=latin1", "text/html; charset=nonsense"] {
        assert_eq!(kind(&mut client, wrong, "", html.as_bytes()), "EXACT_DUPLICATE", "{wrong}");
    }
    let json = page("b", &text).to_string();
    let compressed = common::gzip(json.as_bytes());
    for coding in ["Content-Encoding: gzip\r\n", ""] {
        assert_eq!(kind(&mut client, "application/json", coding, &compressed), "EXACT_DUPLICATE");
    }
    let compressed = zstd::encode_all(json.as_bytes(), 1).expect("memory");
    assert_eq!(
        kind(&mut client, "application/json", "Content-Encoding: zstd\r\n", &compressed),
        "EXACT_DUPLICATE"
    );
    // A proxy adds a header for its own coding.
    let twice = common::gzip(&compressed);
    let headers = "Content-Encoding: zstd\r\nContent-Encoding: gzip\r\n";
    assert_eq!(kind(&mut client, "application/json", headers, &twice), "EXACT_DUPLICATE");
    // A body with another coding must not be stored as a page that is not text.
    for unknown in ["lz4", "gzip, compress", "utf-8"] {
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {unknown}\r\n");
        let refused = client
            .ask("POST /v1/pages?url=http%3A%2F%2Fb%2F", &headers, b"\x04\"M\x18...")
            .expect("an answer");
        assert_eq!((refused.status, refused.problem()), (415, "unsupported-media-type"), "{unknown}");
        let names_it = refused.body["detail"]
            .as_str()
            .is_some_and(|detail| unknown.ends_with(detail.split('"').nth(1).unwrap_or("-")));
        assert!(names_it, "{}", refused.body);
    }
    assert_eq!(
        kind(&mut client, "application/json", "Content-Encoding: identity\r\n", json.as_bytes()),
        "EXACT_DUPLICATE"
    );
    // A page sent as the request's body is stored under the URL in the query.
    let stored = client.post("/v1/pages?url=https%3A%2F%2Fc%2F%E4%BD%A0&id=c%20d", "text/html", &html);
    assert_eq!(stored.body["verdict"]["url"], "https://c/你", "{}", stored.body);
    assert_eq!(client.get("/v1/pages/c%20d").body["verdict"], stored.body["verdict"]);
    server.stop();
}

#[test]
fn clusters_have_members_with_their_evidence() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let text = article(5, 30);
    let founded = client.store(&page("a", &text)).body["verdict"].clone();
    let copies: Vec<Value> =
        (0..7).map(|n| page(&format!("copy {n}"), &format!("{text}{}", article(6, n % 2)))).collect();
    let joined = verdicts(&client.store(&json!(copies)));
    let path = format!("/v1/clusters/{}", founded["cluster_id"].as_str().expect("an id"));
    let check = |client: &mut Client| {
        let cluster = client.get(&format!("{path}?members=3")).body;
        assert_eq!(cluster["canonical"]["page_id"], "a", "{cluster}");
        assert_eq!(cluster["canonical"]["fingerprint"], founded["fingerprint"]);
        assert_eq!(cluster["members_kept"], 7);
        let youngest: Vec<Value> = joined.iter().rev().take(3).cloned().collect();
        assert_eq!(cluster["members"], json!(youngest));
        assert!(cluster["members"][0]["evidence"].is_object());
        let again = client.store(&page("copy 0", &text)).body["verdict"].clone();
        assert_eq!(client.get("/v1/pages/copy%200").body["verdict"], again, "the last one");
    };
    check(&mut client);
    server.stop();
    // Everything is there after a restart.
    let server = Server::start(folder.path(), &[]);
    let cluster = server.connect().get(&path).body;
    assert_eq!((&cluster["canonical"]["page_id"], &cluster["members_kept"]), (&json!("a"), &json!(7)));
    for unknown in ["0", "zz", &"f".repeat(32), "00000001000000000000000000000000"] {
        let answer = server.connect().get(&format!("/v1/clusters/{unknown}"));
        assert_eq!((answer.status, answer.problem()), (404, "unknown-cluster"), "{unknown}");
    }
    server.stop();
}

/// Small random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Stores one page after another until the connection breaks; returns the pages that were answered.
fn store_until_killed(
    address: &str,
    client_number: u64,
    round: u64,
    mut dice: Dice,
    answers: &AtomicUsize,
) -> Vec<Value> {
    let mut answered = Vec::new();
    let Ok(stream) = std::net::TcpStream::connect(address) else { return answered };
    drop(stream);
    let mut client = Client::to(address);
    for number in 0.. {
        let count = if dice.below(3) == 0 { 1 + dice.below(20) } else { 1 };
        let pages: Vec<Value> = (0..count)
            .map(|n| {
                let id = format!("r{round}-c{client_number}-{number}-{n}");
                page(&id, &article(dice.below(400) as usize, 12))
            })
            .collect();
        let body = json!(pages).to_string();
        let answer = client.ask("POST /v1/pages", "Content-Type: application/json\r\n", body.as_bytes());
        let Some(answer) = answer else { return answered };
        answered.extend(verdicts(&answer));
        answers.fetch_add(1, Ordering::Relaxed);
    }
    answered
}

#[test]
fn no_answered_page_is_lost_whatever_is_killed_when() {
    assert_no_answered_page_is_lost("", 12);
}

#[test]
fn no_answered_page_is_lost_from_a_table_on_disk() {
    assert_no_answered_page_is_lost(ON_DISK, 8);
}

/// Kills the server (`kill -9`) at random moments while several clients store; prints the seeds.
#[track_caller]
fn assert_no_answered_page_is_lost(settings: &str, rounds: u64) {
    let seed = seed("SERVE_SEED");
    let mut dice = Dice(seed);
    let folder = folder();
    // The journal is so small that the table is saved in between as well.
    let settings = format!("{settings}[api]\njournal_bytes_max = 4096\n");
    let config = common::write(folder.path(), "serve.toml", settings);
    let table = folder.path().join("table");
    let more = ["--config", config.to_str().expect("UTF-8")];
    let mut all: BTreeMap<u64, Value> = BTreeMap::new();
    for round in 0..rounds {
        let server = Server::start(&table, &more);
        let mut client = server.connect();
        let answered: Vec<&Value> = all.values().collect();
        for _ in 0..answered.len().min(60) {
            let verdict = answered[dice.below(answered.len() as u64) as usize];
            let id = verdict["page_id"].as_str().expect("an id");
            let kept = client.get(&format!("/v1/pages/{id}"));
            assert_eq!(&kept.body["verdict"], verdict, "seed {seed}, round {round}");
        }
        let answers = Arc::new(AtomicUsize::new(0));
        let stores: Vec<_> = (0..3)
            .map(|number| {
                let (address, dice) = (server.address().to_owned(), Dice(dice.below(u64::MAX >> 33)));
                let answers = Arc::clone(&answers);
                std::thread::spawn(move || store_until_killed(&address, number, round, dice, &answers))
            })
            .collect();
        // Waits for some answers, however slow the machine is, and then for a random time.
        let least = dice.below(30) as usize;
        wait_until("answers", || answers.load(Ordering::Relaxed) >= least);
        pause(Duration::from_micros(dice.below(50_000)));
        server.kill();
        for store in stores {
            for verdict in store.join().expect("no fault") {
                let log_offset = verdict["log_offset"].as_u64().expect("an offset");
                assert!(all.insert(log_offset, verdict).is_none(), "seed {seed}: {log_offset} twice");
            }
        }
    }
    assert!(all.len() > 50, "seed {seed}: too few answers to say anything: {}", all.len());
    let server = Server::start(&table, &more);
    let mut client = server.connect();
    for verdict in all.values() {
        let id = verdict["page_id"].as_str().expect("an id");
        assert_eq!(&client.get(&format!("/v1/pages/{id}")).body["verdict"], verdict, "seed {seed}");
    }
    println!("{} pages were answered, and are all there", all.len());
    server.stop();
    assert!(!table.join("journal.leitong").exists());
}

/// A block is damaged while the server is down: no verdict that could be wrong is sent, and pages already in
/// the journal get their verdicts once the file is repaired.
#[test]
fn a_damaged_block_stops_verdicts_and_loses_no_page() {
    let folder = folder();
    // The background check must not find the damage first.
    let config = common::write(folder.path(), "serve.toml", format!("{ON_DISK}check_mib_per_second = 0\n"));
    let more = ["--config", config.to_str().expect("UTF-8")];
    let table = folder.path().join("table");
    let server = Server::start(&table, &more);
    let pages: Vec<Value> = (0..100).map(|n| page(&format!("p{n}"), &article(n, 25))).collect();
    verdicts(&server.connect().store(&json!(pages)));
    server.stop();
    let block = table.join("centroids-000000000000.block");
    let good = std::fs::read(&block).expect("a block");
    let mut bad = good.clone();
    bad[20] ^= 1;
    std::fs::write(&block, bad).expect("written");

    let server = Server::start(&table, &more);
    let mut client = server.connect();
    let copy = |id: &str| page(id, &article(3, 25));
    for refused in [client.store(&copy("copy")), client.store(&copy("late")), client.look_up(&copy("look"))] {
        assert_eq!(refused.status, 503, "{}", refused.body);
        let detail = refused.body["detail"].as_str().expect("a text");
        assert!(detail.contains("damaged at byte 0"), "{detail}");
    }
    // An orchestrator should stop sending requests, but not restart: a restart does not repair this.
    let ready = client.get("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.body);
    assert!(ready.body.as_str().is_some_and(|why| why.contains("damaged at byte 0")), "{}", ready.body);
    assert_eq!(client.get("/livez").status, 200);
    server.stop();
    std::fs::write(&block, good).expect("written");
    let server = Server::start(&table, &more);
    let mut client = server.connect();
    let kept = client.get("/v1/pages/copy");
    assert_eq!(kept.body["verdict"]["canonical_page_id"], "p3", "{}", kept.body);
    assert_eq!(client.get("/v1/pages/late").status, 404, "it was not stored");
    assert_eq!(client.store(&copy("again")).body["verdict"]["kind"], "EXACT_DUPLICATE");
    server.stop();
}

/// The results of a batch equal those of single look-ups.
#[test]
fn a_batch_of_look_ups_equals_single_ones() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let stored: Vec<Value> = (0..30).map(|n| page(&format!("p{n}"), &article(n, 25))).collect();
    verdicts(&client.store(&json!(stored)));
    let mut pages: Vec<Value> = (20..60).map(|n| json!({ "text": article(n, 25) })).collect();
    pages.push(json!({ "url": "http://a/", "id": ["no id"] }));
    let timeless = |mut result: Value| {
        if let Some(verdict) = result["verdict"].as_object_mut() {
            verdict.remove("decided_at");
        }
        result
    };
    let lines = lines(&pages);
    let [array, ndjson] = [("application/json", json!(pages).to_string()), ("application/x-ndjson", lines)]
        .map(|(content_type, body)| client.post("/v1/lookup?top=2", content_type, body));
    for batch in [array, ndjson] {
        assert_eq!(batch.status, 200, "{}", batch.body);
        let results = batch.body["results"].as_array().expect("results").clone();
        assert_eq!(results.len(), pages.len());
        for (page, result) in pages.iter().zip(results) {
            let single = client.post("/v1/lookup?top=2", "application/json", page.to_string());
            let single = match single.status {
                200 => single.body,
                _ => json!({ "problem": single.body }),
            };
            assert_eq!(timeless(result), timeless(single));
        }
    }
    let empty = client.post("/v1/lookup", "application/json", "[]");
    assert_eq!((empty.status, empty.body), (200, json!({ "results": [] })));
    server.stop();
}

/// A page can be found by its URL as well, and health probes and scrapers use the same port as clients.
#[test]
fn pages_are_found_by_url_and_probes_use_the_same_port() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    let url = "https://example.test/?a=%E4%BD%A0&b=c d";
    for text in [1, 2] {
        client.store(&json!({ "id": "x", "url": url, "text": article(text, 25) }));
    }
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("url", url).finish();
    let [by_url, by_id] =
        [format!("/v1/pages?{query}"), "/v1/pages/x".to_owned()].map(|path| client.get(&path));
    assert_eq!((by_url.status, &by_url.body), (200, &by_id.body), "{}", by_url.body);
    assert_eq!(by_url.body["verdict"]["log_offset"], 1, "the last one");
    assert_eq!(client.get("/readyz").body, "ok\n");
    let metrics = client.get("/metrics").body;
    let metrics = metrics.as_str().expect("a text");
    for line in [
        "leitong_verdicts_total{kind=\"UNIQUE\"} 2",
        "leitong_centroids{partition=\"0\"} 2",
        "leitong_api_requests_total{operation=\"store\"} 2",
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line}: {metrics}");
    }
    server.stop();
    // Verdicts by URL survive a restart, like those by id.
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.connect().get(&format!("/v1/pages?{query}")).body, by_id.body);
    server.stop();
}

#[test]
fn only_one_process_can_use_the_folder() {
    let folder = folder();
    let server = Server::start(folder.path(), &[]);
    let mut second = common::leitong();
    second.arg("serve");
    let refused = Server::try_start(second, folder.path()).err().expect("refused");
    assert!(refused.contains("another run is using this table"), "{refused}");
    let table = folder.path().to_str().expect("UTF-8");
    assert_eq!(run_with_input(["dedup", "-", "--table", table], "").status, 1);
    server.stop();
    assert_eq!(run_with_input(["dedup", "-", "--table", table], "").status, 0);
}

fn killed_after_three_batches(table: &Path) -> Vec<u8> {
    let server = Server::start(table, &[]);
    let mut client = server.connect();
    (0..3).for_each(|n| assert_eq!(client.store(&page(&format!("p{n}"), &article(n, 20))).status, 200));
    server.kill();
    std::fs::read(table.join("journal.leitong")).expect("a journal")
}

#[test]
fn torn_journals_are_truncated_and_damaged_ones_refused() {
    let folder = folder();
    let table = folder.path();
    let journal = table.join("journal.leitong");
    let good = killed_after_three_batches(table);
    // The server was killed before it saved a page, and all that it had answered is in the journal.
    let empty_head = std::fs::read(table.join("centroids.leitong")).expect("a head");
    let started = |bytes: &[u8]| {
        std::fs::write(&journal, bytes).expect("written");
        let mut command = common::leitong();
        command.arg("serve");
        Server::try_start(command, table)
    };
    let server = started(&good[..good.len() - 5]).unwrap_or_else(|stderr| panic!("{stderr}"));
    let mut client = server.connect();
    assert_eq!(["p0", "p1", "p2"].map(|id| client.get(&format!("/v1/pages/{id}")).status), [200, 200, 404]);
    let said = server.kill();
    assert!(
        said.contains("2 page(s) were restored from its journal")
            && said.contains("journal.leitong.cut-1. They belong to pages that were not answered yet"),
        "{said}"
    );
    for at in [3, 20, 60, good.len() / 2] {
        let mut bad = good.clone();
        bad[at] ^= 4;
        let refused = started(&bad).err().expect("refused");
        assert!(refused.contains("journal.leitong: damaged at byte"), "byte {at}: {refused}");
        assert_eq!(std::fs::read(&journal).expect("a journal"), bad, "left as it is");
    }
    // Other settings, and a journal that does not continue at the table's end.
    std::fs::write(&journal, &good).expect("written");
    let mut other = common::leitong();
    other.args(["serve", "--detector", "paragraph"]);
    let refused = Server::try_start(other, table).err().expect("refused");
    assert!(refused.contains("made with other settings"), "{refused}");
    Server::start(table, &[]).stop();
    let later = killed_after_three_batches(table);
    std::fs::write(table.join("centroids.leitong"), empty_head).expect("written");
    let refused = started(&later).err().expect("refused");
    assert!(refused.contains("begins at offset 3, but the saved table ends at 0"), "{refused}");
    // The journal and the head of two tables.
    let other = self::folder();
    killed_after_three_batches(other.path());
    std::fs::copy(other.path().join("centroids.leitong"), table.join("centroids.leitong")).expect("copied");
    std::fs::remove_file(table.join("verdicts.leitong")).expect("removed");
    let refused = started(&good).err().expect("refused");
    assert!(refused.contains("belongs to another table"), "{refused}");
    // Its verdicts.
    let table = self::folder();
    for table in [&table, &other] {
        Server::start(table.path(), &[]).stop();
    }
    std::fs::copy(other.path().join("verdicts.leitong"), table.path().join("verdicts.leitong"))
        .expect("copied");
    let mut command = common::leitong();
    command.arg("serve");
    let refused = Server::try_start(command, table.path()).err().expect("refused");
    assert!(refused.contains("verdicts.leitong: the verdicts belong to another table"), "{refused}");
}

/// After half of a restore, a server must not begin an empty table next to answered pages.
#[test]
fn a_folder_without_its_head_is_refused_by_every_command() {
    let folder = folder();
    let table = folder.path().join("table");
    killed_after_three_batches(&table);
    let head = table.join("centroids.leitong");
    let saved = std::fs::read(&head).expect("a head");
    std::fs::remove_file(&head).expect("removed");
    let files = || -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(&table).expect("a folder").map(|entry| entry.expect("an entry"));
        let mut files: Vec<_> = entries
            .map(|entry| {
                (
                    entry.file_name().to_string_lossy().into_owned(),
                    std::fs::read(entry.path()).expect("a file"),
                )
            })
            .collect();
        files.sort();
        files
    };
    let before = files();
    let mut command = common::leitong();
    command.arg("serve");
    let refused = Server::try_start(command, &table).err().expect("refused");
    assert!(refused.contains("centroids.leitong is missing"), "{refused}");
    let [name, output] = [table.clone(), folder.path().join("output")].map(|path| path.display().to_string());
    for command in [
        &["dedup", "-", "--table", &name][..],
        &["table", "info", &name],
        &["table", "info", "--verify", &name],
        &["table", "export", "--sizes", &name],
        &["table", "compact", &name],
        &["table", "export", "--all", &name],
        &["table", "merge", "--output", &output, &name, &folder.path().display().to_string()],
    ] {
        let run = run_with_input(command, "");
        assert_eq!(run.status, 1, "{command:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("centroids.leitong is missing") && run.stderr.contains("restore all files"),
            "{command:?}: {}",
            run.stderr
        );
        assert!(files() == before, "{command:?}");
    }
    let embedded = leitong::Table::open(&table).err().expect("refused").to_string();
    assert!(embedded.contains("centroids.leitong is missing"), "{embedded}");
    // With the other half of the backup, no page is lost.
    std::fs::write(&head, saved).expect("written");
    let server = Server::start(&table, &[]);
    let mut client = server.connect();
    assert_eq!(["p0", "p1", "p2"].map(|id| client.get(&format!("/v1/pages/{id}")).status), [200; 3]);
    server.stop();
}

/// A flipped bit in the last frame of the journal must not remove the pages of that frame, which were answered. If
/// others were stored in their place, they could not be stored again after the file is restored.
#[test]
fn whatever_bit_of_a_file_is_flipped_no_answered_page_is_deleted() {
    let seed = seed("LEITONG_SERVE_SEED");
    let mut random = Random::from_seed(seed);
    let folder = folder();
    let table = folder.path().join("table");
    Server::start(&table, &[]).stop();
    let journal = killed_after_three_batches(&table);
    for file in ["journal.leitong", "centroids.leitong", "verdicts.leitong"] {
        let path = table.join(file);
        let good = std::fs::read(&path).expect("a file");
        for _ in 0..4 {
            let bit = match random.chance(0.5) {
                true => random.below(good.len() * 8),
                false => good.len() * 8 - 1 - random.below(64.min(good.len() * 8)),
            };
            let what = format!("seed {seed}, {file}: bit {bit} of {} bytes", good.len());
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &bad).expect("written");
            let mut command = common::leitong();
            command.arg("serve");
            if let Ok(server) = Server::try_start(command, &table) {
                let said = server.kill();
                let aside = table.join("journal.leitong.cut-1");
                let cut = std::fs::read(&path).expect("a file");
                let rest = std::fs::read(&aside).unwrap_or_else(|_| panic!("{what}: {said}"));
                assert!([cut, rest].concat() == bad, "{what}: no byte is deleted");
                std::fs::remove_file(aside).expect("removed");
            }
            std::fs::write(&path, &good).expect("written");
            std::fs::write(table.join("journal.leitong"), &journal).expect("written");
        }
    }
    let server = Server::start(&table, &[]);
    let mut client = server.connect();
    assert_eq!(["p0", "p1", "p2"].map(|id| client.get(&format!("/v1/pages/{id}")).status), [200; 3]);
    server.stop();
}

/// A limit on the size of files simulates a full disk. It is lifted later.
#[test]
fn on_a_full_disk_no_page_is_reported_as_stored() {
    let folder = folder();
    let program = env!("CARGO_BIN_EXE_leitong");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -S -f 16; exec \"$0\" serve \"$@\"", program]);
    let server = Server::try_start(command, folder.path()).unwrap_or_else(|stderr| panic!("{stderr}"));
    let mut client = server.connect();
    let mut stored = Vec::new();
    let refused = loop {
        let id = format!("p{}", stored.len());
        let answer = client.store(&page(&id, &article(stored.len(), 20)));
        if answer.status != 200 {
            break answer;
        }
        stored.push(id);
        assert!(stored.len() < 1_000, "the limit holds");
    };
    assert_eq!((refused.status, refused.problem()), (503, "not-durable"), "{}", refused.body);
    assert!(refused.head.to_ascii_lowercase().contains("retry-after"), "{}", refused.head);
    // Look-ups continue, and answered pages are there after a start with room.
    assert_eq!(client.look_up(&page("x", &article(0, 20))).body["verdict"]["kind"], "EXACT_DUPLICATE");
    assert_eq!(client.get(&format!("/v1/pages/p{}", stored.len())).status, 404);
    // An orchestrator sends requests elsewhere, so no other store may come that would show that there is room again.
    for _ in 0..2 {
        let ready = client.get("/readyz");
        let why = ready.body.as_str().expect("a text").to_owned();
        assert!(ready.status == 503 && why.contains("free disk space") && why.contains("os error"), "{why}");
    }
    assert_eq!(client.get("/livez").status, 200);
    let lifted = std::process::Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &server.pid().to_string()])
        .status()
        .expect("prlimit");
    assert!(lifted.success());
    assert_eq!(client.get("/readyz").status, 200);
    let late = format!("p{}", stored.len());
    assert_eq!(client.store(&page(&late, &article(stored.len(), 20))).status, 200);
    stored.push(late);
    server.kill();
    let server = Server::start(folder.path(), &[]);
    let mut client = server.connect();
    for id in &stored {
        assert_eq!(client.get(&format!("/v1/pages/{id}")).status, 200, "{id}");
    }
    server.stop();
}

#[test]
fn unusable_arguments_are_reported() {
    let folder = folder();
    let table = folder.path().to_str().expect("UTF-8");
    for (more, says) in [
        (vec!["--address", "nowhere"], "--address \"nowhere\": must be ADDRESS:PORT"),
        (vec!["--preset", "raw-body"], "text/html with ?url="),
    ] {
        let run = common::run([vec!["serve", "--table", table], more].concat());
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(says), "{}", run.stderr);
    }
    let config = common::write(folder.path(), "t.toml", "[api]\ntoken_env = \"LEITONG_NO_SUCH_TOKEN\"\n");
    let run = common::run(["serve", "--table", table, "--config", config.to_str().expect("UTF-8")]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("api.token_env: the variable is not set"), "{}", run.stderr);
}
