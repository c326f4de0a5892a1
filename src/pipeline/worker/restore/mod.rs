//! An owner's table: restored by the shortest way, compared with what the group has committed.
//!
//! ```text
//! standby, snapshot or nothing ─► changelog to its end ─► checks ─► committed offset ─► where the log goes on
//! ```
//! Invariants: what is damaged or does not fit is never taken for a table; nothing is begun anew by itself.

mod beginning;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::owner::{Owner, Trouble};
use crate::changelog::restore::{RestoreError, Restored};
use crate::cluster::{Clusterer, Position};
use crate::log::watermarks::Watermarks;
use crate::pipeline::cluster_half::ClusterHalf;
use crate::pipeline::kafka::resume::{Known, Refusal, next_offset};
use crate::pipeline::log_partition::LogPartition;
use crate::source::kafka::partition::PartitionReader;
use crate::telemetry::metrics;
pub(super) use beginning::Followed;
use beginning::Source;

/// How often a damaged changelog is read before it is believed: a reader that is overtaken by compaction sees
/// tombstones missing, once.
const RESTORE_TRIES: u32 = 3;

/// A restored table.
pub(super) struct Table {
    pub(super) state: LogPartition,
    /// Where it stands has to be written down first.
    pub(super) reset: bool,
    /// The first offset of the changelog that is not part of it; none where nothing is.
    pub(super) changelog_next: Option<u64>,
}

/// Where a restore begins.
struct Begin {
    source: Source,
    start: Followed,
    began: Instant,
}

impl Owner {
    /// The table as the changelog has it, by the shortest way; none if the owner is stopped meanwhile.
    pub(super) fn restore(&self, log: &PartitionReader, damaged: &mut u32) -> Result<Option<Table>, Trouble> {
        let config = &self.config().kafka;
        let committed = log.committed()?;
        let changelog = PartitionReader::new(config, &config.topics.centroids, self.partition)?;
        let bounds = changelog.bounds()?;
        for source in Source::ALL {
            let began = Instant::now();
            let start = match source {
                Source::Standby => self.cluster.standby.take(self.partition),
                Source::Snapshot => {
                    self.cluster.at_snapshot(self.partition, bounds, || self.stop.is_requested())?
                }
                Source::Changelog => Some(self.cluster.at_beginning(bounds.0)),
            };
            let Some(start) = start else { continue };
            let begin = Begin { source, start, began };
            if source == Source::Changelog {
                return self.read_on(begin, &changelog, log, committed, damaged);
            }
            // A short cut is tried once.
            let mut believed = RESTORE_TRIES;
            match self.read_on(begin, &changelog, log, committed, &mut believed) {
                Ok(restored) => return Ok(restored),
                Err(trouble) if source == Source::Snapshot => {
                    self.cluster.set_aside(self.partition, &trouble);
                }
                Err(trouble) => {
                    tracing::warn!(
                        partition = self.partition,
                        "the standby's table is dropped, and restored in another way: {trouble}"
                    );
                }
            }
        }
        Ok(None)
    }

    /// Reads the changelog from where `begin` is to its end.
    fn read_on(
        &self,
        begin: Begin,
        changelog: &PartitionReader,
        log: &PartitionReader,
        committed: Option<u64>,
        damaged: &mut u32,
    ) -> Result<Option<Table>, Trouble> {
        let Begin { source, mut start, began } = begin;
        let mut records = 0_u64;
        let mut wrong = None;
        let whole = changelog.read_to_end(
            start.next_offset,
            || self.stop.is_requested(),
            |message| {
                records += 1;
                if records.is_multiple_of(100_000) {
                    let centroids = start.restoration.centroid_count() as u64;
                    metrics::restored(self.partition, centroids, records, began.elapsed());
                }
                start.take(message).map_err(|error| {
                    wrong = Some(error.clone());
                    error.into()
                })
            },
        );
        let whole = match (whole, wrong) {
            (_, Some(error)) => return Err(self.restore_trouble(error, damaged)),
            (whole, None) => whole?,
        };
        if !whole {
            return Ok(None);
        }
        let Followed { restoration, next_offset: changelog_next } = start;
        let count = restoration.centroid_count() as u64;
        let identity = self.cluster.identity(self.partition);
        let corpus_hash = restoration.position().and_then(|position| position.corpus_hash);
        let restored = restoration
            .finish(&identity, self.cluster.accepted.cluster_hash)
            .map_err(|error| self.restore_trouble(error, damaged))?;
        *damaged = 0;
        metrics::restored(self.partition, count, records, began.elapsed());
        let seconds = format!("{:.1}", began.elapsed().as_secs_f64());
        tracing::info!(
            partition = self.partition,
            centroids = count,
            from = %source,
            records,
            seconds,
            "log partition: restored"
        );

        let position = restored.as_ref().map(|restored| restored.clusterer.position().next_log_offset);
        let (next, log_end) = self.next_offset(log, committed, position)?;
        let (config, detector) = (self.config(), self.cluster.half.detector());
        let restored = restored.unwrap_or_else(|| {
            let position = Position { log_partition: self.partition, ..Position::default() };
            let clusterer = Clusterer::new(Arc::clone(detector), config.expiry.clone(), position);
            Restored { clusterer, watermarks: Watermarks::default(), cluster_hash_since: next }
        });
        let topic = config.kafka.topics.fingerprints.as_str().into();
        let mut state = LogPartition::new(restored, identity, topic, |clusterer| {
            ClusterHalf::new(clusterer, Arc::clone(detector), identity.cluster_hash)
        });
        let skipped = next > position.unwrap_or(0);
        if skipped {
            tracing::error!(partition = self.partition, next, "going on behind lost records, as accepted");
            state.skip_to(next);
            state.accept_gaps(log_end);
        }
        // So that instances which start later know of it.
        let corpus_changed = corpus_hash.is_some_and(|hash| hash != identity.corpus_hash);
        let reset = skipped || corpus_changed || (position.is_some() && committed.is_none());
        Ok(Some(Table { state, reset, changelog_next: position.map(|_| changelog_next) }))
    }

    fn restore_trouble(&self, error: RestoreError, damaged: &mut u32) -> Trouble {
        match error {
            RestoreError::PartitionCount { .. }
            | RestoreError::OtherApp
            | RestoreError::ClusterHash { .. } => Trouble::Refused(error.to_string()),
            RestoreError::Damaged(_) if *damaged + 1 < RESTORE_TRIES => {
                *damaged += 1;
                Trouble::Passing(error.into())
            }
            error => Trouble::Halted(error.to_string()),
        }
    }

    /// Where to go on in the log, and where it ends.
    fn next_offset(
        &self,
        log: &PartitionReader,
        committed: Option<u64>,
        position: Option<u64>,
    ) -> Result<(u64, u64), Trouble> {
        let accept_lost = self.cluster.accepted.lost_records;
        let deadline = Instant::now() + Duration::from_secs(15);
        loop {
            let (log_start, log_end) = log.bounds()?;
            match next_offset(Known { committed, position, log_start, log_end }, accept_lost) {
                Ok(next) => return Ok((next, log_end)),
                // A leader that has just been elected may not know yet how far the log is.
                Err(Refusal::LogShorter { .. }) if Instant::now() < deadline && !self.stop.is_requested() => {
                    self.stop.wait(Duration::from_millis(500));
                }
                Err(refusal) => return Err(Trouble::Halted(refusal.to_string())),
            }
        }
    }
}
