//! The table is rebuilt from the broker alone; an inconsistent state is refused or handled, and never
//! silently started again.

use leitong_base::proto;
use prost::Message;

use crate::admin::Admin;
use crate::broker::topics::{self, Row};
use crate::broker::worker::{Installation, Worker};
use crate::broker::{bootstrap, wait_until};
use crate::common::article;
use crate::queue::QUEUE;

const ONE_PARTITION: &str = "[kafka.create]\npage_partitions = 1\n";

pub(crate) fn pages(from: usize, to: usize, texts: usize) -> Vec<Row> {
    (from..to).map(|i| Row::page(0, &format!("p{i}"), &article(i * 7 % texts, 25))).collect()
}

/// Lets a worker drain all of `rows`, some of which are new.
pub(crate) fn drain(installation: &Installation, rows: &[Row], new: &[Row], arguments: &[&str]) {
    installation.produce(new);
    let mut worker = installation.worker(arguments);
    installation.wait_for_verdicts(rows.len());
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
}

/// Checks that a worker stays alive without serving, and says why.
#[track_caller]
pub(crate) fn assert_halted(worker: &mut Worker, why: &str) {
    wait_until(format_args!("{why:?} in /readyz:\n{}", worker.latest()), || {
        worker.get("/readyz").is_some_and(|(status, body)| status == 503 && body.contains(why))
    });
    assert_eq!(worker.get("/livez").expect("an answer").0, 200);
    // An inconsistent changelog is read again first.
    wait_until("it is halted", || worker.metric("leitong_partition_halted") > 0.0);
    assert!(worker.plain_log().contains(why));
    assert_eq!(worker.terminate(), 0);
}

/// Checks that `leitong run` ends at once with status 1 and says why; returns its output.
#[track_caller]
fn assert_refused(installation: &Installation, why: &[&str]) -> String {
    let mut worker = installation.worker(&[]);
    assert_eq!(worker.wait(), 1, "{}", worker.log());
    let log = worker.plain_log();
    for why in why {
        assert!(log.contains(why), "{why:?} in:\n{log}");
    }
    log
}

#[test]
fn offsets_that_disagree_are_refused_and_expired_ones_replaced() {
    let installation = Installation::new(&bootstrap(), "offsets", ONE_PARTITION);
    let rows = pages(0, 120, 30);
    drain(&installation, &rows[..40], &rows[..40], &[]);
    let (admin, group) = (Admin::new(&installation), format!("{}-cluster", installation.app));

    // The group's offset has expired: the position record replaces it.
    admin.delete_group(&group);
    drain(&installation, &rows[..80], &rows[40..80], &[]);

    // Somebody has reset the group's offset.
    let log = installation.topic("log");
    admin.set_offset(&group, &log, 10);
    installation.produce(&rows[80..]);
    assert_halted(
        &mut installation.worker(&[]),
        "the group has committed offset 10 of the log and the changelog says",
    );
    assert_eq!(installation.verdicts().len(), 80, "nothing was started again");
    let changelog = topics::read_all(&installation.bootstrap, &installation.topic("centroids"));
    let position =
        changelog.iter().rfind(|record| record.key.as_deref() == Some(b"position")).expect("a position");
    let position = proto::Position::decode(position.value.as_deref().expect("a value")).expect("a position");
    admin.set_offset(&group, &log, position.next_log_offset as i64);
    drain(&installation, &rows, &[], &[]);
    installation.assert_exactly_once(&rows);

    // The changelog is gone.
    let name = installation.topic("centroids");
    admin.delete_topic(&name);
    admin.create_topic(&name, 1, &QUEUE);
    assert_halted(&mut installation.worker(&[]), "the changelog is empty: the centroid table is lost");
    assert_eq!(installation.verdicts().len(), 120);
}

#[test]
fn changed_topics_are_refused_and_named() {
    let installation = Installation::without_topics(&bootstrap(), "topics", ONE_PARTITION);
    let check = installation.leitong(&["run", "--check"]);
    assert_eq!((check.status, check.stdout.matches("does not exist").count()), (1, 5), "{}", check.stdout);
    assert_refused(
        &installation,
        &[
            "some topics are not configured as required",
            "does not exist; create it with `leitong topics create`",
        ],
    );

    let create = || installation.leitong(&["topics", "create"]);
    let made = create();
    assert_eq!((made.status, made.stdout.matches("created topic").count()), (0, 5), "{}", made.stdout);
    let again = create();
    assert_eq!((again.status, again.stdout.matches("created topic").count()), (0, 0), "idempotent");
    assert_eq!(installation.leitong(&["run", "--check"]).status, 0);
    let rows = pages(0, 20, 10);
    drain(&installation, &rows, &rows, &[]);

    // Another clean-up policy, limited retention, and too small messages.
    let (admin, changelog, log) =
        (Admin::new(&installation), installation.topic("centroids"), installation.topic("log"));
    admin.set_topic(&changelog, &[("cleanup.policy", "compact")]);
    admin.set_topic(&log, &[("cleanup.policy", "compact"), ("max.message.bytes", "1000")]);
    let check = installation.leitong(&["run", "--check"]);
    assert_eq!(check.status, 1);
    let differences = [
        format!("topic {log}: has cleanup.policy=compact, but needs delete"),
        format!("topic {changelog}: has cleanup.policy=compact, but needs delete"),
        format!("topic {changelog}: has retention.ms=604800000, but needs -1"),
        format!("topic {log}: has max.message.bytes=1000, but needs at least 10485760"),
    ];
    for difference in &differences {
        assert!(check.stdout.contains(difference), "{}", check.stdout);
    }
    assert_refused(&installation, &differences.each_ref().map(String::as_str));
    admin.set_topic(&changelog, &QUEUE);
    admin.set_topic(&log, &[("cleanup.policy", "delete"), ("max.message.bytes", "10485760")]);

    // More partitions of the log than the table was made with.
    installation.configure("[kafka.create]\npage_partitions = 1\nlog_partitions = 2\n");
    assert_refused(&installation, &["has 1 partitions, but kafka.create.log_partitions = 2"]);
    [&log, &changelog].iter().for_each(|topic| admin.add_partitions(topic, 2));
    wait_until("the new partitions are known", || {
        !installation.leitong(&["run", "--check"]).stdout.contains("has 1 partitions")
    });
    assert_refused(
        &installation,
        &["the table was made with 1 partitions of the log, but the log has 2 now"],
    );
    assert_eq!(installation.verdicts().len(), 20);
}

#[test]
fn other_settings_of_clustering_are_refused_until_accepted() {
    let installation = Installation::new(&bootstrap(), "accept", ONE_PARTITION);
    let rows = pages(0, 40, 10);
    drain(&installation, &rows[..20], &rows[..20], &[]);
    installation.configure(&format!("[expiry]\ncentroids_max = 3\n{ONE_PARTITION}"));
    let log =
        assert_refused(&installation, &["the settings of clustering have changed", "--accept-cluster-hash"]);
    let hash =
        log.split("--accept-cluster-hash ").nth(1).expect("a hint").get(..16).expect("a hash").to_owned();
    drain(&installation, &rows, &rows[20..], &["--accept-cluster-hash", &hash]);
    // The acceptance is recorded: the next start needs no option.
    let mut worker = installation.worker(&[]);
    worker.wait_until_ready();
    assert_eq!(worker.metric("leitong_restored_centroids"), 3.0);
    assert_eq!(worker.terminate(), 0);
    let verdicts = installation.verdicts();
    let changed: Vec<bool> = verdicts.iter().map(|verdict| verdict["cluster_hash"] == *hash).collect();
    assert_eq!(changed.iter().position(|changed| *changed), Some(20), "from a position of the log on");
    assert!(changed[20..].iter().all(|changed| *changed));
}

#[test]
fn another_installation_at_the_same_topics_is_refused() {
    let installation = Installation::new(&bootstrap(), "first", ONE_PARTITION);
    let rows = pages(0, 20, 10);
    drain(&installation, &rows, &rows, &[]);
    let name = format!("app = \"{}\"", installation.app);
    let text = std::fs::read_to_string(installation.config()).expect("a configuration");
    std::fs::write(installation.config(), text.replace(&name, "app = \"second\"")).expect("written");
    assert_refused(&installation, &["the changelog was written under another kafka.app"]);
    std::fs::write(installation.config(), text).expect("written");
    drain(&installation, &rows, &[], &[]);
    installation.assert_exactly_once(&rows);
}

#[test]
fn another_way_to_corpora_is_refused_until_accepted() {
    let two = |by: &str| {
        format!("[corpus]\nby = \"{by}\"\n[kafka.create]\npage_partitions = 1\nlog_partitions = 2\n")
    };
    let installation = Installation::new(&bootstrap(), "corpora", &two("host"));
    let rows: Vec<Row> = (0..40)
        .map(|i| {
            let page = serde_json::json!({ "id": format!("p{i}"), "url": format!("http://host{}/", i % 5), "text": article(i, 25) });
            Row { value: Some(page.to_string().into_bytes()), ..Row::default() }
        })
        .collect();
    drain(&installation, &rows[..20], &rows[..20], &[]);
    installation.configure(&two("all"));
    assert_refused(&installation, &["the settings corpus.* have changed", "--accept-corpus-change"]);
    assert_eq!(installation.verdicts().len(), 20);
    // An accepted change is recorded at once, before any page; then the old settings are refused.
    let mut worker = installation.worker(&["--accept-corpus-change"]);
    worker.wait_until_ready();
    assert_eq!(worker.terminate(), 0);
    installation.configure(&two("host"));
    assert_refused(&installation, &["the settings corpus.* have changed"]);
    installation.configure(&two("all"));
    drain(&installation, &rows, &rows[20..], &[]);
    installation.assert_exactly_once(&rows);
}

#[test]
fn newer_formats_stop_the_partition() {
    let installation = Installation::new(&bootstrap(), "newer", ONE_PARTITION);
    let rows = pages(0, 10, 10);
    drain(&installation, &rows, &rows, &[]);
    let newer = proto::FingerprintRecord { format_version: 99, ..proto::FingerprintRecord::default() };
    let (log, changelog) = (installation.topic("log"), installation.topic("centroids"));
    let row = |key: Option<&[u8]>, value| Row {
        key: key.map(<[u8]>::to_vec),
        value: Some(value),
        ..Row::default()
    };
    topics::produce(&installation.bootstrap, &log, &[row(None, newer.encode_to_vec())]);
    assert_halted(&mut installation.worker(&[]), "format version 99 is newer than 1");
    let position = proto::Position { format_version: 99, ..proto::Position::default() };
    topics::produce(&installation.bootstrap, &changelog, &[row(Some(b"position"), position.encode_to_vec())]);
    assert_halted(&mut installation.worker(&[]), "the changelog holds format version 99");
    assert_eq!(installation.verdicts().len(), 10);
}

#[test]
fn deleted_records_are_refused_until_accepted() {
    let installation = Installation::new(&bootstrap(), "retention", ONE_PARTITION);
    let rows = pages(0, 60, 10);
    drain(&installation, &rows[..20], &rows[..20], &[]);
    // Twenty pages are fingerprinted, and their records deleted before an owner sees them.
    installation.produce(&rows[20..40]);
    let mut fingerprint = installation.worker(&["--role", "fingerprint"]);
    let log = installation.topic("log");
    wait_until("the log has them", || topics::read_all(&installation.bootstrap, &log).len() == 40);
    assert_eq!(fingerprint.terminate(), 0);
    Admin::new(&installation).delete_records(&log, 30);
    assert_halted(&mut installation.worker(&[]), "were deleted by retention before they were clustered");
    let replay = installation.replay(&[]);
    assert_eq!(replay.status, 0);
    assert!(
        replay.stderr.contains("begins at offset 30") && replay.stderr.contains("verdicts differ"),
        "{}",
        replay.stderr
    );

    installation.produce(&rows[40..]);
    let mut worker = installation.worker(&["--accept-lost-records"]);
    installation.wait_for_verdicts(50);
    assert_eq!(worker.terminate(), 0);
    assert_eq!(installation.verdicts().len(), 50);
    // The acceptance is recorded.
    let worker = installation.worker(&[]);
    worker.wait_until_ready();
}

#[test]
fn a_replaced_page_topic_is_refused_until_the_epoch_is_raised() {
    let installation = Installation::new(&bootstrap(), "replaced", ONE_PARTITION);
    let rows = pages(0, 20, 10);
    drain(&installation, &rows, &rows, &[]);
    let (admin, topic) = (Admin::new(&installation), installation.topic("pages"));
    admin.delete_topic(&topic);
    admin.create_topic(&topic, 1, &[]);
    installation.produce(&rows[..5]);
    // Brokers forget a group's offsets with the topic, so its pages are read from the first one on.
    assert_halted(&mut installation.worker(&[]), "was deleted and created again");
    assert_eq!(installation.verdicts().len(), 20, "nothing is taken for a repetition");

    let config = std::fs::read_to_string(installation.config()).expect("a configuration");
    std::fs::write(installation.config(), config.replacen("[kafka]\n", "[kafka]\nepoch = 1\n", 1))
        .expect("written");
    let mut worker = installation.worker(&[]);
    installation.wait_for_verdicts(25);
    assert_eq!(worker.terminate(), 0);
    let verdicts = installation.verdicts();
    assert_eq!((verdicts.len(), &verdicts[24]["source"]["epoch"]), (25, &1.into()));
    assert!(
        verdicts[20..].iter().all(|v| v["kind"] == "EXACT_DUPLICATE" && v["same_url"] == true),
        "crawled again"
    );
}

#[test]
fn replay_begins_at_a_saved_table() {
    let installation = Installation::new(&bootstrap(), "replay", ONE_PARTITION);
    let rows = pages(0, 60, 40);
    drain(&installation, &rows, &rows, &[]);
    let folder = installation.folder.path().join("tables");
    let folder = folder.to_str().expect("UTF-8");
    let whole = installation.replay(&[]);
    let first = installation.replay(&["--until", "30", "--save-table", folder]);
    // Without `table.on_disk`, another table was replaced.
    let again = installation.replay(&["--until", "20", "--save-table", folder]);
    assert!(
        again.status == 1 && again.stderr.contains("the folder already has a table of partition 0"),
        "{}",
        again.stderr
    );
    let second = installation.replay(&["--table", folder]);
    let verdicts = [first.verdicts(), second.verdicts()].concat();
    assert_eq!(verdicts.len(), 60);
    let stable_fields = |verdicts: Vec<serde_json::Value>| {
        verdicts.iter().map(crate::common::stable_fields).collect::<Vec<_>>()
    };
    crate::common::assert_same("in two parts", &stable_fields(whole.verdicts()), &stable_fields(verdicts));
    // The same with old centroids in files of the tables' folder, which stay there.
    installation.configure(&format!("[table]\non_disk = true\nblock_centroids = 32\n{ONE_PARTITION}"));
    let blocks = installation.folder.path().join("blocks");
    let blocks = blocks.to_str().expect("UTF-8");
    let first = installation.replay(&["--until", "45", "--save-table", blocks]);
    let again = installation.replay(&["--until", "45", "--save-table", blocks]);
    assert!(
        again.status == 1 && again.stderr.contains("the folder already has a table of partition 0"),
        "{}",
        again.stderr
    );
    let apart = installation.replay(&["--table", blocks, "--save-table", folder]);
    assert!(apart.status == 2 && apart.stderr.contains("must be the same"), "{}", apart.stderr);
    let second = installation.replay(&["--table", blocks, "--save-table", blocks]);
    let verdicts = [first.verdicts(), second.verdicts()].concat();
    crate::common::assert_same("from blocks", &stable_fields(whole.verdicts()), &stable_fields(verdicts));
    let files = std::fs::read_dir(installation.folder.path().join("blocks/partition-0")).expect("a folder");
    assert!(files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("centroids-0")));
    // With other settings downstream of the log.
    installation.configure(&format!("[expiry]\ncentroids_max = 1\n{ONE_PARTITION}"));
    let strict = installation.replay(&[]);
    let unique = |run: &crate::common::Run| run.verdicts().iter().filter(|v| v["kind"] == "UNIQUE").count();
    assert!(unique(&strict) > unique(&whole), "a centroid is forgotten at once");
    assert_eq!(strict.verdicts().len(), 60);
}
