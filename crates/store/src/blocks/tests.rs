//! Compares a table on disk with the same table in memory, whatever happens to the disk.

use std::sync::Arc;

use proptest::prelude::*;

use super::files::{Files, Folder};
use super::sim::SimFolder;
use super::{BlockStore, Manifest, StoreOptions};
use leitong_base::random::Random;
use leitong_base::record::{FingerprintRecord, Outcome, Timestamp};
use leitong_cluster::{
    ArticlePage, Bounds, Centroid, ClusterRules, Clusterer, Decision, ExpiryConfig, OldCentroids, Position,
    PreviewOptions, Scratch, SeenTexts, TableFault, TextBounds,
};
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong_fingerprint::detectors::with_defaults;
use leitong_fingerprint::resources::Resources;
use leitong_fingerprint::{Comparison, Detector, SecondKey};
use leitong_text::extract::Document;
use leitong_text::segment::{Lexicons, SegmentConfig, Segmenter, Terms};

/// A fingerprint is a key, a place on a line of 2,000, and a colour. Fingerprints with the same key and
/// colour are near if they are at most 3 apart, and related if at most 6 apart. Look-ups compare everything
/// except the colour.
struct Coloured;

fn place(fingerprint: &[u8]) -> u16 {
    u16::from_le_bytes([fingerprint[1], fingerprint[2]])
}

impl Detector for Coloured {
    stub_detector!("coloured");

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == 4
    }
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        // Adds the key twice, as a detector may.
        keys.extend([u64::from(fingerprint[0]); 2]);
        keys.push(1_000 + u64::from(place(fingerprint)) / 8);
    }
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.insert_keys(fingerprint, keys);
    }
    fn second_key(&self) -> Option<SecondKey> {
        Some(SecondKey {
            max_distance: 6,
            wide_distance: 6,
            of: |compared| (1_u64 << place(compared).min(63)) - 1,
        })
    }
    fn compared<'a>(&self, fingerprint: &'a [u8]) -> &'a [u8] {
        &fingerprint[..3]
    }
    fn compare_found(&self, a: &[u8], b: &[u8]) -> Comparison {
        let distance = u32::from(place(a).abs_diff(place(b)));
        Comparison { distance, near: a[0] == b[0] && distance <= 3 }
    }
    /// Prefers every other place.
    fn rank(&self, _: &[u8], _: &[u8], distance: u32) -> u32 {
        if distance.is_multiple_of(2) { distance } else { 100 + distance }
    }
    fn related_found(&self, a: &[u8], b: &[u8]) -> bool {
        a[0] == b[0] && place(a).abs_diff(place(b)) <= 6
    }
    fn related(&self, a: &[u8], b: &[u8]) -> bool {
        self.related_found(a, b)
    }
    /// Returns one of four articles for every eighth place; each place is a different page.
    fn article(&self, fingerprint: &[u8]) -> Option<u32> {
        let place = u32::from(place(fingerprint));
        place.is_multiple_of(8).then_some(place / 8 % 4)
    }
    fn are_parts(&self, a: &[u8], b: &[u8]) -> bool {
        self.article(a).is_some() && self.article(a) == self.article(b) && place(a) != place(b)
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let Comparison { distance, near } = self.compare_found(a, b);
        Comparison { distance, near: near && a[3] == b[3] }
    }
}

/// Returns the options of a small store without threads.
pub(crate) fn tiny() -> StoreOptions {
    let (portion, waiting_max) = (8, 128);
    StoreOptions {
        block: 32,
        fan: 2,
        span_max: 256,
        readers: 0,
        portion,
        waiting_max,
        check_bytes_per_second: 0,
        advice: "",
    }
}

/// A page of the tests.
#[derive(Debug, Clone)]
struct Event {
    corpus: u8,
    key: u8,
    place: u16,
    colour: u8,
    /// A text that other pages may have; `None` for a text that no other page has.
    text: Option<u8>,
    day: Option<i64>,
}

impl Event {
    fn record(&self, number: usize) -> FingerprintRecord {
        let [low, high] = self.place.to_le_bytes();
        let fingerprint = Box::from([self.key, low, high, self.colour]);
        let mut record = FingerprintRecord::numbered(number, Some(fingerprint));
        record.corpus = self.corpus.to_string();
        record.fingerprint_hash = u64::from(self.corpus % 2);
        record.log_time = self.day.and_then(|day| Timestamp::from_ms(day * 24 * 60 * 60 * 1000));
        record.url = format!("http://a/{number}");
        if let (Some(shared), Some(text)) = (self.text, &mut record.text) {
            text.digest = u128::MAX - u128::from(shared);
        }
        record
    }
}

pub(super) fn events(count: usize) -> impl Strategy<Value = Vec<FingerprintRecord>> {
    // Few keys, so very many centroids share one.
    let event = (
        prop::sample::select(vec![0_u8, 0, 0, 1, 2]),
        prop::sample::select(vec![7_u8, 7, 8]),
        prop_oneof![0..2_000_u16, 0..90_u16],
        0..2_u8,
        prop::option::weighted(0.7, 0..250_u8),
        prop::option::weighted(0.6, 0..40_i64),
    );
    let event = event.prop_map(|(corpus, key, place, colour, text, day)| Event {
        corpus,
        key,
        place,
        colour,
        text,
        day,
    });
    prop::collection::vec(event, count / 2..count)
        .prop_map(|events| (0..).zip(&events).map(|(number, event)| event.record(number)).collect())
}

pub(super) fn expiry() -> impl Strategy<Value = ExpiryConfig> {
    (prop::option::weighted(0.5, 1..30_u32), prop_oneof![Just(1_000_u64), 1..400_u64])
        .prop_map(|(max_age_days, centroids_max)| ExpiryConfig { max_age_days, centroids_max })
}

/// The parts of a saved table.
#[derive(Clone)]
pub(super) struct Saved {
    pub(super) manifest: Manifest,
    position: Position,
    first_time: Option<Timestamp>,
    /// Corpus, fingerprint hash, article and number.
    articles: Vec<(String, u64, u32, u64)>,
    tail: Vec<(String, u64, Centroid)>,
    /// The texts that are in no block.
    texts: SeenTexts,
    text_bounds: TextBounds,
    bounds: Bounds,
}

impl Saved {
    pub(super) fn nothing() -> Self {
        let manifest = Manifest { table_id: 77, ..Manifest::default() };
        let position = Position::default();
        let (articles, tail, texts) = (Vec::new(), Vec::new(), SeenTexts::default());
        let (text_bounds, bounds) = Default::default();
        Self { manifest, position, first_time: None, articles, tail, texts, text_bounds, bounds }
    }
}

/// A table on disk.
pub(super) struct OnDisk {
    pub(super) clusterer: Clusterer,
    pub(super) store: Arc<BlockStore>,
}

impl OnDisk {
    pub(super) fn open(
        files: Arc<dyn Files>,
        detector: &Arc<dyn Detector>,
        expiry: &ExpiryConfig,
        options: StoreOptions,
        saved: &Saved,
    ) -> Result<Self, String> {
        let store = BlockStore::open(files, Arc::clone(detector), options, &saved.manifest);
        let store = Arc::new(store.map_err(|error| error.to_string())?);
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, saved.manifest.first);
        let detector = Arc::clone(detector);
        let clusterer = Clusterer::with_old(detector, expiry.clone(), saved.position, saved.first_time, old);
        let mut clusterer = clusterer.map_err(|fault| fault.to_string())?;
        for (corpus, fingerprint_hash, article, number) in &saved.articles {
            let (fingerprint_hash, article, number) = (*fingerprint_hash, *article, *number);
            clusterer.restore_article(ArticlePage { corpus, fingerprint_hash, article, number });
        }
        for (corpus, fingerprint_hash, centroid) in &saved.tail {
            clusterer.restore(corpus, *fingerprint_hash, centroid).map_err(|fault| fault.to_string())?;
        }
        clusterer.restore_texts(saved.texts.first, saved.texts.texts.iter().copied());
        clusterer.restore_text_bounds(saved.text_bounds);
        clusterer.restore_bounds(saved.bounds);
        assert!(clusterer.has_all_texts(saved.text_bounds), "no text is missing");
        clusterer.insert_pending().map_err(|fault| fault.to_string())?;
        Ok(Self { clusterer, store })
    }

    /// Opens a table that can be opened.
    pub(super) fn opened(
        folder: &SimFolder,
        detector: &Arc<dyn Detector>,
        expiry: &ExpiryConfig,
        options: StoreOptions,
        saved: &Saved,
    ) -> Self {
        Self::open(Arc::new(folder.clone()), detector, expiry, options, saved).expect("opens")
    }

    /// Returns the table as it would be saved now. The caller calls [`BlockStore::saved`] once it is saved.
    pub(super) fn to_save(&self) -> Result<Saved, TableFault> {
        self.store.finish()?;
        let manifest = self.store.manifest();
        let of = |(corpus, hash, centroid): (&str, u64, Centroid)| (corpus.to_owned(), hash, centroid);
        let tail = self.clusterer.centroids().map(of).collect();
        let of = |page: ArticlePage<'_>| {
            (page.corpus.to_owned(), page.fingerprint_hash, page.article, page.number)
        };
        let articles = self.clusterer.articles().map(of).collect();
        let (position, first_time) = (self.clusterer.position(), self.clusterer.first_time());
        let (from, texts) = self.clusterer.seen_texts(manifest.end);
        let texts = SeenTexts { first: from.first, texts: texts.collect() };
        let (text_bounds, bounds) = (self.clusterer.text_bounds()?, self.clusterer.bounds());
        Ok(Saved { manifest, position, first_time, articles, tail, texts, text_bounds, bounds })
    }

    /// Saves the table.
    pub(super) fn save(&self) -> Saved {
        let saved = self.to_save().expect("a table without a fault");
        self.store.saved();
        saved
    }

    pub(super) fn decide(&mut self, records: &[FingerprintRecord]) -> Result<Vec<Decision>, TableFault> {
        try_decide(&mut self.clusterer, records)
    }
}

fn try_decide(clusterer: &mut Clusterer, records: &[FingerprintRecord]) -> Result<Vec<Decision>, TableFault> {
    let next = clusterer.position().next_log_offset;
    let batch: Vec<_> = (next..).zip(records.iter().map(Some)).collect();
    clusterer.decide_batch(&batch)
}

/// Decides with a table in memory.
pub(super) fn decide(clusterer: &mut Clusterer, records: &[FingerprintRecord]) -> Vec<Decision> {
    try_decide(clusterer, records).expect("a table in memory does not fail")
}

pub(super) fn in_memory(detector: &Arc<dyn Detector>, expiry: &ExpiryConfig) -> Clusterer {
    Clusterer::new(Arc::clone(detector), ClusterRules::expiry_only(expiry.clone()), Position::default())
}

pub(super) fn coloured() -> Arc<dyn Detector> {
    Arc::new(Coloured)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The table on disk makes the decisions of the table in memory for any batches, restarts between them, expiry,
    /// corpora, very many centroids under one key, and any number of the first centroid.
    #[test]
    fn decides_what_the_table_in_memory_decides(
        records in events(900), expiry in expiry(), batch in 1..80_usize, restart_every in 1..9_usize,
        begin in 0..90_u64,
    ) {
        let detector = coloured();
        let mut memory = in_memory(&detector, &expiry);
        let files: Arc<dyn Files> = Arc::new(SimFolder::default());
        let mut disk = OnDisk::open(Arc::clone(&files), &detector, &expiry, tiny(), &Saved::nothing()).expect("opens");
        memory.begin_at(begin);
        disk.clusterer.begin_at(begin);
        let mut scratch = Scratch::default();
        for (number, records) in records.chunks(batch).enumerate() {
            let asked = PreviewOptions { top: 8, max_distance: None };
            let preview = disk.clusterer.preview(&records[0], asked, &mut scratch);
            let expected = memory.preview(&records[0], asked, &mut scratch);
            prop_assert_eq!(preview, expected);
            prop_assert_eq!(disk.decide(records), Ok(decide(&mut memory, records)));
            prop_assert_eq!(disk.clusterer.centroid_count(), memory.centroid_count());
            if number % restart_every == 0 {
                let saved = disk.save();
                drop(disk);
                disk = OnDisk::open(Arc::clone(&files), &detector, &expiry, tiny(), &saved).expect("opens");
            }
        }
        let (_, runs) = disk.store.counts();
        prop_assert!(runs <= 6, "{runs} runs");
    }
}

/// Returns pages at random places. Most of them found new clusters.
pub(super) fn stream(count: usize) -> Vec<FingerprintRecord> {
    let mut random = Random::from_seed(5);
    let event = |number: usize| Event {
        corpus: number.is_multiple_of(3).into(),
        key: 7,
        place: random.below(4_000) as u16,
        colour: 0,
        text: number.is_multiple_of(5).then(|| random.below(40) as u8),
        day: Some(number as i64 / 20),
    };
    (0..count).map(event).enumerate().map(|(number, event)| event.record(number)).collect()
}

/// The power fails at an operation that writes. The table that was saved last is complete then, and continues
/// as if nothing had happened.
#[test]
fn a_power_failure_at_any_moment_leaves_a_saved_table() {
    let detector = coloured();
    let expiry = ExpiryConfig { max_age_days: Some(12), centroids_max: 200 };
    let records = stream(330);
    let mut memory = in_memory(&detector, &expiry);
    let expected = decide(&mut memory, &records);
    let mut operation = 1;
    loop {
        let folder = SimFolder::default();
        folder.state().power_until = Some(operation);
        let mut saved = Saved::nothing();
        let mut disk = OnDisk::opened(&folder, &detector, &expiry, tiny(), &saved);
        let mut saves = 0;
        for records in records.chunks(25) {
            if disk.decide(records).is_err() || folder.state().operations >= operation {
                break;
            }
            saves += 1;
            if saves % 3 == 0 {
                let next = disk.to_save();
                if folder.state().operations >= operation {
                    break;
                }
                saved = next.expect("nothing has failed yet");
                disk.store.saved();
            }
        }
        let is_last = folder.state().operations < operation;
        drop(disk);
        let left = folder.after_power_loss(operation);
        let mut disk = OnDisk::open(Arc::new(left.clone()), &detector, &expiry, tiny(), &saved)
            .unwrap_or_else(|error| {
                panic!("power lost at operation {operation}: {error}");
            });
        let next = saved.position.next_log_offset as usize;
        for (records, expected) in records[next..].chunks(25).zip(expected[next..].chunks(25)) {
            assert_eq!(disk.decide(records), Ok(expected.to_vec()), "power lost at operation {operation}");
        }
        if is_last {
            break;
        }
        // Tries every operation of the first blocks and merges; after that, every 17th, which meets
        // operations of all kinds.
        operation += if operation < 60 { 1 } else { 17 };
    }
    assert!(operation > 100, "{operation}: more has to be written than that");
}

/// Returns a table that has been on disk for some time.
pub(super) fn filled(folder: &SimFolder, detector: &Arc<dyn Detector>, expiry: &ExpiryConfig) -> Saved {
    let mut disk = OnDisk::opened(folder, detector, expiry, tiny(), &Saved::nothing());
    for records in stream(250).chunks(50) {
        disk.decide(records).expect("nothing has failed");
    }
    disk.save()
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let (detector, expiry) = (coloured(), ExpiryConfig::default());
    let folder = SimFolder::default();
    let saved = filled(&folder, &detector, &expiry);
    saved.manifest.verify(&folder, |name, result| assert!(result.is_ok(), "{name}: {result:?}"));
    let later = stream(280).split_off(250);
    assert!(saved.manifest.blocks.len() > 5 && saved.manifest.runs.len() > 1, "{:?}", saved.manifest);
    let names = folder.names().expect("names");
    let names: Vec<&String> = names.iter().filter(|name| name.ends_with(".block")).collect();
    assert_eq!(names.len(), saved.manifest.blocks.len() + saved.manifest.runs.len(), "{names:?}");
    let whole = folder.with(names[0], folder.bytes(names[0]));
    let whole = OnDisk::open(Arc::new(whole), &detector, &expiry, tiny(), &saved);
    let expected = whole.expect("opens").decide(&later);
    for (number, name) in names.into_iter().enumerate() {
        let good = folder.bytes(name);
        let step = good.len().div_ceil(12);
        let last = (good.len().saturating_sub(90)..good.len()).step_by(7);
        for at in (number % step..good.len()).step_by(step).chain(last) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            let flipped = folder.with(name, bad);
            let mut found = Vec::new();
            saved.manifest.verify(&flipped, |of, result| {
                if let Err(error) = result {
                    found.push((of.to_owned(), error.to_string()));
                }
            });
            assert_eq!(found.len(), 1, "{name}, byte {at}: {found:?}");
            assert!(found[0].0 == *name && found[0].1.contains(name.as_str()), "{found:?}");
            assert!(
                ["at byte", "newer", "another table"].iter().any(|what| found[0].1.contains(what)),
                "{found:?}"
            );
            // If opening does not notice the damage, a later read does, or it makes no difference.
            let Ok(mut disk) = OnDisk::open(Arc::new(flipped), &detector, &expiry, tiny(), &saved) else {
                continue;
            };
            let decisions = disk.decide(&later);
            match &decisions {
                Err(fault) => assert!(fault.to_string().contains(name.as_str()), "{fault}"),
                Ok(_) => assert_eq!(decisions, expected, "{name}, byte {at}"),
            }
        }
    }
}

#[test]
fn blocks_that_are_missing_or_of_another_table_are_refused() {
    let (detector, expiry) = (coloured(), ExpiryConfig::default());
    let folder = SimFolder::default();
    let mut saved = filled(&folder, &detector, &expiry);
    saved.manifest.table_id = 78;
    let open = |saved: &Saved| {
        OnDisk::open(Arc::new(folder.clone()), &detector, &expiry, tiny(), saved).err().expect("refused")
    };
    let error = open(&saved);
    assert!(error.contains("belongs to another table"), "{error}");
    saved.manifest.table_id = 77;
    folder.remove("centroids-000000000032.block").expect("removed");
    assert!(open(&saved).contains("centroids-000000000032.block"));
}

/// Compares every detector, with texts that resemble one another.
#[test]
fn every_detector_decides_on_disk_what_it_decides_in_memory() {
    let segmenter = Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("the defaults");
    let mut random = Random::from_seed(3);
    let words: Vec<String> = (0..400).map(|number| format!("word{}", number * 7_919 % 1_000)).collect();
    let sentence = |random: &mut Random| {
        let word = |random: &mut Random| {
            let mark = ["", "", "", ",", ";", ":", ",", " –"][random.below(8)];
            format!("{}{mark}", words[random.below(words.len())])
        };
        let words: Vec<String> = (0..9).map(|_| word(random)).collect();
        format!("The {} today{}", words.join(" "), [".", "?", "!"][random.below(3)])
    };
    let common: Vec<String> = (0..12).map(|_| sentence(&mut random)).collect();
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..130 {
        let text = match random.below(4) {
            0 if !texts.is_empty() => {
                let copied = texts[random.below(texts.len())].clone();
                copied.replacen("today", "yesterday", random.below(3))
            }
            // Some paragraphs are in very many texts.
            _ => {
                let mut paragraphs: Vec<String> = (0..6).map(|_| sentence(&mut random)).collect();
                paragraphs.insert(random.below(6), common[random.below(3)].clone());
                paragraphs.join("\n\n")
            }
        };
        texts.push(text);
    }
    let (mut all, mut on_disk) = (0, 0);
    let terms: Vec<Terms> = texts
        .iter()
        .map(|text| {
            let mut terms = Terms::default();
            segmenter.segment(&Document::from_text(None, text), &mut terms);
            terms
        })
        .collect();
    for detector in with_defaults(&Resources::default()).expect("the defaults") {
        let detector: Arc<dyn Detector> = detector.into();
        let name = detector.name();
        all += 1;
        let prints = terms.iter().map(|terms| detector.fingerprint(terms)).enumerate();
        let records: Vec<FingerprintRecord> =
            prints.map(|(number, print)| FingerprintRecord::numbered(number, print)).collect();
        let expiry = ExpiryConfig::default();
        let mut memory = in_memory(&detector, &expiry);
        let files: Arc<dyn Files> = Arc::new(SimFolder::default());
        let opened = OnDisk::open(Arc::clone(&files), &detector, &expiry, tiny(), &Saved::nothing());
        let mut disk = opened.expect("opens");
        for (number, records) in records.chunks(13).enumerate() {
            assert_eq!(disk.decide(records), Ok(decide(&mut memory, records)), "{name}");
            if number % 5 == 4 {
                let saved = disk.save();
                disk = OnDisk::open(Arc::clone(&files), &detector, &expiry, tiny(), &saved).expect("opens");
            }
        }
        on_disk += usize::from(disk.store.end() >= 32);
    }
    // These texts are too similar for the detectors that use only punctuation.
    assert!(all >= 9 && on_disk >= all - 2, "{on_disk} of {all}");
}

/// Returns a page that founds a cluster with the default detector.
pub(super) fn founding(number: u64) -> FingerprintRecord {
    FingerprintRecord::numbered(number as usize, Some(Fingerprints::even(1).get(number)))
}

/// Threads and a real folder must lead to the same decisions, few runs, and little memory per centroid.
#[test]
fn threads_seal_and_merge_while_decisions_continue() {
    let detector: Arc<dyn Detector> = Arc::new(SimHash::new(&SimHashConfig::default()));
    let expiry = ExpiryConfig::default();
    let folder = tempfile::tempdir().expect("a folder");
    let files: Arc<dyn Files> = Arc::new(Folder::open(folder.path()).expect("a folder"));
    let options = StoreOptions { readers: 4, ..StoreOptions::for_table(2_048, 1 << 30) };
    let mut disk =
        OnDisk::open(Arc::clone(&files), &detector, &expiry, options, &Saved::nothing()).expect("opens");
    let mut memory = in_memory(&detector, &expiry);
    let print = Fingerprints::even(1);
    for start in (0..30_000_u64).step_by(500) {
        let record = |number: u64| match number % 5 {
            0 if number > 500 => {
                FingerprintRecord::numbered(number as usize, Some(print.near(number / 3, 2)))
            }
            _ => founding(number),
        };
        let records: Vec<FingerprintRecord> = (start..start + 500).map(record).collect();
        assert_eq!(disk.decide(&records), Ok(decide(&mut memory, &records)));
    }
    for _ in 0..20 {
        disk.clusterer.insert_pending().expect("nothing has failed");
        disk.store.finish().expect("nothing has failed");
    }
    let (blocks, runs) = disk.store.counts();
    assert!(blocks >= 10 && runs <= 6, "{blocks} blocks, {runs} runs");
    let sealed = disk.store.end();
    let bytes = OldCentroids::bytes(&*disk.store) as f64 / sealed as f64;
    // Small blocks have small filters, which take a little more than nine bits per key.
    assert!(bytes < 28.0, "{bytes} bytes a sealed centroid");
    let saved = disk.save();
    drop(disk);
    let disk = OnDisk::open(files, &detector, &expiry, options, &saved).expect("opens");
    let at_first = OldCentroids::bytes(&*disk.store) as f64 / sealed as f64;
    assert!(at_first < 1.0, "{at_first} bytes a sealed centroid before anything was asked");
}

/// Restores so many centroids at once that most of them leave memory before they are in the index there.
#[test]
fn a_restored_batch_is_found() {
    let detector: Arc<dyn Detector> = Arc::new(SimHash::new(&SimHashConfig::default()));
    let (expiry, files) = (ExpiryConfig::default(), Arc::new(SimFolder::default()));
    let options = StoreOptions { block: 512, portion: 64, waiting_max: 4_096, ..tiny() };
    let mut disk = OnDisk::open(files, &detector, &expiry, options, &Saved::nothing()).expect("opens");
    let mut memory = in_memory(&detector, &expiry);
    for clusterer in [&mut disk.clusterer, &mut memory] {
        clusterer.begin_at(7);
        for number in 0..6_000 {
            let Outcome::Fingerprint(fingerprint) = founding(number).outcome else { continue };
            let (page_id, url) = (number.to_string().into(), "".into());
            let (log_offset, text_digest) = (number, u128::from(number));
            let centroid = Centroid { log_offset, log_time: None, fingerprint, text_digest, page_id, url };
            clusterer.restore("", 0, &centroid).expect("nothing has failed");
        }
        clusterer.set_position(Position { next_log_offset: 6_000, ..Position::default() });
    }
    assert!(disk.store.end() > 4_000, "{}", disk.store.end());
    let print = Fingerprints::even(1);
    let near = |number: usize| FingerprintRecord::numbered(number, Some(print.near(number as u64 * 3, 2)));
    let records: Vec<FingerprintRecord> = (0..2_000).map(near).collect();
    assert_eq!(disk.decide(&records), Ok(decide(&mut memory, &records)));
}
