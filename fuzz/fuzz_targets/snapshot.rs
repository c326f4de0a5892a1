//! Loads any bytes as a saved table (of `dedup`) or as a worker's local snapshot: the result is a table, or an error in
//! a few words. A correct checksum follows the bytes, so the contents are read.
//!
//! The first byte chooses the format. Run: `fuzz/run.sh 60 snapshot`.
#![no_main]

mod common;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use leitong::config::Config;
use leitong_fingerprint::Detector;
use leitong_store::snapshot::{SnapshotPlace, TableDir, TableSettings};
use libfuzzer_sys::fuzz_target;

static DETECTOR: LazyLock<Arc<dyn Detector>> = LazyLock::new(common::detector);
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder"));

/// Writes a file that ends in the XXH3-64 of everything before.
fn write(path: &Path, bytes: &[u8]) {
    let sum = xxhash_rust::xxh3::xxh3_64(bytes).to_be_bytes();
    std::fs::write(path, [bytes, &sum].concat()).expect("written");
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    if choice.is_multiple_of(2) { table(bytes) } else { snapshot(bytes) }
});

fn table(bytes: &[u8]) {
    let settings = TableSettings {
        detector: Arc::clone(&DETECTOR),
        rules: Config::default().cluster_rules(),
        fingerprint_hash: 5,
        cluster_hash: 6,
        corpus_hash: 7,
        on_disk: None,
    };
    let dir = TableDir::open(FOLDER.path()).expect("a folder of our own");
    write(&FOLDER.path().join("centroids.leitong"), bytes);
    match dir.load(&settings) {
        Ok(clusterer) => {
            let clusterer = clusterer.expect("there is a file");
            dir.save(&clusterer, &settings).expect("saved");
            let again = dir.load(&settings).expect("what is saved is loaded").expect("there is a file");
            assert_eq!(again.position(), clusterer.position());
            assert!(again.centroids().eq(clusterer.centroids()), "the same table");
        }
        Err(error) => common::assert_readable(&error.to_string()),
    }
}

fn snapshot(bytes: &[u8]) {
    let place = SnapshotPlace::new(FOLDER.path(), "fuzz", 3);
    write(&place.path(), bytes);
    let read = place.open().and_then(|snapshot| {
        let mut last = None;
        snapshot.expect("there is a file").read(|log_offset, value| {
            assert!(value.len() <= bytes.len());
            last = Some(log_offset);
            Ok(true)
        })
    });
    match read {
        Ok(position) => assert!(position.is_some(), "read to its end"),
        Err(error) => common::assert_readable(&error.to_string()),
    }
}
