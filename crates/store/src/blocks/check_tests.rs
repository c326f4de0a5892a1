//! Tests of the comparison of checksums in the background.

use std::sync::Arc;
use std::time::Instant;

use super::StoreOptions;
use super::sim::SimFolder;
use super::tests::{OnDisk, coloured, filled, tiny};
use crate::wait::{HANG_LIMIT, wait_until};
use leitong_cluster::{ExpiryConfig, OldCentroids};

/// Returns the options of a store that only checks, as fast as it can.
fn checking() -> StoreOptions {
    StoreOptions { check_bytes_per_second: 1 << 40, ..tiny() }
}

/// The next operation fails and names the damaged file, although it does not read this file. Both kinds of
/// files are checked.
#[test]
fn damage_is_found_that_no_look_up_meets() {
    let (detector, expiry, folder) = (coloured(), ExpiryConfig::default(), SimFolder::default());
    let saved = filled(&folder, &detector, &expiry);
    for name in ["centroids-000000000032.block", "keys-000000000000-000000000128.block"] {
        let mut bad = folder.bytes(name);
        bad[100] ^= 4;
        let flipped = folder.with(name, bad);
        let is_named = |fault: &str| fault.contains(name) && fault.contains("damaged at byte");
        // The check begins with the store, so it may find the damage before the rest of the table is opened.
        let mut opened = None;
        wait_until("the table is opened before the check ends", || {
            let files = Arc::new(flipped.clone());
            match OnDisk::open(files, &detector, &expiry, checking(), &saved) {
                Ok(disk) => opened = Some(disk),
                Err(fault) => assert!(is_named(&fault), "{fault}"),
            }
            opened.is_some()
        });
        let mut disk = opened.expect("it was waited for");
        wait_until(format_args!("{name} is found"), || disk.store.check().is_err());
        let fault = disk.decide(&[]).expect_err("it was waited for");
        assert!(is_named(&fault.to_string()), "{fault}");
        assert!(fault.is_unreadable());
        assert_eq!(disk.to_save().err(), Some(fault));
    }
}

/// A check that would take years ends with its store.
#[test]
fn a_slow_check_halts_nobody() {
    let (detector, expiry, folder) = (coloured(), ExpiryConfig::default(), SimFolder::default());
    let saved = filled(&folder, &detector, &expiry);
    let slow = StoreOptions { check_bytes_per_second: 1, ..tiny() };
    let began = Instant::now();
    let disk = OnDisk::open(Arc::new(folder), &detector, &expiry, slow, &saved).expect("opens");
    assert_eq!(disk.store.check(), Ok(()));
    drop(disk);
    assert!(began.elapsed() < *HANG_LIMIT);
}
