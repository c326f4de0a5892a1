//! Reads the number of cores and the memory of this machine.

use serde::Serialize;

/// Cores and memory of a machine.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// Bytes of memory that this process may use: the machine's memory, or the limit of the process's control
    /// group if that is lower. `None` if the system reports neither.
    pub memory_bytes: Option<u64>,
}

impl Machine {
    /// Reads the data of this machine.
    pub(super) fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        let limits = limits.iter().filter_map(|path| read(path).trim().parse().ok());
        let memory_bytes = limits.chain(total(&read("/proc/meminfo"))).min();
        Self { cores: std::thread::available_parallelism().map_or(1, usize::from), memory_bytes }
    }
}

/// Returns true if less than a tenth is left of the machine's memory, or of the memory that this process may
/// use. Returns false if the system reports no figures.
pub(super) fn memory_is_short() -> bool {
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

/// Returns the total in `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    kib(meminfo, "MemTotal:")
}

/// Returns the value of a line in `/proc/meminfo` or `/proc/self/status`, in bytes.
fn kib(lines: &str, label: &str) -> Option<u64> {
    let line = lines.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_memory_is_read() {
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
