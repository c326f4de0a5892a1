//! One read of a table on disk fails while `serve` stores pages and looks some up.
//!
//! An answer that did not consider all centroids could call a duplicate new, and the sender would keep it.
//! Here each read of a run fails once, and reading works again afterwards. Every answer must be that of a
//! table in memory, or a problem. After the first problem there are only problems, and the table is not
//! saved.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use tokio::sync::{mpsc, oneshot};

use super::committer::{Committer, Submission};
use super::store::{Store, journal_head};
use super::tables::Tables;
use leitong_base::record::{FingerprintRecord, Timestamp};
use leitong_cluster::{ClusterId, ClusterRules, Clusterer, OldCentroids, Position, PreviewOptions, Scratch};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong_pipeline::config::{Config, ExpiryConfig};
use leitong_store::blocks::{BlockStore, Manifest, SimFolder, StoreOptions};
use leitong_store::snapshot::{Journal, TableDir, TableSettings};

const REQUESTS: usize = 8;
const PAGES: usize = 25;

fn detector() -> Arc<dyn Detector> {
    Arc::new(SimHash::new(&Config::default().simhash))
}

fn expiry() -> ExpiryConfig {
    ExpiryConfig { max_age_days: None, centroids_max: 140 }
}

fn in_memory() -> Clusterer {
    Clusterer::new(detector(), ClusterRules::expiry_only(expiry()), Position::default())
}

fn on_disk(files: SimFolder) -> Clusterer {
    let options = StoreOptions { fan: 2, readers: 0, portion: 8, ..StoreOptions::for_table(32, 140) };
    let manifest = Manifest { table_id: 5, ..Manifest::default() };
    let store =
        BlockStore::open(Arc::new(files), detector(), options, &manifest).expect("there are no files");
    let old = (Arc::new(store) as Arc<dyn OldCentroids>, 0);
    Clusterer::with_old(detector(), expiry(), Position::default(), None, old).expect("there are no blocks")
}

/// Returns a page: mostly a new one, otherwise one that is near an earlier one or has its text.
fn page(number: usize) -> FingerprintRecord {
    let print = Fingerprints::even(1);
    let earlier = (number as u64 * 7) % (number as u64).max(1);
    let mut page = match number % 5 {
        3 => FingerprintRecord::numbered(number, Some(print.near(earlier, 2))),
        _ => FingerprintRecord::numbered(number, Some(print.get(number as u64))),
    };
    if let (4, Some(text)) = (number % 5, &mut page.text) {
        text.digest = u128::from(earlier);
    }
    page
}

/// Returns the answer without the time at which it was given.
fn stable(json: &[u8]) -> String {
    let mut verdict: serde_json::Value = serde_json::from_slice(json).expect("JSON");
    verdict.as_object_mut().expect("an object").remove("decided_at");
    verdict.to_string()
}

/// Stores pages request by request. Looks up some before each request, and a cluster after it. Returns all
/// answers, and true if the server is ready at the end.
fn answers(clusterer: Clusterer, folder: &Path) -> (Vec<Result<String, String>>, bool) {
    let settings = TableSettings {
        detector: detector(),
        rules: ClusterRules::expiry_only(expiry()),
        fingerprint_hash: 0,
        cluster_hash: 2,
        corpus_hash: 3,
        on_disk: None,
    };
    let config = Config::default();
    let dir = TableDir::open(folder).expect("a table's folder");
    let head = journal_head(&settings, clusterer.position(), None);
    let journal = Journal::create(&dir.journal_path(), head).expect("a journal");
    let store = Arc::new(Store::new(clusterer, &settings, &config));
    let committer = Committer::new(Arc::clone(&store), journal, dir, settings, &config.api);
    let (submit, submissions) = mpsc::channel(1);
    let committing = thread::spawn(move || committer.run(submissions));
    let (mut answers, mut scratch) = (Vec::new(), Scratch::default());
    let now = Timestamp::from_ms(1).expect("a time");
    for request in 0..REQUESTS {
        let pages: Vec<FingerprintRecord> = (request * PAGES..(request + 1) * PAGES).map(page).collect();
        let preview = PreviewOptions { top: 8, max_distance: None };
        let looked_up = store.look_up(pages[0].clone(), preview, now, &mut scratch);
        answers.push(looked_up.map(|answer| format!("{:?} {:?}", answer.verdict, answer.nearest)));
        let (reply, replied) = oneshot::channel();
        submit.blocking_send(Submission { pages, reply }).expect("the committer is there");
        let verdicts = replied.blocking_recv().expect("the committer answers");
        answers.push(verdicts.map(|verdicts| verdicts.iter().map(|json| stable(json)).collect()));
        let log_generation = store.position().log_generation;
        let id = ClusterId { log_generation, log_partition: 0, log_offset: (request * PAGES / 2) as u64 };
        let cluster = store.cluster(id, 0, &mut scratch);
        answers.push(cluster.map(|cluster| format!("{:?}", cluster.centroid)));
    }
    let is_ready = store.not_ready().is_none();
    drop(submit);
    committing.join().expect("no panic").expect("the journal has what is not saved");
    (answers.into_iter().map(|answer| answer.map_err(|problem| problem.detail)).collect(), is_ready)
}

#[test]
fn after_a_failed_read_nothing_is_answered_or_saved() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| temporary.path().join(name);
    let (expected, _) = answers(in_memory(), &folder("memory"));
    assert!(expected.iter().all(Result::is_ok));
    let whole = SimFolder::default();
    let (on_disk_answers, _) = answers(on_disk(whole.clone()), &folder("whole"));
    assert_eq!(on_disk_answers, expected);
    let (mut failed, mut borne) = (0, 0);
    for read in 0..whole.reads() {
        let files = SimFolder::default();
        files.fail_read(read);
        let folder = folder(&read.to_string());
        let (found, is_ready) = answers(on_disk(files), &folder);
        let good = found.iter().take_while(|answer| answer.is_ok()).count();
        assert_eq!(found[..good], expected[..good], "read {read}");
        assert!(found[good..].iter().all(Result::is_err), "read {read}: {:?}", &found[good..]);
        for problem in found[good..].iter().filter_map(|answer| answer.as_ref().err()) {
            assert!(problem.contains("cannot be relied on") && problem.contains("cannot read"), "{problem}");
        }
        let has_failed = good < expected.len();
        assert_eq!(is_ready, !has_failed);
        // Saving reads the table as well, so its read may be the one that fails.
        let is_saved = folder.join("centroids.leitong").exists();
        assert!(!(has_failed && is_saved), "read {read}");
        assert_eq!(folder.join("journal.leitong").exists(), !is_saved, "read {read}");
        (failed, borne) = (failed + usize::from(has_failed), borne + usize::from(!has_failed));
        std::fs::remove_dir_all(folder).expect("removed");
    }
    println!("{failed} runs failed, {borne} went on");
    assert!(failed > 100 && borne > 0, "{failed} failed, {borne} went on");
}
