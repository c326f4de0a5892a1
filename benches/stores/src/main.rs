//! Old centroids on disk in other stores, which [ADR 23](../../../docs/adr/0023-old-centroids-on-disk.md)
//! compares with Leitong's own blocks.
//!
//! `cargo run --release -- all MILLIONS DIR`, or one of fjall, redb, lmdb, mapped instead of `all`. RocksDB
//! needs `--features rocksdb`, which compiles for a quarter of an hour and requires libclang. `leitong bench
//! --sizes MILLIONS --table-dir DIR` measures the blocks in the same way. A centroid is as large as one of
//! the default detector: 22 keys of 64 bits, and 207 bytes in a block. Every store has
//! * `keys`: key and number of the centroid, 12 bytes, without a value (a key may have many centroids);
//! * `centroids`: number → bytes.
//!
//! They are inserted 1,000 at a time, synced every 262,144, and never read back for that. Half of the
//! look-ups share eight keys with a centroid and read it once for each, the others share none. One thread
//! sends look-ups; stores may have other threads. `mapped` is a sorted array in a mapped file, written once
//! at the end: the minimum of reading, if nothing is inserted any more.
//!
//! Time is wall time and, in brackets, CPU time of all threads. The second counts on a machine that does
//! other work as well.

mod lmdb;
mod lsm;
mod mapped;
#[cfg(feature = "rocksdb")]
mod rocks;
mod tree;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// Keys of a centroid, and those that a near page shares.
const KEYS: usize = 22;
const SHARED: usize = 8;
/// Bytes of a centroid, as `leitong bench` reports for blocks.
const CENTROID_BYTES: usize = 207;
/// Number of centroids in a transaction, and between two syncs.
const BATCH: u32 = 1_000;
const SYNC_EVERY: u32 = 1 << 18;
const LOOK_UPS: u32 = 50_000;
/// Number of incompressible bytes of a centroid; the rest compresses like page ids and urls.
const RANDOM_BYTES: usize = 154;
const STORES: &[&str] =
    &["fjall", "redb", "lmdb", "mapped", #[cfg(feature = "rocksdb")] "rocksdb"];

/// A key and a number in stored form: numbers of one key are neighbours.
type Entry = [u8; 12];

/// A store to be measured.
trait Store {
    /// Inserts the centroids of these numbers.
    fn insert(&mut self, entries: &[Entry], centroids: &[(u32, Vec<u8>)]) -> anyhow::Result<()>;
    /// Writes everything to disk.
    fn sync(&mut self) -> anyhow::Result<()>;
    /// Ends work in the background.
    fn settle(&mut self) -> anyhow::Result<()> {
        self.sync()
    }
    /// Calls `found` with the numbers of the centroids that have this key.
    fn find(&self, key: u64, found: &mut Vec<u32>) -> anyhow::Result<()>;
    /// Returns the bytes of the centroid of this number.
    fn centroid(&self, number: u32) -> anyhow::Result<usize>;
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, millions, folder] = &arguments[..] else { bail!("usage: STORE MILLIONS DIR") };
    let count = (millions.parse::<f64>().context("MILLIONS")? * 1e6) as u32;
    if store != "all" {
        return measure(store, count, Path::new(folder));
    }
    println!(
        "| store | insertions/s | look-ups/s | bytes on disk | bytes of memory | opened in |\n|---|---|---|---|---|---|"
    );
    for store in STORES {
        // Each in a separate process, so that memory is that of one store.
        let status = Command::new(std::env::current_exe()?).args([*store, millions.as_str(), folder.as_str()]).status()?;
        if !status.success() {
            bail!("{store} failed");
        }
    }
    Ok(())
}

fn open(store: &str, folder: &Path) -> anyhow::Result<Box<dyn Store>> {
    Ok(match store {
        "fjall" => Box::new(lsm::Lsm::open(folder)?),
        "redb" => Box::new(tree::Tree::open(folder)?),
        "lmdb" => Box::new(lmdb::Lmdb::open(folder)?),
        "mapped" => Box::new(mapped::Mapped::open(folder)?),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => Box::new(rocks::Rocks::open(folder)?),
        other => bail!("{other}: must be one of {}", STORES.join(", ")),
    })
}

fn measure(name: &str, count: u32, folder: &Path) -> anyhow::Result<()> {
    let folder = folder.join(name);
    fs::create_dir_all(&folder)?;
    let before = memory()?;
    let mut store = open(name, &folder)?;
    let insertions = timed(|| {
        for first in (0..count).step_by(BATCH as usize) {
            let numbers = first..count.min(first + BATCH);
            let mut entries: Vec<Entry> = numbers
                .clone()
                .flat_map(|number| (0..KEYS).map(move |at| entry(key(number, at), number)))
                .collect();
            // Trees are faster with sorted entries.
            entries.sort_unstable();
            let centroids: Vec<(u32, Vec<u8>)> =
                numbers.clone().map(|number| (number, centroid(number))).collect();
            store.insert(&entries, &centroids)?;
            if numbers.end / SYNC_EVERY != first / SYNC_EVERY {
                store.sync()?;
            }
        }
        store.settle()
    })?;
    drop(store);
    let began = Instant::now();
    let store = open(name, &folder)?;
    let opened = began.elapsed();
    let mut found = Vec::new();
    let mut missed = 0;
    let look_ups = timed(|| {
        for look_up in 0..LOOK_UPS {
            let near = (look_up % 2 == 0).then(|| mix(u64::from(look_up)) as u32 % count);
            found.clear();
            for at in 0..KEYS {
                let of = near.filter(|_| at < SHARED).unwrap_or(count + look_up);
                store.find(key(of, at), &mut found)?;
            }
            for number in &found {
                missed += usize::from(store.centroid(*number)? != CENTROID_BYTES);
            }
            missed += usize::from(near.is_some_and(|near| !found.contains(&near)));
        }
        Ok(())
    })?;
    if missed > 0 {
        bail!("{name}: {missed} centroids were not found");
    }
    let each = |bytes: u64| bytes as f64 / f64::from(count);
    println!(
        "| {name} | {} | {} | {:.0} | {:.0} | {:.2} s |",
        per_second(count, insertions),
        per_second(LOOK_UPS, look_ups),
        each(bytes_of(&folder)?),
        each(memory()?.saturating_sub(before)),
        opened.as_secs_f64()
    );
    drop(store);
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Returns the key with this number of a centroid; no two centroids share one.
fn key(number: u32, at: usize) -> u64 {
    mix(u64::from(number) * KEYS as u64 + at as u64 + 1)
}

fn entry(key: u64, number: u32) -> Entry {
    let mut entry = [0; 12];
    entry[..8].copy_from_slice(&key.to_be_bytes());
    entry[8..].copy_from_slice(&number.to_be_bytes());
    entry
}

fn number_of(entry: &[u8]) -> u32 {
    entry[8..12].try_into().map_or(0, u32::from_be_bytes)
}

fn centroid(number: u32) -> Vec<u8> {
    let random = (0..).flat_map(|word| mix(u64::from(number) << 8 | word).to_le_bytes());
    let mut bytes: Vec<u8> = random.take(RANDOM_BYTES).collect();
    bytes.resize(CENTROID_BYTES, b'/');
    bytes
}

/// Mixes all bits, one to one (MurmurHash3's last step).
fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ value >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ value >> 33
}

/// Wall time and CPU time.
fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<(Duration, Duration)> {
    let (began, cpu) = (Instant::now(), cpu_time()?);
    work()?;
    Ok((began.elapsed(), cpu_time()?.saturating_sub(cpu)))
}

fn per_second(count: u32, (wall, cpu): (Duration, Duration)) -> String {
    let thousands = |time: Duration| f64::from(count) / time.as_secs_f64().max(1e-9) / 1e3;
    format!("{:.1} k ({:.1} k)", thousands(wall), thousands(cpu))
}

/// Returns the time that this process has used, in user and system mode.
fn cpu_time() -> anyhow::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().context("fields")?;
    let ticks = |at: usize| fields.split_whitespace().nth(at).and_then(|field| field.parse::<u64>().ok());
    // A hundred per second on all Linux systems.
    let ticks = ticks(11).zip(ticks(12)).context("times")?;
    Ok(Duration::from_millis((ticks.0 + ticks.1) * 10))
}

/// Returns the bytes of memory that are not backed by a file.
fn memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("RssAnon")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}

fn bytes_of(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        // Counts allocated bytes, because a file's length may be its maximum.
        bytes += match metadata.is_dir() {
            true => bytes_of(&entry.path())?,
            false => std::os::unix::fs::MetadataExt::blocks(&metadata) * 512,
        };
    }
    Ok(bytes)
}
