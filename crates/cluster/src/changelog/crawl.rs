//! Converts a [`CrawlChange`] to and from its protobuf message, which is a record of the changelog.
//!
//! The key has the log offset of the crawled page, not that of its cluster. So a record that is deleted or
//! skipped because it is older than all unexpired centroids cannot have replaced a record that still counts.

use prost::Message;

use super::{CRAWL_SUFFIXES, ChangelogRecord};
use crate::{Change, ClusterId, Crawl, CrawlChange, Rank};
use leitong_base::proto;
use leitong_fingerprint::Detector;

impl CrawlChange {
    /// Returns the record of the change in the table with this position record.
    pub(super) fn into_record(self, position: &proto::Position) -> ChangelogRecord {
        let id = ClusterId::in_table(position, self.log_offset).to_bytes();
        let suffix = CRAWL_SUFFIXES[usize::from(self.what == Change::Ended)];
        ChangelogRecord { key: [&id, suffix].concat(), value: self.to_message().encode_to_vec() }
    }

    /// Returns the message of the change.
    #[must_use]
    pub fn to_message(self) -> proto::Centroid {
        let Self { log_offset, cluster, what } = self;
        let mut message = proto::Centroid {
            format_version: ChangelogRecord::CRAWLS_FORMAT_VERSION,
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

    /// Decodes the change in a message. Returns `None` if the message is a centroid.
    ///
    /// # Errors
    /// A description of what is invalid.
    pub fn from_message(
        message: &mut proto::Centroid,
        detector: &dyn Detector,
    ) -> Result<Option<Self>, String> {
        let at = message.log_offset;
        let number = |bytes: &[u8]| {
            bytes
                .try_into()
                .map(u128::from_be_bytes)
                .map_err(|_| wrong(at, "a value that is not 16 bytes long"))
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
        let cluster = message.number.ok_or_else(|| wrong(at, "no cluster number"))?;
        Ok(Some(Self { log_offset: at, cluster, what }))
    }
}

fn wrong(at: u64, what: &str) -> String {
    format!("the crawl at {at} has {what}")
}
