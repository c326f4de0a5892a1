//! Warm standby: for each log partition, a thread that follows the changelog while another instance owns the
//! partition. The table is then ready for take-over.
//!
//! ```text
//! changelog ─► table in the registry ─► its owner ─► back to the registry …
//! ```
//! The thread runs as long as the worker. When the registry says that an owner in this process has begun, it stops
//! following; the restore of that owner takes the table from the registry. After that owner has ended, it follows again.
//!
//! Invariants: a partition is either followed or owned; tables are moved, never copied; a table holds only
//! committed records, and knows the offset to continue at. Look-ups read it between transactions, because the
//! records of a transaction are applied together. No lock is held while waiting for a broker. Memory: the
//! tables of all partitions, and for each one transaction of the changelog.

use std::time::Duration;

use super::ports::World;
use super::registry::KeptRecord;
use super::role::ClusterRole;
use super::stop::Stop;
use crate::kafka::error::{Error, Result};
use crate::kafka::ports::{ReadMode, Reader, Record, Step};
use leitong_base::error::StepError;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_graph::telemetry::metrics;

/// Pause before an inconsistent changelog is followed again.
const UNFIT_PAUSE: Duration = Duration::from_secs(30);
/// Pause before a failed read is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Interval at which the thread checks if the partition still has an owner here.
const OWNED_PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of changelog records that are applied together: more than a transaction has.
const TAKEN_AT_ONCE: usize = 1 << 18;

/// Follows the changelog of one partition whenever it has no owner here, until `stop` is raised.
pub(crate) fn follow<W: World>(role: &ClusterRole<W>, partition: u32, stop: &Stop) {
    while !stop.is_requested() {
        if role.tables.is_owned(partition) {
            role.world.wait(stop, OWNED_PAUSE);
            continue;
        }
        let ended = follow_until_owned(role, partition, stop);
        metrics::STANDBY_CENTROIDS.set_of(partition, 0.0);
        match ended {
            Ok(()) => {}
            Err(why @ (Error::Restore(_) | Error::RecordsGone { .. })) => {
                // Brokers may have deleted records during the reading. The next owner checks this more
                // closely.
                tracing::warn!(
                    partition,
                    "standby: the table is discarded; in {} s it is read again from the changelog: {why}",
                    UNFIT_PAUSE.as_secs()
                );
                role.tables.take(partition);
                role.world.wait(stop, UNFIT_PAUSE);
            }
            Err(error) => {
                // The table is kept, and following continues from there.
                tracing::warn!(
                    partition,
                    "standby: the table is out of date until the changelog can be read; trying again: {}",
                    StepError::with_causes(&error)
                );
                role.world.wait(stop, RETRY_PAUSE);
            }
        }
    }
}

/// Follows the changelog until the partition has an owner here, or `stop` is raised.
fn follow_until_owned<W: World>(role: &ClusterRole<W>, partition: u32, stop: &Stop) -> Result<()> {
    let (world, tables) = (&role.world, &role.tables);
    let changelog = world.reader(&role.config.kafka.topics.centroids, partition, ReadMode::Following)?;
    let enough = || stop.is_requested() || tables.is_owned(partition);
    let table = match tables.take(partition) {
        Some(table) => table,
        // Starts from the snapshot, or from the beginning.
        None => match role.at_snapshot(partition, &changelog, enough)? {
            Some(table) => table,
            None => role.at_beginning(partition, &changelog, enough)?,
        },
    };
    let next_offset = table.next_offset;
    if enough() || !tables.put(partition, table) {
        return Ok(());
    }
    let bounds = changelog.bounds()?;
    if next_offset < bounds.0 {
        return Err(Error::RecordsGone { start: bounds.0, next_offset });
    }
    changelog.begin(next_offset)?;
    let mut transaction = Vec::new();
    while !enough() {
        match changelog.next(Duration::from_millis(100))? {
            Step::Record(record) => {
                let is_last = record.key() == Some(POSITION_KEY);
                transaction.push(KeptRecord::new(&record));
                if !is_last && transaction.len() < TAKEN_AT_ONCE {
                    continue;
                }
                match tables.apply(partition, &transaction, world.now())? {
                    true => transaction.clear(),
                    false => return Ok(()),
                }
            }
            Step::End => {
                let Some(end) = tables.at_end(partition, world.now())? else { return Ok(()) };
                let (centroids, first_end) = end;
                metrics::STANDBY_CENTROIDS.set_of(partition, centroids as f64);
                if let Some(changelog_offset) = first_end {
                    tracing::info!(partition, centroids, changelog_offset, "standby: table ready");
                    role.health.stop_waiting_for(partition);
                }
            }
            Step::Nothing => tables.idle(partition, world.now())?,
        }
    }
    Ok(())
}
