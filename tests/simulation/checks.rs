//! The final checks: one outcome per page, and the outcomes that follow from the log.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::brokers::{Brokers, Status, Topic};
use crate::worker::log_partition::{LogPartition, RecordOutcome};
use leitong_base::record::{Place, Timestamp};
use leitong_cluster::changelog::{Identity, Restored};
use leitong_cluster::log::{Entry, LogPlace, TopicIds, Watermarks};
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{
    CanonicalConfig, ClusterRules, Clusterer, ExpiryConfig, Position, Preference, RecrawlsConfig,
};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_pipeline::ClusterStage;
use leitong_pipeline::config::Config;

/// Partition and offset of a page.
type Source = (u64, u64);

pub(crate) fn detector() -> Arc<dyn Detector> {
    static DETECTOR: OnceLock<Arc<dyn Detector>> = OnceLock::new();
    Arc::clone(DETECTOR.get_or_init(|| Arc::new(SimHash::new(&Config::default().simhash))))
}

/// Returns rules with few centroids, some of which expire, by which pages replace canonical ones. With tables on disk,
/// there are enough centroids for blocks, founders represent their clusters, and recrawls are not recognised.
pub(crate) fn rules(on_disk: bool) -> ClusterRules {
    let expiry = ExpiryConfig { max_age_days: Some(9), centroids_max: if on_disk { 45 } else { 12 } };
    let prefer = if on_disk { Vec::new() } else { vec![Preference::Longest] };
    ClusterRules {
        expiry,
        canonical: CanonicalConfig { prefer, hosts: Vec::new() },
        recrawls: RecrawlsConfig { enabled: !on_disk, pages_max: 60 },
    }
}

/// Compares what consumers see with the log and with `pages`, the offsets of each source partition.
pub(crate) fn check(
    brokers: &mut Brokers,
    log_partitions: u32,
    pages: &[Vec<u64>],
    rules: &ClusterRules,
) -> Result<(), String> {
    let seen = outcomes(brokers)?;
    let mut expected = BTreeMap::new();
    for partition in 0..log_partitions {
        expected.extend(replay(brokers, partition, log_partitions, rules));
    }
    for (partition, offsets) in pages.iter().enumerate() {
        for offset in offsets {
            let source = (partition as u64, *offset);
            let found = seen.get(&source).map_or(&[][..], Vec::as_slice);
            if found.len() != 1 {
                return Err(format!("page {partition}@{offset} has {} outcomes: {found:?}", found.len()));
            }
            if Some(&found[0]) != expected.get(&source) {
                let expected = expected.get(&source);
                return Err(format!(
                    "page {partition}@{offset}: {} where the log gives {expected:?}",
                    found[0]
                ));
            }
        }
    }
    let count: usize = pages.iter().map(Vec::len).sum();
    if seen.len() == count { Ok(()) } else { Err(format!("{} outcomes for {count} pages", seen.len())) }
}

/// Returns the verdicts and dead letters that a `read_committed` consumer sees, by page.
fn outcomes(brokers: &Brokers) -> Result<BTreeMap<Source, Vec<String>>, String> {
    let mut seen: BTreeMap<Source, Vec<String>> = BTreeMap::new();
    for ((topic, _), partition) in &brokers.partitions {
        for record in partition.records.iter().filter(|record| record.status == Status::Committed) {
            let (source, outcome) = match topic {
                Topic::Verdicts => {
                    let value = record.value.as_deref().unwrap_or_default();
                    let verdict: Value =
                        serde_json::from_slice(value).map_err(|error| format!("a verdict: {error}"))?;
                    let number = |name: &str| verdict["source"][name].as_u64().unwrap_or(u64::MAX);
                    let source = (number("partition"), number("offset"));
                    (source, stable_fields(&verdict))
                }
                Topic::DeadLetters => {
                    let key = String::from_utf8_lossy(record.key.as_deref().unwrap_or_default());
                    let mut numbers = key.split('@').map(|number| number.parse().unwrap_or(u64::MAX));
                    let mut next = || numbers.next().unwrap_or(u64::MAX);
                    ((next(), next()), "dead letter".to_owned())
                }
                Topic::Log | Topic::Centroids => continue,
            };
            seen.entry(source).or_default().push(outcome);
        }
    }
    Ok(seen)
}

/// Returns the fields of a verdict that are a function of the log, without fields that depend on earlier ids.
fn stable_fields(verdict: &Value) -> String {
    let text = |name: &str| verdict[name].as_str().unwrap_or_default().to_owned();
    let mut recrawl = verdict["recrawl"].clone();
    if let Some(left) = recrawl["left_cluster_id"].as_str() {
        // Without the log's name, which depends on the topic's name.
        recrawl["left_cluster_id"] = left[8..].into();
    }
    format!("{} of {}, {recrawl}", text("kind"), text("canonical_page_id"))
}

/// Returns a partition from which nothing has been read.
pub(crate) fn empty(log_partition: u32, log_partitions: u32, rules: &ClusterRules) -> LogPartition {
    let identity = Identity {
        log_partition,
        log_partition_count: log_partitions,
        fingerprint_hash: 1,
        cluster_hash: 2,
        corpus_hash: 3,
        app_hash: 4,
        topic_ids: TopicIds::default(),
    };
    let position = Position { log_partition, ..Position::default() };
    let clusterer = Clusterer::new(detector(), rules.clone(), position);
    let watermarks = Watermarks::default();
    let restored = Restored { clusterer, watermarks, cluster_hash_since: 0, table_id: None };
    LogPartition::new(restored, identity, "log".into(), |clusterer| {
        ClusterStage::new(clusterer, detector(), 2)
    })
}

/// Replays a log record by record, and returns the outcomes.
fn replay(
    brokers: &mut Brokers,
    log_partition: u32,
    log_partitions: u32,
    rules: &ClusterRules,
) -> BTreeMap<Source, String> {
    let mut state = empty(log_partition, log_partitions, rules);
    let now = Timestamp::from_ms(0).expect("a time");
    let mut outcomes = BTreeMap::new();
    for record in &brokers.partition(Topic::Log, log_partition).records {
        let place = LogPlace { offset: record.offset, timestamp_ms: Some(record.timestamp_ms) };
        let entry = Entry::decode(record.value.as_deref().unwrap_or_default(), &*detector());
        for outcome in state.decide_batch(vec![(place, entry)], 0, now).expect("in memory").outcomes {
            let RecordOutcome::Decided(conclusion) = outcome else { continue };
            let (place, outcome) = match conclusion {
                Conclusion::Verdict(verdict) => {
                    let json = serde_json::to_value(&verdict).expect("a verdict is JSON");
                    (verdict.source.clone(), stable_fields(&json))
                }
                Conclusion::DeadLetter(letter) => (letter.source.clone(), "dead letter".to_owned()),
            };
            let Place::Message { partition, offset, .. } = place else { panic!("pages come from a topic") };
            outcomes.insert((u64::from(partition), offset), outcome);
        }
    }
    outcomes
}
