//! The settings that identify a table, as saved tables and the changelog record them.

use std::sync::Arc;

use leitong_cluster::changelog::Identity;
use leitong_cluster::log::TopicIds;
use leitong_fingerprint::Detector;
use leitong_store::blocks::StoreOptions;
use leitong_store::snapshot::{SnapshotError, TableSettings};
use xxhash_rust::xxh3::xxh3_64;

use super::Config;
use super::hash::{cluster_hash, corpus_hash};
use super::load::ConfigError;

impl Config {
    /// Returns the settings of a table in files. `detector` and `fingerprint_hash` are those of this
    /// configuration.
    #[must_use]
    pub fn table_settings(&self, detector: &Arc<dyn Detector>, fingerprint_hash: u64) -> TableSettings {
        TableSettings {
            detector: Arc::clone(detector),
            rules: self.cluster_rules(),
            fingerprint_hash,
            cluster_hash: cluster_hash(self, &**detector),
            corpus_hash: corpus_hash(self),
            on_disk: self.table.on_disk.then(|| StoreOptions {
                check_bytes_per_second: self.table.check_bytes_per_second(),
                ..StoreOptions::for_table(self.table.block_centroids, self.expiry.centroids_max)
            }),
        }
    }

    /// Returns the identity of a worker's table for the `log_partition` (its number, and the number of
    /// partitions). `settings` are the detector and fingerprint hash of this configuration.
    #[must_use]
    pub fn table_identity(
        &self,
        settings: (&dyn Detector, u64),
        log_partition: (u32, u32),
        topic_ids: TopicIds,
    ) -> Identity {
        let (detector, fingerprint_hash) = settings;
        let (log_partition, log_partition_count) = log_partition;
        Identity {
            log_partition,
            log_partition_count,
            fingerprint_hash,
            cluster_hash: cluster_hash(self, detector),
            corpus_hash: corpus_hash(self),
            app_hash: xxh3_64(self.kafka.app.as_bytes()),
            topic_ids: topic_ids.for_table(),
        }
    }
}

impl From<ConfigError> for SnapshotError {
    fn from(error: ConfigError) -> Self {
        Self::Settings(Box::new(error))
    }
}
