//! Checks once, at the start, if the machine has enough open files and memory for the configuration.
//!
//! In: settings, number of brokers and partitions, and the limits of process, control group and machine.
//! Out: warnings that name the setting. Needs are upper bounds, not forecasts: a table may stay far below
//! `expiry.centroids_max`. So nothing is refused.

use std::fs;
use std::path::Path;

use crate::kafka::topics::Counts;
use leitong_pipeline::config::Config;

use super::Roles;

/// Upper estimate of the bytes per centroid in memory: 299 with its index, 33 for the text of a page that joined
/// (docs/performance.md), and a reserve.
const CENTROID_BYTES: u64 = 390;
/// Upper estimate of the bytes of memory per centroid on disk. With the default 15 keys and the key of the text it is 14,
/// as measured (docs/performance.md): most keys are in long runs, whose filters take seven bits. This is eight bits each.
const SEALED_BYTES: u64 = 16;
/// Bytes of memory per url with `recrawls`, as measured (docs/kafka.md).
const CRAWL_BYTES: u64 = 740;
/// Number of blocks whose centroids are in memory: one that is being filled, one that is being written.
const BLOCKS_IN_MEMORY: u64 = 2;
/// Number of files of a table on disk in addition to its blocks: runs of keys, and files being written.
const RUN_FILES: u64 = 32;
/// Bytes of dictionaries, code, stacks and everything else in an idle worker, as measured.
const BASE_BYTES: u64 = 350 << 20;
/// Bytes of librdkafka's queues of pages, log records and records to send; see `kafka::client`.
const CLIENT_BYTES: u64 = (32 + 2 * 16 + 2 * 32) << 20;
/// Bytes of a broker's answer with fetched pages, for each partition of the page topic.
const ANSWER_BYTES: u64 = 1 << 20;
/// Number of files of the process itself: standard streams, admin port, event queues, snapshots.
const OWN_FILES: u64 = 64;
/// Number of files of one client per broker: a connection, and a pipe that wakes its thread.
const FILES_A_BROKER: u64 = 3;

/// The numbers that decide how much is needed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings {
    pub(super) roles: Roles,
    pub(super) counts: Counts,
}

impl Surroundings {
    /// Returns the maximum number of tables: one instance may own all partitions of the log. The settings bound each
    /// table.
    fn tables(self) -> u64 {
        if self.roles.cluster { self.counts.log_partitions.into() } else { 0 }
    }
}

/// The limits of this process. `None` if unlimited or unknown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Maximum number of open files.
    pub open_files: Option<u64>,
    /// Bytes of memory that the process may use.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// Reads the limits of this process.
    pub fn read() -> Self {
        let file = |path: &str| fs::read_to_string(path).ok();
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let of_process = file("/proc/self/limits").unwrap_or_default();
        let limit = |name: &str| {
            let line = of_process.lines().find_map(|line| line.strip_prefix(name))?;
            number(line.split_whitespace().next()?)
        };
        let machine = file("/proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?.to_owned();
            Some(number(line.split_whitespace().next()?)? * 1024)
        });
        let groups = group_limits(&file("/proc/self/cgroup").unwrap_or_default());
        let group = groups.iter().filter_map(|path| number(&file(path)?)).min();
        let memory = [machine, group, limit("Max address space"), limit("Max data size")];
        Self { open_files: limit("Max open files"), memory_bytes: memory.into_iter().flatten().min() }
    }
}

/// Returns the paths of the memory limit files of a process with these `groups` in `/proc/self/cgroup`: those
/// of its group and of the groups above (version 2), and the one that a container of version 1 sees as its
/// own.
fn group_limits(groups: &str) -> Vec<String> {
    let mut files = vec!["/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned()];
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    for group in Path::new(group).ancestors().filter_map(Path::to_str) {
        files.push(format!("/sys/fs/cgroup{}/memory.max", group.trim_end_matches('/')));
    }
    files
}

/// Returns a warning for each resource that is short, with the setting that needs it.
pub(super) fn warnings(config: &Config, surroundings: Surroundings, limits: Limits) -> Vec<String> {
    let files = open_files(config, surroundings);
    let files = limits.open_files.filter(|limit| *limit < files).map(|limit| {
        format!(
            "open files are limited to {limit}, and up to {files} are needed for connections to {} brokers{}: raise the limit \
             (`ulimit -n`, LimitNOFILE=, --ulimit nofile=)",
            surroundings.counts.brokers,
            if config.table.on_disk { " and for tables on disk" } else { "" }
        )
    });
    let needs = [
        (table_bytes(config, surroundings), "the table", "expiry.centroids_max", config.expiry.centroids_max),
        (crawl_bytes(config, surroundings), "known urls", "recrawls.pages_max", config.recrawls.pages_max),
        (
            queue_bytes(config, surroundings),
            "queues",
            "pipeline.queue_bytes",
            config.pipeline.queue_bytes as u64,
        ),
    ];
    let need = needs.iter().fold(BASE_BYTES, |sum, (bytes, ..)| sum.saturating_add(*bytes));
    let memory = limits.memory_bytes.filter(|limit| *limit < need).map(|limit| {
        let mib = |bytes: u64| bytes >> 20;
        let parts = needs.iter().filter(|(bytes, ..)| *bytes > 0);
        let parts = parts.map(|(bytes, what, name, value)| format!("{} for {what} ({name} = {value})", mib(*bytes)));
        let parts: Vec<String> = parts.collect();
        let (_, _, name, value) = needs.iter().max_by_key(|(bytes, ..)| *bytes).expect("three needs");
        format!(
            "memory is limited to {} MiB, and up to {} may be needed: {}, {} for everything else. Lower {name} = {value}, \
             or provide more memory",
            mib(limit),
            mib(need),
            parts.join(", "),
            mib(BASE_BYTES)
        )
    });
    files.into_iter().chain(memory).collect()
}

/// Returns the number of files that may be open.
fn open_files(config: &Config, surroundings: Surroundings) -> u64 {
    let Surroundings { roles, counts: Counts { brokers, .. } } = surroundings;
    // The fingerprint stage has a consumer and a producer. The cluster stage has a group member; for each
    // partition a reader, a producer, and a reader of the changelog; and three clients while expired records
    // of a changelog are deleted.
    let fingerprint = if roles.fingerprint { 2 } else { 0 };
    let cluster =
        if roles.cluster { 4 + 3 * surroundings.tables() + u64::from(config.kafka.standby) } else { 0 };
    // A client also connects to the broker that it started with and to the coordinator of its group.
    OWN_FILES + (fingerprint + cluster) * (brokers + 2) * FILES_A_BROKER + table_files(config, surroundings)
}

/// Returns the number of files of tables on disk. All of them stay open.
fn table_files(config: &Config, surroundings: Surroundings) -> u64 {
    if !config.table.on_disk {
        return 0;
    }
    let blocks = config.expiry.centroids_max / config.table.block_centroids;
    (blocks + RUN_FILES) * surroundings.tables()
}

fn queue_bytes(config: &Config, surroundings: Surroundings) -> u64 {
    let pages = match surroundings.roles.fingerprint {
        true => {
            config.pipeline.queue_bytes as u64 + u64::from(surroundings.counts.page_partitions) * ANSWER_BYTES
        }
        false => 0,
    };
    pages + CLIENT_BYTES
}

fn table_bytes(config: &Config, surroundings: Surroundings) -> u64 {
    let centroids = config.expiry.centroids_max;
    let in_memory = match config.table.on_disk {
        true => centroids.min(BLOCKS_IN_MEMORY * config.table.block_centroids),
        false => centroids,
    };
    let on_disk = (centroids - in_memory).saturating_mul(SEALED_BYTES);
    in_memory.saturating_mul(CENTROID_BYTES).saturating_add(on_disk).saturating_mul(surroundings.tables())
}

fn crawl_bytes(config: &Config, surroundings: Surroundings) -> u64 {
    let pages = if config.recrawls.enabled { config.recrawls.pages_max } else { 0 };
    pages.saturating_mul(CRAWL_BYTES).saturating_mul(surroundings.tables())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Surroundings = Surroundings {
        roles: Roles { fingerprint: true, cluster: true },
        counts: Counts { log_partitions: 1, page_partitions: 12, brokers: 3 },
    };

    #[test]
    fn limits_of_all_groups_above_count() {
        let files = group_limits("12:cpu:/old\n0::/system.slice/leitong@news.service\n");
        assert_eq!(
            files[1..],
            [
                "/sys/fs/cgroup/system.slice/leitong@news.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(group_limits("").len(), 2, "its own root, in a container");
    }

    #[test]
    fn each_warning_names_the_setting_to_change() {
        let config = Config::default();
        let warned = |surroundings, open_files, gib: u64| {
            let limits = Limits { open_files: Some(open_files), memory_bytes: Some(gib << 30) };
            warnings(&config, surroundings, limits)
        };
        assert_eq!(warned(ALL, 1024, 16), [""; 0]);
        let [files] = &warned(ALL, 100, 16)[..] else { panic!("one warning") };
        assert!(files.starts_with("open files are limited to 100, and up to 199 are needed"), "{files}");
        let [memory] = &warned(ALL, 1024, 4)[..] else { panic!("one warning") };
        assert!(memory.contains("Lower expiry.centroids_max = 20000000"), "{memory}");
        assert!(!memory.contains("recrawls"), "{memory}");
        let mut recrawls = Config::default();
        (recrawls.recrawls.enabled, recrawls.recrawls.pages_max) = (true, 40_000_000);
        let limits = Limits { open_files: None, memory_bytes: Some(16 << 30) };
        let [memory] = &warnings(&recrawls, ALL, limits)[..] else { panic!("one warning") };
        assert!(memory.contains("28228 for known urls (recrawls.pages_max = 40000000)"), "{memory}");
        assert!(memory.contains("Lower recrawls.pages_max = 40000000"), "{memory}");
        // Without a table, only the queues can be made smaller.
        let left = Surroundings { roles: Roles { fingerprint: true, cluster: false }, ..ALL };
        assert_eq!(warned(left, 1024, 1), [""; 0]);
        let limits = Limits { open_files: None, memory_bytes: Some(256 << 20) };
        assert!(warnings(&config, left, limits)[0].contains("Lower pipeline.queue_bytes = 67108864"));
        assert_eq!(warnings(&config, ALL, Limits::default()), [""; 0], "no limits");
    }

    #[test]
    fn tables_on_disk_need_files_in_place_of_memory() {
        let mut config = Config::default();
        config.expiry.centroids_max = 500_000_000;
        config.table.on_disk = true;
        let limits = Limits { open_files: Some(1024), memory_bytes: Some(16 << 30) };
        let [files] = &warnings(&config, ALL, limits)[..] else { panic!("one warning") };
        assert!(files.contains("up to 2138 are needed") && files.contains("tables on disk"), "{files}");
        // They need 7.5 GiB, and everything else 0.7. Formerly, 22 keys needed 9.3 GiB.
        let limits = Limits { memory_bytes: Some(9 << 30), ..limits };
        assert_eq!(warnings(&config, ALL, limits), std::slice::from_ref(files));
    }

    #[test]
    fn limits_of_this_machine_can_be_read() {
        let limits = Limits::read();
        assert!(limits.memory_bytes > Some(64 << 20), "{limits:?}");
        assert!(limits.open_files.is_none_or(|files| files > 10), "{limits:?}");
    }
}
