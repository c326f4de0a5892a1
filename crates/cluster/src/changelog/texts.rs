//! [`SeenText`]s ↔ their protobuf message: records of the changelog, and the end of a saved table.
//!
//! One record holds the texts of a whole transaction. Its key has the log offset of the last page: what is
//! deleted or left out because it is older than all centroids that have not expired is about clusters that
//! have.

use prost::Message;

use super::ChangelogRecord;
use crate::{ClusterId, NewText, SeenText};
use leitong_base::proto::{self, CHANGELOG_TEXTS_FORMAT_VERSION};

/// What follows the log offset of the last page in the key.
pub(super) const SUFFIX: &[u8] = b"/texts";
/// Texts in one message: some 20 KB.
pub const AT_ONCE: usize = 1_024;

/// The records for texts that were entered one after the other, when so many centroids were `founded`.
pub fn text_records(
    new: &[NewText],
    founded: u64,
    log_generation: u32,
    log_partition: u32,
) -> impl Iterator<Item = ChangelogRecord> {
    new.chunks(AT_ONCE).filter_map(move |some| {
        let (first, last) = (some.first()?, some.last()?);
        let message = proto::Centroid {
            format_version: CHANGELOG_TEXTS_FORMAT_VERSION,
            log_offset: last.log_offset,
            texts: Some(to_message(first.sequence, some.iter().map(|new| new.text), founded)),
            ..proto::Centroid::default()
        };
        let id = ClusterId { log_generation, log_partition, log_offset: last.log_offset }.to_bytes();
        Some(ChangelogRecord { key: [&id, SUFFIX].concat(), value: Some(message.encode_to_vec()) })
    })
}

/// The message for texts of which the first one has this sequence.
pub fn to_message(first: u64, texts: impl Iterator<Item = SeenText>, founded: u64) -> proto::Texts {
    let (mut keys, mut since) = (Vec::new(), Vec::new());
    for SeenText { key, cluster } in texts {
        keys.extend(key.to_be_bytes());
        since.push(founded.saturating_sub(cluster));
    }
    proto::Texts { first, keys: keys.into(), founded, since }
}

/// The texts of a message, or what is wrong with it.
pub fn from_message(message: &proto::Texts) -> Result<Vec<SeenText>, String> {
    let (keys, rest) = message.keys.as_chunks::<16>();
    if !rest.is_empty() || keys.len() != message.since.len() {
        return Err(format!("texts from {} on are not whole", message.first));
    }
    let text = |(key, since): (&[u8; 16], &u64)| {
        let cluster = message.founded.checked_sub(*since).filter(|_| *since > 0);
        let cluster = cluster.ok_or_else(|| format!("texts from {} on are in no cluster", message.first))?;
        Ok(SeenText { key: u128::from_be_bytes(*key), cluster })
    };
    keys.iter().zip(&message.since).map(text).collect()
}
