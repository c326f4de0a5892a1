//! A disk that is full, slow, or cannot be read.

use std::sync::Arc;
use std::time::Duration;

use super::StoreOptions;
use super::sim::SimFolder;
use super::store::PORTIONS_MAX;
use super::tests::{OnDisk, Saved, coloured, decide, filled, founding, in_memory, stream, tiny};
use leitong_base::record::FingerprintRecord;
use leitong_cluster::ExpiryConfig;
use leitong_cluster::OldCentroids;
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::SimHashConfig;

/// What does not fit on the disk waits in memory, up to a limit, and goes to disk once there is room.
#[test]
fn a_full_disk_is_borne_for_a_time() {
    let detector = coloured();
    let expiry = ExpiryConfig::default();
    let records = stream(700);
    let expected = decide(&mut in_memory(&detector, &expiry), &records);
    for read_only in [false, true] {
        let folder = SimFolder::default();
        let opened = OnDisk::open(Arc::new(folder.clone()), &detector, &expiry, tiny(), &Saved::nothing());
        let mut disk = opened.expect("opens");
        assert_eq!(disk.decide(&records[..150]), expected[..150]);
        let sealed = disk.store.end();
        let full = |is_full: bool| match read_only {
            true => folder.set_read_only(is_full),
            false => folder.set_room(is_full.then_some(0)),
        };
        full(true);
        assert_eq!(disk.decide(&records[150..220]), expected[150..220]);
        assert_eq!((disk.store.end(), disk.clusterer.fault()), (sealed, None));
        full(false);
        assert_eq!(disk.decide(&records[220..300]), expected[220..300]);
        disk.clusterer.insert_pending();
        assert!(disk.store.end() > sealed, "it goes on");
        full(true);
        for (number, record) in (300..).zip(&records[300..]) {
            let decision = disk.decide(std::slice::from_ref(record));
            if let Some(fault) = disk.clusterer.fault() {
                assert!(fault.contains("make room on the disk") && fault.contains("128"), "{fault}");
                break;
            }
            assert_eq!(decision, expected[number..=number]);
            assert!(number < 690, "it has to give up");
        }
    }
}

#[test]
fn what_cannot_be_read_is_a_fault() {
    let (detector, expiry) = (coloured(), ExpiryConfig::default());
    let folder = SimFolder::default();
    let saved = filled(&folder, &detector, &expiry);
    let opened = OnDisk::open(Arc::new(folder.clone()), &detector, &expiry, tiny(), &saved);
    let mut disk = opened.expect("opens");
    folder.fail_reading();
    disk.decide(&stream(10));
    assert!(disk.clusterer.fault().is_some_and(|fault| fault.contains("cannot read")));
}

/// A disk without room for the longest runs: they stay as they are and are found, it is seldom tried again, and they
/// merge once there is room.
#[test]
fn runs_that_find_no_room_stay_as_they_are() {
    let (detector, expiry) = (coloured(), ExpiryConfig::default());
    let records = stream(2_000);
    let expected = decide(&mut in_memory(&detector, &expiry), &records);
    let folder = SimFolder::default();
    let opened = OnDisk::open(Arc::new(folder.clone()), &detector, &expiry, tiny(), &Saved::nothing());
    let mut disk = opened.expect("opens");
    let mut decided = 0;
    let mut decide_until = |disk: &mut OnDisk, blocks: usize| {
        while disk.store.counts().0 < blocks {
            assert_eq!(disk.decide(&records[decided..decided + 5]), expected[decided..decided + 5]);
            disk.clusterer.insert_pending();
            decided += 5;
        }
    };
    // One run of four blocks; those of eight have no room.
    decide_until(&mut disk, 4);
    assert_eq!(disk.store.counts(), (4, 1));
    let longest = folder.all_names().iter().map(|name| folder.bytes(name).len()).max();
    folder.set_file_room(longest.map(|bytes| bytes as u64 * 5 / 4));
    decide_until(&mut disk, 20);
    assert_eq!(disk.store.counts(), (20, 5), "runs of four blocks are merged still");
    let refused = folder.refused();
    // From the second run of four blocks on a merge of two is due, and tried with every second block.
    assert!((1..=7).contains(&refused), "tried {refused} times");
    assert!(folder.all_names().len() <= 25, "nothing is left of what failed: {:?}", folder.all_names());
    folder.set_file_room(None);
    decide_until(&mut disk, 24);
    assert_eq!(disk.store.counts(), (24, 3), "they are made up for");
    assert_eq!((folder.refused(), disk.clusterer.fault()), (refused, None));
}

/// A device that writes more slowly than blocks fill: whoever decides waits for it, and no more waits in memory than may.
#[test]
fn a_slow_device_slows_down_who_decides() {
    let detector: Arc<dyn Detector> = Arc::new(SimHash::new(&SimHashConfig::default()));
    let expiry = ExpiryConfig::default();
    let folder = SimFolder::default();
    // At first slower than anybody decides, however busy the machine is.
    folder.set_pace(Some(Duration::from_millis(500)));
    let options = StoreOptions { readers: 2, portion: 8, ..StoreOptions::for_table(256, 1 << 30) };
    let opened = OnDisk::open(Arc::new(folder.clone()), &detector, &expiry, options, &Saved::nothing());
    let mut disk = opened.expect("opens");
    let mut memory = in_memory(&detector, &expiry);
    let mut most_waiting = 0;
    for start in (0..6_000).step_by(100) {
        let records: Vec<FingerprintRecord> = (start..start + 100).map(founding).collect();
        assert_eq!(disk.decide(&records), decide(&mut memory, &records));
        most_waiting = most_waiting.max(start + 100 - disk.store.end());
        if most_waiting > options.waiting_max / 2 {
            folder.set_pace(Some(Duration::from_millis(8)));
        }
    }
    assert!(most_waiting > options.waiting_max / 2, "the device is the slower one: {most_waiting}");
    let most_allowed = options.waiting_max + PORTIONS_MAX as u64 * options.portion;
    assert!(most_waiting <= most_allowed, "less than half of the stream: {most_waiting}");
    folder.set_pace(None);
    disk.store.finish();
    assert_eq!(disk.clusterer.fault(), None);
}
