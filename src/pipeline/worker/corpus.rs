//! Settings that say which partition of the log a page goes to must not change under way: a page that is sent again could
//! go to another partition than before, and count in both. What they were stands in the position records.

use prost::Message as _;
use rdkafka::Message;

use crate::changelog::POSITION_KEY;
use crate::config::Config;
use crate::config::hash::corpus_hash;
use crate::proto;
use crate::source::kafka::partition::PartitionReader;

/// The position record is the last record of each transaction, with the transaction's mark behind it: reading from so
/// many offsets before the end finds it, also behind some transactions that were aborted.
const OFFSETS_BACK: u64 = 1000;

/// Refuses `corpus.*` settings other than those that the log was written with, where that matters and is known.
///
/// # Errors
/// They differ; or no answer.
pub(super) fn refuse_another(config: &Config, log_partitions: u32) -> anyhow::Result<()> {
    if log_partitions < 2 {
        return Ok(());
    }
    let wanted = corpus_hash(config);
    for partition in 0..log_partitions {
        let Some(found) = written_with(config, partition)? else { continue };
        anyhow::ensure!(
            found == wanted,
            "the settings corpus.* have changed, and they say which of the {log_partitions} partitions of the log a page \
             goes to: a page in flight could count in two of them. Run with the old ones, or stop all fingerprint \
             workers, wait until the log is worked off, and then start all instances once with `leitong run \
             --accept-corpus-change`"
        );
        return Ok(());
    }
    Ok(())
}

fn written_with(config: &Config, partition: u32) -> anyhow::Result<Option<u64>> {
    let reader = PartitionReader::new(&config.kafka, &config.kafka.topics.centroids, partition)?;
    let (start, end) = reader.bounds()?;
    if start == end {
        return Ok(None);
    }
    let mut found = None;
    reader.read_to_end(
        end.saturating_sub(OFFSETS_BACK).max(start),
        || false,
        |message| {
            if message.key() == Some(POSITION_KEY) {
                // What is broken is told by whoever restores the table.
                let position = proto::Position::decode(message.payload().unwrap_or_default());
                found = position.ok().and_then(|position| position.corpus_hash);
            }
            Ok(())
        },
    )?;
    Ok(found)
}
