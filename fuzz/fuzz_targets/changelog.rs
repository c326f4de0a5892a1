//! Restores a table from any records: the result is a table, or an error in a few words. A restored table that is
//! written and restored again is the same.
//!
//! A record is its key's length (255: the key of the position; 254: no key), its value's length (two bytes; 65535:
//! none), key, value. Run: `fuzz/run.sh 60 changelog`.
#![no_main]

mod common;

use std::sync::{Arc, LazyLock};

use common::IDENTITY;
use leitong_cluster::changelog::{ChangelogRecord, POSITION_KEY, Restoration, Restored};
use leitong_cluster::{CanonicalConfig, ClusterRules, NewCanonical, NewCentroid, Preference};
use leitong_fingerprint::Detector;
use libfuzzer_sys::fuzz_target;

static DETECTOR: LazyLock<Arc<dyn Detector>> = LazyLock::new(common::detector);

fn restoration() -> Restoration {
    let canonical = CanonicalConfig { prefer: vec![Preference::Longest], hosts: Vec::new() };
    let rules = ClusterRules { canonical, ..ClusterRules::default() };
    Restoration::new(Arc::clone(&DETECTOR), rules)
}

/// A record's key and value.
type KeyValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

fn next<'a>(data: &mut &'a [u8]) -> Option<KeyValue<'a>> {
    let [key_bytes, high, low, rest @ ..] = *data else { return None };
    let value_bytes = usize::from(*high) << 8 | usize::from(*low);
    let (key, rest) = match key_bytes {
        255 => (Some(POSITION_KEY), rest),
        254 => (None, rest),
        bytes => {
            let (key, rest) = rest.split_at(usize::from(*bytes).min(rest.len()));
            (Some(key), rest)
        }
    };
    let (value, rest) = match value_bytes {
        0xffff => (None, rest),
        bytes => {
            let (value, rest) = rest.split_at(bytes.min(rest.len()));
            (Some(value), rest)
        }
    };
    *data = rest;
    Some((key, value))
}

fuzz_target!(|data: &[u8]| {
    let mut restoration = restoration();
    let mut rest = data;
    while let Some((key, value)) = next(&mut rest) {
        if let Err(error) = restoration.take(key, value) {
            return common::assert_readable(&error.to_string());
        }
    }
    let is_empty = restoration.position().is_none();
    match restoration.finish(&IDENTITY, Some(IDENTITY.cluster_hash)) {
        Ok(_) if is_empty => {}
        Ok(restored) => check(restored),
        Err(error) => common::assert_readable(&error.to_string()),
    }
});

/// Writes the table and restores it.
fn check(restored: Restored) {
    let Restored { clusterer, watermarks, cluster_hash_since, table_id } = restored;
    let position = clusterer.position();
    let count = clusterer.centroid_count() as u64;
    let message = IDENTITY.position(&clusterer, cluster_hash_since, table_id, &watermarks);
    let message = message.expect("a table in memory does not fail");
    let first = clusterer.founded() - count;
    let mut again = restoration();
    let centroids: Vec<_> =
        clusterer.centroids().map(|(corpus, hash, centroid)| (corpus.to_owned(), hash, centroid)).collect();
    assert_eq!(centroids.len() as u64, count);
    for (number, (corpus, fingerprint_hash, centroid)) in (first..).zip(centroids.clone()) {
        let canonical = clusterer.canonical(number).expect("all are ranked");
        let log_offset = centroid.log_offset;
        let rank = Some(canonical.rank);
        let new = NewCentroid { number, corpus: corpus.into(), fingerprint_hash, centroid, rank };
        let record = new.to_record(&message, &**DETECTOR);
        again.take(Some(&record.key), Some(&record.value)).expect("what is written is read");
        if canonical.page.is_some() {
            let new = NewCanonical { number, log_offset, canonical };
            let record = new.into_record(&message);
            again.take(Some(&record.key), Some(&record.value)).expect("what is written is read");
        }
    }
    let record = ChangelogRecord::from_position(&message);
    again.take(Some(&record.key), Some(&record.value)).expect("what is written is read");
    let again = again.finish(&IDENTITY, None).expect("it is whole");
    assert_eq!(again.clusterer.position(), position);
    let same: Vec<_> = again
        .clusterer
        .centroids()
        .map(|(corpus, hash, centroid)| (corpus.to_owned(), hash, centroid))
        .collect();
    assert_eq!(same, centroids);
    for number in first..clusterer.founded() {
        assert_eq!(again.clusterer.canonical(number), clusterer.canonical(number));
    }
}
