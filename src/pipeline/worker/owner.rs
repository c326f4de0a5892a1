//! The owner of one partition of the log: takes over, restores, and then batch by batch decides and commits.
//!
//! ```text
//! take over (fences the former owner, ends its transaction)
//!    └► committed offset ─► changelog to its end ─► compare (restore/) ─► read the log from there
//!          ┌────────────────────────────────────────────────────┘
//!          └► batch (batch.rs) ─► transaction (writer.rs) ─► next batch
//!                                   └ failed: take over again, read what came of it, write again
//! ```
//! Invariants: the table is never ahead of the broker by more than the batch at hand; that batch is written
//! until it is committed, or the table is dropped. Memory: the table, one batch and its outputs.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::cluster::Cluster;
use super::restore::{Followed, Table};
use super::stop::Stop;
use super::writer::Writer;
use crate::changelog::restore::Restoration;
use crate::config::Config;
use crate::pipeline::log_partition::LogPartition;
use crate::sink::kafka::outputs::Outputs;
use crate::sink::kafka::transaction::{TransactionError, TransactionalProducer};
use crate::source::kafka::partition::PartitionReader;
use crate::telemetry::metrics;

/// Surplus centres let go in one transaction, where a table was restored with a smaller count.
const TRIM_CENTROIDS: usize = 10_000;
/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long to wait after being fenced: by then the group has said whose the partition is.
const FENCED_PAUSE: Duration = Duration::from_secs(4);

/// One partition's owner.
pub(super) struct Owner {
    pub(super) cluster: Arc<Cluster>,
    pub(super) partition: u32,
    pub(super) stop: Stop,
}

/// Why an owner does not serve its partition.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    /// May pass: begin again with taking over.
    #[error("{0:#}")]
    Passing(anyhow::Error),
    /// Another instance took the partition, or took this one for dead.
    #[error("{0}")]
    Fenced(String),
    /// This partition stands still until somebody looks at it.
    #[error("{0}")]
    Halted(String),
    /// No instance with this configuration can serve any partition.
    #[error("{0}")]
    Refused(String),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Passing(error)
    }
}

/// Owns the partition until its stop flag is raised.
pub(super) fn run(owner: &Owner) {
    let table = serve_until_stopped(owner);
    owner.cluster.standby.release(owner.partition, table);
}

fn serve_until_stopped(owner: &Owner) -> Option<Followed> {
    let mut damaged = 0;
    while !owner.stop.is_requested() {
        let (partition, health) = (owner.partition, &owner.cluster.health);
        let trouble = match owner.serve(&mut damaged) {
            Ok(table) => return table,
            Err(trouble) => trouble,
        };
        health.wait_for(partition, trouble.to_string());
        match trouble {
            Trouble::Passing(error) => {
                tracing::warn!(partition, "log partition: trying again: {error:#}");
                owner.stop.wait(PAUSE);
            }
            Trouble::Fenced(why) => {
                tracing::warn!(partition, "log partition: state dropped: {why}");
                owner.stop.wait(FENCED_PAUSE);
            }
            Trouble::Halted(why) => {
                metrics::halted(partition, true);
                while !owner.stop.is_requested() {
                    tracing::error!(partition, "log partition stands still: {why}");
                    owner.stop.wait(Duration::from_secs(60));
                }
            }
            Trouble::Refused(why) => {
                owner.cluster.refuse(anyhow::anyhow!("log partition {partition}: {why}"));
                break;
            }
        }
    }
    None
}

impl Owner {
    pub(super) fn new(cluster: Arc<Cluster>, partition: u32, stop: Stop) -> Self {
        Self { cluster, partition, stop }
    }

    pub(super) fn config(&self) -> &Config {
        &self.cluster.config
    }

    /// Serves the partition from taking over to the stop; what it leaves for the standby.
    fn serve(&self, damaged: &mut u32) -> Result<Option<Followed>, Trouble> {
        let producer = self.take_over()?;
        let reader = PartitionReader::new(
            &self.config().kafka,
            &self.config().kafka.topics.fingerprints,
            self.partition,
        )?;
        let Some(Table { mut state, reset, changelog_next }) = self.restore(&reader, damaged)? else {
            return Ok(None);
        };
        let mut writer = Writer::new(self, producer, &reader, changelog_next);
        if reset {
            let changelog = state.take_changelog();
            writer.write(vec![Outputs { changelog, ..self.outputs(&state, state.next_offset()) }])?;
        }
        loop {
            let first = state.next_offset();
            if !state.trim(TRIM_CENTROIDS) {
                break;
            }
            let changelog = state.take_changelog();
            writer.write(vec![Outputs { changelog, ..self.outputs(&state, first) }])?;
        }
        reader.begin(state.next_offset())?;
        self.cluster.health.settled(self.partition);
        tracing::info!(
            partition = self.partition,
            offset = state.next_offset(),
            centroids = state.centroid_count(),
            "log partition: serving"
        );
        while !self.stop.is_requested() {
            let parts = self.batch(&reader, &mut state)?;
            if parts.is_empty() {
                continue;
            }
            writer.write(parts)?;
            metrics::centroids(self.partition, state.centroid_count());
        }
        // All that is in the table is committed.
        let Some(next_offset) = writer.changelog_next.filter(|_| self.config().kafka.standby) else {
            return Ok(None);
        };
        let position = state.position();
        let (half, _) = state.into_parts();
        let detector = Arc::clone(self.cluster.half.detector());
        let restoration = Restoration::resume(half.into_clusterer(), position, detector);
        Ok(Some(Followed { restoration, next_offset }))
    }

    pub(super) fn take_over(&self) -> Result<TransactionalProducer, Trouble> {
        let stop = || self.stop.is_requested();
        TransactionalProducer::take_over(&self.config().kafka, self.partition, stop).map_err(|error| {
            match error {
                TransactionError::Client(error) => Trouble::Refused(error.to_string()),
                other => Trouble::Passing(other.into()),
            }
        })
    }

    pub(super) fn outputs(&self, state: &LogPartition, first_log_offset: u64) -> Outputs {
        Outputs { first_log_offset, next_log_offset: state.next_offset(), ..Outputs::default() }
    }
}
