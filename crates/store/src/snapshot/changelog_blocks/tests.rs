//! Compares a table on disk with one in memory and with a list of all centroids, after any sequence of
//! commits, saves, kills, deletions and damages.

use std::sync::Arc;

use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::blocks::Manifest;
use crate::blocks::sim::SimFolder;
use crate::blocks::tests::tiny;
use leitong_base::record::{FingerprintRecord, TextDigest};
use leitong_cluster::changelog::{ChangelogRecord, Identity, POSITION_KEY, Restoration, RestoreError};
use leitong_cluster::log::{TopicIds, Watermarks};
use leitong_cluster::{ClusterRules, Decision, TableFault};
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;

/// Identity of the tables in these tests.
const IDENTITY: Identity = Identity {
    log_partition: 0,
    log_partition_count: 1,
    fingerprint_hash: 1,
    cluster_hash: 2,
    corpus_hash: 0,
    app_hash: 0,
    topic_ids: TopicIds { pages: None, log: None, changelog: None },
};

const HOUR_MS: i64 = 60 * 60 * 1000;
const TABLE_ID: u64 = 7;
const TOPIC: &str = "centroids";

fn options() -> StoreOptions {
    StoreOptions { span_max: 128, ..tiny() }
}

fn detector() -> Arc<dyn Detector> {
    Arc::new(SimHash::new(&SimHashConfig::default()))
}

/// An event for a worker.
#[derive(Debug, Clone)]
enum Act {
    /// Pages of these texts arrive, an hour after one another, and are committed.
    Pages(Vec<u16>),
    /// Pages of these texts are decided. The worker is killed before it commits them, and starts again.
    Aborted(Vec<u16>),
    /// The blocks are saved.
    Save,
    /// The worker is killed, by a power failure if true, and starts again.
    Restart(bool),
    /// Brokers delete expired records.
    Delete,
    /// The worker is stopped, one bit of a file is flipped, and the worker starts again.
    Damage(prop::sample::Index, prop::sample::Index),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let pages = || prop::collection::vec(0..300_u16, 1..40);
    let act = prop_oneof![
        8 => pages().prop_map(Act::Pages),
        2 => pages().prop_map(Act::Aborted),
        4 => Just(Act::Save),
        2 => any::<bool>().prop_map(Act::Restart),
        2 => Just(Act::Delete),
        1 => any::<(prop::sample::Index, prop::sample::Index)>().prop_map(|(file, at)| Act::Damage(file, at)),
    ];
    prop::collection::vec(act, 1..60)
}

fn expiry() -> impl Strategy<Value = ExpiryConfig> {
    (prop::option::weighted(0.5, 2..20_u32), prop_oneof![Just(10_000_u64), 20..200_u64])
        .prop_map(|(max_age_days, centroids_max)| ExpiryConfig { max_age_days, centroids_max })
}

/// Returns the cluster of a page, as the log offset of the cluster's first page.
fn cluster(decision: &Decision) -> u64 {
    match decision {
        Decision::Founded(id, _) => id.log_offset,
        Decision::Joined(page) => page.cluster_id.log_offset,
        Decision::Undecidable => unreachable!("every page has a fingerprint"),
    }
}

/// All centroids ever founded, with text, log offset and time; and all pages that joined, with digest and the
/// index of their centroid.
#[derive(Default)]
struct Naive(Vec<(u16, u64, i64)>, Vec<(u16, usize)>);

/// Returns the digest of a page. Pages of some fingerprints share digests.
fn digest_of(text: u16, log_offset: u64) -> u16 {
    if log_offset.is_multiple_of(3) || log_offset == u64::from(text) { text } else { text / 2 + 1_000 }
}

impl Naive {
    fn decide(&mut self, text: u16, log_offset: u64, time: i64, expiry: &ExpiryConfig) -> u64 {
        let max = expiry.centroids_max as usize;
        let first = self.0.len().saturating_sub(max);
        let before = expiry.max_age_days.map_or(i64::MIN, |days| time - i64::from(days) * 24 * HOUR_MS);
        let is_alive = |at: &usize| *at >= first && self.0[*at].2 >= before;
        let digest = digest_of(text, log_offset);
        let all = 0..self.0.len();
        let founder = all.clone().filter(|at| digest_of(self.0[*at].0, self.0[*at].1) == digest);
        let members = &self.1[self.1.len().saturating_sub(max)..];
        let member = members.iter().filter(|(of, _)| *of == digest).map(|(_, at)| *at);
        let known = founder.chain(member).find(is_alive);
        match known.or_else(|| all.clone().filter(is_alive).find(|at| self.0[*at].0 == text)) {
            Some(at) => {
                if known.is_none() {
                    self.1.push((digest, at));
                }
                self.0[at].1
            }
            None => {
                self.0.push((text, log_offset, time));
                log_offset
            }
        }
    }
}

/// The changelog, with the offset of each record.
type Kept = Vec<(u64, ChangelogRecord)>;

fn last_position(kept: &Kept) -> Option<proto::Position> {
    let last = kept.iter().rev().find(|(_, record)| record.key == POSITION_KEY)?;
    proto::Position::decode(&*last.1.value).ok()
}

fn number_of(record: &ChangelogRecord) -> Option<u64> {
    let value = Some(&*record.value).filter(|_| record.key.len() == 16)?;
    proto::Centroid::decode(value).ok()?.number
}

/// A worker with its table on disk.
struct Worker {
    folder: SimFolder,
    clusterer: Clusterer,
    store: Arc<BlockStore>,
    expiry: ExpiryConfig,
    /// True if the worker started from blocks.
    taken_up: bool,
}

impl Worker {
    /// Starts from the blocks if they can be used, and otherwise from the changelog.
    fn start(folder: SimFolder, kept: &Kept, expiry: &ExpiryConfig) -> Self {
        match Self::with_blocks(&folder, kept, expiry, IDENTITY.fingerprint_hash) {
            Ok(Some(worker)) => worker,
            _ => Self::from_changelog(folder, kept, expiry),
        }
    }

    fn with_blocks(
        folder: &SimFolder,
        kept: &Kept,
        expiry: &ExpiryConfig,
        settings: u64,
    ) -> Result<Option<Self>, String> {
        let Some(blocks) = ChangelogBlocks::read(folder).map_err(|why| why.to_string())? else {
            return Ok(None);
        };
        let last = last_position(kept).unwrap_or_default();
        let bounds = (kept.first().map_or(0, |first| first.0), kept.last().map_or(0, |last| last.0 + 1));
        let identity = &Identity { fingerprint_hash: settings, ..IDENTITY };
        let wanted = ExpectedTable { topic: TOPIC, identity, bounds, table_id: last.table_id };
        blocks.check(&wanted, &last).map_err(|why| why.to_string())?;
        let from = blocks.changelog_offset();
        let files = Arc::new(folder.clone());
        let opened = blocks.open(files, &detector(), expiry.clone(), options());
        let OpenBlocks { clusterer, store, newest } = opened.map_err(|why| why.to_string())?;
        let restoration = Restoration::after_old(clusterer, newest, &last);
        let clusterer = read(restoration, kept, from).map_err(|error| error.to_string())?;
        let (folder, expiry) = (folder.clone(), expiry.clone());
        Ok(Some(Self { folder, clusterer, store, expiry, taken_up: true }))
    }

    fn from_changelog(folder: SimFolder, kept: &Kept, expiry: &ExpiryConfig) -> Self {
        ChangelogBlocks::remove(&folder).expect("it can be written to");
        let manifest = Manifest { table_id: 99, ..Manifest::default() };
        let files = Arc::new(folder.clone());
        let store = Arc::new(BlockStore::open(files, detector(), options(), &manifest).expect("opens"));
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, 0);
        let empty = Clusterer::with_old(detector(), expiry.clone(), Position::default(), None, old);
        let empty = empty.expect("there are no blocks yet");
        let restoration = Restoration::into_empty(empty).up_to(last_position(kept).as_ref());
        let clusterer = read(restoration, kept, 0).expect("all that counts is there");
        Self { folder, clusterer, store, expiry: expiry.clone(), taken_up: false }
    }

    /// Decides on pages of these texts, which begin at `log_offset`.
    fn decide(&mut self, texts: &[u16], log_offset: u64) -> Result<Vec<u64>, TableFault> {
        decide(&mut self.clusterer, texts, log_offset)
    }

    /// Decides on pages, and returns the changelog records to be committed as well.
    fn decide_to_write(
        &mut self,
        texts: &[u16],
        log_offset: u64,
    ) -> Result<(Vec<u64>, Vec<ChangelogRecord>), TableFault> {
        Ok((self.decide(texts, log_offset)?, written(&mut self.clusterer)?))
    }

    /// Saves the blocks. Fails if a damaged part of them was read.
    fn save(&self, kept: &Kept) -> Result<(), TableFault> {
        let position = IDENTITY.position(&self.clusterer, 0, Some(TABLE_ID), &Watermarks::default())?;
        let tail = |number| {
            // A place somewhat before the exact one.
            let at = kept.iter().position(|(_, record)| number_of(record) >= Some(number));
            let offset = at.map_or(0, |at| kept[at.saturating_sub(5)].0);
            proto::ChangelogTail { topic: TOPIC.to_owned(), offset }
        };
        match ChangelogBlocks::save(&self.folder, &self.store, &self.clusterer, position, tail) {
            Err(SnapshotError::Fault(fault)) => Err(fault),
            saved => {
                saved.expect("saved");
                Ok(())
            }
        }
    }
}

/// Returns the table at the end of the changelog, read from offset `from` on.
fn read(mut restoration: Restoration, kept: &Kept, from: u64) -> Result<Clusterer, RestoreError> {
    for (_, record) in kept.iter().filter(|(offset, _)| *offset >= from) {
        restoration.take(Some(&record.key), Some(&record.value))?;
    }
    assert_eq!(restoration.missing(), None, "all was read");
    let mut clusterer = restoration.finish(&IDENTITY, None)?.clusterer;
    clusterer.name_log(9);
    clusterer.keep_journal();
    Ok(clusterer)
}

fn decide(clusterer: &mut Clusterer, texts: &[u16], log_offset: u64) -> Result<Vec<u64>, TableFault> {
    let prints = Fingerprints::even(1);
    let record = |(at, text): (u64, &u16)| {
        let mut record = FingerprintRecord::numbered(at as usize, Some(prints.get(u64::from(*text))));
        record.log_time = Timestamp::from_ms(at as i64 * HOUR_MS);
        record.text = Some(TextDigest { digest: digest_of(*text, at).into(), chars: 9 });
        record
    };
    let records: Vec<FingerprintRecord> = (log_offset..).zip(texts).map(record).collect();
    let batch: Vec<_> = (log_offset..).zip(records.iter().map(Some)).collect();
    Ok(clusterer.decide_batch(&batch)?.iter().map(cluster).collect())
}

/// Returns the records to be committed: new centroids and texts, and the position.
fn written(clusterer: &mut Clusterer) -> Result<Vec<ChangelogRecord>, TableFault> {
    let position = IDENTITY.position(clusterer, 0, Some(TABLE_ID), &Watermarks::default())?;
    Ok(clusterer.take_changes().records(&position, &*detector()))
}

fn commit(written: Vec<ChangelogRecord>, kept: &mut Kept, next: &mut u64) {
    for record in written {
        kept.push((*next, record));
        *next += 1;
    }
    *next += 1; // the transaction's mark
}

/// Runs all events. Returns how often a worker started from blocks.
fn run(acts: &[Act], expiry: &ExpiryConfig) -> Result<usize, TestCaseError> {
    let (mut kept, mut next, mut log_offset) = (Kept::new(), 0, 0_u64);
    let mut worker = Worker::start(SimFolder::default(), &kept, expiry);
    let mut memory =
        Clusterer::new(detector(), ClusterRules::expiry_only(expiry.clone()), Position::default());
    memory.name_log(9);
    let (mut naive, mut taken_up) = (Naive::default(), 0);
    for act in acts {
        let restarted = match act {
            Act::Pages(texts) => {
                let decided = worker.decide_to_write(texts, log_offset).or_else(|_| {
                    // A damaged part is noticed when it is read. Nothing of this batch was committed.
                    worker = Worker::start(SimFolder::default(), &kept, expiry);
                    worker.decide_to_write(texts, log_offset)
                });
                let (decided, written) = decided.expect("the blocks were written again");
                prop_assert_eq!(&decided, &decide(&mut memory, texts, log_offset).expect("in memory"));
                let pages = (log_offset..).zip(texts);
                let expected = pages.map(|(at, text)| naive.decide(*text, at, at as i64 * HOUR_MS, expiry));
                prop_assert_eq!(decided, expected.collect::<Vec<_>>());
                commit(written, &mut kept, &mut next);
                log_offset += texts.len() as u64;
                None
            }
            Act::Save => {
                if worker.save(&kept).is_err() {
                    worker = Worker::start(SimFolder::default(), &kept, expiry);
                }
                None
            }
            Act::Delete => {
                let last = last_position(&kept).unwrap_or_default();
                let oldest = last.founded.unwrap_or_default() - last.centroid_count;
                kept.retain(|(_, record)| number_of(record).is_none_or(|number| number >= oldest));
                None
            }
            Act::Aborted(texts) => {
                // Even if it succeeds, nothing of this batch is committed.
                let _ = worker.decide(texts, log_offset);
                Some(worker.folder.after_kill())
            }
            Act::Restart(power) => Some(match power {
                true => worker.folder.after_power_loss(log_offset),
                false => worker.folder.after_kill(),
            }),
            Act::Damage(file, at) => {
                let folder = worker.folder.after_kill();
                let names = folder.all_names();
                Some(if names.is_empty() {
                    folder
                } else {
                    flipped(&folder, &names[file.index(names.len())], at)
                })
            }
        };
        if let Some(folder) = restarted {
            worker = Worker::start(folder, &kept, &worker.expiry.clone());
            taken_up += usize::from(worker.taken_up);
        }
        let counts = (worker.clusterer.centroid_count(), worker.clusterer.founded());
        prop_assert!(counts.1 == memory.founded(), "{counts:?}");
    }
    Ok(taken_up)
}

fn flipped(folder: &SimFolder, name: &str, at: &prop::sample::Index) -> SimFolder {
    let mut bytes = folder.bytes(name);
    if !bytes.is_empty() {
        let at = at.index(bytes.len());
        bytes[at] ^= 0x20;
    }
    folder.with(name, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn decides_what_a_table_in_memory_decides(acts in acts(), expiry in expiry()) {
        run(&acts, &expiry)?;
    }
}

/// Returns a worker's folder with saved blocks, and its changelog.
fn saved() -> (SimFolder, Kept, ExpiryConfig) {
    let (mut kept, mut next, expiry) = (Kept::new(), 0, ExpiryConfig::default());
    let mut worker = Worker::start(SimFolder::default(), &kept, &expiry);
    for texts in (0..150_u16).collect::<Vec<_>>().chunks(10) {
        let (_, written) = worker.decide_to_write(texts, texts[0].into()).expect("nothing has failed");
        commit(written, &mut kept, &mut next);
    }
    worker.clusterer.insert_pending().expect("nothing has failed");
    worker.save(&kept).expect("nothing has failed");
    (worker.folder.after_kill(), kept, expiry)
}

#[test]
fn blocks_are_taken_up_and_only_the_tail_is_read() {
    let (folder, kept, expiry) = saved();
    let blocks = ChangelogBlocks::read(&folder).expect("whole").expect("a file");
    assert_eq!((blocks.end(), blocks.founded()), (128, 150));
    let tail = kept.iter().filter(|(offset, _)| *offset >= blocks.changelog_offset()).count();
    assert!(tail < 40 && kept.len() > 160, "{tail} of {}", kept.len());
    let mut worker = Worker::start(folder, &kept, &expiry);
    assert!(worker.taken_up);
    assert_eq!(worker.decide(&[3, 149, 200, 127, 128], 150), Ok(vec![3, 149, 152, 127, 128]));
}

#[test]
fn blocks_of_another_changelog_are_refused() {
    let (folder, kept, expiry) = saved();
    let refused = |kept: &Kept| {
        let opened = Worker::with_blocks(&folder.after_kill(), kept, &expiry, IDENTITY.fingerprint_hash);
        opened.err().expect("refused")
    };
    // Centroids are the same up to number 100; then another one follows.
    let of_other = |(offset, record): &(u64, ChangelogRecord)| {
        let mut record = record.clone();
        if number_of(&record).is_some_and(|number| number > 100) {
            let value = std::mem::take(&mut record.value);
            let mut centroid = proto::Centroid::decode(&*value).expect("a centroid");
            centroid.log_offset += 1;
            record.value = centroid.encode_to_vec();
            *record.key.last_mut().expect("a key") += 1;
        }
        (*offset, record)
    };
    let why = refused(&kept.iter().map(of_other).collect());
    assert!(why.contains("ends with centroid 127"), "{why}");
    // Records that were acknowledged are lost, as after an unclean leader election.
    let end = kept.iter().position(|(_, record)| number_of(record) == Some(140)).expect("there");
    let why = refused(&kept[..end].to_vec());
    assert!(why.contains("its number of centroids is 150, but that of this instance is 140"), "{why}");
    let of_position = |change: &dyn Fn(&mut proto::Position)| {
        let mut kept = kept.clone();
        let (_, last) = kept.last_mut().expect("a position");
        let mut position = proto::Position::decode(&*last.value).expect("whole");
        change(&mut position);
        *last = ChangelogRecord::from_position(&position);
        refused(&kept)
    };
    let why = of_position(&|position| position.table_id = Some(8));
    assert!(why.contains("its table is 0000000000000007"), "{why}");
    let why = Worker::with_blocks(&folder.after_kill(), &kept, &expiry, 9).err().expect("refused");
    assert!(why.contains("its fingerprint_hash is 0000000000000001"), "{why}");
    let why = of_position(&|position| position.log_generation = 10);
    assert!(why.contains("its log is 9"), "{why}");
}

#[test]
fn a_table_of_its_own_is_no_part_of_a_workers_and_the_reverse() {
    let (folder, ..) = saved();
    let real = tempfile::tempdir().expect("a folder");
    std::fs::write(real.path().join(FILE_NAME), folder.bytes(FILE_NAME)).expect("written");
    let settings = crate::snapshot::TableSettings {
        detector: detector(),
        rules: ClusterRules::default(),
        fingerprint_hash: 1,
        cluster_hash: 2,
        corpus_hash: 0,
        on_disk: None,
    };
    let table = crate::snapshot::TableDir::open(real.path()).expect("a folder");
    let refused = table.load(&settings).err().expect("refused").to_string();
    assert!(refused.contains("belongs to a worker"), "{refused}");
    let own = Clusterer::new(detector(), ClusterRules::default(), Position::default());
    table.save(&own, &settings).expect("saved");
    let files = crate::blocks::Folder::open(real.path()).expect("a folder");
    let refused = ChangelogBlocks::read(&files).err().expect("refused").to_string();
    assert!(refused.contains("it is not the table of a worker"), "{refused}");
}
