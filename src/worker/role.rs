//! What the owners, standbys and snapshots of one process share.

use std::sync::{Arc, Mutex, PoisonError};

use super::Accepted;
use super::deletion::Needed;
use super::look_ups::LookUps;
use super::ports::World;
use super::standby::Standby;
use super::stop::Stop;
use crate::changelog::Identity;
use crate::config::Config;
use crate::fingerprint::Detector;
use crate::telemetry::health::StageHealth;

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
    pub(crate) standby: Standby,
    /// What look-ups may read of the owners.
    pub(crate) look_ups: LookUps,
    /// What owners need of the changelog.
    pub(crate) needed: Needed,
    /// Ends the whole worker.
    pub(crate) stop: Stop,
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
        let look_ups = LookUps::new(&config, log_partitions);
        Self {
            world,
            config,
            detector,
            fingerprint_hash,
            log_partitions,
            accepted,
            health,
            standby: Standby::new(log_partitions, look_ups.is_on()),
            look_ups,
            needed: Needed::default(),
            stop,
            refused: Mutex::default(),
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
        let settings = (&*self.config, &*self.detector, self.fingerprint_hash);
        Identity::of(settings, (log_partition, self.log_partitions), self.world.topic_ids())
    }
}
