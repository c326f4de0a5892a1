//! The tables of this process, by partition of the log: those that its owners decide with, and those that
//! its standbys follow.
//!
//! ```text
//! owner   ─► serve ─► decides and commits, keep … ─► Served is dropped: the table is gone from here
//! standby ─► put ─► apply … ─► take ─► owner ─► release ─► followed again
//! look-up ─► owned, else read_followed
//! ```
//! Invariants: a partition is owned or followed, never both. If there is an API, an owner's table is here as long as
//! the owner works on it; without one, only the number of owners is. A verdict is kept here from its commit until its
//! owner ends at the latest, because another owner may decide differently from then on. Followed tables hold
//! committed records only, and are read between transactions. Handles are cloned out of the maps, so no lock of a map
//! is held while a table is used. Memory: the tables, and `api.recent_bytes_max` for verdicts, shared among the
//! partitions; nothing if there is no API.

use std::sync::Arc;
use std::time::Instant;

use dashmap::DashMap;
use parking_lot::RwLock;

use super::replica::TableReplica;
use crate::kafka::ports::Record;
use crate::worker::log_partition::LogPartition;
use leitong_cluster::TableFault;
use leitong_cluster::changelog::{Restoration, RestoreError};
use leitong_cluster::verdict::Verdict;
use leitong_http::api::StageReader;
use leitong_http::api::{Named, Recent};
use leitong_pipeline::config::Config;

/// The tables of one process.
pub(crate) struct TableRegistry {
    owned: DashMap<u32, Arc<OwnedTable>>,
    followed: DashMap<u32, Arc<RwLock<Followed>>>,
    /// Maximum number of bytes of recent verdicts kept for one partition; `None` if there is no API.
    recent_bytes_max: Option<usize>,
}

/// The table of an owner, and the verdicts that it has committed last.
pub(super) struct OwnedTable {
    pub(super) table: StageReader,
    pub(super) recent: RwLock<Recent>,
}

/// The table of a standby.
#[derive(Default)]
struct Followed {
    /// Number of owners in this process: none, one, or two while a former owner ends.
    owners: usize,
    /// `None` while the partition is owned, or before following begins.
    table: Option<TableReplica>,
    /// True once a table of this partition was read to the changelog's end.
    ready: bool,
}

/// A verdict to keep: the names by which look-ups find it, and its JSON.
pub(crate) type KeptVerdict = (Named, Box<[u8]>);

/// A record of the changelog, kept until the end of its transaction.
pub(super) struct KeptRecord {
    offset: u64,
    key: Option<Box<[u8]>>,
    value: Option<Box<[u8]>>,
}

impl KeptRecord {
    pub(super) fn new(record: &dyn Record) -> Self {
        Self {
            offset: record.offset(),
            key: record.key().map(Into::into),
            value: record.value().map(Into::into),
        }
    }
}

/// A guard that keeps an owner's table in the registry until it is dropped.
pub(super) struct Served<'a> {
    tables: &'a TableRegistry,
    partition: u32,
    owned: Option<Arc<OwnedTable>>,
}

impl TableRegistry {
    /// Creates a registry without tables.
    pub(super) fn new(config: &Config, log_partitions: u32) -> Self {
        let has_api = !config.api.address.is_empty();
        let each = config.api.recent_bytes_max / log_partitions.max(1) as usize;
        Self { owned: DashMap::new(), followed: DashMap::new(), recent_bytes_max: has_api.then_some(each) }
    }

    /// Lets look-ups read the table of an owner, instead of that of an earlier owner, until the guard is
    /// dropped.
    ///
    /// # Errors
    /// [`TableFault`] if old centroids of the table cannot be read or written.
    pub(super) fn serve(&self, partition: u32, state: &mut LogPartition) -> Result<Served<'_>, TableFault> {
        let owned = match self.recent_bytes_max {
            Some(bytes_max) => {
                state.insert_pending()?;
                let recent = RwLock::new(Recent::new(bytes_max));
                Some(Arc::new(OwnedTable { table: state.reader(), recent }))
            }
            None => None,
        };
        if let Some(owned) = &owned {
            self.owned.insert(partition, Arc::clone(owned));
        }
        Ok(Served { tables: self, partition, owned })
    }

    /// Returns the names and JSON of a verdict, to keep once it is committed; `None` if there is no API.
    pub(super) fn kept(&self, verdict: &Verdict, json: Option<&[u8]>) -> Option<KeptVerdict> {
        self.recent_bytes_max.is_some().then(|| {
            let json = match json {
                Some(json) => json.into(),
                None => serde_json::to_vec(verdict).expect("maps have texts for keys").into(),
            };
            (Named::from_verdict(verdict), json)
        })
    }

    /// Returns the table of the owner of `partition`, if an owner is at work.
    pub(super) fn owned(&self, partition: u32) -> Option<Arc<OwnedTable>> {
        self.owned.get(&partition).map(|owned| Arc::clone(&owned))
    }

    /// Returns the partitions whose owners' tables can be looked up, in ascending order; none if there is no API.
    pub(super) fn owned_partitions(&self) -> Vec<u32> {
        let mut partitions: Vec<u32> = self.owned.iter().map(|owned| *owned.key()).collect();
        partitions.sort_unstable();
        partitions
    }

    /// Notes that an owner begins. From now on the partition is not followed.
    pub(crate) fn own(&self, partition: u32) {
        self.slot(partition).write().owners += 1;
    }

    /// Takes the followed table of a partition, for its owner.
    pub(super) fn take(&self, partition: u32) -> Option<TableReplica> {
        self.slot(partition).write().table.take()
    }

    /// Notes that an owner has ended. `table` is the table that it leaves to a standby, which must hold
    /// committed records only.
    pub(super) fn release(&self, partition: u32, table: Option<TableReplica>) {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        slot.owners = slot.owners.saturating_sub(1);
        slot.table = table.filter(|_| slot.owners == 0);
    }

    /// Returns true if an owner of this process has the partition, or is about to have it.
    pub(super) fn is_owned(&self, partition: u32) -> bool {
        self.slot(partition).read().owners > 0
    }

    /// Calls `look` with the followed table of a partition, as of the end of a transaction. Returns `None` if
    /// there is no table, or if the table was not read to the changelog's end yet.
    pub(super) fn read_followed<T>(&self, partition: u32, look: impl FnOnce(&Restoration) -> T) -> Option<T> {
        let slot = self.slot(partition);
        let slot = slot.read();
        slot.table.as_ref().and_then(TableReplica::readable).map(look)
    }

    /// Puts a table in place to be followed. Returns false if the partition has an owner by now.
    pub(super) fn put(&self, partition: u32, table: TableReplica) -> bool {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        if slot.owners > 0 {
            return false;
        }
        slot.table = Some(table);
        true
    }

    /// Applies the next records of the changelog to the followed table, all at once. Returns false if the
    /// table no longer exists.
    pub(super) fn apply(
        &self,
        partition: u32,
        records: &[KeptRecord],
        now: Instant,
    ) -> Result<bool, RestoreError> {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        let Some(table) = slot.table.as_mut() else { return Ok(false) };
        for record in records {
            // A table that was owned in the meantime may hold more than the standby has read.
            if record.offset >= table.next_offset {
                table.apply(record.offset, (record.key.as_deref(), record.value.as_deref()), now)?;
            }
        }
        Ok(true)
    }

    /// Continues writing centroids to disk while there is nothing to read.
    pub(super) fn idle(&self, partition: u32, now: Instant) -> Result<(), RestoreError> {
        match self.slot(partition).write().table.as_mut() {
            Some(table) => table.at_end(now),
            None => Ok(()),
        }
    }

    /// Notes that the followed table was read to the changelog's end. Returns the number of its centroids and, if this is
    /// the first time for this partition, the changelog offset at which it continues; `None` if there is no table any more.
    pub(super) fn at_end(
        &self,
        partition: u32,
        now: Instant,
    ) -> Result<Option<(usize, Option<u64>)>, RestoreError> {
        let slot = self.slot(partition);
        let mut slot = slot.write();
        let Some(table) = slot.table.as_mut() else { return Ok(None) };
        table.at_end(now)?;
        if self.recent_bytes_max.is_some() {
            table.let_read()?;
        }
        let (centroids, next_offset) = (table.restoration.centroid_count(), table.next_offset);
        let is_first = !std::mem::replace(&mut slot.ready, true);
        Ok(Some((centroids, is_first.then_some(next_offset))))
    }

    fn slot(&self, partition: u32) -> Arc<RwLock<Followed>> {
        Arc::clone(&self.followed.entry(partition).or_default())
    }
}

impl Served<'_> {
    /// Keeps committed verdicts for look-ups.
    pub(super) fn keep(&self, verdicts: Vec<KeptVerdict>) {
        if let Some(owned) = &self.owned {
            let mut recent = owned.recent.write();
            verdicts.into_iter().for_each(|(named, json)| recent.push(named, json));
        }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if let Some(own) = &self.owned {
            // An owner that ends late must not remove the table of the next one.
            self.tables.owned.remove_if(&self.partition, |_, served| Arc::ptr_eq(served, own));
        }
    }
}
