//! Opens the folder of a partition's table, and creates an empty table in it.

use std::sync::Arc;
use std::time::Duration;

use crate::kafka::error::{Result, refused};
use crate::worker::disk::DiskTable;
use crate::worker::ports::{TableFolder, World};
use crate::worker::role::ClusterRole;
use leitong_base::error::Context;
use leitong_cluster::{Clusterer, OldCentroids, Position};
use leitong_store::blocks::{BlockStore, Manifest};
use leitong_store::snapshot::ChangelogBlocks;

/// Timeout for a former owner in this process to release the table's folder.
const LET_GO_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval at which the folder is checked until [`LET_GO_TIMEOUT`] has passed.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl<W: World> ClusterRole<W> {
    /// Waits until no other table uses the folder of a partition's table, and returns the folder.
    pub(super) fn table_folder(&self, partition: u32, stop: impl Fn() -> bool) -> Result<TableFolder> {
        let began = self.world.now();
        while !stop() {
            let folder = self.world.table_folder(partition).context("cannot open the table's folder")?;
            if let Some(folder) = folder {
                return Ok(folder);
            }
            if self.world.now().duration_since(began) > LET_GO_TIMEOUT {
                return Err(refused!(
                    "the table's folder is in use, by a former owner that is still ending or by another \
                     instance; give each instance its own kafka.snapshots.dir"
                ));
            }
            self.world.wait(&self.stop, LOOK_AGAIN);
        }
        Err(refused!("stopped"))
    }

    /// Creates an empty table for a partition, with a part on disk if the settings say so. The caller then
    /// fills the table from the changelog, beginning at offset `from`.
    pub(super) fn empty_table(
        &self,
        partition: u32,
        from: u64,
        stop: impl Fn() -> bool,
    ) -> Result<(Clusterer, Option<DiskTable>)> {
        let (detector, rules) = (Arc::clone(&self.detector), self.config.cluster_rules());
        let position = Position { log_partition: partition, ..Position::default() };
        if !self.config.table.on_disk {
            return Ok((Clusterer::new(detector, rules, position), None));
        }
        let folder = self.table_folder(partition, stop)?;
        ChangelogBlocks::remove(&*folder.files).context("cannot remove the old table on disk")?;
        let manifest = Manifest { table_id: self.world.random(), ..Manifest::default() };
        let files = Arc::clone(&folder.files);
        let store = BlockStore::open(files, Arc::clone(&detector), folder.options, &manifest);
        let store = Arc::new(store.context("cannot create a table on disk")?);
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, 0);
        let clusterer = Clusterer::with_old(detector, rules.expiry, position, None, old);
        let clusterer = clusterer.context("cannot create a table on disk")?;
        Ok((clusterer, Some(self.disk_table(partition, folder, store, from))))
    }

    /// Returns the part on disk of a partition's table. The changelog from offset `from` on has all centroids
    /// that are in no block of `store`.
    pub(super) fn disk_table(
        &self,
        partition: u32,
        folder: TableFolder,
        store: Arc<BlockStore>,
        from: u64,
    ) -> DiskTable {
        let topic = &*self.config.kafka.topics.centroids;
        let identity = self.identity(partition);
        DiskTable::new(partition, topic, &identity, folder, store, from)
    }
}
