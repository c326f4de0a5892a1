//! Warm standby: for each partition of the log a thread that follows its changelog
//! while another instance owns it, into a table that is ready to be taken.
//!
//! ```text
//! changelog ─► table ─► Standby::take ─► owner ─► Standby::release ─► table …
//! ```
//! Invariants: a partition is followed or owned, never both; tables are handed over,
//! never copied; a table holds committed records only, and knows the offset to go on
//! at. Look-ups read it between transactions: the records of one are taken all at once.
//! No lock is held while a broker is asked. Memory: the tables of all partitions, and
//! one transaction's part of the changelog for each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::ports::World;
use super::restore::TableReplica;
use super::role::ClusterRole;
use super::stop::Stop;
use crate::kafka::log_origin::LogOrigin;
use crate::kafka::ports::{Reader, Record, Step};
use crate::telemetry::metrics;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_cluster::changelog::restore::{Restoration, RestoreError};

/// How long to wait before following a changelog again that made no sense.
const UNFIT_PAUSE: Duration = Duration::from_secs(30);
/// How long to wait before a read that failed is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How often to look whether a partition has lost its owner here.
const OWNED_PAUSE: Duration = Duration::from_millis(100);

/// Records of the changelog that are taken at once: more than one transaction has.
const TAKEN_AT_ONCE: usize = 1 << 18;

/// The tables, by partition of the log.
pub(crate) struct Standby {
    slots: Mutex<BTreeMap<u32, Arc<RwLock<Slot>>>>,
    /// Look-ups read them.
    is_read: bool,
}

/// One partition.
#[derive(Default)]
struct Slot {
    /// Owners of this process: one, or two while the former one comes to its end.
    owners: usize,
    /// None while it is owned, or not begun.
    table: Option<TableReplica>,
    /// It has been read to the end once.
    ready: bool,
}

/// A record of the changelog, until its transaction is taken.
struct KeptRecord {
    offset: u64,
    key: Option<Box<[u8]>>,
    value: Option<Box<[u8]>>,
}

impl KeptRecord {
    fn of(record: &dyn Record) -> Self {
        Self {
            offset: record.offset(),
            key: record.key().map(Into::into),
            value: record.value().map(Into::into),
        }
    }
}

impl Record for KeptRecord {
    fn offset(&self) -> u64 {
        self.offset
    }

    fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    /// Records of the changelog say nothing of it.
    fn origin(&self) -> Option<LogOrigin> {
        None
    }
}

/// Why following ended.
enum Ended {
    /// It is owned here by now, or the worker stops.
    Left,
    /// The table is dropped: the changelog does not go on where it was, or made no sense.
    Unfit(String),
    /// May pass; the table stays.
    Broker(anyhow::Error),
}

impl From<anyhow::Error> for Ended {
    fn from(error: anyhow::Error) -> Self {
        Self::Broker(error)
    }
}

impl Standby {
    /// No tables yet; `is_read`: look-ups will ask for them.
    pub(super) fn new(log_partitions: u32, is_read: bool) -> Self {
        let slots = (0..log_partitions).map(|partition| (partition, Arc::default())).collect();
        Self { slots: Mutex::new(slots), is_read }
    }

    /// An owner begins; from now on the partition is not followed.
    pub(crate) fn own(&self, partition: u32) {
        self.slot(partition).write().owners += 1;
    }

    /// The table of a partition, for its owner.
    pub(super) fn take(&self, partition: u32) -> Option<TableReplica> {
        self.slot(partition).write().table.take()
    }

    /// An owner has ended, and leaves its table if that holds committed records only.
    pub(super) fn release(&self, partition: u32, table: Option<TableReplica>) {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        slot.owners = slot.owners.saturating_sub(1);
        slot.table = table.filter(|_| slot.owners == 0);
    }

    /// Whether an owner of this process has the partition, or is to have it.
    pub(super) fn is_owned(&self, partition: u32) -> bool {
        self.slot(partition).read().owners > 0
    }

    /// What `look` makes of a table, as of the end of a transaction; none where there is none, or
    /// none yet that has been read to the changelog's end.
    pub(super) fn read<T>(&self, partition: u32, look: impl FnOnce(&Restoration) -> T) -> Option<T> {
        let slot = self.slot(partition);
        let slot = slot.read();
        slot.table.as_ref().and_then(TableReplica::readable).map(look)
    }

    /// Puts a table in place to be followed, unless the
    /// partition is owned by now; where it goes on.
    fn put(&self, partition: u32, table: TableReplica) -> bool {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        if slot.owners > 0 {
            return false;
        }
        slot.table = Some(table);
        true
    }

    /// Gives the next records of the changelog to the table, all at once; false if there is none any
    /// more.
    fn apply(&self, partition: u32, records: &[KeptRecord], now: Instant) -> Result<bool, RestoreError> {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        let Some(table) = slot.table.as_mut() else { return Ok(false) };
        for record in records {
            // A table that was owned meanwhile may hold more than was read here.
            if record.offset >= table.next_offset {
                table.take(record, now)?;
            }
        }
        Ok(true)
    }

    /// There is nothing to read; what waits in memory to be written to disk goes on.
    fn idle(&self, partition: u32, now: Instant) {
        if let Some(table) = self.slot(partition).write().table.as_mut() {
            table.at_end(now);
        }
    }

    /// The table has been read to the end: its centroids, the offset it goes on
    /// at, and whether that is the first time; none if there is no table any more.
    fn at_end(&self, partition: u32, now: Instant) -> Option<(usize, u64, bool)> {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        let table = slot.table.as_mut()?;
        table.at_end(now);
        if self.is_read {
            table.let_read();
        }
        let (centroids, next_offset) = (table.restoration.centroid_count(), table.next_offset);
        let first = !std::mem::replace(&mut slot.ready, true);
        Some((centroids, next_offset, first))
    }

    fn slot(&self, partition: u32) -> Arc<RwLock<Slot>> {
        Arc::clone(self.slots.lock().entry(partition).or_default())
    }
}

/// Follows the changelog of one partition, whenever it has no owner here, until `stop` is raised.
pub(crate) fn follow<W: World>(role: &ClusterRole<W>, partition: u32, stop: &Stop) {
    while !stop.is_requested() {
        if role.standby.is_owned(partition) {
            role.world.wait(stop, OWNED_PAUSE);
            continue;
        }
        let ended = follow_until_owned(role, partition, stop);
        let topic = &role.config.kafka.topics.centroids;
        metrics::lag(topic, i32::try_from(partition).unwrap_or(i32::MAX), 0);
        metrics::standby(partition, 0);
        match ended {
            Ended::Left => {}
            Ended::Unfit(why) => {
                // Brokers may overtake a reader; who owns the partition looks more closely.
                tracing::warn!(
                    partition,
                    "standby: following the changelog anew in {} s: {why}",
                    UNFIT_PAUSE.as_secs()
                );
                role.standby.take(partition);
                role.world.wait(stop, UNFIT_PAUSE);
            }
            Ended::Broker(error) => {
                // What was read is kept, and read on behind.
                tracing::warn!(partition, "standby: trying again: {error:#}");
                role.world.wait(stop, RETRY_PAUSE);
            }
        }
    }
}

fn follow_until_owned<W: World>(role: &ClusterRole<W>, partition: u32, stop: &Stop) -> Ended {
    match try_follow(role, partition, stop) {
        Ok(()) => Ended::Left,
        Err(ended) => ended,
    }
}

fn try_follow<W: World>(role: &ClusterRole<W>, partition: u32, stop: &Stop) -> Result<(), Ended> {
    let (world, standby) = (&role.world, &role.standby);
    let changelog = world.follower(&role.config.kafka.topics.centroids, partition)?;
    let enough = || stop.is_requested() || standby.is_owned(partition);
    let table = match standby.take(partition) {
        Some(table) => table,
        // From the snapshot, or from the beginning.
        None => match role.at_snapshot(partition, &changelog, enough)? {
            Some(table) => table,
            None => role.at_beginning(partition, &changelog, enough)?,
        },
    };
    let next_offset = table.next_offset;
    if enough() || !standby.put(partition, table) {
        return Ok(());
    }
    let bounds = changelog.bounds()?;
    if next_offset < bounds.0 {
        return Err(Ended::Unfit(format!(
            "the changelog begins at offset {}, and was read up to {next_offset}",
            bounds.0
        )));
    }
    changelog.begin(next_offset)?;
    let mut transaction = Vec::new();
    while !enough() {
        match changelog.next(Duration::from_millis(100))? {
            Step::Record(record) => {
                let record = KeptRecord::of(&record);
                let is_last = record.key() == Some(POSITION_KEY);
                transaction.push(record);
                if !is_last && transaction.len() < TAKEN_AT_ONCE {
                    continue;
                }
                match standby.apply(partition, &transaction, world.now()) {
                    Ok(true) => transaction.clear(),
                    Ok(false) => return Ok(()),
                    Err(error) => return Err(Ended::Unfit(error.to_string())),
                }
            }
            Step::End => {
                let Some((centroids, changelog_offset, first)) = standby.at_end(partition, world.now())
                else {
                    return Ok(());
                };
                metrics::standby(partition, centroids);
                if first {
                    tracing::info!(partition, centroids, changelog_offset, "standby: table ready");
                    role.health.settled(partition);
                }
            }
            Step::Nothing => standby.idle(partition, world.now()),
        }
    }
    Ok(())
}
