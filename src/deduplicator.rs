//! The whole flow in one value, for programs that embed
//! Leitong: pages in, verdicts out, one at a time.
//!
//! In: a [`Page`]. Out: its [`Verdict`], the same as `leitong dedup` gives for the
//! same pages in the same order. Cost: that of the text, some 0.2 ms a page of 5 KB,
//! on the calling thread; `leitong dedup` and the worker spread it over all cores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use thiserror::Error;

use crate::cluster::{Clusterer, Position};
use crate::config::Config;
use crate::config::load::ConfigError;
use crate::fingerprint::Detector;
use crate::log::entry::EntryError;
use crate::log::unplaced::Unplaced;
use crate::page::Page;
use crate::pipeline::cluster_stage::ClusterStage;
use crate::pipeline::fingerprint_stage::{FingerprintStage, Workspace};
use crate::record::timestamp::Timestamp;
use crate::record::{LogRecord, Place};
use crate::snapshot::{SnapshotError, TableDir, TableSettings};
use crate::verdict::{Conclusion, Verdict};

/// Decides of page after page whether it is new or a near-duplicate of an earlier one.
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
/// let kinds: Vec<Kind> = deduplicator.verdicts(pages).map(|verdict| verdict.kind).collect();
/// assert_eq!(kinds, [Kind::Unique, Kind::ExactDuplicate]);
/// # Ok::<(), leitong::ConfigError>(())
/// ```
pub struct Deduplicator {
    fingerprint_stage: FingerprintStage,
    cluster_stage: ClusterStage,
    workspace: Workspace,
    settings: TableSettings,
    /// The folder that old centroids are in, where they are not in memory.
    blocks_in: Option<PathBuf>,
    pages: u64,
}

impl Deduplicator {
    /// An empty table in memory, with the settings of `config`. For one whose old centroids are on disk
    /// (`table.on_disk`) see [`Table::deduplicator`].
    ///
    /// # Errors
    /// A file that the configuration names cannot be used, there is no such detector, or `table.on_disk`
    /// is set.
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

    /// With the table that `begin` makes, whose blocks are in this folder if they are in any.
    fn with_table<E: From<ConfigError>>(
        config: &Config,
        blocks_in: Option<PathBuf>,
        begin: impl FnOnce(&TableSettings) -> Result<Clusterer, E>,
    ) -> Result<Self, E> {
        let fingerprint_stage = FingerprintStage::new(config.clone())?;
        let detector = fingerprint_stage.detector();
        let settings = TableSettings::of(config, detector, fingerprint_stage.fingerprint_hash());
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

    /// The verdict on `page`. A page that no cluster is near
    /// to founds one, and later pages are compared with it. Where old centroids are on disk, it counts
    /// only if there is no [fault](Self::fault) behind it: use [`Self::try_decide`] there.
    pub fn decide(&mut self, page: Page) -> Verdict {
        self.pages += 1;
        let fingerprinted = self.fingerprint_stage.process_page(place(self.pages), page, &mut self.workspace);
        let Ok(record) = fingerprinted.record else { unreachable!("a page is not passed over") };
        verdict(self.cluster_stage.conclude(record, Timestamp::now()))
    }

    /// The verdicts on `pages`, in their order: those that [`Self::decide`] would give on one after
    /// the other. Texts are read and centroids are looked up on all cores; memory holds all pages.
    pub fn decide_batch(&mut self, pages: Vec<Page>) -> Vec<Verdict> {
        let records = self.read_batch(0, pages);
        self.conclude_batch(records)
    }

    /// Makes the records of some pages of a batch, of which `before` were read already. Nothing is decided
    /// by it, so a caller may stop between two calls.
    #[doc(hidden)]
    pub fn read_batch(&mut self, before: usize, pages: Vec<Page>) -> Vec<LogRecord> {
        let stage = &self.fingerprint_stage;
        let numbered: Vec<(u64, Page)> = (self.pages + before as u64 + 1..).zip(pages).collect();
        let records = numbered.into_par_iter().map_init(
            || stage.workspace(),
            |workspace, (line, page)| {
                let fingerprinted = stage.process_page(place(line), page, workspace);
                let Ok(record) = fingerprinted.record else { unreachable!("a page is not passed over") };
                record
            },
        );
        records.collect()
    }

    /// The verdicts on all records of a batch, in their order.
    #[doc(hidden)]
    pub fn conclude_batch(&mut self, records: Vec<LogRecord>) -> Vec<Verdict> {
        self.pages += records.len() as u64;
        let conclusions = self.cluster_stage.conclude_batch(records, Timestamp::now());
        conclusions.into_iter().map(verdict).collect()
    }

    /// The verdicts on pages whose records were made elsewhere, in their order: those that [`Self::decide_batch`]
    /// would give on the pages.
    ///
    /// # Errors
    /// One of them is no record of a page, or was made with other settings; none is decided on then. Or
    /// files of the table cannot be read; then nothing is decided by this value any more.
    #[doc(hidden)]
    pub fn decide_records(&mut self, records: &[impl AsRef<[u8]>]) -> Result<Vec<Verdict>, RecordError> {
        let (own, detector) = (self.fingerprint_stage.fingerprint_hash(), self.fingerprint_stage.detector());
        let page = |(number, bytes): (usize, &[u8])| {
            let broken = |source| RecordError::Broken { number, source };
            let record = Unplaced::read(bytes).map_err(broken)?;
            let found = record.fingerprint_hash();
            if found != own {
                return Err(RecordError::OtherSettings { number, found, own });
            }
            let record = record.page(place(self.pages + number as u64 + 1), &**detector).map_err(broken)?;
            Ok(LogRecord::Page(Box::new(record)))
        };
        let numbered = records.iter().map(AsRef::as_ref).enumerate();
        let read = numbered.map(page).collect::<Result<Vec<_>, _>>()?;
        self.pages += read.len() as u64;
        let conclusions = self.cluster_stage.conclude_batch(read, Timestamp::now());
        match self.fault() {
            None => Ok(conclusions.into_iter().map(verdict).collect()),
            Some(fault) => Err(RecordError::Fault(fault)),
        }
    }

    /// The same as [`Self::decide`], where files are read for it.
    ///
    /// # Errors
    /// [`SnapshotError::Fault`]: a file of the table cannot be read, is damaged, or cannot be written any
    /// more. Then nothing is decided by this value any more; what was saved is as it was.
    pub fn try_decide(&mut self, page: Page) -> Result<Verdict, SnapshotError> {
        let verdict = self.decide(page);
        self.fault().map_or(Ok(verdict), |fault| Err(SnapshotError::Fault(fault)))
    }

    /// The same as [`Self::decide_batch`], where files are read for it.
    ///
    /// # Errors
    /// As of [`Self::try_decide`].
    pub fn try_decide_batch(&mut self, pages: Vec<Page>) -> Result<Vec<Verdict>, SnapshotError> {
        let verdicts = self.decide_batch(pages);
        self.fault().map_or(Ok(verdicts), |fault| Err(SnapshotError::Fault(fault)))
    }

    /// Why no verdict counts that was given since the last time this was none: files of the table cannot
    /// be read, or not be written for too long. Always none where the table is in memory.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.cluster_stage.clusterer().fault()
    }

    /// The verdicts on `pages`, in their order, each when it is asked for.
    pub fn verdicts<'a>(
        &'a mut self,
        pages: impl IntoIterator<Item = Page> + 'a,
    ) -> impl Iterator<Item = Verdict> + 'a {
        pages.into_iter().map(|page| self.decide(page))
    }

    /// Centroids in the table.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.cluster_stage.clusterer().centroid_count()
    }

    /// The detector that decides.
    #[must_use]
    pub fn detector(&self) -> &dyn Detector {
        &**self.fingerprint_stage.detector()
    }
}

/// Why a record that was made elsewhere cannot be decided on.
#[doc(hidden)]
#[derive(Debug, Error)]
pub enum RecordError {
    /// It is no record of a page.
    #[error("record {number}: {source}")]
    Broken {
        /// Which one, from 0.
        number: usize,
        /// What is wrong with it.
        source: EntryError,
    },
    /// Pages with fingerprints of different settings never meet.
    #[error(
        "record {number}: was made with other settings (fingerprint_hash {found:016x}) than those that decide \
         ({own:016x}); use one configuration and one version of Leitong for both"
    )]
    OtherSettings {
        /// Which one, from 0.
        number: usize,
        /// Of the settings that made it.
        found: u64,
        /// Of those that decide.
        own: u64,
    },
    /// Files of the table cannot be read, or not be written for too long ([`Deduplicator::fault`]).
    #[error("{0}")]
    Fault(String),
}

/// Where a page came in: which one it was, from 1.
fn place(line: u64) -> Place {
    Place::Line { input: "-".into(), line }
}

fn verdict(conclusion: Conclusion) -> Verdict {
    match conclusion {
        Conclusion::Verdict(verdict) => *verdict,
        Conclusion::DeadLetter(_) => unreachable!("a page has a verdict"),
    }
}

/// A folder that keeps the table of a [`Deduplicator`] from one run to the next. It is locked
/// for as long as this value lives; `leitong dedup --table` reads and writes the same.
///
/// ```
/// use leitong::{Config, Deduplicator, Kind, Page, Table};
///
/// let folder = tempfile::tempdir()?;
/// let text = "漆黑的夜里，渡船第一次亮着灯驶过海峡，岸上的人们站在雨中看了很久，直到灯光消失在对岸的山影里。\
///             第二天早晨，报纸用整整一版写了这件事，说从此以后两岸之间只要四十分钟。";
/// {
///     let table = Table::open(folder.path())?;
///     let mut deduplicator = Deduplicator::new(&Config::default())?;
///     deduplicator.decide(Page::text("https://a.example/1", text));
///     table.save(&deduplicator)?;
/// }
/// let table = Table::open(folder.path())?;
/// let mut deduplicator = Deduplicator::new(&Config::default())?;
/// assert!(table.load(&mut deduplicator)?);
/// let verdict = deduplicator.decide(Page::text("https://b.example/2", text));
/// assert_eq!((verdict.kind, verdict.canonical_url.as_deref()), (Kind::ExactDuplicate, Some("https://a.example/1")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table {
    folder: TableDir,
}

impl Table {
    /// The table in `folder`, which is made where it is missing.
    ///
    /// # Errors
    /// The folder cannot be made, or another run has it.
    pub fn open(folder: &Path) -> Result<Self, SnapshotError> {
        Ok(Self { folder: TableDir::open(folder)? })
    }

    /// A deduplicator with the saved table, or with an empty one where none was saved. With
    /// `table.on_disk` its old centroids are in files of this folder instead of memory, and the folder
    /// stays locked as long as it lives; a folder has one such deduplicator.
    ///
    /// ```
    /// use leitong::config::load;
    /// use leitong::{Kind, Page, Table};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = load::parse("table.on_disk = true", "text".as_ref(), |_| None)?;
    /// let text = "The bakery opens at six, and on market days at five, when the first bread comes out of the oven.";
    /// {
    ///     let table = Table::open(folder.path())?;
    ///     let mut deduplicator = table.deduplicator(&config)?;
    ///     deduplicator.try_decide(Page::text("https://a.example/1", text))?;
    ///     table.save(&deduplicator)?;
    /// }
    /// let table = Table::open(folder.path())?;
    /// let verdict = table.deduplicator(&config)?.try_decide(Page::text("https://b.example/2", text))?;
    /// assert_eq!(verdict.kind, Kind::ExactDuplicate);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file is damaged or cannot be read, was made with other settings, or the settings cannot be used.
    pub fn deduplicator(&self, config: &Config) -> Result<Deduplicator, SnapshotError> {
        if config.table.on_disk && self.folder.blocks().is_some() {
            return Err(SnapshotError::Locked { path: self.folder.folder().to_owned() });
        }
        let blocks_in = config.table.on_disk.then(|| self.folder.folder().to_owned());
        Deduplicator::with_table(config, blocks_in, |settings| self.folder.load_or_begin(settings))
    }

    /// Loads the saved table in place of what `deduplicator` has; false where none was saved.
    ///
    /// # Errors
    /// The file is damaged, or was made with other settings. One of which old centroids are on disk is
    /// made [with its table](Self::deduplicator), and cannot get another one.
    pub fn load(&self, deduplicator: &mut Deduplicator) -> Result<bool, SnapshotError> {
        self.refuse_blocks(deduplicator.blocks_in.as_ref())?;
        let settings = &deduplicator.settings;
        let Some(clusterer) = self.folder.load(settings)? else { return Ok(false) };
        let detector = Arc::clone(&settings.detector);
        deduplicator.cluster_stage = ClusterStage::new(clusterer, detector, settings.cluster_hash);
        Ok(true)
    }

    /// Saves the table of `deduplicator`, in one step: a crash leaves the old file or the new one.
    ///
    /// # Errors
    /// The file cannot be written, or old centroids are in blocks of another folder.
    pub fn save(&self, deduplicator: &Deduplicator) -> Result<(), SnapshotError> {
        let elsewhere = deduplicator.blocks_in.as_ref().filter(|folder| *folder != self.folder.folder());
        self.refuse_blocks(elsewhere)?;
        self.folder.save(deduplicator.cluster_stage.clusterer(), &deduplicator.settings)
    }

    fn refuse_blocks(&self, blocks_in: Option<&PathBuf>) -> Result<(), SnapshotError> {
        let path = self.folder.folder().to_owned();
        blocks_in
            .map_or(Ok(()), |blocks| Err(SnapshotError::BlocksElsewhere { path, blocks: blocks.clone() }))
    }
}
