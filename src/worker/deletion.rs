//! Has brokers delete what has expired of the changelog: a thread beside the owners.
//!
//! ```text
//! owner ─ what its committed table needs ─► Needed ─► first place that is needed ─► brokers delete before it
//! ```
//! Invariants: nothing that the last committed position needs is ever asked to be deleted, so a late
//! request of an owner that has lost its partition deletes nothing either: what has expired stays so
//! ([`Bounds`](leitong_cluster::Bounds)). Owners never wait for it, and whatever fails here is counted
//! and logged alone: brokers then keep more, and a restore skips it.
//!
//! How often: a partition's records are deleted when those that are not needed any more are a
//! sixteenth of those that are, looked at every `kafka.changelog.delete_interval_s`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ports::World;
use super::restore::place;
use super::role::ClusterRole;
use super::stop::Stop;
use crate::kafka::ports::Reader;
use crate::telemetry::metrics;

/// As much of what is needed has to have expired, as a divisor.
const SHARE: u64 = 16;

/// What owners need of the changelog, by partition.
#[derive(Default)]
pub(crate) struct Needed {
    partitions: Mutex<BTreeMap<u32, Committed>>,
}

/// A table as far as it is committed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed {
    /// Number of the oldest centroid that has not expired.
    pub(crate) first: u64,
    /// How many have not.
    pub(crate) count: u64,
    /// Where in the log that one was founded; none where there is none.
    pub(crate) oldest_log_offset: Option<u64>,
    /// Offset of the changelog's last position record.
    pub(crate) position_offset: u64,
}

impl Needed {
    /// An owner has committed its table.
    pub(crate) fn put(&self, partition: u32, committed: Committed) {
        self.lock().insert(partition, committed);
    }

    /// Its owner here is gone.
    pub(crate) fn forget(&self, partition: u32) {
        self.lock().remove(&partition);
    }

    fn all(&self) -> BTreeMap<u32, Committed> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Committed>> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks every `interval` at what owners need, until `stop` is raised.
pub(crate) fn run<W: World>(role: &ClusterRole<W>, interval: Duration, stop: &Stop) {
    // Number of the first centroid that is left, by partition; and whether the topic is a queue.
    let (mut left, mut is_queue) = (BTreeMap::<u32, u64>::new(), false);
    while !role.world.wait(stop, interval) {
        let needed = role.needed.all();
        if !is_queue && !needed.is_empty() {
            is_queue = make_queue(role);
        }
        for (partition, committed) in needed {
            let expired = committed.first - left.get(&partition).copied().unwrap_or(0).min(committed.first);
            if !is_queue || expired == 0 || expired < committed.count / SHARE {
                continue;
            }
            match delete(role, partition, &committed, stop) {
                Ok(Some(before)) => {
                    metrics::changelog_deletion(true);
                    left.insert(partition, committed.first);
                    tracing::debug!(partition, before, expired, "changelog: what has expired is deleted");
                }
                Ok(None) => {}
                Err(error) => {
                    metrics::changelog_deletion(false);
                    tracing::warn!(partition, "changelog: what has expired is not deleted: {error:#}");
                }
            }
        }
    }
}

/// Once an owner has written to it, no older version can own the partition any
/// more, and those that own others lose nothing by a topic that keeps all.
fn make_queue<W: World>(role: &ClusterRole<W>) -> bool {
    let topic = &role.config.kafka.topics.centroids;
    match role.world.make_queue() {
        Ok(changed) => {
            if changed {
                tracing::info!(topic, "the changelog was compacted, and is a queue from now on");
            }
            true
        }
        Err(error) => {
            metrics::changelog_deletion(false);
            tracing::warn!(topic, "the changelog is compacted, which cannot be changed: {error:#}");
            false
        }
    }
}

/// Deletes what is not needed; the first offset that is, unless `stop` was raised meanwhile.
fn delete<W: World>(
    role: &ClusterRole<W>,
    partition: u32,
    committed: &Committed,
    stop: &Stop,
) -> anyhow::Result<Option<u64>> {
    let topic = &role.config.kafka.topics.centroids;
    // Another topic of this name would lose what nobody knows.
    role.world.ask_topic_ids()?;
    role.world.verify_table()?;
    let changelog = role.world.reader(topic, partition)?;
    let bounds = changelog.bounds()?;
    let stopped = || stop.is_requested();
    let before = match committed.oldest_log_offset {
        Some(oldest) => place::first_since(&changelog, bounds, oldest, stopped)?,
        None if committed.count == 0 => Some(committed.position_offset),
        None => None,
    };
    // A position is always left, whatever the place is.
    let Some(before) = before.map(|before| before.min(committed.position_offset)) else { return Ok(None) };
    if before > bounds.0 && !stopped() {
        role.world.delete_changelog(partition, before)?;
    }
    Ok(Some(before).filter(|_| !stopped()))
}
