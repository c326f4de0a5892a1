//! Tests with a disk that is full, slow, or cannot be read.

use std::sync::Arc;
use std::time::Duration;

use super::StoreOptions;
use super::sim::SimFolder;
use super::store::PORTIONS_MAX;
use super::tests::{OnDisk, Saved, coloured, decide, filled, founding, in_memory, stream, tiny};
use leitong_base::record::FingerprintRecord;
use leitong_cluster::{ExpiryConfig, OldCentroids};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::SimHashConfig;

/// Centroids that do not fit on the disk wait in memory, up to a limit, and are written once there is room.
#[test]
fn decisions_continue_while_a_disk_is_full_for_a_short_time() {
    let detector = coloured();
    let expiry = ExpiryConfig::default();
    let records = stream(700);
    let expected = decide(&mut in_memory(&detector, &expiry), &records);
    for read_only in [false, true] {
        let folder = SimFolder::default();
        let mut disk = OnDisk::opened(&folder, &detector, &expiry, tiny(), &Saved::nothing());
        assert_eq!(disk.decide(&records[..150]), Ok(expected[..150].to_vec()));
        let sealed = disk.store.end();
        let full = |is_full: bool| match read_only {
            true => folder.state().read_only = is_full,
            false => folder.state().room = is_full.then_some(0),
        };
        full(true);
        assert_eq!(disk.decide(&records[150..220]), Ok(expected[150..220].to_vec()));
        assert_eq!(disk.store.end(), sealed);
        full(false);
        assert_eq!(disk.decide(&records[220..300]), Ok(expected[220..300].to_vec()));
        disk.clusterer.insert_pending().expect("there is room again");
        assert!(disk.store.end() > sealed, "it goes on");
        full(true);
        for (number, record) in (300..).zip(&records[300..]) {
            let decision = disk.decide(std::slice::from_ref(record));
            if let Err(fault) = decision {
                let says = fault.to_string();
                assert!(says.contains("free some disk space") && says.contains("128"), "{fault}");
                assert!(!fault.is_unreadable());
                break;
            }
            assert_eq!(decision, Ok(expected[number..=number].to_vec()));
            assert!(number < 690, "it has to give up");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_fails_the_decision() {
    let (detector, expiry) = (coloured(), ExpiryConfig::default());
    let folder = SimFolder::default();
    let saved = filled(&folder, &detector, &expiry);
    let mut disk = OnDisk::opened(&folder, &detector, &expiry, tiny(), &saved);
    folder.state().fails_reading = true;
    let fault = disk.decide(&stream(10)).expect_err("no file can be read");
    assert!(fault.to_string().contains("cannot read") && fault.is_unreadable(), "{fault}");
}

/// The disk has no room for longer runs, so the shorter ones stay unmerged, and look-ups still find their
/// keys. Merging is retried at growing intervals, and succeeds once there is room.
#[test]
fn runs_that_find_no_room_stay_as_they_are() {
    let (detector, expiry) = (coloured(), ExpiryConfig::default());
    let records = stream(2_000);
    let expected = decide(&mut in_memory(&detector, &expiry), &records);
    let folder = SimFolder::default();
    let mut disk = OnDisk::opened(&folder, &detector, &expiry, tiny(), &Saved::nothing());
    let mut decided = 0;
    let mut decide_until = |disk: &mut OnDisk, blocks: usize| {
        while disk.store.counts().0 < blocks {
            let next = decided..decided + 5;
            assert_eq!(disk.decide(&records[next.clone()]), Ok(expected[next].to_vec()));
            disk.clusterer.insert_pending().expect("nothing has failed");
            decided += 5;
        }
    };
    // Makes one run of four blocks, and leaves no room for runs of eight.
    decide_until(&mut disk, 4);
    assert_eq!(disk.store.counts(), (4, 1));
    let longest = folder.all_names().iter().map(|name| folder.bytes(name).len()).max();
    folder.state().file_room = longest.map(|bytes| bytes as u64 * 5 / 4);
    decide_until(&mut disk, 20);
    assert_eq!(disk.store.counts(), (20, 5), "runs of four blocks are merged still");
    let refused = folder.state().refused;
    // From the second run of four blocks on, a merge of two such runs is due, and is tried with every second
    // block.
    assert!((1..=7).contains(&refused), "tried {refused} times");
    assert!(folder.all_names().len() <= 25, "nothing is left of what failed: {:?}", folder.all_names());
    folder.state().file_room = None;
    decide_until(&mut disk, 24);
    assert_eq!(disk.store.counts(), (24, 3), "they are made up for");
    assert_eq!(folder.state().refused, refused);
}

/// The device writes more slowly than blocks fill. The deciding thread waits for it, and no more centroids
/// wait in memory than allowed.
#[test]
fn a_slow_device_slows_the_deciding_thread_down() {
    let detector: Arc<dyn Detector> = Arc::new(SimHash::new(&SimHashConfig::default()));
    let expiry = ExpiryConfig::default();
    let folder = SimFolder::default();
    // At first the device writes more slowly than even a busy machine decides.
    folder.state().pace = Some(Duration::from_millis(500));
    let options = StoreOptions { readers: 2, portion: 8, ..StoreOptions::for_table(256, 1 << 30) };
    let mut disk = OnDisk::opened(&folder, &detector, &expiry, options, &Saved::nothing());
    let mut memory = in_memory(&detector, &expiry);
    let mut most_waiting = 0;
    for start in (0..6_000).step_by(100) {
        let records: Vec<FingerprintRecord> = (start..start + 100).map(founding).collect();
        assert_eq!(disk.decide(&records), Ok(decide(&mut memory, &records)));
        most_waiting = most_waiting.max(start + 100 - disk.store.end());
        if most_waiting > options.waiting_max / 2 {
            folder.state().pace = Some(Duration::from_millis(8));
        }
    }
    assert!(most_waiting > options.waiting_max / 2, "the device is the slower one: {most_waiting}");
    let most_allowed = options.waiting_max + PORTIONS_MAX as u64 * options.portion;
    assert!(most_waiting <= most_allowed, "less than half of the stream: {most_waiting}");
    folder.state().pace = None;
    assert_eq!(disk.store.finish(), Ok(()));
}
