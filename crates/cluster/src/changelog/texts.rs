//! Converts [`SeenText`]s to and from their protobuf message, which is used in the changelog and at the end
//! of a saved table.
//!
//! A record holds up to [`SeenText::AT_ONCE`] consecutive texts of one transaction. Its key contains the log offset of
//! the last page among them. So a record that is older than every unexpired centroid can be deleted or skipped: the
//! clusters of its texts have all expired.

use prost::Message;

use super::{ChangelogRecord, TEXTS_SUFFIX};
use crate::{ClusterId, NewText, SeenText};
use leitong_base::proto;

impl ChangelogRecord {
    /// Returns the records of consecutive texts in the table with this position record.
    pub(super) fn from_texts(new: &[NewText], position: &proto::Position) -> impl Iterator<Item = Self> {
        let founded = position.founded.unwrap_or_default();
        new.chunks(SeenText::AT_ONCE).filter_map(move |some| {
            let (first, last) = (some.first()?, some.last()?);
            let message = proto::Centroid {
                format_version: Self::TEXTS_FORMAT_VERSION,
                log_offset: last.log_offset,
                texts: Some(SeenText::to_message(first.sequence, some.iter().map(|new| new.text), founded)),
                ..proto::Centroid::default()
            };
            let id = ClusterId::in_table(position, last.log_offset).to_bytes();
            Some(Self { key: [&id, TEXTS_SUFFIX].concat(), value: message.encode_to_vec() })
        })
    }
}

impl SeenText {
    /// Maximum number of texts in one message: about 20 KB.
    pub const AT_ONCE: usize = 1_024;

    /// Returns the message of texts, the first of which has the sequence `first`.
    #[must_use]
    pub fn to_message(first: u64, texts: impl Iterator<Item = Self>, founded: u64) -> proto::Texts {
        let (mut keys, mut since) = (Vec::new(), Vec::new());
        for Self { key, cluster } in texts {
            keys.extend(key.to_be_bytes());
            since.push(founded.saturating_sub(cluster));
        }
        proto::Texts { first, keys: keys.into(), founded, since }
    }

    /// Decodes the texts of a message.
    ///
    /// # Errors
    /// A description of what is invalid.
    pub fn from_message(message: &proto::Texts) -> Result<Vec<Self>, String> {
        let (keys, rest) = message.keys.as_chunks::<16>();
        if !rest.is_empty() || keys.len() != message.since.len() {
            return Err(format!("the list of texts that begins with number {} is incomplete", message.first));
        }
        let text = |(key, since): (&[u8; 16], &u64)| {
            let cluster = message.founded.checked_sub(*since).filter(|_| *since > 0);
            let cluster = cluster.ok_or_else(|| {
                format!("a text in the list that begins with number {} is in no cluster", message.first)
            })?;
            Ok(Self { key: u128::from_be_bytes(*key), cluster })
        };
        keys.iter().zip(&message.since).map(text).collect()
    }
}
