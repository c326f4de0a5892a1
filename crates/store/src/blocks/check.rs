//! Reads whole files in the background, so damage is found before a look-up reads it.
//!
//! Opening a file compares the checksums of footer and index. This module compares all others, part by part,
//! as `leitong table info --verify` does, at the rate that [`StoreOptions::check_bytes_per_second`] sets. A pass
//! starts at the earliest a day after the last one started. Damage makes the store [fail](Shared::fail), as
//! if a look-up had read the damaged part: from then on nothing is decided.
//!
//! Files are read through the system's cache and not removed from it afterwards. The system evicts pages that
//! were read once before pages that look-ups read repeatedly; removing the files from the cache would remove
//! these pages too. Cost: one thread that mostly waits, and 0.1 ms of one core per megabyte.
//!
//! [`StoreOptions::check_bytes_per_second`]: super::StoreOptions::check_bytes_per_second

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::BlockError;
use super::shared::Shared;
use leitong_base::hashed::Seed;
use metrics::counter;

/// Minimum time from the start of one pass over all files to the start of the next.
const PASS_EVERY: Duration = Duration::from_hours(24);
/// Number of bytes between two pauses.
const BYTES_AT_ONCE: u64 = 1 << 18;

/// Checks all files repeatedly until the store closes or fails.
pub(super) fn check_all(shared: &Shared, bytes_per_second: u64) {
    loop {
        let began = Instant::now();
        if !check_once(shared, bytes_per_second) || !shared.pause_until(began + PASS_EVERY) {
            return;
        }
    }
}

/// Checks all present files. Returns false if the store closes or fails.
fn check_once(shared: &Shared, bytes_per_second: u64) -> bool {
    let view = shared.view();
    let files = view.blocks.len() + view.runs.len();
    // Starts at a random file, because the process may be restarted before a pass ends.
    let first = Seed::default().place(0) as usize;
    let mut pace = Pace { shared, bytes_per_second, began: Instant::now(), bytes: 0, told: 0, goes_on: true };
    for number in 0..files {
        let at = first.wrapping_add(number) % files;
        let mut read = |bytes| pace.read(bytes);
        let checked = match view.blocks.get(at) {
            Some(block) => Arc::clone(block).verify(&mut read),
            None => Arc::clone(&view.runs[at - view.blocks.len()]).verify(&mut read),
        };
        if let Err(error) = checked {
            tell(&error);
            let _ = shared.fail(&error);
            return false;
        }
        if !pace.goes_on {
            return false;
        }
    }
    pace.tell();
    true
}

fn tell(error: &BlockError) {
    counter!("leitong_disk_damaged_total").increment(1);
    tracing::error!(
        "table on disk: no more pages are decided with it, because the background check found damage: {error}"
    );
}

/// Limits the rate of reading.
struct Pace<'a> {
    shared: &'a Shared,
    bytes_per_second: u64,
    began: Instant,
    bytes: u64,
    /// Number of bytes that the metric has counted.
    told: u64,
    goes_on: bool,
}

impl Pace<'_> {
    /// Counts bytes that were read, and waits as the rate requires. Returns false if the check has to end.
    fn read(&mut self, bytes: u64) -> bool {
        self.bytes += bytes;
        if self.bytes - self.told >= BYTES_AT_ONCE {
            self.tell();
            let due = Duration::from_secs_f64(self.bytes as f64 / self.bytes_per_second as f64);
            self.goes_on = self.shared.pause_until(self.began + due);
        }
        self.goes_on && !self.shared.stop.load(Ordering::Relaxed)
    }

    fn tell(&mut self) {
        counter!("leitong_disk_checked_bytes_total").increment(self.bytes - self.told);
        self.told = self.bytes;
    }
}
