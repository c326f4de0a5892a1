//! [`CrawlChange`] ↔ its protobuf message, a record of the changelog.
//!
//! Its key has the log offset of the page at hand, and not that of the page's cluster: so what is
//! deleted or left out because it is older than all centroids that have not expired was replaced by
//! nothing that stays.

use prost::Message;

use super::ChangelogRecord;
use crate::{Change, ClusterId, Crawl, CrawlChange, Rank};
use leitong_base::proto::{self, CHANGELOG_CRAWLS_FORMAT_VERSION};
use leitong_fingerprint::Detector;

/// What follows the log offset of the page at hand in the key: of what has become of the page, and of
/// what has become of the cluster that it has left. No two records have one key, so that nothing is
/// lost where a changelog is still compacted.
pub(super) const SUFFIXES: [&[u8]; 2] = [b"/crawl", b"/ended"];

/// The record that says what has changed of what is known of a url.
#[must_use]
pub fn crawl_record(change: CrawlChange, log_generation: u32, log_partition: u32) -> ChangelogRecord {
    let id = ClusterId { log_generation, log_partition, log_offset: change.log_offset }.to_bytes();
    let suffix = SUFFIXES[usize::from(change.what == Change::Ended)];
    ChangelogRecord { key: [&id, suffix].concat(), value: Some(to_message(change).encode_to_vec()) }
}

/// The message for a change.
pub fn to_message(change: CrawlChange) -> proto::Centroid {
    let CrawlChange { log_offset, cluster, what } = change;
    let mut message = proto::Centroid {
        format_version: CHANGELOG_CRAWLS_FORMAT_VERSION,
        log_offset,
        number: Some(cluster),
        ..proto::Centroid::default()
    };
    let bytes = |value: u128| value.to_be_bytes().to_vec().into();
    match what {
        Change::Crawled(crawl) => {
            message.crawl = Some(proto::Crawl {
                sequence: crawl.sequence,
                key: bytes(crawl.key),
                page_id: crawl.page_id.into(),
                url: crawl.url.into(),
                text_digest: bytes(crawl.text_digest),
                fingerprint_hash: crawl.fingerprint_hash,
                fingerprint: crawl.fingerprint.into_vec().into(),
                rank: crawl.rank.to_bytes().to_vec().into(),
            });
        }
        Change::Withdrawn(key) => message.withdrawn_key = Some(bytes(key)),
        Change::Ended => message.ended = Some(true),
    }
    message
}

/// The change in a message, or what is wrong with it; none where it is a centroid's.
pub fn from_message(
    message: &mut proto::Centroid,
    detector: &dyn Detector,
) -> Result<Option<CrawlChange>, String> {
    let at = message.log_offset;
    let number = |bytes: &[u8]| {
        bytes.try_into().map(u128::from_be_bytes).map_err(|_| wrong(at, "other than 16 bytes"))
    };
    let what = if let Some(crawl) = message.crawl.take() {
        if !detector.is_fingerprint(&crawl.fingerprint) {
            return Err(wrong(at, &format!("no fingerprint of the detector {}", detector.name())));
        }
        Change::Crawled(Box::new(Crawl {
            sequence: crawl.sequence,
            key: number(&crawl.key)?,
            page_id: crawl.page_id.into(),
            url: crawl.url.into(),
            text_digest: number(&crawl.text_digest)?,
            fingerprint_hash: crawl.fingerprint_hash,
            fingerprint: Box::from(&*crawl.fingerprint),
            rank: Rank::from_bytes(number(&crawl.rank)?.to_be_bytes()),
        }))
    } else if let Some(key) = &message.withdrawn_key {
        Change::Withdrawn(number(key)?)
    } else if message.ended == Some(true) {
        Change::Ended
    } else {
        return Ok(None);
    };
    let cluster = message.number.ok_or_else(|| wrong(at, "no number of a cluster"))?;
    Ok(Some(CrawlChange { log_offset: at, cluster, what }))
}

fn wrong(at: u64, what: &str) -> String {
    format!("the crawl at {at} has {what}")
}
