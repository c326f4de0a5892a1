//! Lets brokers delete expired records of the changelog. Runs in a thread next to the owners.
//!
//! ```text
//! owner ─ what its committed table needs ─► `needed` ─► first offset that is needed ─► brokers delete before it
//! ```
//! Invariants: records that the last committed position needs are never deleted. This also holds for a late
//! request of an owner that has lost its partition, because expired centroids stay expired
//! ([`Bounds`](leitong_cluster::Bounds)). Owners never wait for this thread. Failures are only counted and
//! logged: brokers then keep more records, and a restore skips them.
//!
//! Every `kafka.changelog.delete_interval_s` seconds, a partition's expired centroids are deleted if they are
//! at least a sixteenth of the unexpired ones.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ports::World;
use super::restore::place;
use super::role::ClusterRole;
use super::stop::Stop;
use crate::kafka::error::Result;
use crate::kafka::ports::{ReadMode, Reader};
use leitong_base::error::StepError;
use leitong_graph::telemetry::metrics;

/// Maximum ratio of unexpired to expired centroids at which expired ones are deleted.
const UNEXPIRED_PER_EXPIRED_MAX: u64 = 16;

/// The committed state of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed {
    /// The number of the oldest unexpired centroid.
    pub(crate) first: u64,
    /// Number of unexpired centroids.
    pub(crate) count: u64,
    /// The log offset at which the oldest unexpired centroid was founded, or `None` if all have expired.
    pub(crate) oldest_log_offset: Option<u64>,
    /// The offset of the last position record in the changelog.
    pub(crate) position_offset: u64,
}

/// Checks every `interval` what owners need, and lets brokers delete the records before it, until `stop` is
/// raised.
pub(crate) fn run<W: World>(role: &ClusterRole<W>, interval: Duration, stop: &Stop) {
    // The number of the first centroid that is not deleted, by partition.
    let mut left = BTreeMap::<u32, u64>::new();
    while !role.world.wait(stop, interval) {
        let needed: BTreeMap<u32, Committed> =
            role.needed.iter().map(|needed| (*needed.key(), *needed.value())).collect();
        for (partition, committed) in needed {
            let expired = committed.first - left.get(&partition).copied().unwrap_or(0).min(committed.first);
            if expired == 0 || expired < committed.count / UNEXPIRED_PER_EXPIRED_MAX {
                continue;
            }
            match delete(role, partition, &committed, stop) {
                Ok(Some(before)) => {
                    metrics::CHANGELOG_DELETIONS.add_as("deleted", 1);
                    left.insert(partition, committed.first);
                    tracing::debug!(partition, before, expired, "changelog: deleted expired records");
                }
                Ok(None) => {}
                Err(error) => {
                    metrics::CHANGELOG_DELETIONS.add_as("failed", 1);
                    tracing::warn!(
                        partition,
                        "changelog: the topic keeps growing, because expired records cannot be deleted: {}",
                        StepError::with_causes(&error)
                    );
                }
            }
        }
    }
}

/// Deletes records that are not needed. Returns the first needed offset, or `None` if `stop` was raised.
fn delete<W: World>(
    role: &ClusterRole<W>,
    partition: u32,
    committed: &Committed,
    stop: &Stop,
) -> Result<Option<u64>> {
    let topic = &role.config.kafka.topics.centroids;
    // If the topic was replaced by another one of its name, the wrong records would be deleted.
    role.world.ask_topic_ids()?;
    role.world.verify_table()?;
    let changelog = role.world.reader(topic, partition, ReadMode::ToEnd)?;
    let bounds = changelog.bounds()?;
    let stopped = || stop.is_requested();
    let before = match committed.oldest_log_offset {
        Some(oldest) => place::first_since(&changelog, bounds, oldest, stopped)?,
        None if committed.count == 0 => Some(committed.position_offset),
        None => None,
    };
    // A position record always remains, even if no centroid is needed.
    let Some(before) = before.map(|before| before.min(committed.position_offset)) else { return Ok(None) };
    if before > bounds.0 && !stopped() {
        role.world.delete_changelog(partition, before)?;
    }
    Ok(Some(before).filter(|_| !stopped()))
}
