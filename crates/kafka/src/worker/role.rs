//! The state shared by owners, standbys and snapshots of one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dashmap::DashMap;
use parking_lot::Mutex;

use super::Accepted;
use super::deletion::Committed;
use super::ports::World;
use super::registry::TableRegistry;
use super::stop::Stop;
use crate::kafka::error::Error;
use leitong_cluster::changelog::Identity;
use leitong_fingerprint::Detector;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::config::Config;

/// The cluster role of one process.
pub(crate) struct ClusterRole<W> {
    pub(crate) world: W,
    pub(crate) config: Arc<Config>,
    pub(crate) detector: Arc<dyn Detector>,
    /// Hash of the settings that affect fingerprints.
    pub(crate) fingerprint_hash: u64,
    pub(crate) log_partitions: u32,
    pub(crate) accepted: Accepted,
    pub(crate) health: Arc<StageHealth>,
    /// The tables of owners and standbys.
    pub(crate) tables: TableRegistry,
    /// The records of the changelog that owners need, by partition.
    pub(crate) needed: DashMap<u32, Committed>,
    /// The stop flag of the whole worker.
    pub(crate) stop: Stop,
    /// True once a page with another fingerprint hash was logged.
    other_hash_told: AtomicBool,
    /// The error that ends the worker.
    refused: Mutex<Option<Error>>,
}

impl<W: World> ClusterRole<W> {
    /// Creates the role without tables. `detector` and `fingerprint_hash` are those of `config`.
    pub(crate) fn new(
        world: W,
        config: Arc<Config>,
        (detector, fingerprint_hash): (Arc<dyn Detector>, u64),
        log_partitions: u32,
        accepted: Accepted,
        health: Arc<StageHealth>,
        stop: Stop,
    ) -> Self {
        let tables = TableRegistry::new(&config, log_partitions);
        Self {
            world,
            config,
            detector,
            fingerprint_hash,
            log_partitions,
            accepted,
            health,
            tables,
            needed: DashMap::new(),
            stop,
            other_hash_told: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }

    /// Counts a page whose fingerprint hash differs from this instance's, and logs the first such page.
    pub(crate) fn other_hash(&self, partition: u32, offset: u64, found: u64) {
        metrics::OTHER_FINGERPRINT_HASH.add(1);
        if !self.other_hash_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                partition,
                offset,
                fingerprint_hash = format!("{found:016x}"),
                own_fingerprint_hash = format!("{:016x}", self.fingerprint_hash),
                "the log has pages with fingerprints of another version or other settings, which are never \
                 compared with this instance's; leitong_other_fingerprint_hash_total counts them"
            );
        }
    }

    /// Ends the worker with `error`.
    pub(crate) fn refuse(&self, error: Error) {
        self.refused.lock().get_or_insert(error);
        self.stop.request();
    }

    /// Takes the error that ends the worker, if there is one.
    pub(crate) fn take_refused(&self) -> Option<Error> {
        self.refused.lock().take()
    }

    /// Returns the identity of the table of `log_partition`.
    pub(crate) fn identity(&self, log_partition: u32) -> Identity {
        let settings = (&*self.detector, self.fingerprint_hash);
        self.config.table_identity(settings, (log_partition, self.log_partitions), self.world.topic_ids())
    }
}
