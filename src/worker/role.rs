//! What the owners, standbys and snapshots of one process share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Accepted;
use super::deletion::Needed;
use super::ports::World;
use super::registry::TableRegistry;
use super::stop::Stop;
use crate::config::Config;
use crate::telemetry::health::StageHealth;
use crate::telemetry::metrics;
use leitong_cluster::changelog::Identity;
use leitong_fingerprint::Detector;

/// The cluster role of one process.
pub(crate) struct ClusterRole<W> {
    pub(crate) world: W,
    pub(crate) config: Arc<Config>,
    pub(crate) detector: Arc<dyn Detector>,
    /// Of the settings that decide on fingerprints.
    pub(crate) fingerprint_hash: u64,
    pub(crate) log_partitions: u32,
    pub(crate) accepted: Accepted,
    pub(crate) health: Arc<StageHealth>,
    /// The tables of owners and standbys.
    pub(crate) tables: TableRegistry,
    /// What owners need of the changelog.
    pub(crate) needed: Needed,
    /// Ends the whole worker.
    pub(crate) stop: Stop,
    /// Whether the log has said that there are pages of another fingerprint hash.
    other_hash_told: AtomicBool,
    /// What was refused; ends the worker.
    refused: Mutex<Option<anyhow::Error>>,
}

/// Who serves what with which settings.
pub(crate) struct RoleSettings {
    pub(crate) config: Arc<Config>,
    pub(crate) detector: Arc<dyn Detector>,
    pub(crate) fingerprint_hash: u64,
    pub(crate) log_partitions: u32,
    pub(crate) accepted: Accepted,
}

impl<W: World> ClusterRole<W> {
    pub(crate) fn new(world: W, settings: RoleSettings, health: Arc<StageHealth>, stop: Stop) -> Self {
        let RoleSettings { config, detector, fingerprint_hash, log_partitions, accepted } = settings;
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
            needed: Needed::default(),
            stop,
            other_hash_told: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }

    /// Counts a page of another fingerprint hash than this instance has, and says so once.
    pub(crate) fn other_hash(&self, partition: u32, offset: u64, found: u64) {
        metrics::other_fingerprint_hash();
        if !self.other_hash_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                partition,
                offset,
                fingerprint_hash = format!("{found:016x}"),
                own_fingerprint_hash = format!("{:016x}", self.fingerprint_hash),
                "pages that another version, or one with other settings, has fingerprinted are in the log: pages of \
                 different hashes never meet; how many is in leitong_other_fingerprint_hash_total"
            );
        }
    }

    /// Ends the worker with `error`.
    pub(crate) fn refuse(&self, error: anyhow::Error) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.request();
    }

    /// What was refused, if anything; asked once, at the end.
    pub(crate) fn take_refused(&self) -> Option<anyhow::Error> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the tables of `log_partition` belong to.
    pub(crate) fn identity(&self, log_partition: u32) -> Identity {
        let settings = (&*self.detector, self.fingerprint_hash);
        self.config.table_identity(settings, (log_partition, self.log_partitions), self.world.topic_ids())
    }
}
