//! The worker as an operator controls and sees it: signals, probes, metrics, secrets.

use std::time::Instant;

use crate::admin::Admin;
use crate::broker::topics::Row;
use crate::broker::worker::{Installation, Worker};
use crate::broker::{Brokers, bootstrap, pause, wait_until};
use crate::common::article;
use crate::queue::QUEUE;

fn pages(count: usize) -> Vec<Row> {
    (0..count).map(|i| Row::page((i % 3) as i32, &format!("p{i}"), &article(i % 50, 25))).collect()
}

#[test]
fn sigterm_finishes_pages_in_progress() {
    let installation = Installation::new(&bootstrap(), "signals", "");
    let rows = pages(1500);
    // Stopped several times at work; each worker continues where the last one stopped.
    for part in rows.chunks(500) {
        installation.produce(part);
        let mut worker = installation.worker(&[]);
        wait_until("verdicts", || worker.metric("leitong_verdicts_total") > 0.0);
        assert_eq!(worker.terminate(), 0, "{}", worker.log());
        assert!(worker.plain_log().contains("stopping: finishing what is in flight"));
    }
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(rows.len());
    installation.assert_exactly_once(&rows);
    // A second signal does not wait.
    worker.signal("STOP");
    worker.signal("INT");
    worker.signal("TERM");
    worker.signal("CONT");
    let status = worker.wait();
    assert!(status == 130 || status == 0, "{status}: {}", worker.log());
    let mut last = installation.worker(&[]);
    last.wait_until_ready();
    assert_eq!(last.terminate(), 0);
    installation.assert_exactly_once(&rows);
}

#[test]
fn sigterm_ends_a_worker_without_brokers() {
    let mut brokers = Brokers::start(1);
    let installation = Installation::new(&brokers.bootstrap(), "away", "");
    let rows = pages(600);
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    installation.produce(&rows[..300]);
    // The worker is at work.
    wait_until("verdicts", || worker.metric("leitong_verdicts_total") > 0.0);
    installation.produce(&rows[300..]);
    brokers.kill(0);
    // It stays alive meanwhile.
    pause(2000);
    assert!(worker.is_running() && worker.get("/livez").expect("an answer").0 == 200);
    let began = Instant::now();
    let status = worker.terminate();
    println!("ended with status {status} after {:.1} s", began.elapsed().as_secs_f64());
    // The status is 0 if nothing was in flight and no broker was needed.
    assert!(status <= 1, "{status}: {}", worker.log());
    brokers.restart(0);
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(rows.len());
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    installation.assert_exactly_once(&rows);
}

#[test]
fn rust_log_selects_log_events() {
    let installation = Installation::new(&bootstrap(), "rust-log", "");
    let log_with = |filter: &str, wanted: &str, unwanted: &str| {
        let mut worker = installation.worker_with(&["--role", "fingerprint"], &[("RUST_LOG", filter)]);
        match wanted {
            // By then it has logged its start.
            "" => wait_until("it has joined its group", || installation.has_groups()),
            wanted => worker.wait_for_log(wanted),
        }
        assert!(!worker.log().contains(unwanted), "{filter:?}: {}", worker.log());
        worker.kill();
    };
    log_with("error", "", "worker starts");
    log_with("", "worker starts", "DEBUG");
    log_with("warn,leitong_kafka=info", "worker starts", "admin port:http");
    log_with("leitong=loud", "is ignored", "DEBUG");
}

#[test]
fn probes_and_metrics_report_the_state() {
    let installation = Installation::new(&bootstrap(), "probes", "");
    let mut worker = installation.worker(&[]);
    worker.wait_for_log("admin port");
    assert_eq!(worker.get("/livez").expect("an answer").0, 200, "alive from the start");
    worker.wait_until_ready();
    installation.produce(&pages(60));
    installation.wait_for_verdicts(60);
    assert_eq!(worker.get("/nothing").expect("an answer").0, 404);
    let (_, metrics) = worker.get("/metrics").expect("an answer");
    let documented = std::fs::read_to_string("docs/metrics.md").expect("the page");
    for line in metrics.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let name = line.split(['{', ' ']).next().expect("a name");
        let base = ["_bucket", "_sum", "_count"]
            .iter()
            .fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        assert!(documented.contains(&format!("`{base}`")), "docs/metrics.md does not know {base}");
    }
    assert_eq!(worker.metric("leitong_pages_read_total"), 60.0);
    assert_eq!(worker.metric("leitong_verdicts_total"), 60.0);
    assert!(worker.metric("leitong_centroids") == 50.0, "{metrics}");
    assert!(metrics.contains("leitong_verdict_delay_seconds_bucket"), "a histogram");
    assert_eq!(worker.metric("leitong_partitions_owned") as u32, 4);
    // The state shows the same.
    let (_, state) = worker.get("/state").expect("an answer");
    let state: serde_json::Value = serde_json::from_str(&state).expect("JSON");
    assert_eq!((&state["pages_read"], &state["tables"][0]["centroids"]), (&60.into(), &50.into()), "{state}");
    // Every queue, once its client has reported.
    let queues = ["page-fetch", "page", "log-send", "log-fetch", "changelog-fetch", "transaction"];
    wait_until("all queues are shown", || {
        let (_, metrics) = worker.get("/metrics").unwrap_or_default();
        let shown =
            |name: &str, queue: &str| metrics.contains(&format!("leitong_queue_{name}{{queue=\"{queue}\""));
        queues[..4].iter().chain(&queues[5..]).all(|queue| shown("records", queue) && shown("bytes", queue))
    });
    assert_eq!(worker.terminate(), 0);
}

/// A log that somebody had compacted refused every record, while `/readyz` said `ok` and no message named the reason. A
/// limited retention of the changelog was noticed only at the next start, and a deleted verdict topic never: brokers
/// create it again.
#[test]
fn topics_that_somebody_changes_are_named() {
    let installation = Installation::new(&bootstrap(), "changed", "");
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    installation.feed(&pages(60), 60);
    let (log, changelog, verdicts) =
        (installation.topic("log"), installation.topic("centroids"), installation.topic("verdicts"));
    let admin = Admin::new(&installation);
    let large = ("max.message.bytes", "10485760");
    admin.set_topic(&log, &[("cleanup.policy", "compact"), large]);
    admin.set_topic(
        &changelog,
        &[("cleanup.policy", "delete"), ("retention.ms", "86400000"), ("retention.bytes", "-1")],
    );
    wait_until("both are counted", || worker.metric("leitong_topics_wrong") == 2.0);
    let said = worker.plain_log();
    assert!(said.contains(&format!("topic {log}: has cleanup.policy=compact, but needs delete")), "{said}");
    assert!(said.contains(&format!("topic {changelog}: has retention.ms=86400000, but needs -1")), "{said}");
    admin.set_topic(&log, &[("cleanup.policy", "delete"), large]);
    admin.set_topic(&changelog, &QUEUE);
    wait_until("both are right again", || worker.metric("leitong_topics_wrong") == 0.0);
    admin.delete_topic(&verdicts);
    wait_until("it is missing", || worker.metric("leitong_topics_wrong") == 1.0);
    assert!(worker.plain_log().contains(&format!("topic {verdicts}: does not exist; create it")));
    wait_until("it is made again", || installation.leitong(&["topics", "create"]).status == 0);
    worker.wait_for_log(&format!("topic {verdicts}: everything that was in it is gone"));
    admin.add_partitions(&log, 2);
    worker.wait_for_log(&format!("topic {log}: has 2 partitions, more than it was created with"));
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
}

#[test]
fn standby_instances_are_ready() {
    let installation = Installation::new(&bootstrap(), "standby", "");
    let workers = [(); 2].map(|()| installation.worker(&["--role", "cluster"]));
    workers.iter().for_each(|worker| worker.wait_until_ready());
    let owned = workers.iter().map(|worker| worker.metric("leitong_partitions_owned") as u32).sum::<u32>();
    assert!(owned <= 1, "one partition, one owner");
}

#[test]
fn secrets_stay_secret() {
    let secret = "hunter2-not-to-be-seen";
    let more = |properties: &str| format!("[kafka.properties]\n{properties}\n");
    let installation = Installation::without_topics(
        &bootstrap(),
        "secrets",
        &more(
            "\"security.protocol\" = \"SASL_PLAINTEXT\"\n\"sasl.mechanism\" = \"PLAIN\"\n\"sasl.username\" = \"lei\"\n\
         \"sasl.password\" = \"${LEITONG_TEST_PASSWORD}\"",
        ),
    );
    let run = |installation: &Installation| {
        let output = crate::common::leitong()
            .env("LEITONG_TEST_PASSWORD", secret)
            .env("RUST_LOG", "trace")
            .args(["run", "--check", "--config"])
            .arg(installation.config())
            .output();
        crate::common::Run::from_output(output.expect("it starts"))
    };
    // The broker does not support SASL, so this fails, without showing the password.
    let failed = run(&installation);
    assert_eq!(failed.status, 1, "{}", failed.stderr);
    installation.configure(&more("\"sasl.pasword\" = \"${LEITONG_TEST_PASSWORD}\""));
    let misspelt = run(&installation);
    assert_ne!(misspelt.status, 0);
    assert!(misspelt.stderr.contains("sasl.pasword"), "{}", misspelt.stderr);
    installation.configure(&more("\"session.timeout.ms\" = \"${LEITONG_TEST_PASSWORD}\""));
    let wrong = run(&installation);
    for run in [failed, misspelt, wrong] {
        assert!(!format!("{}{}", run.stdout, run.stderr).contains(secret), "{}", run.stderr);
    }
}

/// Two installations with one name and different topics permanently take the transactional ids from each
/// other. Both must report it and not be ready; each continues, exactly once, when the other is away.
#[test]
fn two_installations_with_one_name_report_it() {
    let first = Installation::new(&bootstrap(), "one-name", "");
    let second = Installation::new(&bootstrap(), "other-name", "");
    let text = std::fs::read_to_string(second.config()).expect("a configuration");
    let (own, taken) = (format!("app = \"{}\"", second.app), format!("app = \"{}\"", first.app));
    std::fs::write(second.config(), text.replace(&own, &taken)).expect("written");
    let workers = [&first, &second].map(|installation| installation.worker(&[]));
    let rows = pages(6000);
    let mut parts = rows.chunks(60);
    let mut written = 0;
    let says_so = |worker: &Worker| {
        let (code, why) = worker.get("/readyz").unwrap_or_default();
        code == 503 && why.contains("does a second installation have kafka.app")
    };
    wait_until("both suspect a second installation", || {
        if let Some(part) = parts.next() {
            first.produce(part);
            second.produce(part);
            written += part.len();
        }
        workers.iter().all(says_so)
    });
    let [mut one, mut two] = workers;
    assert_eq!(two.terminate(), 0, "{}", two.log());
    first.wait_for_verdicts(written);
    assert_eq!(one.terminate(), 0, "{}", one.log());
    first.assert_exactly_once(&rows[..written]);
    let mut two = second.worker(&[]);
    second.wait_for_verdicts(written);
    assert_eq!(two.terminate(), 0, "{}", two.log());
    second.assert_exactly_once(&rows[..written]);
}
