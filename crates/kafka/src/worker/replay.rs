//! Replays the log offline: decides on its records as the cluster stage of a worker does, without writing to
//! any topic.
//!
//! In: the log, and a table to start from. Out: verdicts and dead letters. They are the ones on the
//! verdict topic, because verdicts are a function of the log. Memory: the table and one batch.

use std::sync::Arc;
use std::time::Duration;

use crate::kafka::error::{Error, Result, refused};
use crate::kafka::partition_reader::PartitionReader;
use crate::kafka::ports::{ReadMode, Reader, Record, Step};
use crate::worker::log_partition::{DecidedBatch, LogPartition, RecordOutcome, Replaced};
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::Restored;
use leitong_cluster::log::{Entry, EntryError, LogPlace, Watermarks};
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{Clusterer, Position};
use leitong_pipeline::ClusterStage;
use leitong_pipeline::config::KafkaConfig;
use leitong_store::snapshot::TableSettings;

/// Number of log records that are decided together.
const BATCH: usize = 1000;

/// The result for one partition.
#[derive(Debug)]
pub struct Replayed {
    /// Number of log records that were decided.
    pub taken: u64,
    /// Number of log records that were dropped, such as repetitions.
    pub dropped: u64,
    /// Offset of the first record, if earlier ones were deleted and no loaded table contains them.
    pub start_is_missing: Option<u64>,
}

/// The state from which a replay starts.
pub struct Start {
    /// The table, empty at the beginning of the log.
    pub clusterer: Clusterer,
    /// The watermarks of the page topic's partitions.
    pub watermarks: Watermarks,
    /// True if the table was loaded.
    pub loaded: bool,
}

impl Replayed {
    /// Counts the outcomes, and passes the conclusions to `write`.
    ///
    /// # Errors
    /// `write` has failed, or a page topic was deleted and created again.
    fn write<E: From<Error>>(
        &mut self,
        decided: DecidedBatch,
        write: &mut impl FnMut(Vec<Conclusion>) -> Result<(), E>,
    ) -> Result<(), E> {
        let records = decided.outcomes.len();
        let conclusion = |outcome| match outcome {
            RecordOutcome::Decided(conclusion) => Some(conclusion),
            RecordOutcome::Dropped(_) => None,
        };
        let conclusions: Vec<_> = decided.outcomes.into_iter().filter_map(conclusion).collect();
        self.taken += conclusions.len() as u64;
        self.dropped += (records - conclusions.len()) as u64;
        write(conclusions)?;
        match decided.replaced {
            Some(origin) => Err(refused!("{}", Replaced(&origin)).into()),
            None => Ok(()),
        }
    }
}

impl Start {
    /// Returns the start at the beginning of the log.
    #[must_use]
    pub fn empty(settings: &TableSettings, log_partition: u32) -> Self {
        let position = Position { log_partition, ..Position::default() };
        let detector = Arc::clone(&settings.detector);
        let clusterer = Clusterer::new(detector, settings.rules.clone(), position);
        Self { clusterer, watermarks: Watermarks::default(), loaded: false }
    }
}

/// Decides on some records. If old centroids cannot be read, none of them is decided.
fn decide(
    state: &mut LogPartition,
    records: Vec<(LogPlace, Result<Entry, EntryError>)>,
    epoch: u32,
) -> Result<DecidedBatch> {
    let decided = state.decide_batch(records, epoch, Timestamp::now());
    decided.map_err(|fault| refused!("cannot decide: {fault}"))
}

/// Replays `log_partition` from `start` to its present end, or to the offset `until`, and passes the conclusions to
/// `write`. Returns the table.
///
/// # Errors
/// The log cannot be read, or contains records that this version does not know; errors of `write`.
pub fn replay<E: From<Error>>(
    config: &KafkaConfig,
    settings: &TableSettings,
    log_partition: u32,
    start: Start,
    until: Option<u64>,
    write: &mut impl FnMut(Vec<Conclusion>) -> Result<(), E>,
) -> Result<(Replayed, Clusterer, Watermarks), E> {
    let reader = PartitionReader::new(config, &config.topics.fingerprints, log_partition, ReadMode::ToEnd)?;
    let (log_start, log_end) = reader.bounds()?;
    let end = until.map_or(log_end, |until| until.min(log_end));
    let from = start.clusterer.position().next_log_offset;
    if start.loaded && from < log_start {
        return Err(refused!(
            "the table continues at offset {from} of {}, but the log now begins at {log_start}: the records in between \
         are gone",
            reader.name()
        )
        .into());
    }
    let begin = from.max(log_start);
    let mut replayed =
        Replayed { taken: 0, dropped: 0, start_is_missing: (begin > from).then_some(log_start) };
    let mut state = resume(start, begin, config, settings, log_partition);
    if replayed.start_is_missing.is_some() {
        state.accept_gaps(end);
    }
    if begin < end {
        reader.begin(begin)?;
    }
    let mut batch = Vec::new();
    let mut next = begin;
    while next < end {
        match reader.next(Duration::from_secs(1))? {
            Step::Record(message) if message.offset() < end => {
                let at = message.place();
                let entry = Entry::decode(message.value().unwrap_or_default(), &*settings.detector);
                if let Err(error @ EntryError::TooNew { .. }) = &entry {
                    return Err(refused!("{}@{}: {error}", reader.name(), at.offset).into());
                }
                next = at.offset + 1;
                batch.push((at, entry));
            }
            Step::Nothing => continue,
            Step::Record(_) | Step::End => break,
        }
        if batch.len() >= BATCH {
            let records = std::mem::take(&mut batch);
            replayed.write(decide(&mut state, records, config.epoch)?, write)?;
            // A replay writes no changelog, so these records are discarded.
            state.take_changelog().map_err(Error::from)?;
        }
    }
    replayed.write(decide(&mut state, batch, config.epoch)?, write)?;
    let (stage, watermarks) = state.into_parts();
    Ok((replayed, stage.into_clusterer(), watermarks))
}

/// Returns the log partition in the state of `start`, from which it continues at the offset `begin`.
fn resume(
    start: Start,
    begin: u64,
    config: &KafkaConfig,
    settings: &TableSettings,
    log_partition: u32,
) -> LogPartition {
    let restored = Restored {
        clusterer: start.clusterer,
        watermarks: start.watermarks,
        cluster_hash_since: begin,
        table_id: None,
    };
    let topic = config.topics.fingerprints.as_str().into();
    let mut state = LogPartition::new(restored, settings.identity(log_partition), topic, |clusterer| {
        ClusterStage::new(clusterer, Arc::clone(&settings.detector), settings.cluster_hash)
    });
    state.skip_to(begin);
    state
}
