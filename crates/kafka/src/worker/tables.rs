//! Looks up pages in the tables that this worker has, as an owner or as a standby.
//!
//! ```text
//! corpus ─► partition of the log ─► its owner's table ─┐
//!                                └► the standby's ─────┼► verdict, as of which log offset
//!                                └► neither: why, and what to do
//! ```
//! Invariants: an answer is exact for the log offset that it names. That offset need not be committed yet,
//! because verdicts are a function of the log. A table is not used if a part of it could not be read, or if
//! it belongs to other settings or another topic.

use std::sync::Arc;

use super::ports::World;
use super::role::ClusterRole;
use leitong_base::record::{FingerprintRecord, Timestamp};
use leitong_cluster::changelog::Restoration;
use leitong_cluster::{ClusterId, Clusterer, PreviewOptions, Scratch, TableFault};
use leitong_graph::telemetry::metrics;
use leitong_http::api::Recent;
use leitong_http::api::place;
use leitong_http::api::{AsOf, HeldAs, KnownCluster, LookedUp, Tables};
use leitong_http::api::{Problem, ProblemKind};
use leitong_pipeline::TableView;
use leitong_pipeline::log_partition;

/// The tables of one worker.
pub(crate) struct WorkerTables<W> {
    role: Arc<ClusterRole<W>>,
    /// Hash of the clustering settings of this worker.
    cluster_hash: u64,
}

impl<W: World> WorkerTables<W> {
    pub(crate) fn new(role: Arc<ClusterRole<W>>) -> Self {
        let cluster_hash = role.identity(0).cluster_hash;
        Self { role, cluster_hash }
    }

    /// Returns the first match of `find` among the verdicts that owners in this worker committed last.
    fn find_kept(&self, find: impl Fn(&Recent) -> Option<Box<[u8]>>) -> Option<Box<[u8]>> {
        let tables = &self.role.tables;
        let mut owned = tables.owned_partitions().into_iter().filter_map(|partition| tables.owned(partition));
        owned.find_map(|owned| find(&owned.recent.read()))
    }

    fn unknown(&self, what: &str) -> Problem {
        let (partitions, count) = (self.role.tables.owned_partitions(), self.role.log_partitions);
        Problem::new(
            ProblemKind::UnknownPage,
            format!(
                "{what} among the recent verdicts of this instance (api.recent_bytes_max). It owns log \
                 partitions {partitions:?} of {count}; the topic {} has all verdicts",
                self.role.config.kafka.topics.verdicts
            ),
        )
    }

    /// Looks up a page in one partition, regardless of the page's corpus. See [`Tables::look_up`].
    pub(crate) fn look_up_in(
        &self,
        partition: u32,
        mut record: FingerprintRecord,
        preview: PreviewOptions,
        now: Timestamp,
        scratch: &mut Scratch,
    ) -> Result<LookedUp, Problem> {
        // The log time is that of a message written now.
        record.log_time = Some(now);
        self.read(partition, |view, held_as| {
            let position = view.clusterer.position();
            record.source = place(position.next_log_offset);
            let (mut verdict, nearest) = view.preview(record, preview, now, scratch)?;
            metrics::LOOKUPS.add_as(held_as.as_str(), 1);
            if position.log_generation == 0 {
                // The log has no name before its first record, so clusters have no ids yet.
                verdict.cluster_id = None;
            }
            let as_of = AsOf { log_partition: partition, ..AsOf::new(position, Some(held_as)) };
            Ok(LookedUp { verdict, nearest, as_of })
        })
    }

    /// Calls `look` with the table of a partition, and returns its result.
    fn read<T>(
        &self,
        partition: u32,
        look: impl FnOnce(TableView<'_>, HeldAs) -> Result<T, TableFault>,
    ) -> Result<T, Problem> {
        // If the log or the changelog was recreated, the table belongs to a topic that no longer exists.
        self.role.world.verify_table().map_err(|replaced| not_ready(partition, &replaced.to_string()))?;
        let unreadable = |fault: TableFault| not_ready(partition, &fault.to_string());
        if let Some(owned) = self.role.tables.owned(partition)
            && let Some(stage) = owned.table.read()
        {
            return look(stage.view(), HeldAs::Owner).map_err(unreadable);
        }
        let followed = self.role.tables.read_followed(partition, |restoration| {
            self.verify_settings(partition, restoration)?;
            let (clusterer, detector) = (restoration.clusterer(), &*self.role.detector);
            let view = TableView { clusterer, detector, cluster_hash: self.cluster_hash };
            look(view, HeldAs::Standby).map_err(unreadable)
        });
        followed.unwrap_or_else(|| Err(self.absent(partition)))
    }

    /// Checks that the owner, whose decisions the standby follows, has the same settings as this worker.
    fn verify_settings(&self, partition: u32, restoration: &Restoration) -> Result<(), Problem> {
        match restoration.position().map(|position| position.cluster_hash) {
            Some(found) if found != self.cluster_hash => {
                let own = self.cluster_hash;
                let why = format!(
                    "its owner has other settings (cluster_hash {found:016x}) than this instance \
                     ({own:016x}); ask the owner, or give both the same settings"
                );
                Err(not_ready(partition, &why))
            }
            _ => Ok(()),
        }
    }

    /// Returns the reason why the table of a partition is not here.
    fn absent(&self, partition: u32) -> Problem {
        let role = &self.role;
        if role.tables.is_owned(partition) || role.config.kafka.standby {
            let why = role.health.why_not(partition);
            return not_ready(partition, &why.unwrap_or_else(|| "it changes hands".to_owned()));
        }
        let has = match &role.tables.owned_partitions()[..] {
            [] => "none".to_owned(),
            some => some.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        };
        Problem::new(
            ProblemKind::NotHere,
            format!(
                "the page belongs to log partition {partition} of {}, whose table another instance has (this \
                 instance has: {has}); ask the other instances, or set kafka.standby = true to have all tables in each instance",
                role.log_partitions
            ),
        )
    }
}

fn not_ready(partition: u32, why: &str) -> Problem {
    Problem::new(
        ProblemKind::NotReady,
        format!("log partition {partition}: its table cannot be looked up here now: {why}"),
    )
}

impl<W: World> Tables for WorkerTables<W> {
    fn look_up(
        &self,
        record: FingerprintRecord,
        preview: PreviewOptions,
        now: Timestamp,
        scratch: &mut Scratch,
    ) -> Result<LookedUp, Problem> {
        let partition = log_partition(&record.corpus, self.role.log_partitions);
        self.look_up_in(partition, record, preview, now, scratch)
    }

    fn page(&self, page_id: &str) -> Result<Box<[u8]>, Problem> {
        let kept = |recent: &Recent| recent.page(page_id).map(Into::into);
        self.find_kept(kept).ok_or_else(|| self.unknown(&format!("{page_id:?}: no verdict on this page")))
    }

    fn page_of_url(&self, url: &str) -> Result<Box<[u8]>, Problem> {
        let kept = |recent: &Recent| recent.page_of_url(url).map(Into::into);
        self.find_kept(kept)
            .ok_or_else(|| self.unknown(&format!("{url:?}: no verdict on a page with this url")))
    }

    fn cluster(
        &self,
        id: ClusterId,
        members_max: usize,
        scratch: &mut Scratch,
    ) -> Result<KnownCluster, Problem> {
        let partition = id.log_partition;
        if partition >= self.role.log_partitions {
            return Ok(KnownCluster::default());
        }
        let centroid_of = |clusterer: &Clusterer, scratch: &mut Scratch| {
            Ok((clusterer.centroid(id, scratch)?, clusterer.position().log_generation))
        };
        let (centroid, generation) = self.read(partition, |view, _| centroid_of(view.clusterer, scratch))?;
        let owned = self.role.tables.owned(partition).filter(|_| generation == id.log_generation);
        let (members_kept, members) = match owned {
            Some(owned) => owned.recent.read().youngest_members(id.log_offset, members_max),
            None => (0, Vec::new()),
        };
        Ok(KnownCluster { centroid, members_kept, members })
    }

    fn instead_of_storing(&self) -> Option<String> {
        let topics = &self.role.config.kafka.topics;
        Some(format!(
            "a worker stores nothing over HTTP: write pages to the topic {}, and read their verdicts from {}",
            topics.pages, topics.verdicts
        ))
    }
}
