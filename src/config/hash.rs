//! The two hashes that keep what must not meet apart.

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::{Config, CorpusBy};
use crate::fingerprint::Detector;
use crate::fingerprint::secret::Secret;
use crate::segment::{self, Lexicons};
use crate::{decode, extract};

/// Of everything upstream of the log that can change a fingerprint or digest: settings,
/// contents of dictionaries and stop words, versions of the algorithms; and of the
/// secret, which it does not reveal. Threads, paths and limits are no part of it.
#[must_use]
pub fn fingerprint_hash(
    config: &Config,
    lexicons: &Lexicons,
    detector: &dyn Detector,
    secret: Option<&Secret>,
) -> u64 {
    let mut settings = json!({
        "decode": decode::VERSION,
        "extract": {
            "version": extract::VERSION,
            "comments": config.extract.comments,
            "walls": config.extract.walls,
            "listings": config.extract.listings,
        },
        "segment": {
            "version": segment::VERSION,
            "fold_script": config.segment.fold_script,
            "hmm": config.segment.hmm,
            "stop_word_languages": config.segment.stop_word_languages,
            "stop_words": xxh3_64(lexicons.stop_words.as_bytes()),
            "user_dictionary": xxh3_64(lexicons.user_dictionary.as_bytes()),
        },
        "detector": detector.name(),
        "settings": detector.fingerprint_settings(),
    });
    // Left out without a secret, so that tables from before there were secrets go on.
    if let (Some(secret), Some(settings)) = (secret, settings.as_object_mut()) {
        settings.insert("secret".into(), secret.id().into());
    }
    hash(&settings)
}

/// Of everything downstream of the log that can change a decision.
#[must_use]
pub fn cluster_hash(config: &Config, detector: &dyn Detector) -> u64 {
    let mut settings = json!({
        "detector": detector.name(),
        "near": detector.near_settings(),
        "expiry": config.expiry,
    });
    // Left out where founders stand for their clusters, as they did in all older tables.
    if let (false, Some(settings)) = (config.canonical.is_first(), settings.as_object_mut()) {
        settings.insert("canonical".into(), json!(config.canonical));
    }
    // Left out where pages are not known again, as in all older tables.
    if let (true, Some(settings)) = (config.recrawls.enabled, settings.as_object_mut()) {
        settings.insert("recrawls".into(), json!(config.recrawls));
    }
    hash(&settings)
}

/// Hash of the settings that say which corpus a page belongs to, and so to which partition of the log it goes.
#[must_use]
pub fn corpus_hash(config: &Config) -> u64 {
    let header = Some(&config.corpus.header).filter(|_| config.corpus.by == CorpusBy::Header);
    hash(&json!({ "by": config.corpus.by, "header": header }))
}

/// Hash of the settings that say how records become pages. With others, a run of `dedup` over the same
/// inputs is another run.
#[must_use]
pub fn reading_hash(config: &Config) -> u64 {
    hash(&json!({ "input": config.input, "page": config.page, "corpus": config.corpus }))
}

/// XXH3-64 of the JSON text with sorted keys, so that the
/// order of fields in a type does not matter.
fn hash(settings: &Value) -> u64 {
    let mut settings = settings.clone();
    settings.sort_all_objects();
    xxh3_64(settings.to_string().as_bytes())
}
