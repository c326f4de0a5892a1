//! All stages as one value, for programs that embed Leitong.
//!
//! In: a [`Page`]. Out: its [`Verdict`], the same as `leitong dedup` returns for the same pages in the
//! same order. Cost: mostly that of reading the text, about 0.2 ms on the calling thread for a page of 5 KB.
//! [`Deduplicator::decide_batch`] uses all cores.

mod table;

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use thiserror::Error;

use leitong_base::record::{LogRecord, Place, Timestamp};
use leitong_cluster::log::{EntryError, Unplaced};
use leitong_cluster::verdict::{Conclusion, Verdict};
use leitong_cluster::{Clusterer, Position, PreviewOptions, Scratch};
use leitong_fingerprint::Detector;
use leitong_pipeline::ClusterStage;
use leitong_pipeline::config::Config;
use leitong_pipeline::config::load::ConfigError;
use leitong_pipeline::{FingerprintStage, Workspace};
use leitong_store::snapshot::{SnapshotError, TableSettings};
use leitong_text::page::Page;

pub use table::Table;

/// All stages in one value: decides for one page after another whether it is new or a near-duplicate of an
/// earlier one.
///
/// ```
/// use leitong::{Config, Deduplicator, Kind, Page};
///
/// let mut deduplicator = Deduplicator::new(&Config::default())?;
/// let news = "The ferry to the islands sails again from Monday on. The company has repaired the engine that failed \
///             in March, and adds a second sailing in the evening for those who work in town.";
/// let pages = [
///     Page::text("https://a.example/ferry", news),
///     Page::html("https://b.example/copy", format!("<html><body><article><p>{news}</p></article></body></html>")),
/// ];
/// let kinds: Vec<Kind> = deduplicator.decide_batch(pages.into())?.into_iter().map(|verdict| verdict.kind).collect();
/// assert_eq!(kinds, [Kind::Unique, Kind::ExactDuplicate]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Deduplicator {
    fingerprint_stage: FingerprintStage,
    cluster_stage: ClusterStage,
    workspace: Workspace,
    settings: TableSettings,
    /// Folder of the old centroids, if they are on disk.
    blocks_in: Option<PathBuf>,
    pages: u64,
}

impl Deduplicator {
    /// Creates a deduplicator with an empty table in memory. If old centroids are to be on disk
    /// (`table.on_disk`), use [`Table::deduplicator`] instead.
    ///
    /// # Errors
    /// Fails if a file that the configuration names cannot be used, if there is no such detector, or if
    /// `table.on_disk` is set.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        if let Some(fault) = config.table.fault_without_folder() {
            return Err(ConfigError::Faults { faults: vec![fault.to_owned()] });
        }
        let begin = |settings: &TableSettings| {
            let (detector, rules) = (Arc::clone(&settings.detector), settings.rules.clone());
            Ok(Clusterer::new(detector, rules, Position::default()))
        };
        Self::with_table(config, None, begin)
    }

    /// Creates a deduplicator with the table that `begin` makes. Blocks of the table, if any, are in
    /// `blocks_in`.
    fn with_table<E: From<ConfigError>>(
        config: &Config,
        blocks_in: Option<PathBuf>,
        begin: impl FnOnce(&TableSettings) -> Result<Clusterer, E>,
    ) -> Result<Self, E> {
        let fingerprint_stage = FingerprintStage::new(config.clone())?;
        let detector = fingerprint_stage.detector();
        let settings = config.table_settings(detector, fingerprint_stage.fingerprint_hash());
        let clusterer = begin(&settings)?;
        Ok(Self {
            blocks_in,
            cluster_stage: ClusterStage::new(clusterer, Arc::clone(detector), settings.cluster_hash),
            workspace: fingerprint_stage.workspace(),
            fingerprint_stage,
            settings,
            pages: 0,
        })
    }

    /// Returns the verdict on `page`. A page that is near no cluster founds a new one, which later pages are
    /// compared with.
    ///
    /// # Errors
    /// [`SnapshotError::Fault`] if a file of the table cannot be read, is damaged, or cannot be written any
    /// more. Then every further call returns the same error, and the saved table is unchanged. A table in
    /// memory, which is the default, never fails.
    pub fn decide(&mut self, page: Page) -> Result<Verdict, SnapshotError> {
        self.pages += 1;
        let fingerprinted = self.fingerprint_stage.process_page(place(self.pages), page, &mut self.workspace);
        let Ok(record) = fingerprinted.record else { unreachable!("a page is never skipped") };
        Ok(verdict(self.cluster_stage.decide(record, Timestamp::now())?))
    }

    /// Returns the verdicts on `pages`, in their order. They are the verdicts that [`Self::decide`] would give for
    /// one page after the other. Pages are fingerprinted and centroids looked up on all cores; memory holds
    /// all pages.
    ///
    /// # Errors
    /// The errors of [`Self::decide`]; then none of the pages is decided.
    pub fn decide_batch(&mut self, pages: Vec<Page>) -> Result<Vec<Verdict>, SnapshotError> {
        let mut batch = Batch::default();
        self.fingerprint(pages, &mut batch);
        self.decide_fingerprinted(batch)
    }

    /// Returns the verdicts on pages whose records were made elsewhere
    /// ([`FingerprintStage::record`](crate::pipeline::FingerprintStage::record)), in their order. They are those that
    /// [`Self::decide_batch`] would give on the pages.
    ///
    /// # Errors
    /// Fails before any decision if a record is invalid or was made with other settings, or with the errors of
    /// [`Self::decide`].
    pub fn decide_records(&mut self, records: &[impl AsRef<[u8]>]) -> Result<Vec<Verdict>, RecordError> {
        let mut batch = Batch::default();
        self.read_records(records, &mut batch)?;
        Ok(self.decide_fingerprinted(batch)?)
    }

    /// Fingerprints pages and adds them to a batch. Nothing is decided, so a caller may stop between two calls.
    pub fn fingerprint(&self, pages: Vec<Page>, batch: &mut Batch) {
        let stage = &self.fingerprint_stage;
        let numbered: Vec<(u64, Page)> = (self.pages + batch.len() + 1..).zip(pages).collect();
        let records = numbered.into_par_iter().map_init(
            || stage.workspace(),
            |workspace, (line, page)| {
                let fingerprinted = stage.process_page(place(line), page, workspace);
                let Ok(record) = fingerprinted.record else { unreachable!("a page is never skipped") };
                record
            },
        );
        batch.0.par_extend(records);
    }

    /// Reads records that were made elsewhere, and adds them to a batch.
    ///
    /// # Errors
    /// Fails if a record is invalid or was made with other settings.
    pub fn read_records(&self, records: &[impl AsRef<[u8]>], batch: &mut Batch) -> Result<(), RecordError> {
        let (own, detector) = (self.fingerprint_stage.fingerprint_hash(), self.fingerprint_stage.detector());
        for bytes in records {
            let number = batch.0.len();
            let broken = |source| RecordError::Broken { number, source };
            let record = Unplaced::read(bytes.as_ref()).map_err(broken)?;
            let found = record.fingerprint_hash();
            if found != own {
                return Err(RecordError::OtherSettings { number, found, own });
            }
            let record = record.page(place(self.pages + batch.len() + 1), &**detector).map_err(broken)?;
            // A header may name any corpus.
            let is_given = self.fingerprint_stage.corpus_header().is_some();
            if !is_given && record.corpus != self.fingerprint_stage.corpus_of(&record.url) {
                return Err(RecordError::OtherCorpus { number, corpus: record.corpus });
            }
            batch.0.push(LogRecord::Page(Box::new(record)));
        }
        Ok(())
    }

    /// Returns the verdicts on all pages of a batch, in their order. No page may have been decided since the
    /// batch was begun.
    ///
    /// # Errors
    /// The errors of [`Self::decide`]; then none of the pages is decided.
    pub fn decide_fingerprinted(&mut self, batch: Batch) -> Result<Vec<Verdict>, SnapshotError> {
        self.pages += batch.len();
        let conclusions = self.cluster_stage.decide_batch(batch.0, Timestamp::now())?;
        Ok(conclusions.into_iter().map(verdict).collect())
    }

    /// Returns the verdict that [`Self::decide`] would return for `page`, and stores nothing: later verdicts
    /// are the same as without the call. Many threads can look pages up at once. With `recrawls.enabled`,
    /// earlier crawls of the url are not reported.
    ///
    /// ```
    /// use leitong::{Config, Deduplicator, Kind, Page};
    ///
    /// let mut deduplicator = Deduplicator::new(&Config::default())?;
    /// let text = "The lighthouse keeper counts the ships at dawn, and writes their names into a book that nobody reads.";
    /// let page = || Page::text("https://a.example/", text);
    /// assert_eq!(deduplicator.look_up(page())?.kind, Kind::Unique);
    /// assert_eq!(deduplicator.look_up(page())?.kind, Kind::Unique, "the first look-up stored nothing");
    /// deduplicator.decide(page())?;
    /// assert_eq!(deduplicator.look_up(page())?.kind, Kind::ExactDuplicate);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Self::decide`]; none with a table in memory.
    pub fn look_up(&self, page: Page) -> Result<Verdict, SnapshotError> {
        let mut workspace = self.fingerprint_stage.workspace();
        let fingerprinted = self.fingerprint_stage.process_page(place(self.pages + 1), page, &mut workspace);
        let Ok(LogRecord::Page(record)) = fingerprinted.record else {
            unreachable!("a page is never skipped")
        };
        let (options, now) = (PreviewOptions::default(), Timestamp::now());
        let (verdict, _) =
            self.cluster_stage.view().preview(*record, options, now, &mut Scratch::default())?;
        Ok(verdict)
    }

    /// Returns the number of centroids in the table.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.cluster_stage.clusterer().centroid_count()
    }

    /// Returns the detector that decides.
    #[must_use]
    pub fn detector(&self) -> &dyn Detector {
        &**self.fingerprint_stage.detector()
    }
}

/// Pages that are fingerprinted, but not decided, for [`Deduplicator::decide_fingerprinted`].
#[derive(Debug, Default)]
pub struct Batch(Vec<LogRecord>);

impl Batch {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Reason why a record that was made elsewhere cannot be decided on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The bytes are not a valid record of a page.
    #[error("record {number}: {source}")]
    Broken {
        /// Number of the record, from 0.
        number: usize,
        /// Description of the error.
        source: EntryError,
    },
    /// The record was made with other settings. Pages with different fingerprint hashes are never compared.
    #[error(
        "record {number}: was made with other settings (fingerprint_hash {found:016x}) than this table \
         ({own:016x}); use one configuration and version of Leitong for both"
    )]
    OtherSettings {
        /// Number of the record, from 0.
        number: usize,
        /// Fingerprint hash of the settings that made it.
        found: u64,
        /// Fingerprint hash of the settings that decide.
        own: u64,
    },
    /// The record was made with another `corpus.by`. Pages of different corpora are never compared.
    #[error(
        "record {number}: has the corpus {corpus:?}, but this configuration assigns its url to another one; use the corpus.by with which the record was made"
    )]
    OtherCorpus {
        /// Number of the record, from 0.
        number: usize,
        /// The record's corpus.
        corpus: String,
    },
    /// Files of the table cannot be read, or could not be written for too long.
    #[error(transparent)]
    Table(#[from] SnapshotError),
}

/// Returns the place of the page with this number, from 1.
fn place(line: u64) -> Place {
    Place::Line { input: "-".into(), line }
}

fn verdict(conclusion: Conclusion) -> Verdict {
    match conclusion {
        Conclusion::Verdict(verdict) => *verdict,
        Conclusion::DeadLetter(_) => unreachable!("a page has a verdict"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pages of four kinds: new, equal, nearly equal, and without a text.
    fn pages() -> Vec<Page> {
        let sentence =
            |at: u32| format!("第{at}条渡船在{}点以前离开码头，船上有{}名乘客和货物。", at % 12, at * 7);
        let text = |from: u32| (from..from + 40).map(sentence).collect::<String>();
        let texts =
            [text(0), text(100), text(0), text(1), text(0).replace("乘客", "旅客"), String::new(), text(200)];
        let page = |(at, text): (usize, String)| Page::text(format!("https://a.example/{at}"), text);
        texts.into_iter().enumerate().map(page).collect()
    }

    /// Returns a verdict without the time of its decision.
    fn timeless(verdict: &Verdict) -> serde_json::Value {
        let mut verdict = serde_json::to_value(verdict).expect("JSON");
        assert!(verdict.as_object_mut().and_then(|fields| fields.remove("decided_at")).is_some());
        verdict
    }

    /// Programs that embed the library can look a page up without storing it.
    #[test]
    fn a_look_up_gives_the_verdict_of_the_next_page_and_changes_nothing() {
        for settings in ["", "table.on_disk = true"] {
            let config = Config::from_toml(settings).expect("right settings");
            let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
            let tables = folders.each_ref().map(|folder| Table::open(folder).expect("an empty folder"));
            let [mut asked, mut plain] =
                tables.each_ref().map(|table| table.deduplicator(&config).expect("a table"));
            for page in pages() {
                let looked_up = [(); 2].map(|()| timeless(&asked.look_up(page.clone()).expect("a verdict")));
                let decided = timeless(&asked.decide(page.clone()).expect("a verdict"));
                assert_eq!(looked_up, [(); 2].map(|()| decided.clone()), "{settings}");
                assert_eq!(decided, timeless(&plain.decide(page).expect("a verdict")), "{settings}");
            }
        }
    }

    #[test]
    fn a_loaded_table_answers_look_ups_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let page = pages().swap_remove(0);
        for settings in ["", "table.on_disk = true"] {
            let config = Config::from_toml(settings).expect("right settings");
            let table = Table::open(&folder).expect("a folder");
            let mut deduplicator = table.deduplicator(&config).expect("a table");
            deduplicator.decide(page.clone()).expect("a verdict");
            table.save(&deduplicator).expect("saved");
            drop((table, deduplicator));
            let table = Table::open(&folder).expect("a folder");
            let found =
                table.deduplicator(&config).expect("a table").look_up(page.clone()).expect("a verdict");
            assert_eq!(found.kind, leitong_cluster::verdict::Kind::ExactDuplicate, "{settings}");
        }
    }

    /// A deduplicator with other settings must not replace a saved table silently. Records that were made with another
    /// `corpus.by` would be compared with nothing.
    #[test]
    fn a_table_and_records_of_another_corpus_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let configs = ["", "corpus.by = \"host\"", "simhash.near.max_distance = 2"];
        let [plain, by_host, near] = configs.map(|text| Config::from_toml(text).expect("right settings"));
        let table = Table::open(&folder).expect("a folder");
        let mut deduplicator = table.deduplicator(&plain).expect("a table");
        deduplicator.decide_batch(pages()).expect("in memory");
        table.save(&deduplicator).expect("saved");
        let file = folder.path().join("centroids.leitong");
        let saved = std::fs::read(&file).expect("a table");
        for other in [&by_host, &near] {
            let mut deduplicator = Deduplicator::new(other).expect("right settings");
            deduplicator.decide_batch(pages()).expect("in memory");
            let errors = [
                table.save(&deduplicator).expect_err("another table"),
                table.load(&mut deduplicator).map(drop).expect_err("another table"),
                table.deduplicator(other).map(drop).expect_err("another table"),
            ];
            for error in errors {
                assert!(error.to_string().contains("made with other settings"), "{error}");
            }
            assert_eq!(std::fs::read(&file).expect("a table"), saved);
        }
        // Records name their corpus.
        let mut elsewhere = Deduplicator::new(&by_host).expect("right settings");
        let mut workspace = elsewhere.fingerprint_stage.workspace();
        let record = |page| elsewhere.fingerprint_stage.record(page, &mut workspace);
        let records: Vec<Vec<u8>> = pages().into_iter().map(record).collect();
        assert!(elsewhere.decide_records(&records).is_ok());
        let refused = deduplicator.decide_records(&records).expect_err("another corpus").to_string();
        assert!(refused.starts_with("record 0: ") && refused.contains("corpus.by"), "{refused}");
    }

    /// A run with its table on disk writes files before it saves. Their pages do not count until then.
    #[test]
    fn pages_after_the_last_save_are_unknown_to_the_next_process() {
        let config = Config::from_toml("table.on_disk = true").expect("right settings");
        let folder = tempfile::tempdir().expect("a folder");
        let all = pages();
        let decide = |pages: &[Page], save: bool| -> Vec<serde_json::Value> {
            let table = Table::open(&folder).expect("a folder");
            let mut deduplicator = table.deduplicator(&config).expect("a table");
            let decide = |page: &Page| timeless(&deduplicator.decide(page.clone()).expect("a verdict"));
            let verdicts = pages.iter().map(decide).collect();
            if save {
                table.save(&deduplicator).expect("saved");
            }
            verdicts
        };
        decide(&all[..2], true);
        let lost = decide(&all[2..], false);
        assert_eq!(
            decide(&all[2..], true).iter().map(kind).collect::<Vec<_>>(),
            lost.iter().map(kind).collect::<Vec<_>>()
        );
        assert!(decide(&all[6..], false).iter().all(|verdict| kind(verdict) == "EXACT_DUPLICATE"));
    }

    fn kind(verdict: &serde_json::Value) -> String {
        verdict["kind"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn many_threads_can_look_pages_up() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Deduplicator>();
    }
}
