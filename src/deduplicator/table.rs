//! The folder in which a [`Deduplicator`] keeps its table between runs.
//!
//! In: a folder, and a deduplicator to load or save. Invariant: the folder has the table of the last [`Table::save`],
//! whatever happened since then. Cost: loading and saving take time for all centroids in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Deduplicator;
use leitong_cluster::Clusterer;
use leitong_pipeline::ClusterStage;
use leitong_pipeline::config::Config;
use leitong_store::snapshot::{SnapshotError, TableDir};

/// A folder that keeps the table of a [`Deduplicator`] between runs. It is locked as long as this value
/// lives. `leitong dedup --table` can use the same folder.
///
/// # When a verdict counts
/// A verdict counts once a later [`save`](Self::save) has returned `Ok`. If the process or the machine stops
/// before that, the folder holds the table of the last save, and every page since then is unknown to it. This
/// is the same with `table.on_disk`: the files that are written between two saves belong to no saved table,
/// and the next deduplicator of the folder does not use them. Nothing is saved when a deduplicator is dropped.
///
/// Deciding on the lost pages again, in the same order, gives the same verdicts, except that `expiry.max_age_days`
/// counts a date in the future as the present. So publish verdicts after the
/// save that follows them, or remember which pages came after the last save and pass them again.
///
/// ```
/// use leitong::{Config, Deduplicator, Kind, Page, Table};
///
/// let folder = tempfile::tempdir()?;
/// let text = "漆黑的夜里，渡船第一次亮着灯驶过海峡，岸上的人们站在雨中看了很久，直到灯光消失在对岸的山影里。\
///             第二天早晨，报纸用整整一版写了这件事，说从此以后两岸之间只要四十分钟。";
/// {
///     let table = Table::open(&folder)?;
///     let mut deduplicator = Deduplicator::new(&Config::default())?;
///     deduplicator.decide(Page::text("https://a.example/1", text))?;
///     table.save(&deduplicator)?;
/// }
/// let table = Table::open(&folder)?;
/// let mut deduplicator = Deduplicator::new(&Config::default())?;
/// assert!(table.load(&mut deduplicator)?);
/// let verdict = deduplicator.decide(Page::text("https://b.example/2", text))?;
/// assert_eq!((verdict.kind, verdict.canonical_url.as_deref()), (Kind::ExactDuplicate, Some("https://a.example/1")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Table {
    folder: TableDir,
}

impl Table {
    /// Opens the table in `folder`, which is created if it is missing.
    ///
    /// # Errors
    /// Fails if the folder cannot be created, if another process has locked it, or if it has files of a table without
    /// the one that lists them (`centroids.leitong`).
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        Ok(Self { folder: TableDir::open(folder.as_ref())? })
    }

    /// Returns a deduplicator with the saved table, or with an empty one if none was saved. With
    /// `table.on_disk`, old centroids are in files of this folder instead of memory. The folder then stays
    /// locked as long as the deduplicator lives, and can have only one such deduplicator.
    ///
    /// ```
    /// use leitong::{Config, Kind, Page, Table};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::from_toml("table.on_disk = true")?;
    /// let text = "The bakery opens at six, and on market days at five, when the first bread comes out of the oven.";
    /// {
    ///     let table = Table::open(&folder)?;
    ///     let mut deduplicator = table.deduplicator(&config)?;
    ///     deduplicator.decide(Page::text("https://a.example/1", text))?;
    ///     table.save(&deduplicator)?;
    /// }
    /// let table = Table::open(&folder)?;
    /// let verdict = table.deduplicator(&config)?.decide(Page::text("https://b.example/2", text))?;
    /// assert_eq!(verdict.kind, Kind::ExactDuplicate);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a file is damaged, cannot be read, or was made with other settings, or if the settings cannot
    /// be used.
    pub fn deduplicator(&self, config: &Config) -> Result<Deduplicator, SnapshotError> {
        if config.table.on_disk && self.folder.blocks().is_some() {
            return Err(SnapshotError::Locked { path: self.folder.folder().to_owned() });
        }
        let blocks_in = config.table.on_disk.then(|| self.folder.folder().to_owned());
        Deduplicator::with_table(config, blocks_in, |settings| {
            with_whole_index(self.folder.load_or_begin(settings)?)
        })
    }

    /// Replaces the table of `deduplicator` with the saved one. Returns false if there is none.
    ///
    /// # Errors
    /// Fails if the file is damaged or was made with other settings. Also fails for a deduplicator whose old
    /// centroids are on disk: it is created [with its table](Self::deduplicator), and cannot get another one.
    pub fn load(&self, deduplicator: &mut Deduplicator) -> Result<bool, SnapshotError> {
        self.refuse_blocks(deduplicator.blocks_in.as_ref())?;
        let settings = &deduplicator.settings;
        let Some(clusterer) = self.folder.load(settings)? else { return Ok(false) };
        let clusterer = with_whole_index(clusterer)?;
        let detector = Arc::clone(&settings.detector);
        deduplicator.cluster_stage = ClusterStage::new(clusterer, detector, settings.cluster_hash);
        Ok(true)
    }

    /// Saves the table of `deduplicator` in one step: after a crash there is the old table or the new one. Once
    /// it has returned `Ok`, the verdicts so far [count](Self#when-a-verdict-counts).
    ///
    /// # Errors
    /// Fails if the file cannot be written, if old centroids are on disk in another folder, or if the folder has a
    /// table that was made with other settings. Also fails with
    /// [`SnapshotError::Fault`] if a file of the table cannot be read, is damaged, or cannot be written any more.
    pub fn save(&self, deduplicator: &Deduplicator) -> Result<(), SnapshotError> {
        let elsewhere = deduplicator.blocks_in.as_ref().filter(|folder| *folder != self.folder.folder());
        self.refuse_blocks(elsewhere)?;
        self.folder.check_settings(&deduplicator.settings)?;
        self.folder.save(deduplicator.cluster_stage.clusterer(), &deduplicator.settings)
    }

    fn refuse_blocks(&self, blocks_in: Option<&PathBuf>) -> Result<(), SnapshotError> {
        let path = self.folder.folder().to_owned();
        blocks_in
            .map_or(Ok(()), |blocks| Err(SnapshotError::BlocksElsewhere { path, blocks: blocks.clone() }))
    }
}

/// Completes the index of a table that was loaded, because look-ups only read it.
fn with_whole_index(mut clusterer: Clusterer) -> Result<Clusterer, SnapshotError> {
    clusterer.insert_pending()?;
    Ok(clusterer)
}
