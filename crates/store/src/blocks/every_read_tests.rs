//! Tests in which one read fails, at any point of a long stream of pages.
//!
//! If a caller forgot to check whether the last look-up had read all centroids, it would give a wrong
//! verdict, and nobody would notice. Here each read fails once, and later reads succeed again. Every answer
//! has to be that of a table in memory, or an error. After the first error nothing is answered, saved or
//! committed.

use std::path::Path;
use std::sync::Arc;

use super::StoreOptions;
use super::sim::SimFolder;
use super::tests::{OnDisk, Saved, coloured, in_memory, stream, tiny};
use crate::snapshot::{ChangelogBlocks, SnapshotError, TableDir, TableSettings};
use leitong_base::proto;
use leitong_base::record::FingerprintRecord;
use leitong_cluster::log::Watermarks;
use leitong_cluster::{ClusterRules, Clusterer, Decision, ExpiryConfig, PreviewOptions, Scratch, TableFault};
use leitong_fingerprint::Detector;

/// Number of pages that are decided on at once.
const BATCH: usize = 25;

/// Returns everything that callers learn from a table while it decides on some pages.
fn answers(table: &mut Clusterer, pages: &[FingerprintRecord]) -> Vec<Result<String, TableFault>> {
    let mut scratch = Scratch::default();
    let asked = PreviewOptions { top: 8, max_distance: None };
    let preview = table.preview(&pages[0], asked, &mut scratch);
    let next = table.position().next_log_offset;
    let batch: Vec<_> = (next..).zip(pages.iter().map(Some)).collect();
    let decisions = table.decide_batch(&batch);
    let known = decisions.as_ref().ok().and_then(|decisions| decisions.iter().rev().find_map(cluster_id));
    let centroid = table.centroid(known.unwrap_or_else(|| id(0)), &mut scratch);
    vec![
        preview.map(|preview| format!("{preview:?}")),
        decisions.map(|decisions| format!("{decisions:?}")),
        centroid.map(|centroid| format!("{centroid:?}")),
        table.unexpired().map(|unexpired| format!("{unexpired:?}")),
        table.evict_expired().map(|()| String::new()),
        table.insert_pending().map(|()| String::new()),
    ]
}

fn id(log_offset: u64) -> leitong_cluster::ClusterId {
    leitong_cluster::ClusterId { log_generation: 0, log_partition: 0, log_offset }
}

/// Returns the cluster that a page joins.
fn cluster_id(decision: &Decision) -> Option<leitong_cluster::ClusterId> {
    match decision {
        Decision::Joined(page) => Some(page.cluster_id),
        _ => None,
    }
}

/// A table as it was saved before some pages, and the answers of a table in memory to these pages.
struct Step {
    folder: SimFolder,
    saved: Saved,
    pages: Vec<FingerprintRecord>,
    expected: Vec<Result<String, TableFault>>,
}

/// Decides on a stream in batches, with expiry, merges and restarts. Returns a step for each batch.
fn steps(detector: &Arc<dyn Detector>, expiry: &ExpiryConfig) -> Vec<Step> {
    let (folder, records) = (SimFolder::default(), stream(450));
    let mut memory = in_memory(detector, expiry);
    let mut saved = Saved::nothing();
    let step = |pages: &[FingerprintRecord]| {
        let before = (folder.copy(), saved.clone());
        let mut disk = OnDisk::opened(&folder, detector, expiry, tiny(), &saved);
        let expected = answers(&mut memory, pages);
        assert_eq!(answers(&mut disk.clusterer, pages), expected);
        saved = disk.save();
        Step { folder: before.0, saved: before.1, pages: pages.to_vec(), expected }
    };
    records.chunks(BATCH).map(step).collect()
}

/// Checks that nothing of a table that has failed with `fault` gets into a saved table, a checkpoint or the
/// changelog.
fn nothing_gets_out(
    disk: &mut OnDisk,
    fault: &TableFault,
    files: &SimFolder,
    real: &TableDir,
    settings: &TableSettings,
) {
    let table = &disk.clusterer;
    let watermarks = Watermarks::default();
    let identity = settings.identity(0);
    let fails_with = |error: Option<SnapshotError>| match error {
        Some(SnapshotError::Fault(found)) => assert_eq!(found, *fault),
        other => panic!("{other:?} instead of {fault}"),
    };
    fails_with(real.save(table, settings).err());
    fails_with(real.save_in_between(table, settings).err());
    fails_with(real.save_checkpoint(&real.folder().join("checkpoint"), table, settings).err());
    let position = identity.position(table, 0, None, &watermarks);
    assert_eq!(position.err(), Some(fault.clone()));
    let tail = |_| proto::ChangelogTail::default();
    let position = proto::Position::default();
    let saved = ChangelogBlocks::save(files, &disk.store, table, position, tail);
    fails_with(saved.err());
    assert_eq!(disk.to_save().err(), Some(fault.clone()));
    let records = disk.clusterer.take_changes().records(&proto::Position::default(), &*settings.detector);
    assert_eq!(records.len(), 1, "only the position");
}

/// Returns the number of files in a folder and its subfolders, without locks.
fn saved_files(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a name").path());
    names
        .map(|path| if path.is_dir() { saved_files(&path) } else { usize::from(!path.ends_with("lock")) })
        .sum()
}

#[test]
fn after_a_failed_read_nothing_is_answered_saved_or_committed() {
    let detector = coloured();
    let expiry = ExpiryConfig { max_age_days: Some(12), centroids_max: 200 };
    let temporary = tempfile::tempdir().expect("a folder");
    let real = TableDir::open(temporary.path()).expect("a table's folder");
    let settings = TableSettings {
        detector: Arc::clone(&detector),
        rules: ClusterRules::expiry_only(expiry.clone()),
        fingerprint_hash: 1,
        cluster_hash: 2,
        corpus_hash: 3,
        on_disk: None,
    };
    let steps = steps(&detector, &expiry);
    let (mut failed, mut refused, mut borne) = (0, 0, 0);
    for (number, step) in steps.iter().enumerate() {
        // The next batch is decided on as well, because a failure may show late.
        let next = steps.get(number + 1);
        for read in 0.. {
            let folder = step.folder.copy();
            folder.fail_read(read);
            // Some tables use threads, which seal and merge at other times and read in another order.
            let options = if read % 16 == 15 { StoreOptions { readers: 2, ..tiny() } } else { tiny() };
            let opened = OnDisk::open(Arc::new(folder.clone()), &detector, &expiry, options, &step.saved);
            let Ok(mut disk) = opened else {
                refused += 1;
                continue;
            };
            let mut fault: Option<TableFault> = None;
            for Step { pages, expected, .. } in [Some(step), next].into_iter().flatten() {
                for (found, expected) in answers(&mut disk.clusterer, pages).into_iter().zip(expected) {
                    match (found, &fault) {
                        (Err(found), None) => fault = Some(found),
                        (Err(found), Some(fault)) => assert_eq!(found, *fault, "step {number}, read {read}"),
                        (found, None) => assert_eq!(found, *expected, "step {number}, read {read}"),
                        (Ok(found), Some(_)) => panic!("step {number}, read {read}: then answers {found}"),
                    }
                }
            }
            let was_read = folder.reads() > read;
            match &fault {
                Some(fault) => nothing_gets_out(&mut disk, fault, &folder, &real, &settings),
                // If a block cannot be read after it was written, or a merge fails, the store tries again.
                None if was_read => borne += 1,
                None => break,
            }
            failed += u64::from(fault.is_some());
        }
    }
    assert_eq!(saved_files(temporary.path()), 0);
    println!("{failed} runs failed, {refused} did not begin, {borne} went on");
    assert!(failed > 1_000 && refused > 100 && borne > 0, "{failed}, {refused}, {borne}");
}
