//! What the machine has.

use serde::Serialize;

/// The machine.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// Bytes of memory that this process may use: the machine's, or its control
    /// group's where that has less; none where the system does not say.
    pub memory_bytes: Option<u64>,
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits = limits.iter().filter_map(|path| read(path).trim().parse().ok());
        let memory_bytes = limits.chain(total(&read("/proc/meminfo"))).min();
        Self { cores: std::thread::available_parallelism().map_or(1, usize::from), memory_bytes }
    }
}

/// Whether less than a tenth is left of the machine's memory, or of
/// what this process may use of it; no where the system does not say.
#[must_use]
pub fn memory_is_short() -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let meminfo = read("/proc/meminfo");
    let resident = kib(&read("/proc/self/status"), "VmRSS:");
    let little_left = |total: u64, left: u64| left < total / 10;
    total(&meminfo).zip(kib(&meminfo, "MemAvailable:")).is_some_and(|(total, left)| little_left(total, left))
        || Machine::this()
            .memory_bytes
            .zip(resident)
            .is_some_and(|(total, ours)| little_left(total, total.saturating_sub(ours)))
}

/// The total in `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    kib(meminfo, "MemTotal:")
}

/// What a line of `/proc/meminfo` or `/proc/self/status` says, in bytes.
fn kib(lines: &str, label: &str) -> Option<u64> {
    let line = lines.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_total() {
        assert_eq!(total("MemFree:  1 kB\nMemTotal:       24604112 kB\nX: 1 kB\n"), Some(24_604_112 * 1024));
        assert_eq!(total("nothing"), None);
    }

    #[test]
    fn this_test_leaves_memory_free() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        assert!(status.is_empty() || kib(&status, "VmRSS:").is_some_and(|resident| resident > 0));
        assert!(!memory_is_short());
    }
}
