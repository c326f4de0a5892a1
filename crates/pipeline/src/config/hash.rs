//! The hashes of settings. By comparing them, Leitong keeps data apart if it was made with different
//! settings.
//!
//! Pages with different fingerprint hashes are never compared. A table is used only with the cluster hash
//! that it was made with. If the corpus hash differs, pages go to other partitions; if the reading hash differs,
//! inputs are read in another way. A new setting is left out of a hash while it is at its default, so tables that
//! are older than the setting stay valid.

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::{Config, CorpusBy, PageConfig};
use leitong_fingerprint::Detector;
use leitong_fingerprint::secret::Secret;
use leitong_text::segment::{self, Lexicons};
use leitong_text::{decode, extract};

/// Returns a hash of everything before the log that can change a fingerprint or digest, or decides whether a page has
/// one: settings, contents of dictionaries and stop words, versions of the algorithms, and the secret, which the
/// hash does not reveal. Threads, paths and limits are not part of it.
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
            // The former name of the setting. Another one would change every hash.
            "walls": config.extract.page_kinds,
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
    if let Some(settings) = settings.as_object_mut() {
        // Each of these is left out at its default, so tables that are older than it stay valid.
        if config.page.text_chars_min != PageConfig::default().text_chars_min {
            settings.insert("text_chars_min".into(), config.page.text_chars_min.into());
        }
        if let Some(secret) = secret {
            settings.insert("secret".into(), secret.id().into());
        }
    }
    hash(&settings)
}

/// Returns a hash of everything after the log that can change a decision.
#[must_use]
pub fn cluster_hash(config: &Config, detector: &dyn Detector) -> u64 {
    let mut settings = json!({
        "detector": detector.name(),
        "near": detector.near_settings(),
        "expiry": config.expiry,
    });
    // Left out if founders are the canonical pages, as in all older tables.
    if let (false, Some(settings)) = (config.canonical.is_first(), settings.as_object_mut()) {
        settings.insert("canonical".into(), json!(config.canonical));
    }
    // Left out if recrawls are off, as in all older tables.
    if let (true, Some(settings)) = (config.recrawls.enabled, settings.as_object_mut()) {
        settings.insert("recrawls".into(), json!(config.recrawls));
    }
    hash(&settings)
}

/// Returns a hash of the settings that determine a page's corpus, and thus its partition of the log.
#[must_use]
pub fn corpus_hash(config: &Config) -> u64 {
    let header = Some(&config.corpus.header).filter(|_| config.corpus.by == CorpusBy::Header);
    hash(&json!({ "by": config.corpus.by, "header": header }))
}

/// Returns a hash of the settings that determine how records become pages. If they change, `dedup` over the
/// same inputs is a different run.
#[must_use]
pub fn reading_hash(config: &Config) -> u64 {
    hash(&json!({ "input": config.input, "page": config.page, "corpus": config.corpus }))
}

/// Returns the XXH3-64 hash of the JSON text with sorted keys, so the order of fields in a type does not
/// matter.
fn hash(settings: &Value) -> u64 {
    let mut settings = settings.clone();
    settings.sort_all_objects();
    xxh3_64(settings.to_string().as_bytes())
}
