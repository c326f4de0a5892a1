//! Local snapshots: a thread that regularly makes a new snapshot from the last one and the changelog since
//! then.
//!
//! ```text
//! last snapshot ─► its unexpired centroids ┐
//! changelog from there to its end ──────────┴─► new file, which replaces the last one
//! ```
//! The table and its owner are not involved, so the partition is never delayed. Memory: one centroid. A
//! snapshot is a function of the changelog, as the table is; at the same offset, both have the same contents.

use std::time::Duration;

use prost::Message as _;

use super::ports::World;
use super::restore::find_beginning;
use super::role::ClusterRole;
use super::stop::Stop;
use crate::kafka::error::{Result, refused};
use crate::kafka::ports::{ReadMode, Reader, Record};
use leitong_base::error::{Context, StepError};
use leitong_base::proto;
use leitong_cluster::changelog::{ChangelogRecord, POSITION_KEY};
use leitong_graph::telemetry::metrics;
use leitong_store::snapshot::{ChangelogSnapshot, SnapshotPlace, SnapshotWriter, Unusable};

/// Age at which a snapshot is rewritten even if nothing was added, to show that snapshots are still made.
const UNCHANGED_AGE_MS: i64 = 60 * 60 * 1000;

/// Writes snapshots until `stop` is raised.
pub(crate) fn run<W: World>(role: &ClusterRole<W>, partitions_at_hand: impl Fn() -> Vec<u32>, stop: &Stop) {
    let interval = Duration::from_secs(role.config.kafka.snapshots.interval_s);
    while !role.world.wait(stop, interval) {
        for partition in partitions_at_hand() {
            let Some(place) = role.snapshot_place(partition) else { return };
            if let Err(error) = write(role, partition, &place, stop) {
                // The last snapshot remains, and the next attempt follows.
                let snapshot = place.path();
                tracing::warn!(
                    partition,
                    "cannot write snapshot {}, so a restart would read more of the changelog: {}",
                    snapshot.display(),
                    StepError::with_causes(&error)
                );
            }
        }
    }
}

fn write<W: World>(role: &ClusterRole<W>, partition: u32, place: &SnapshotPlace, stop: &Stop) -> Result<()> {
    let Some(_lock) = place.lock().context("cannot lock it")? else {
        return Ok(()); // another instance on this machine is writing it
    };
    let began = role.world.now();
    let topic = &role.config.kafka.topics.centroids;
    let reader = role.world.reader(topic, partition, ReadMode::ToEnd)?;
    let as_of = role.world.timestamp();
    let last = role.snapshot(partition, &reader)?;
    let bounds = reader.bounds()?;
    let unchanged = |last: &ChangelogSnapshot| {
        // Only the marker of its transaction follows the last record.
        bounds.1 <= last.changelog_offset() + 1 && last.age_ms(as_of) < UNCHANGED_AGE_MS
    };
    if last.as_ref().is_some_and(unchanged) {
        return Ok(());
    }
    let from = match &last {
        Some(last) => last.changelog_offset(),
        None => find_beginning(&reader, || stop.is_requested())?.1,
    };
    let mut next = NextSnapshot {
        file: place.create()?,
        position: last.as_ref().map(|last| last.position().clone()),
        changelog_offset: from,
        whole: true,
    };
    if let Some(last) = last
        && !copy(last, &mut next, role, partition, stop)?
    {
        return Ok(());
    }
    if !reader.read_to_end(from, || stop.is_requested(), |record: &dyn Record| next.take(record))? {
        return Ok(());
    }
    let NextSnapshot { file, position, changelog_offset, whole } = next;
    let Some(position) = position else { return Ok(()) };
    if !whole {
        return Err(refused!("the changelog ends inside a transaction"));
    }
    let (log_offset, centroids) = (position.next_log_offset, position.centroid_count);
    file.finish(proto::Snapshot {
        changelog_topic: topic.clone(),
        changelog_offset,
        as_of_ms: as_of.as_ms(),
        oldest_log_offset: position.oldest_log_offset.unwrap_or(position.next_log_offset),
        position: Some(position),
        ..proto::Snapshot::default()
    })?;
    let took = role.world.now().duration_since(began);
    metrics::SNAPSHOT_TIMESTAMP_SECONDS.set_of(partition, as_of.as_ms() as f64 / 1e3);
    let seconds = format!("{:.1}", took.as_secs_f64());
    tracing::info!(partition, centroids, log_offset, changelog_offset, seconds, "snapshot written");
    Ok(())
}

/// Copies the centroids of the last snapshot to the next one. Returns false if `stop` is raised, or if the last one is
/// damaged: it is set aside, and the next one will be made from the changelog only.
fn copy<W: World>(
    last: ChangelogSnapshot,
    next: &mut NextSnapshot,
    role: &ClusterRole<W>,
    partition: u32,
    stop: &Stop,
) -> Result<bool> {
    let copied = last.read(|log_offset, value| {
        next.file.add(log_offset, value)?;
        Ok(!stop.is_requested())
    });
    match copied {
        Ok(position) => Ok(position.is_some()),
        Err(unusable @ Unusable::Damaged(_)) => {
            role.set_aside(partition, &unusable);
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// A snapshot that is being written.
struct NextSnapshot {
    file: SnapshotWriter,
    position: Option<proto::Position>,
    changelog_offset: u64,
    /// True if the last record that was read ended a transaction.
    whole: bool,
}

impl NextSnapshot {
    fn take(&mut self, record: &dyn Record) -> Result<()> {
        let key = record.key().context("a record without a key")?;
        if key == POSITION_KEY {
            self.position = Some(proto::Position::decode(record.value().unwrap_or_default())?);
            self.changelog_offset = record.offset() + 1;
            self.whole = true;
            return Ok(());
        }
        let id = ChangelogRecord::cluster_of(key).context("a record whose key has no cluster id")?;
        self.whole = false;
        Ok(self.file.add(id.log_offset, record.value().context("a record without a value")?)?)
    }
}
