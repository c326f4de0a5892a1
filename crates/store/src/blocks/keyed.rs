//! The keys of a fingerprint, as they are stored on disk.
//!
//! One run has keys of several corpora. Each key is mixed with a number that depends only on the corpus' name
//! and fingerprint hash, so keys of two corpora are seldom equal. If two are equal, a look-up still tells
//! them apart, because it compares the corpora. Keys are spread over all 64 bits, since filters and pages are
//! chosen by their first bits. The last bit shows if the key is [wide](SecondKey::WIDE).

use xxhash_rust::xxh3::xxh3_64_with_seed;

use leitong_base::mix::mix;
use leitong_cluster::{Purpose, Query};
use leitong_fingerprint::{Detector, SecondKey};

/// The keys of a fingerprint, and its second key, which is 0 if there is none.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) keys: Vec<u64>,
    pub(super) second: u64,
}

/// Returns true if this is a wide key.
pub(super) fn is_wide(key: u64) -> bool {
    key & 1 == 1
}

/// Returns the key on disk for centroids whose text has this [key](leitong_cluster::SeenText::key_of).
/// Authors of pages do not know the table's id, so they cannot make many texts that share one key on disk.
pub(super) fn key_of_text(table_id: u64, key: u128) -> u64 {
    mix(key as u64 ^ mix((key >> 64) as u64 ^ mix(table_id))) & !1
}

/// Returns the keys of this fingerprint, each once; no keys if there is no fingerprint.
pub(super) fn keys_of(detector: &dyn Detector, query: Option<&Query<'_>>, purpose: Purpose) -> Keys {
    let Some(Query { corpus, fingerprint_hash, fingerprint }) = query else { return Keys::default() };
    let mut keys = Vec::new();
    match purpose {
        Purpose::Insert => detector.insert_keys(fingerprint, &mut keys),
        Purpose::Probe => detector.probe_keys(fingerprint, &mut keys),
        Purpose::ProbeEqual => keys.extend(detector.equal_key(fingerprint)),
    }
    let of_corpus = xxh3_64_with_seed(corpus.as_bytes(), *fingerprint_hash);
    keys.iter_mut()
        .for_each(|key| *key = mix(*key ^ of_corpus) & !1 | u64::from(*key & SecondKey::WIDE != 0));
    keys.sort_unstable();
    keys.dedup();
    Keys { keys, second: detector.second_key().map_or(0, |second| (second.of)(fingerprint)) }
}
