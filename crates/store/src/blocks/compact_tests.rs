//! Tests of runs that are merged on demand: the same decisions, few runs, and a complete table after a power
//! failure.

use std::sync::Arc;

use proptest::prelude::*;

use super::StoreOptions;
use super::files::Files;
use super::sim::SimFolder;
use super::tests::{OnDisk, Saved, coloured, decide, events, expiry, in_memory, stream, tiny};
use leitong_cluster::ExpiryConfig;

/// Returns the options of a store that merges nothing by itself.
fn unmerged() -> StoreOptions {
    StoreOptions { fan: 1_000, ..tiny() }
}

/// Merges everything that can be merged, and saves after each merge. Returns what was saved last.
fn compact(disk: &mut OnDisk) -> Saved {
    disk.clusterer.evict_expired().expect("nothing has failed");
    let mut saved = disk.save();
    while disk.store.compact_once().expect("merged").is_some() {
        saved = disk.save();
    }
    saved
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Runs may be merged at any time, also if the store merges runs by itself. The decisions are the same,
    /// and there are as few runs as the maximum length allows.
    #[test]
    fn decides_the_same_after_it_was_compacted(
        records in events(700), expiry in expiry(), batch in 10..80_usize, every in 1..6_usize, by_itself in any::<bool>(),
    ) {
        let detector = coloured();
        let options = if by_itself { tiny() } else { unmerged() };
        let mut memory = in_memory(&detector, &expiry);
        let files: Arc<dyn Files> = Arc::new(SimFolder::default());
        let mut disk = OnDisk::open(Arc::clone(&files), &detector, &expiry, options, &Saved::nothing()).expect("opens");
        for (number, records) in records.chunks(batch).enumerate() {
            prop_assert_eq!(disk.decide(records), Ok(decide(&mut memory, records)));
            if number % every == 0 {
                let saved = compact(&mut disk);
                prop_assert!(saved.manifest.is_dense(), "{:?}", saved.manifest);
                let numbers = saved.manifest.end - saved.manifest.blocks.first().map_or(saved.manifest.end, |block| block.first);
                // Two neighbouring runs that are too long for one run have more than `span_max` numbers
                // together.
                let most = numbers / (options.span_max / 2) * 2 + 1;
                prop_assert!(saved.manifest.runs.len() as u64 <= most, "{:?}", saved.manifest);
                saved.manifest.verify(&*files, |name, result| assert!(result.is_ok(), "{name}: {result:?}"));
                drop(disk);
                disk = OnDisk::open(Arc::clone(&files), &detector, &expiry, options, &saved).expect("opens");
            }
        }
    }
}

/// Expired centroids are deleted from disk with their keys, also from the middle of a run.
#[test]
fn keys_of_expired_centroids_are_deleted() {
    let (detector, files) = (coloured(), SimFolder::default());
    let forever = ExpiryConfig { max_age_days: None, centroids_max: 10_000 };
    let mut disk = OnDisk::opened(&files, &detector, &forever, unmerged(), &Saved::nothing());
    for records in stream(250).chunks(50) {
        disk.decide(records).expect("nothing has failed");
    }
    let saved = compact(&mut disk);
    assert_eq!(saved.manifest.runs.len(), 1, "{:?}", saved.manifest);
    let whole = disk.store.file_bytes();
    drop(disk);
    let shorter = ExpiryConfig { max_age_days: None, centroids_max: 90 };
    let mut disk = OnDisk::opened(&files, &detector, &shorter, unmerged(), &saved);
    let saved = compact(&mut disk);
    let (block, run) = (saved.manifest.blocks[0], saved.manifest.runs[0]);
    assert!(run.first == block.first && block.first > 32, "{:?}", saved.manifest);
    // A page of keys takes 4 KiB, however few keys it has.
    assert!(disk.store.file_bytes() < whole, "{} of {whole} bytes", disk.store.file_bytes());
    assert_eq!(disk.store.compact_once().expect("nothing to do"), None);
    let names = files.names().expect("names");
    let blocks = names.iter().filter(|name| name.ends_with(".block")).count();
    assert_eq!(blocks, saved.manifest.blocks.len() + saved.manifest.runs.len(), "{names:?}");
}

/// The power fails at each operation that writes while runs are merged.
#[test]
fn a_power_failure_while_runs_are_merged_on_demand_leaves_a_saved_table() {
    let detector = coloured();
    let expiry = ExpiryConfig { max_age_days: Some(12), centroids_max: 200 };
    let records = stream(330);
    let expected = decide(&mut in_memory(&detector, &expiry), &records);
    let mut operation = 0;
    let mut merges = 0;
    loop {
        let folder = SimFolder::default();
        let mut disk = OnDisk::opened(&folder, &detector, &expiry, unmerged(), &Saved::nothing());
        for records in records[..250].chunks(25) {
            disk.decide(records).expect("nothing has failed");
        }
        let mut saved = disk.save();
        assert!(saved.manifest.runs.len() > 3, "{:?}", saved.manifest);
        let until = folder.state().operations + operation;
        folder.state().power_until = Some(until);
        disk.clusterer.evict_expired().expect("nothing has failed");
        while let Ok(Some(_)) = disk.store.compact_once() {
            let next = disk.to_save();
            if folder.state().operations >= until {
                break;
            }
            (saved, merges) = (next.expect("nothing has failed yet"), merges + 1);
            disk.store.saved();
        }
        let is_last = folder.state().operations < until;
        drop(disk);
        let left = folder.after_power_loss(operation);
        let mut disk = OnDisk::open(Arc::new(left), &detector, &expiry, unmerged(), &saved)
            .unwrap_or_else(|error| panic!("power lost at operation {operation}: {error}"));
        for (records, expected) in records[250..].chunks(25).zip(expected[250..].chunks(25)) {
            assert_eq!(disk.decide(records), Ok(expected.to_vec()), "power lost at operation {operation}");
        }
        if is_last {
            break;
        }
        operation += 1;
    }
    assert!(operation > 5 && merges > 0, "{operation} operations, {merges} merges");
}
