//! Measures how fast a table is restored.

use std::sync::Arc;
use std::time::Duration;

use leitong::config::Config;
use leitong::pipeline::FingerprintStage;
use leitong_base::proto;
use leitong_cluster::changelog::{ChangelogRecord, Identity};
use leitong_cluster::log::{TopicIds, Watermarks};
use leitong_cluster::{Centroid, ClusterRules, Clusterer, NewCentroid, Position};
use rdkafka::producer::Producer;

use crate::broker::topics::{self, Row};
use crate::broker::worker::Installation;
use crate::broker::{bootstrap, pause, wait_until};
use crate::{cpu_seconds, median};

/// Number of centroids in the restored tables, unless the environment sets it.
const CENTROIDS: u64 = 1_000_000;

fn centroids() -> u64 {
    let count = std::env::var("LEITONG_BENCH_CENTROIDS").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(CENTROIDS)
}

/// Returns an installation whose changelog holds this many centroids of pages that are no longer in the log.
pub(crate) fn filled(name: &str, more: &str) -> Installation {
    let more = format!("{more}[kafka.create]\npage_partitions = 3\n");
    let installation = Installation::new(&bootstrap(), name, &more);
    let config = Config::default();
    let stage = FingerprintStage::new(config.clone()).expect("the default settings");
    let detector = stage.detector();
    let length =
        (1..1000).find(|length| detector.is_fingerprint(&vec![7; *length])).expect("some length is right");
    let producer = topics::producer(&installation.bootstrap);
    let (log, topic) = (installation.topic("log"), installation.topic("centroids"));
    let mut state = 1_u64;
    let count = centroids();
    for log_offset in 0..count {
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        let mut fingerprint: Vec<u8> = (0..length).map(|_| random()).collect();
        // Hardly any page is a part of a paged article
        // (crates/fingerprint/src/detectors/simhash/encoding.rs).
        fingerprint[74..77].fill(0);
        let centroid = Centroid {
            log_offset,
            log_time: None,
            fingerprint: fingerprint.into(),
            text_digest: u128::from(log_offset),
            page_id: format!("{:032x}", u128::from(log_offset).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into(),
            url: format!("https://news.example.com/articles/2026/11/{log_offset}.html").into(),
        };
        let new = NewCentroid {
            number: log_offset,
            corpus: "default".into(),
            fingerprint_hash: stage.fingerprint_hash(),
            centroid,
            rank: None,
        };
        let table = proto::Position { log_generation: 1, ..proto::Position::default() };
        let record = new.to_record(&table, &**detector);
        topics::send(&producer, &log, &Row { value: Some(vec![0]), ..Row::default() });
        topics::send(
            &producer,
            &topic,
            &Row { key: Some(record.key), value: Some(record.value), ..Row::default() },
        );
    }
    let identity = Identity {
        log_partition: 0,
        log_partition_count: 1,
        fingerprint_hash: stage.fingerprint_hash(),
        cluster_hash: config.table_settings(detector, stage.fingerprint_hash()).cluster_hash,
        corpus_hash: 0,
        app_hash: 0,
        topic_ids: TopicIds::default(),
    };
    let position = Position { log_generation: 1, next_log_offset: count, ..Position::default() };
    let expiry = config.expiry.clone();
    let mut clusterer = Clusterer::new(Arc::clone(detector), ClusterRules::expiry_only(expiry), position);
    clusterer.begin_at(count);
    let message = identity.position(&clusterer, 0, Some(1), &Watermarks::default());
    let message = message.expect("in memory");
    let message = proto::Position { centroid_count: count, oldest_log_offset: Some(0), ..message };
    let record = ChangelogRecord::from_position(&message);
    topics::send(
        &producer,
        &topic,
        &Row { key: Some(record.key), value: Some(record.value), ..Row::default() },
    );
    producer.flush(Duration::from_secs(120)).expect("delivered");
    installation
}

/// Measures how fast a table is restored.
pub(crate) fn restore() {
    let empty = Installation::new(&bootstrap(), "empty", "[kafka.create]\npage_partitions = 3\n");
    let worker = empty.worker(&["--role", "cluster"]);
    worker.wait_until_ready();
    let without = worker.resident_bytes();
    drop(worker);
    let installation = filled("restore", "");
    let mut rates = Vec::new();
    let mut memory = 0;
    for _ in 0..3 {
        let mut worker = installation.worker(&["--role", "cluster"]);
        worker.wait_for_log("worker starts");
        let before = cpu_seconds(&worker.pid().to_string());
        worker.wait_until_ready();
        let cpu = cpu_seconds(&worker.pid().to_string()) - before;
        let seconds = worker.metric("leitong_restore_seconds");
        let count = centroids();
        assert_eq!(worker.metric("leitong_restored_centroids"), count as f64);
        println!("restore: {count} centroids in {seconds:.2} s, {cpu:.2} s of CPU");
        rates.push(count as f64 / cpu / 1e6);
        memory = worker.resident_bytes();
        assert_eq!(worker.terminate(), 0);
    }
    println!(
        "restore: {:.2} M centroids per second and core; {} bytes resident per centroid, and {} MiB without any\n",
        median(&mut rates),
        (memory - without) / centroids(),
        without >> 20
    );
}

/// Measures how soon a table with old centroids on disk is ready: from the changelog, and from its blocks.
pub(crate) fn restore_blocks() {
    let more = "[table]\non_disk = true\n[kafka.snapshots]\ndir = \"tables\"\n";
    let installation = filled("restore-blocks", more);
    let count = centroids();
    for source in ["changelog", "snapshot", "snapshot", "snapshot"] {
        let mut worker = installation.worker(&["--role", "cluster"]);
        worker.wait_until_ready();
        assert!(worker.plain_log().contains(&format!("from={source}")), "{}", worker.plain_log());
        assert_eq!(worker.metric("leitong_restored_centroids"), count as f64);
        // The last blocks are written and merged in the meantime.
        wait_until("the blocks are saved", || {
            count as f64 - worker.metric("leitong_disk_centroids") < f64::from(1 << 18)
                || source == "snapshot"
        });
        println!(
            "restore-blocks: {count} centroids from {} in {:.2} s: {} records read, {} on disk, {} MiB resident",
            if source == "snapshot" { "blocks" } else { "the changelog" },
            worker.metric("leitong_restore_seconds"),
            worker.metric("leitong_restored_records"),
            worker.metric("leitong_disk_centroids"),
            worker.resident_bytes() >> 20
        );
        // Lets merges end and their results be saved.
        pause(5_000);
        worker.kill();
    }
}
