//! Settings for the location of a table's centroids.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Location of a table's centroids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TableConfig {
    /// Keep all but the newest centroids in files instead of memory; each then takes about 14 bytes of
    /// memory. Verdicts are the same. `dedup` and `serve` keep the files in the folder of `--table`, `run` in
    /// `kafka.snapshots.dir`. That folder must be on a local disk and survive restarts. The newest
    /// centroids are in memory: 262,144 to twice as many, at about 400 bytes each.
    pub on_disk: bool,
    /// Number of centroids that `on_disk` writes at once, a power of two. The newest centroids, up to about
    /// twice this number, are in memory and take about 400 bytes each.
    #[schemars(range(min = 32, max = 1_048_576))]
    pub block_centroids: u64,
    /// Rate at which the files of `on_disk` are checked for damage in the background, in mebibytes per
    /// second; 0 turns this off. All files are read at most once a day. Damage ends the run or halts the
    /// partition, as it does if a page needs the damaged part.
    #[schemars(range(max = 4_096))]
    pub check_mib_per_second: u64,
}

impl TableConfig {
    /// Returns the error in these settings, if there is any.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        (!self.block_centroids.is_power_of_two()).then(|| {
            format!(
                "table.block_centroids = {}: must be a power of two, such as 262144",
                self.block_centroids
            )
        })
    }

    /// Returns the number of bytes to check in the background per second.
    #[must_use]
    pub fn check_bytes_per_second(&self) -> u64 {
        self.check_mib_per_second << 20
    }

    /// Returns the reason why a table without a folder does not work with these settings.
    #[must_use]
    pub fn fault_without_folder(&self) -> Option<&'static str> {
        self.on_disk.then_some(
            "table.on_disk = true: needs a folder for the centroids: get the deduplicator from a `Table`, or set table.on_disk = \
             false",
        )
    }

    /// Returns the reason why a worker whose folder is `snapshots` does not work with these settings.
    #[must_use]
    pub fn fault_of_worker(&self, snapshots: Option<&Path>) -> Option<&'static str> {
        (self.on_disk && snapshots.is_none()).then_some(
            "table.on_disk = true: needs kafka.snapshots.dir, a folder on a local disk for the centroids",
        )
    }
}

impl Default for TableConfig {
    fn default() -> Self {
        // A table can later be split into partitions at multiples of 2^20 centroids. A quarter of that takes
        // 100 to 200 MB of memory. 4 MiB per second are 340 GB per day, a small part of what a disk can read.
        Self { on_disk: false, block_centroids: 1 << 18, check_mib_per_second: 4 }
    }
}
