//! Look-ups next to a worker (`[api] address`): the answer equals the later verdict, from owners and
//! standbys, in memory and on disk, whatever is killed meanwhile.
//!
//! `LEITONG_CHAOS_SEED` repeats the kills, and `LEITONG_CHAOS_KILLS` sets their number.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::broker::topics::{self, Row};
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{bootstrap, pause, wait_until};
use crate::common::openapi::{Api, CLUSTER, LOOK_UP, PAGE, STORE};
use crate::common::serve::{Answer, Client};
use crate::common::{article, gzip, percent_encoded, write};
use crate::dice::{Rng, from_environment};

const TOKEN: &str = "a-token-of-the-tests";

/// Small transactions, and kills that are noticed soon.
fn settings(more: &str) -> String {
    format!(
        "[api]\naddress = \"127.0.0.1:0\"\n{more}[kafka.transaction]\nrecords_max = 10\nlinger_ms = 0\n{FAST_FAILURE_DETECTION}"
    )
}

/// Returns the address on which a worker answers look-ups.
fn address(worker: &Worker) -> Option<String> {
    Some(worker.plain_log().split("look-ups: http://").nth(1)?.split_whitespace().next()?.to_owned())
}

fn client(worker: &Worker) -> Client {
    Client::to(&address(worker).expect("the port is open"))
}

/// Waits until a worker answers look-ups. A worker may be ready while the partition still changes hands; in the
/// meantime, no instance answers from its table.
fn wait_until_answering(worker: &Worker) {
    let page = rows(0, 1, 1)[0].json();
    wait_until("look-ups are answered", || client(worker).look_up(&page).status == 200);
}

fn rows(from: usize, to: usize, texts: usize) -> Vec<Row> {
    (from..to).map(|i| Row::page(0, &format!("p{i}"), &article(i * 7 % texts, 25))).collect()
}

/// Returns the fields of a verdict that do not depend on the time.
fn timeless_fields(verdict: &Value) -> Value {
    const STABLE: [&str; 8] = [
        "kind",
        "canonical_page_id",
        "canonical_url",
        "cluster_id",
        "distance",
        "text_digest",
        "corpus",
        "evidence",
    ];
    STABLE.into_iter().map(|name| (name.to_owned(), verdict[name].clone())).collect()
}

/// Looks up a page and then writes it; both must give the same verdict, which is returned.
#[track_caller]
fn look_up_and_write(installation: &Installation, client: &mut Client, row: &Row, written: usize) -> Answer {
    let page: Value = row.json();
    let answer = client.look_up(&page);
    assert_eq!(answer.status, 200, "{}", answer.body);
    installation.feed(std::slice::from_ref(row), written);
    let verdicts = installation.verdicts();
    let verdict = verdicts.iter().find(|verdict| verdict["page_id"] == page["id"]).expect("its verdict");
    let (found, mut expected) = (timeless_fields(&answer.body["verdict"]), timeless_fields(verdict));
    if verdict["kind"] == "UNIQUE" {
        // The verdict is identified by its offset; transaction markers take offsets as well.
        assert!(verdict["log_offset"].as_u64() >= answer.body["as_of"]["log_offset"].as_u64());
        expected["cluster_id"] = found["cluster_id"].clone();
    }
    assert_eq!(found, expected, "{}", answer.body["as_of"]);
    answer
}

#[test]
fn look_ups_at_owner_and_standby_predict_the_verdict() {
    let installation =
        Installation::new(&bootstrap(), "look-ups", &settings("[kafka.create]\npage_partitions = 1\n"));
    installation.keep_standbys();
    let all = rows(0, 130, 60);
    let mut owner = installation.worker(&["--role", "all"]);
    owner.wait_until_ready();
    wait_until_answering(&owner);
    // There are no pages yet, and the answer says so.
    let first = client(&owner).look_up(&all[0].json());
    assert_eq!((first.status, &first.body["verdict"]["kind"]), (200, &json!("UNIQUE")), "{}", first.body);
    assert_eq!(first.body["verdict"]["cluster_id"], Value::Null, "nobody knows yet how the log is named");
    let mut standby = installation.worker(&["--role", "cluster"]);
    standby.wait_until_ready();
    installation.feed(&all[..100], 100);
    let followed = || {
        let position =
            |worker: &Worker| client(worker).look_up(&all[0].json()).body["as_of"]["log_offset"].clone();
        wait_until("the standby has followed", || position(&standby) == position(&owner));
    };
    let mut api = Api::read();
    for (number, held_as) in (100..130).zip(["owner", "standby"].into_iter().cycle()) {
        followed();
        let asked_of = if held_as == "owner" { &owner } else { &standby };
        let answer = look_up_and_write(&installation, &mut client(asked_of), &all[number], number + 1);
        assert_eq!(answer.body["as_of"]["held_as"], held_as);
        api.check(LOOK_UP, 200, &answer);
    }
    for (worker, held_as) in [(&owner, "owner"), (&standby, "standby")] {
        assert!(worker.metric("leitong_lookups_total") > 15.0, "{held_as}");
        let metrics = worker.get("/metrics").expect("metrics").1;
        assert!(
            metrics.contains("leitong_api_seconds_bucket{operation=\"lookup\",le=\"0.02\"}"),
            "{metrics}"
        );
    }
    // The last verdicts are those that the owner has committed, byte by byte.
    let last = client(&owner).get("/v1/pages/p129");
    let published = installation.verdicts();
    let published = published.iter().find(|verdict| verdict["page_id"] == "p129").expect("its verdict");
    assert_eq!((last.status, &last.body["verdict"]), (200, published));
    api.check(PAGE, 200, &last);
    api.check(PAGE, 404, &client(&standby).get("/v1/pages/p129"));
    let cluster = format!("/v1/clusters/{}", published["cluster_id"].as_str().expect("an id"));
    let [of_owner, of_standby] = [&owner, &standby].map(|worker| client(worker).get(&cluster));
    api.check(CLUSTER, 200, &of_owner);
    api.check(CLUSTER, 200, &of_standby);
    assert_eq!(of_owner.body["canonical"], of_standby.body["canonical"]);
    assert_eq!(of_owner.body["canonical"]["page_id"], published["canonical_page_id"]);
    let members = |answer: &Answer| answer.body["members"].as_array().map(Vec::len);
    assert!(members(&of_owner) >= Some(1) && members(&of_standby) == Some(0), "{}", of_owner.body);
    // After a take-over, the new owner continues to answer. A worker stores nothing over HTTP.
    owner.kill();
    wait_until("the standby is the owner", || {
        client(&standby).look_up(&all[0].json()).body["as_of"]["held_as"] == "owner"
    });
    let stored = client(&standby).store(&all[0].json());
    api.check(STORE, 404, &stored);
    assert_eq!(stored.problem(), "no-such-path");
    assert!(
        stored.body["detail"].as_str().is_some_and(|detail| detail.contains(".pages")),
        "{}",
        stored.body
    );
    assert_eq!(standby.terminate(), 0);
}

#[test]
fn an_instance_answers_only_from_its_own_tables() {
    let more = "[corpus]\nby = \"header\"\n[kafka.create]\npage_partitions = 1\nlog_partitions = 2\n";
    let installation = Installation::new(&bootstrap(), "not-here", &settings(more));
    let mut both = [installation.worker(&[]), installation.worker(&[])];
    both.iter().for_each(|worker| worker.wait_until_ready());
    wait_until("each owns a partition", || {
        both.iter().all(|worker| {
            let metrics = worker.get("/metrics").map_or(String::new(), |(_, text)| text);
            metrics.contains("leitong_partitions_owned{stage=\"cluster\"} 1")
        })
    });
    // The instance that has the partition of a corpus answers; the other one refuses.
    let text = article(1, 30);
    let (mut seen, mut api) = (BTreeMap::new(), Api::read());
    for corpus in ["甲", "乙", "丙", "丁", "default", "news.example.com"] {
        let answer = both.each_ref().map(|worker| {
            let ask = || {
                client(worker).post(
                    &format!("/v1/lookup?corpus={}", percent_encoded(corpus)),
                    "text/plain",
                    &text,
                )
            };
            wait_until("its table is there or elsewhere", || ask().status != 503);
            ask()
        });
        let statuses = answer.each_ref().map(|answer| answer.status);
        assert!(statuses == [200, 421] || statuses == [421, 200], "{corpus}: {statuses:?}");
        let refused = answer.iter().find(|answer| answer.status == 421).expect("one of them");
        let answered = answer.iter().find(|answer| answer.status == 200).expect("the other");
        let partition = answered.body["as_of"]["log_partition"].as_u64().expect("a number");
        api.check(LOOK_UP, 421, refused);
        assert_eq!(refused.problem(), "not-here");
        let detail = refused.body["detail"].as_str().expect("a text");
        assert!(detail.contains(&format!("log partition {partition} of 2")), "{detail}");
        assert!(detail.contains("kafka.standby = true"), "{detail}");
        seen.insert(partition, statuses);
    }
    assert_eq!(seen.len(), 2, "both partitions must have answered: {seen:?}");
    let id = "00000001000000010000000000000000";
    let mut clusters = both.each_ref().map(|worker| client(worker).get(&format!("/v1/clusters/{id}")));
    clusters.sort_by_key(|answer| answer.status);
    api.check(CLUSTER, 404, &clusters[0]);
    api.check(CLUSTER, 421, &clusters[1]);
    both.iter_mut().for_each(|worker| assert_eq!(worker.terminate(), 0));
}

#[test]
fn look_ups_have_the_limits_of_serve() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = write(folder.path(), "token", format!("{TOKEN}\n"));
    let more = format!(
        "[kafka.create]\npage_partitions = 1\n[api]\naddress = \"127.0.0.1:0\"\ntoken_file = {token:?}\n\
         body_bytes_max = 65536\nbody_timeout_ms = 3000\nrequests_per_second = 5\n"
    );
    let installation = Installation::new(&bootstrap(), "limits", &more);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    let checked = installation.leitong(&["run", "--check", "--admin", "127.0.0.1:0"]);
    assert!(checked.stdout.contains("look-ups"), "{}", checked.stdout);
    let with_token = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
    // Repeat the request until it is not refused for exceeding the rate.
    let ask = |headers: &str, body: &[u8]| {
        let mut answers = std::iter::repeat_with(|| client(&worker).ask("POST /v1/lookup", headers, body));
        answers.find(|answer| answer.as_ref().is_none_or(|answer| answer.status != 429)).flatten()
    };
    let good = json!({ "text": article(3, 20) }).to_string();
    let deep = [b"{\"text\":".repeat(5000), b"1".to_vec()].concat();
    let bomb = gzip(&vec![b' '; 30 << 20]);
    let as_gzip = format!("{with_token}Content-Encoding: gzip\r\n");
    // The partition may still be changing hands.
    wait_until("look-ups are answered", || {
        ask(&with_token, good.as_bytes()).expect("an answer").status == 200
    });
    for (headers, body, status) in [
        (&*with_token, good.as_bytes(), 200),
        ("Content-Type: application/json\r\n", good.as_bytes(), 401),
        ("Authorization: Bearer wrong\r\n", good.as_bytes(), 401),
        (&*with_token, &vec![b' '; 70_000], 413),
        (&*as_gzip, &*bomb, 413),
        (&*with_token, &*deep, 422),
        (&*with_token, b"{\"text\":\"\xff\xfe", 422),
        ("Authorization: Bearer a-token-of-the-tests\r\nContent-Type: image/png\r\n", b"\x89PNG", 415),
    ] {
        let answer = ask(headers, body).expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    let head =
        format!("POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\n{with_token}Content-Length: 9\r\n\r\n{{");
    let mut statuses = std::iter::repeat_with(|| {
        let mut slow = client(&worker);
        slow.send(head.as_bytes()).expect("sent");
        slow.receive().expect("an answer").status
    });
    assert_eq!(statuses.find(|status| *status != 429), Some(408));
    let mut often = client(&worker);
    let answers =
        (0..600).map_while(|_| often.ask("GET /v1/pages/a", &with_token, b"")).map(|answer| answer.status);
    assert!(answers.into_iter().any(|status| status == 429));
    assert!(worker.metric("leitong_api_refused_total") > 8.0);
    assert!(!worker.plain_log().contains(TOKEN));
    assert_eq!(worker.terminate(), 0);
}

/// Answers to some clients: text, log offset of the answer, and the page in it.
type Answers = Mutex<Vec<(usize, u64, Value)>>;

/// Sends look-ups to any worker that answers, without a pause, until `ended`.
fn look_up_until_ended(
    addresses: &Mutex<Vec<String>>,
    ended: &AtomicBool,
    mut dice: Rng,
    texts: usize,
    answers: &Answers,
) {
    let refused = AtomicUsize::new(0);
    while !ended.load(Ordering::SeqCst) {
        let all = addresses.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if all.is_empty() {
            pause(5);
            continue;
        }
        let address = &all[dice.roll(all.len() as u64) as usize];
        let text = dice.roll(texts as u64) as usize;
        let body = json!({ "id": "answer", "text": article(text, 25) }).to_string();
        // A killed worker stops, possibly within an answer.
        let Some(mut client) = Client::try_to(address) else { continue };
        let headers = "Content-Type: application/json\r\n";
        let Some(answer) = client.ask("POST /v1/lookup", headers, body.as_bytes()) else { continue };
        match answer.status {
            200 => {
                let log_offset = answer.body["as_of"]["log_offset"].as_u64().expect("an offset");
                let verdict = &answer.body["verdict"];
                let named = if verdict["kind"] == "UNIQUE" {
                    Value::Null
                } else {
                    verdict["canonical_page_id"].clone()
                };
                answers.lock().unwrap_or_else(PoisonError::into_inner).push((text, log_offset, named));
            }
            421 | 503 => _ = refused.fetch_add(1, Ordering::Relaxed),
            other => panic!("{other}: {}", answer.body),
        }
    }
}

/// Returns the canonical page of each text, and the log offset from which it is valid.
fn canonical_pages(verdicts: &[Value], texts: usize) -> BTreeMap<usize, (u64, Value)> {
    let mut canonical = BTreeMap::new();
    for verdict in verdicts {
        let number: usize = verdict["page_id"].as_str().expect("an id")[1..].parse().expect("a number");
        let (text, offset) = (number * 7 % texts, verdict["log_offset"].as_u64().expect("an offset"));
        let page = verdict["canonical_page_id"].clone();
        let first = canonical.entry(text).or_insert((offset, page.clone()));
        assert_eq!(first.1, page, "text {text} stays in one cluster");
        first.0 = offset.min(first.0);
    }
    canonical
}

/// Raises a flag when it is dropped.
struct RaisedOnDrop<'a>(&'a AtomicBool);

impl Drop for RaisedOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn storm(name: &str, table: &str) {
    const TEXTS: usize = 150;
    let seed = from_environment("LEITONG_CHAOS_SEED", u64::from(std::process::id()));
    let kills = from_environment("LEITONG_CHAOS_KILLS", 8);
    println!("LEITONG_CHAOS_SEED={seed} LEITONG_CHAOS_KILLS={kills}");
    let mut dice = Rng(seed);
    let of_folder = |folder: usize| {
        let snapshots = format!("[kafka.snapshots]\ndir = \"tables{folder}\"\n");
        settings(&format!("[kafka.create]\npage_partitions = 1\n{table}{snapshots}"))
    };
    let installation = Installation::new(&bootstrap(), name, &of_folder(0));
    let rows = rows(0, 4000, TEXTS);
    let start = |folder: usize| {
        installation.configure(&of_folder(folder));
        installation.keep_standbys();
        installation.worker(&["--role", if folder == 0 { "all" } else { "cluster" }])
    };
    let (addresses, ended, answers) = (Mutex::default(), AtomicBool::new(false), Answers::default());
    let mut workers = vec![start(0), start(1)];
    std::thread::scope(|scope| {
        // The clients must stop even if something here fails.
        let _end = RaisedOnDrop(&ended);
        for number in 0..3 {
            let (addresses, ended, answers) = (&addresses, &ended, &answers);
            scope.spawn(move || look_up_until_ended(addresses, ended, Rng(seed + number), TEXTS, answers));
        }
        let (bootstrap, topic, rows) = (&installation.bootstrap, installation.topic("pages"), &rows);
        let crawler = scope.spawn(move || {
            let producer = topics::producer(bootstrap);
            for row in rows {
                topics::send(&producer, &topic, row);
                pause(3);
            }
            topics::flush(&producer);
        });
        let tell = |workers: &[Worker]| {
            *addresses.lock().unwrap_or_else(PoisonError::into_inner) =
                workers.iter().filter_map(address).collect();
        };
        for kill in 0..kills {
            for _ in 0..8 {
                pause(100 + dice.roll(250));
                tell(&workers);
            }
            let victim = dice.roll(2) as usize;
            println!("kill {kill}: worker {victim}");
            workers[victim].kill();
            workers[victim] = start(victim);
        }
        crawler.join().expect("all pages are written");
        tell(&workers);
        installation.wait_for_verdicts(rows.len());
        // If the kills left no time to decide, everything was drained at once; by now all texts are known.
        wait_until("known texts are looked up", || {
            tell(&workers);
            let answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.iter().filter(|(_, _, named)| !named.is_null()).count() > 300
        });
    });
    let canonical = canonical_pages(&installation.assert_exactly_once(&rows), TEXTS);
    let answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (mut unique, mut duplicate) = (0, 0);
    for (text, as_of, named) in &answers {
        let (first, page) = &canonical[text];
        // Before its first page was stored, the looked-up page would have been unique.
        let expected = if as_of > first { page.clone() } else { Value::Null };
        let was_unique = page == &json!(format!("p{}", first_page(&rows, *text, TEXTS)));
        assert!(as_of > first || was_unique, "text {text} is near another one");
        assert_eq!(named, &expected, "text {text} as of {as_of}, first at {first}");
        if expected.is_null() { unique += 1 } else { duplicate += 1 }
    }
    println!("{unique} look-ups of new texts and {duplicate} of known ones");
    assert!(duplicate > 300, "{duplicate} of {}", answers.len());
    workers.iter_mut().for_each(|worker| assert_eq!(worker.terminate(), 0));
}

/// Returns the number of the first page of a text.
fn first_page(rows: &[Row], text: usize, texts: usize) -> usize {
    (0..rows.len()).find(|number| number * 7 % texts == text).expect("all texts are written")
}

#[test]
fn answers_are_right_while_owners_are_killed() {
    storm("answer-storm", "");
}

#[test]
fn answers_are_right_from_tables_on_disk_while_owners_are_killed() {
    storm("answer-disk", "[table]\non_disk = true\nblock_centroids = 32\n");
}

/// Nothing is answered from unreadable blocks, even before their owner has noticed.
#[test]
fn nothing_is_answered_from_unreadable_blocks() {
    // A look-up must find the damage, not the check in the background.
    let table = "[table]\non_disk = true\nblock_centroids = 32\ncheck_mib_per_second = 0\n[kafka.snapshots]\ndir = \"tables\"\n";
    let more = settings(&format!("[kafka.create]\npage_partitions = 1\n{table}"));
    let installation = Installation::new(&bootstrap(), "answer-damaged", &more);
    let all = rows(0, 400, 400);
    let mut worker = installation.worker(&[]);
    installation.feed(&all, all.len());
    wait_until("blocks are saved", || worker.metric("leitong_disk_centroids") > 300.0);
    let before = client(&worker).look_up(&all[0].json());
    assert_eq!((before.status, &before.body["verdict"]["kind"]), (200, &json!("EXACT_DUPLICATE")));
    assert_eq!(worker.terminate(), 0);
    let folder = installation.folder.path().join("tables").join(format!("{}-0.table", installation.app));
    let names = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    for path in names.filter(|path| path.to_string_lossy().ends_with(".block")) {
        let mut bytes = std::fs::read(&path).expect("a block");
        bytes[..400].fill(0x55);
        std::fs::write(&path, bytes).expect("written");
    }
    let mut worker = installation.restored_worker("snapshot", &[]);
    // Some centroids are only in memory, so their pages are answered; no page may be called new.
    let answers: Vec<Answer> = all.iter().map(|row| client(&worker).look_up(&row.json())).collect();
    let refused = answers.iter().filter(|answer| answer.problem() == "not-ready").count();
    assert!(refused > 0, "nobody has noticed");
    for answer in answers.iter().filter(|answer| answer.status == 200) {
        assert_eq!(answer.body["verdict"]["kind"], "EXACT_DUPLICATE", "{}", answer.body);
    }
    worker.wait_for_log("log partition halted");
    assert_eq!(worker.terminate(), 0);
}
