//! `leitong tap` over a real broker.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::Value;

use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::worker::Installation;
use crate::broker::{HANG_LIMIT, wait_until};
use crate::common::{article, leitong};

const HOSTILE: &str = "https://evil.example/\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}gpj";

/// Returns eight outcomes: three unique pages, two duplicates, two that are undecidable, a dead letter.
fn pages() -> Vec<Row> {
    let page = |id: &str, url: &str, text: &str| {
        let page = serde_json::json!({ "id": id, "url": url, "text": text });
        Row { value: Some(page.to_string().into_bytes()), ..Row::default() }
    };
    vec![
        page("a", "https://a.example/1", &article(1, 25)),
        page("b", "https://www.b.example/1", &article(2, 25)),
        page("hostile", HOSTILE, &article(3, 25)),
        page("a2", "https://c.example/1", &article(1, 25)),
        page("b2", "https://c.example/2", &article(2, 25)),
        page("short", "https://a.example/2", "short"),
        page("empty", "https://a.example/3", ""),
        Row { value: Some(b"{\"url\": \x1b]0;owned\x07".to_vec()), ..Row::default() },
    ]
}

fn decided(name: &str, more: &str) -> Installation {
    let installation = Installation::new(&crate::broker::bootstrap(), name, more);
    installation.produce(&pages());
    let mut worker = installation.worker(&[]);
    wait_until("all outcomes", || {
        worker.metric("leitong_verdicts_total") + worker.metric("leitong_dead_letters_total") >= 8.0
    });
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    installation
}

/// Returns the output of `tap` for existing verdicts.
fn run_tap(installation: &Installation, arguments: &[&str]) -> String {
    let run = installation.leitong(&[&["tap", "--from", "beginning", "--to-end"][..], arguments].concat());
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
    run.stdout
}

/// Returns the ids of the pages that `tap` shows.
fn ids(installation: &Installation, arguments: &[&str]) -> Vec<String> {
    let lines = run_tap(installation, &[arguments, &["--json"]].concat());
    let id = |line: &str| {
        let verdict: Value = serde_json::from_str(line).expect("JSON");
        verdict["page_id"].as_str().unwrap_or("-").to_owned()
    };
    let mut ids: Vec<String> = lines.lines().map(id).collect();
    ids.sort();
    ids
}

#[test]
fn verdicts_of_both_formats_are_shown() {
    for (name, more) in [("tap", ""), ("tap-pb", "[kafka.verdicts]\nformat = \"protobuf\"\n")] {
        let installation = decided(name, more);
        let ids = |arguments: &[&str]| ids(&installation, arguments);
        assert_eq!(ids(&[]), ["a", "a2", "b", "b2", "empty", "hostile", "short"], "{name}");
        assert_eq!(ids(&["--dead-letters"]).len(), 8, "{name}");
        assert_eq!(ids(&["--limit", "2"]).len(), 2, "{name}");
        let recent = installation.leitong(&["tap", "--from", "1h", "--to-end"]);
        assert!(recent.status == 0 && recent.stdout.lines().count() == 7, "{name}: {}", recent.stderr);
        let now = installation.leitong(&["tap", "--to-end"]);
        assert!(now.status == 0 && now.stdout.is_empty() && now.stderr.contains("0 messages shown"));

        for arguments in [&["--dead-letters"][..], &["--dead-letters", "--json"]] {
            let lines = run_tap(&installation, arguments);
            assert_eq!(lines.lines().count(), 8, "{name}: {lines}");
            let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
            assert!(!lines.contains(obeyed), "{name}: {lines:?}");
            assert!(lines.contains("evil.example") && lines.contains("BROKEN_JSON"), "{name}: {lines}");
        }
        let line = run_tap(&installation, &[]);
        assert!(
            line.contains(
                "EXACT_DUPLICATE default https://c.example/1 of https://a.example/1 SAME distance=0"
            ),
            "{line}"
        );
        // No group exists.
        let groups = topics::groups(&installation.bootstrap);
        assert!(groups.iter().any(|group| group.starts_with(&installation.app)));
        assert!(!groups.contains(&format!("{}-tap", installation.app)));
    }
}

/// Starts `leitong tap` to wait for new verdicts.
fn start_tap(installation: &Installation, arguments: &[&str]) -> Child {
    let mut child = leitong()
        .arg("tap")
        .arg("--config")
        .arg(installation.config())
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("standard error"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("UTF-8");
    assert!(line.contains("reading topic"), "{line}");
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    child
}

#[test]
fn new_verdicts_are_shown_once_committed_and_the_end_is_clean() {
    let installation = Installation::new(&crate::broker::bootstrap(), "tap-live", "");
    let mut live = start_tap(&installation, &["--limit", "3", "--json"]);
    let mut interrupted = start_tap(&installation, &[]);
    // Part of a transaction that is never committed.
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", &installation.bootstrap)
        .set("transactional.id", format!("{}-other", installation.app))
        .create()
        .expect("a producer");
    let wait = *HANG_LIMIT;
    producer.init_transactions(wait).expect("answered");
    producer.begin_transaction().expect("begun");
    let value = br#"{"kind":"UNIQUE","page_id":"uncommitted"}"#;
    producer
        .send(BaseRecord::<(), _>::to(&installation.topic("verdicts")).payload(&value[..]).partition(0))
        .expect("sent");
    producer.flush(wait).expect("flushed");
    producer.abort_transaction(wait).expect("aborted");

    installation.produce(&pages()[..3]);
    let mut worker = installation.worker(&[]);
    let mut out = String::new();
    live.stdout.take().expect("standard output").read_to_string(&mut out).expect("UTF-8");
    assert_eq!(live.wait().expect("an end").code(), Some(0), "--limit ends it");
    let ids: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(ids.len() == 3 && ids.iter().all(|verdict| verdict["page_id"] != "uncommitted"), "{out}");
    assert_eq!(worker.terminate(), 0, "{}", worker.log());

    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", interrupted.id())]).status();
    assert!(sent.expect("sh starts").success());
    assert_eq!(interrupted.wait().expect("an end").code(), Some(0), "Ctrl-C is how it ends");

    // A pipe's reader that has seen enough.
    let program = leitong().get_program().to_owned();
    let piped = Command::new("bash")
        .args(["-c", "\"$0\" tap --config \"$1\" --from beginning --to-end | true; exit ${PIPESTATUS[0]}"])
        .arg(program)
        .arg(installation.config())
        .output()
        .expect("bash starts");
    assert_eq!(piped.status.code(), Some(141), "{}", String::from_utf8_lossy(&piped.stderr));
}

/// Partitions are requested not only at the start, so verdicts in later ones are shown.
#[test]
fn partitions_that_are_added_while_it_runs_are_read() {
    let installation = Installation::new(&crate::broker::bootstrap(), "tap-grows", "");
    let topic = installation.topic("verdicts");
    let verdict = |partition: i32, id: &str| {
        let value = serde_json::json!({ "kind": "UNIQUE", "page_id": id }).to_string();
        topics::produce(
            &installation.bootstrap,
            &topic,
            &[Row { partition, value: Some(value.into_bytes()), ..Row::default() }],
        );
    };
    verdict(0, "earlier");
    let mut tap = start_tap(&installation, &["--limit", "4", "--json"]);
    let out = tap.stdout.take().expect("standard output");
    let (tells, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            let shown: Value = serde_json::from_str(&line.expect("UTF-8")).expect("JSON");
            let _ = tells.send(shown["page_id"].as_str().unwrap_or("-").to_owned());
        }
    });
    let next = || told.recv_timeout(*HANG_LIMIT).expect("a line");
    verdict(0, "old");
    assert_eq!(next(), "old");
    let existing = Admin::new(&installation).partitions(&topic);
    Admin::new(&installation).add_partitions(&topic, existing + 2);
    // These verdicts are written before `tap` can have asked for new partitions. They must not be missed.
    verdict(existing as i32, "new");
    verdict(existing as i32 + 1, "newest");
    let mut both = [next(), next()];
    both.sort();
    assert_eq!(both, ["new", "newest"]);
    verdict(0, "old again");
    assert_eq!(next(), "old again", "nothing is shown twice, and old partitions are read on");
    assert_eq!(tap.wait().expect("an end").code(), Some(0));
}

#[test]
fn topics_that_cannot_be_followed_are_refused() {
    let installation = Installation::without_topics(&crate::broker::bootstrap(), "tap-none", "");
    let refused = |arguments: &[&str]| installation.leitong(&[&["tap"], arguments].concat());
    let run = refused(&["--from", "beginning"]);
    assert!(run.status == 1 && run.stderr.contains("does not exist"), "{}", run.stderr);
    for (arguments, said) in [(&["--from", "yesterday"][..], "now, beginning"), (&["--limit", "0"], "0")] {
        let run = refused(arguments);
        assert!(run.status == 2 && run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}
