//! Restores a table on disk from its blocks, which serve as its snapshot.
//!
//! *Blocks* are the files of old centroids (`leitong_store::blocks`). In: the folder of the table, and the changelog.
//! Out: the table at a changelog offset from which the caller reads on, or `None` if the blocks cannot be used. The
//! offset is some thousand centroids before the first one that is in no block, because not every place is remembered
//! (disk.rs). Cost: only the indexes of the blocks are read.

use std::sync::Arc;

use crate::kafka::error::Result;
use crate::kafka::ports::Reader;
use crate::worker::disk::set_aside;
use crate::worker::ports::{TableFolder, World};
use crate::worker::positions;
use crate::worker::replica::TableReplica;
use crate::worker::restore::{LOOK_AGAIN, STALE_LEADER};
use crate::worker::role::ClusterRole;
use leitong_base::proto;
use leitong_cluster::changelog::Restoration;
use leitong_store::snapshot::{ChangelogBlocks, ExpectedTable, OpenBlocks, Unusable};

impl<W: World> ClusterRole<W> {
    /// Returns the table in the blocks of `log_partition`, or `None` if there are no usable blocks or `stop`
    /// is raised. Sets unusable blocks aside.
    pub(super) fn at_blocks(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
        stop: impl Fn() -> bool,
    ) -> Result<Option<TableReplica>> {
        let folder = self.table_folder(log_partition, &stop)?;
        let files = Arc::clone(&folder.files);
        let unusable = match ChangelogBlocks::read(&*files) {
            Ok(None) => return Ok(None),
            Ok(Some(blocks)) => {
                let Some(last) = self.last_position(changelog, &blocks, stop)? else { return Ok(None) };
                if last.founded.unwrap_or_default().saturating_sub(last.centroid_count) >= blocks.end() {
                    tracing::debug!(partition = log_partition, "all centroids in blocks have expired");
                    return Ok(None);
                }
                match self.open_blocks(log_partition, changelog, (blocks, &last), folder)? {
                    Ok(table) => return Ok(Some(table)),
                    Err(unusable) => unusable,
                }
            }
            Err(unusable) => unusable,
        };
        set_aside(log_partition, &*files, &unusable);
        Ok(None)
    }

    /// Returns the last position record in the changelog. A new leader may not know everything that was
    /// committed, so this waits for some time until the changelog has as much as the blocks. Returns `None`
    /// if `stop` is raised.
    fn last_position(
        &self,
        changelog: &W::Reader,
        blocks: &ChangelogBlocks,
        stop: impl Fn() -> bool,
    ) -> Result<Option<proto::Position>> {
        let began = self.world.now();
        while !stop() {
            let last = positions::last_of(changelog)?;
            let (_, end) = changelog.bounds()?;
            let is_behind = last.as_ref().and_then(|last| last.founded) < Some(blocks.founded())
                || end < blocks.changelog_offset();
            if !is_behind || self.world.now().duration_since(began) > STALE_LEADER {
                return Ok(Some(last.unwrap_or_default()));
            }
            self.world.wait(&self.stop, LOOK_AGAIN);
        }
        Ok(None)
    }

    fn open_blocks(
        &self,
        log_partition: u32,
        changelog: &W::Reader,
        (blocks, last): (ChangelogBlocks, &proto::Position),
        folder: TableFolder,
    ) -> Result<Result<TableReplica, Unusable>> {
        let (bounds, table_id) = (changelog.bounds()?, last.table_id);
        let identity = &self.identity(log_partition);
        let topic = &self.config.kafka.topics.centroids;
        let next_offset = blocks.changelog_offset().max(bounds.0);
        let (files, expiry) = (Arc::clone(&folder.files), self.config.expiry.clone());
        let opened = blocks
            .check(&ExpectedTable { topic, identity, bounds, table_id }, last)
            .and_then(|()| blocks.open(files, &self.detector, expiry, folder.options));
        Ok(opened.map(|OpenBlocks { clusterer, store, newest }| {
            let restoration = Restoration::after_old(clusterer, newest, last);
            let disk = self.disk_table(log_partition, folder, store, next_offset);
            TableReplica::new(restoration, Some(disk), next_offset)
        }))
    }
}
