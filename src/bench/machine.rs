//! What the machine has.

use serde::Serialize;

/// The machine.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// Bytes of memory that this process may use: the machine's, or its control group's where that has less; none
    /// where the system does not say.
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

/// The total in `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
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
}
