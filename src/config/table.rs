//! Settings of where a table keeps its centroids.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a table's centroids are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TableConfig {
    /// Keep all but the newest centroids in files instead of memory, of which each then takes some
    /// 20 bytes. Verdicts are the same. `dedup` and `serve` keep them in the folder of `--table`, `run` in
    /// `kafka.snapshots.dir`, which has to be on a local disk and survive restarts; a restart then
    /// opens them and reads what is new. Detectors without keys refuse it (`simhash` with
    /// `candidates = "blocks"`).
    pub on_disk: bool,
    /// With `on_disk`, centroids that are written at once, a power of two. The newest ones, in
    /// memory, are some one to two times as many, of some 400 bytes each.
    #[schemars(range(min = 32, max = 1_048_576))]
    pub block_centroids: u64,
    /// With `on_disk`, mebibytes of files that are read in the background in a second, all of them once a
    /// day at most, to find damage before a page needs what is damaged; 0: none. Damage ends the run, or
    /// halts the partition, as it does where a page meets it.
    #[schemars(range(max = 4_096))]
    pub check_mib_per_second: u64,
}

impl TableConfig {
    /// What cannot be followed.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        (!self.block_centroids.is_power_of_two()).then(|| {
            format!(
                "table.block_centroids = {}: must be a power of two, such as 262144",
                self.block_centroids
            )
        })
    }

    /// Bytes that are read in the background in a second.
    #[must_use]
    pub fn check_bytes_per_second(&self) -> u64 {
        self.check_mib_per_second << 20
    }

    /// Why a table that has no folder does not work with these settings.
    #[must_use]
    pub fn fault_without_folder(&self) -> Option<&'static str> {
        self.on_disk.then_some(
            "table.on_disk = true: needs a folder, where the centroids are to be: make the deduplicator of a `Table`, or \
             set table.on_disk = false",
        )
    }

    /// Why a worker whose folder is `snapshots` does not run with these settings.
    #[must_use]
    pub fn fault_of_worker(&self, snapshots: Option<&Path>) -> Option<&'static str> {
        (self.on_disk && snapshots.is_none()).then_some(
            "table.on_disk = true: needs kafka.snapshots.dir, a folder on a local disk where the centroids are to be",
        )
    }
}

impl Default for TableConfig {
    fn default() -> Self {
        // A quarter of 2^20, by whose multiples a table may once be cut: 100 to 200 MB of memory.
        // 4 MiB a second are 340 GB a day, and hardly anything of what a disk can read.
        Self { on_disk: false, block_centroids: 1 << 18, check_mib_per_second: 4 }
    }
}
