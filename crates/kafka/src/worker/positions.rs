//! Reads the last position records of the changelog without restoring a table. A *position record* is the last one of
//! each transaction: it has the next log offset, and the identity of the table. The worker compares these records with
//! its settings and topics before it begins, in every role; take-over and restore read that of their partition.

use prost::Message as _;

use crate::kafka::error::Result;
use crate::kafka::partition_reader::PartitionReader;
use crate::kafka::ports::{ReadMode, Reader, Record};
use leitong_base::proto;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_cluster::log::{TopicId, TopicIds};
use leitong_pipeline::config::Config;

/// Number of offsets before the end of the changelog that are read first. The position record is the last
/// record of each transaction, followed only by the transaction marker. If it is farther away, the records
/// after it were aborted, and more is read.
const OFFSETS_BACK: u64 = 1000;

/// Returns the last position record of a partition, or `None` if there is none.
///
/// # Errors
/// The broker does not answer.
pub(super) fn last(config: &Config, partition: u32) -> Result<Option<proto::Position>> {
    let config = &config.kafka;
    last_of(&PartitionReader::new(config, &config.topics.centroids, partition, ReadMode::ToEnd)?)
}

/// Returns the last position record of the partition that `reader` reads.
///
/// # Errors
/// The broker does not answer.
pub(super) fn last_of(reader: &impl Reader) -> Result<Option<proto::Position>> {
    let (start, end) = reader.bounds()?;
    let mut back = OFFSETS_BACK;
    loop {
        let from = end.saturating_sub(back).max(start);
        let mut found = None;
        if start < end {
            reader.read_to_end(
                from,
                || false,
                |record: &dyn Record| {
                    if record.key() == Some(POSITION_KEY) {
                        // The owner that restores the table reports a broken record.
                        found = proto::Position::decode(record.value().unwrap_or_default()).ok();
                    }
                    Ok(())
                },
            )?;
        }
        if found.is_some() || from == start {
            return Ok(found);
        }
        back = back.saturating_mul(8);
    }
}

/// Returns the topic ids that the position records of all partitions contain. A page topic's id counts only if
/// it belongs to the present epoch.
///
/// # Errors
/// The broker does not answer.
pub(super) fn known_ids(config: &Config, log_partitions: u32) -> Result<TopicIds> {
    let mut known = TopicIds::default();
    for partition in 0..log_partitions {
        if let Some(position) = last(config, partition)? {
            known = known.or(TopicIds::from_position(&position)).or(TopicIds {
                pages: page_topic(&position, &config.kafka.topics.pages, config.kafka.epoch),
                ..TopicIds::default()
            });
        }
    }
    Ok(known)
}

/// Returns the id of the page topic from which `position` has pages of this epoch.
fn page_topic(position: &proto::Position, name: &str, epoch: u32) -> Option<TopicId> {
    let mut marks = position.watermarks.iter().filter(|mark| mark.topic == name && mark.epoch == epoch);
    marks.find_map(|mark| mark.topic_id.as_ref().and_then(|id| TopicId::from_bytes(id)))
}
