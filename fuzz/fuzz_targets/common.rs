//! Checks that several targets share.
#![allow(dead_code, reason = "each target uses a part of this")]

use std::sync::Arc;

use leitong::config::Config;
use leitong_base::limits::{PAGE_ID_BYTES_MAX, URL_BYTES_MAX};
use leitong_base::record::Unreadable;
use leitong_cluster::changelog::Identity;
use leitong_cluster::log::TopicIds;
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_text::page::{Body, Page, parse_passthrough};

/// Identity under which the target `changelog` reads: its seeds are written under the same one.
pub(crate) const IDENTITY: Identity = Identity {
    log_partition: 3,
    log_partition_count: 4,
    fingerprint_hash: 5,
    cluster_hash: 6,
    corpus_hash: 0,
    app_hash: 0,
    topic_ids: TopicIds { pages: None, log: None, changelog: None },
};

/// Returns the default detector.
pub(crate) fn detector() -> Arc<dyn Detector> {
    Arc::new(SimHash::new(&Config::default().simhash))
}

/// Checks that a message is short, and cannot control a terminal.
pub(crate) fn assert_readable(message: &str) {
    assert!(!message.is_empty());
    assert!(message.len() <= 8 * Unreadable::MESSAGE_BYTES_MAX, "{} bytes", message.len());
    assert!(!message.contains(char::is_control), "{message:?}");
}

/// Checks that a page keeps the limits that no later stage checks again.
pub(crate) fn assert_within_limits(page: &Page, page_bytes_max: usize) {
    assert!(page.url.len() <= URL_BYTES_MAX && page.id.len() <= PAGE_ID_BYTES_MAX && !page.id.is_empty());
    let bytes = match &page.body {
        Body::Html(text) | Body::Text(text) => text.len(),
        Body::HtmlBytes(bytes) => bytes.len(),
        Body::TooLarge(_) | Body::InWarc(_) | Body::TooManyCodings(_) | Body::Missing | Body::Withdrawn => 0,
    };
    // Bytes that are not UTF-8 become U+FFFD, of three bytes, in texts of WARC files.
    assert!(bytes <= 3 * page_bytes_max, "{bytes} bytes of body");
    if let Some(json) = &page.passthrough {
        let again = parse_passthrough(json).expect("a passthrough is JSON within its limits");
        assert_eq!(&again.json, json, "it is in shape already");
        assert_eq!(again.lone_surrogates, 0);
        assert!(!json.contains(['\n', '\r']));
    }
}
