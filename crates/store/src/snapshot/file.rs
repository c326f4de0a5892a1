//! Locks, loads and saves the folder of a table.
//!
//! The file format is described in [`super`]. Invariants: one process uses a folder at a time; the file is
//! replaced in one step; a file is used only if its checksum and the hashes of the settings are right. Cost:
//! loading and saving take time and I/O for all centroids in memory, and little for those in blocks.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prost::Message;

use super::checksummed::{ChecksummedReader, ChecksummedWriter};
use super::folder::{self, Unfinished};
use super::ours::{self, FILE_NAME, JOURNAL_NAME, RECENT_NAME};
use super::{SnapshotError, recent};
use crate::blocks::{BlockStore, Folder, Manifest, StoreOptions};
use leitong_base::hashed::Seed;
use leitong_base::proto::{self, Blocks, Stretch};
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::{Identity, Restoration};
use leitong_cluster::log::{TopicIds, Watermarks};
use leitong_cluster::{
    ArticlePage, Bounds, Canonical, Centroid, ClusterRules, Clusterer, CrawlChange, OldCentroids, Position,
    SeenText, SeenTexts, TableFault, TextBounds,
};
use leitong_fingerprint::Detector;

const MAGIC: &[u8] = b"leitong centroid table\n";
/// Maximum number of bytes of a message. It is far above any centroid, and prevents a damaged length from
/// using up the memory.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

/// The settings of a table. A saved table can be used only with the settings it was made with.
pub struct TableSettings {
    /// The detector that makes the fingerprints.
    pub detector: Arc<dyn Detector>,
    /// The rules for how long centroids are kept, and for which page is canonical.
    pub rules: ClusterRules,
    /// Hash of the settings upstream of the log.
    pub fingerprint_hash: u64,
    /// Hash of the settings downstream of the log.
    pub cluster_hash: u64,
    /// Hash of `corpus.*`. With other settings, no page would be compared with the centroids of the table.
    pub corpus_hash: u64,
    /// Options of the blocks on disk. `None` if all centroids are in memory.
    pub on_disk: Option<StoreOptions>,
}

impl TableSettings {
    /// Returns the identity of a table of this log partition that belongs to no topics.
    pub fn identity(&self, log_partition: u32) -> Identity {
        Identity {
            log_partition,
            log_partition_count: 0,
            fingerprint_hash: self.fingerprint_hash,
            cluster_hash: self.cluster_hash,
            corpus_hash: self.corpus_hash,
            app_hash: 0,
            topic_ids: TopicIds::default(),
        }
    }
}

/// The folder of a table, locked for this process.
pub struct TableDir {
    folder: PathBuf,
    lock: File,
    /// True if the run saves [checkpoints](super::checkpointed) elsewhere, and does not replace the saved
    /// table before the run ends.
    pub(super) checkpointed: bool,
    /// The blocks of the table that was loaded or created.
    blocks: OnceLock<Arc<BlockStore>>,
    /// The finished runs in the loaded table. The next saved table lists them as well.
    runs: Mutex<Vec<proto::FinishedRun>>,
}

impl TableDir {
    /// The newest format version of saved tables. Version 2 added blocks, 3 the crawls of urls, and 4 the texts
    /// of pages that joined clusters.
    pub const FORMAT_VERSION: u32 = 4;

    /// Returns the number of unexpired centroids in the table that `position` describes.
    pub fn unexpired(position: &proto::Position) -> u64 {
        let of_blocks = |blocks: &Blocks| {
            (blocks.end.saturating_add(position.centroid_count)).saturating_sub(blocks.first)
        };
        position.blocks.as_ref().map_or(position.centroid_count, of_blocks)
    }

    /// Locks `folder`, which is created if it is missing.
    ///
    /// # Errors
    /// [`SnapshotError::Locked`] if another process uses it, [`SnapshotError::JournalLeft`] if a journal has
    /// pages that the table lacks, [`SnapshotError::OtherFiles`] and [`SnapshotError::NotAFolder`] if it is no
    /// folder for tables, and [`SnapshotError::Io`] if it cannot be used.
    pub fn open(folder: &Path) -> Result<Self, SnapshotError> {
        let opened = Self::open_beside_journal(folder)?;
        let journal = opened.journal_path();
        if journal.exists() { Err(SnapshotError::JournalLeft { path: journal }) } else { Ok(opened) }
    }

    /// Locks `folder` as [`Self::open`] does, for callers that also read the [journal](super::journal).
    ///
    /// # Errors
    /// The errors of [`Self::open`], apart from [`SnapshotError::JournalLeft`].
    pub fn open_beside_journal(folder: &Path) -> Result<Self, SnapshotError> {
        ours::check(folder)?;
        let path = folder.join(ours::LOCK);
        match folder::lock(&path).map_err(at(&path))? {
            Some(lock) => {
                let (folder, blocks, runs) = (folder.to_owned(), OnceLock::new(), Mutex::default());
                Ok(Self { folder, lock, checkpointed: false, blocks, runs })
            }
            None => Err(SnapshotError::Locked { path: folder.to_owned() }),
        }
    }

    /// Loads the saved table. Returns `None` if none was saved.
    ///
    /// # Errors
    /// [`SnapshotError`] if the file cannot be read, is damaged, or was made with other settings.
    pub fn load(&self, settings: &TableSettings) -> Result<Option<Clusterer>, SnapshotError> {
        Ok(self.load_with_watermarks(settings)?.map(|(clusterer, _)| clusterer))
    }

    /// Loads the saved table and the watermarks of its log.
    ///
    /// # Errors
    /// The errors of [`Self::load`].
    pub fn load_with_watermarks(
        &self,
        settings: &TableSettings,
    ) -> Result<Option<(Clusterer, Watermarks)>, SnapshotError> {
        self.load_file(&self.folder.join(FILE_NAME), settings, SameSettings::All)
    }

    /// Loads the saved table and the watermarks of its log, even if the settings downstream of the log have
    /// changed. The new settings then apply to all later pages.
    ///
    /// # Errors
    /// The errors of [`Self::load`].
    pub fn load_for_new_rules(
        &self,
        settings: &TableSettings,
    ) -> Result<Option<(Clusterer, Watermarks)>, SnapshotError> {
        self.load_file(&self.folder.join(FILE_NAME), settings, SameSettings::UpstreamOfLog)
    }

    /// Loads a table like [`Self::load_with_watermarks`], from a file that may be in another folder than its
    /// blocks.
    pub(super) fn load_file(
        &self,
        path: &Path,
        settings: &TableSettings,
        same: SameSettings,
    ) -> Result<Option<(Clusterer, Watermarks)>, SnapshotError> {
        let Some((mut reader, saved)) = begin_verified(path)? else { return Ok(None) };
        check_usable(path, &saved, settings, same)?;
        self.set_runs(saved.runs.clone());
        if saved.founded > Some(Restoration::NUMBER_MAX)
            || saved.dead_below > saved.founded.unwrap_or_default()
        {
            return Err(reader.damaged("its number of centroids is invalid"));
        }
        let position = position_of(&saved);
        let mut clusterer = self.clusterer(path, position, Some(&saved), settings)?;
        reader.articles(&saved, |page| clusterer.restore_article(page))?;
        for _ in 0..saved.centroid_count {
            let mut message: proto::Centroid = reader.message()?;
            let centroid =
                Centroid::from_message(&mut message, &*settings.detector).map_err(|e| reader.damaged(&e))?;
            clusterer.restore(&message.corpus, message.fingerprint_hash, &centroid)?;
            let canonical = Canonical::from_message(&message).map_err(|problem| reader.damaged(&problem))?;
            clusterer.restore_canonical(clusterer.founded() - 1, canonical);
        }
        let founded = clusterer.founded();
        reader.crawls(&saved, |reader, mut message| {
            let change = CrawlChange::from_message(&mut message, &*settings.detector);
            let change = change.map_err(|problem| reader.damaged(&problem))?;
            let change = change.filter(|change| change.cluster < founded);
            clusterer.restore_crawl(change.ok_or_else(|| reader.damaged("a crawl is in no cluster"))?);
            Ok(())
        })?;
        if let Some(counted) = saved.crawls.filter(|counted| *counted <= Restoration::NUMBER_MAX) {
            clusterer.restore_crawl_bounds((counted, saved.crawls_dead_below.min(counted)));
        }
        reader.texts(&saved, |reader, SeenTexts { first, texts }| {
            if first > Restoration::NUMBER_MAX || texts.iter().any(|text| text.cluster >= founded) {
                return Err(reader.damaged("the number of its texts is invalid"));
            }
            clusterer.restore_texts(first, texts.into_iter());
            Ok(())
        })?;
        if let Some(texts) =
            TextBounds::from_position(&saved).filter(|texts| texts.counted <= Restoration::NUMBER_MAX)
        {
            clusterer.restore_text_bounds(texts);
            if !clusterer.has_all_texts(texts) {
                return Err(reader.damaged("texts are missing"));
            }
        }
        reader.check_hash()?;
        let mut bounds = Bounds::from_position(&saved);
        // Newly created blocks number their centroids from 0, instead of from the saved number.
        let skipped = saved.founded.unwrap_or_default().saturating_sub(clusterer.founded());
        bounds.dead_below = bounds.dead_below.saturating_sub(skipped);
        clusterer.restore_bounds(bounds);
        Ok(Some((clusterer, Watermarks::from_position(&saved))))
    }

    /// Checks that the saved table, if there is one, was made with these settings. A table with other
    /// settings must not replace it.
    ///
    /// # Errors
    /// The errors of [`Self::load`].
    pub fn check_settings(&self, settings: &TableSettings) -> Result<(), SnapshotError> {
        let path = self.folder.join(FILE_NAME);
        match begin(&path)? {
            Some((_, saved)) => check_usable(&path, &saved, settings, SameSettings::All),
            None => Ok(()),
        }
    }

    /// Loads the saved table, or creates an empty one.
    ///
    /// # Errors
    /// The errors of [`Self::load`].
    pub fn load_or_begin(&self, settings: &TableSettings) -> Result<Clusterer, SnapshotError> {
        match self.load(settings)? {
            Some(clusterer) => Ok(clusterer),
            None => self.clusterer(&self.folder.join(FILE_NAME), Position::default(), None, settings),
        }
    }

    /// Creates a table from the saved blocks, if there are any, without the centroids that are in no block.
    fn clusterer(
        &self,
        path: &Path,
        position: Position,
        saved: Option<&proto::Position>,
        settings: &TableSettings,
    ) -> Result<Clusterer, SnapshotError> {
        if !self.checkpointed {
            self.remove_checkpoints()?;
        }
        self.remove_unfinished()?;
        let blocks = saved.and_then(|saved| saved.blocks.as_ref());
        let first = saved.map_or(0, |saved| saved.founded.unwrap_or(0).saturating_sub(saved.centroid_count));
        let (detector, rules) = (Arc::clone(&settings.detector), settings.rules.clone());
        let Some(options) = settings.on_disk else {
            return match blocks {
                Some(_) => Err(SnapshotError::OnDisk { path: path.to_owned() }),
                None => Ok(Clusterer::starting_at(first, detector, rules, position)),
            };
        };
        let manifest = match blocks {
            Some(blocks) => manifest_of(blocks),
            None => Manifest { table_id: new_table_id(), ..Manifest::default() },
        };
        // The lock is held as long as threads may write to the folder.
        let locked = self.lock.try_clone().and_then(|lock| Folder::open_locked(&self.folder, lock));
        let files = Arc::new(locked.map_err(at(&self.folder))?);
        let own = if self.checkpointed { self.saved_manifest()? } else { None };
        let store = BlockStore::open_beside(files, Arc::clone(&detector), options, &manifest, own.as_ref())?;
        let store = Arc::new(store);
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, manifest.first);
        // If a table was loaded before, its store stays here. The caller has dropped that table.
        let _ = self.blocks.set(store);
        let first_time = blocks.and_then(|blocks| blocks.first_time_ms).and_then(Timestamp::from_ms);
        let mut clusterer = Clusterer::with_old(detector, rules.expiry, position, first_time, old)?;
        if blocks.is_none() && first > 0 {
            clusterer.begin_at(first);
        }
        Ok(clusterer)
    }

    /// Returns the manifest of the saved table's blocks, if it has blocks.
    fn saved_manifest(&self) -> Result<Option<Manifest>, SnapshotError> {
        let path = self.folder.join(FILE_NAME);
        let saved = begin_verified(&path)?;
        Ok(saved.and_then(|(_, saved)| saved.blocks.as_ref().map(manifest_of)))
    }

    /// Removes unfinished files of a process that was killed while it saved.
    fn remove_unfinished(&self) -> Result<(), SnapshotError> {
        for name in [FILE_NAME, RECENT_NAME, JOURNAL_NAME] {
            let path = new_path(&self.folder.join(name));
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the blocks of the table that was loaded or created, if it has any.
    #[must_use]
    pub fn blocks(&self) -> Option<&BlockStore> {
        self.blocks.get().map(|blocks| &**blocks)
    }

    /// Returns the path of the journal.
    pub fn journal_path(&self) -> PathBuf {
        self.folder.join(JOURNAL_NAME)
    }

    /// Returns the number of bytes of the saved table's file; 0 if there is none.
    pub fn saved_bytes(&self) -> u64 {
        std::fs::metadata(self.folder.join(FILE_NAME)).map_or(0, |file| file.len())
    }

    /// Loads the recent verdicts, as JSON. Returns `None` if none were saved.
    pub fn load_recent(&self) -> Result<Option<Vec<Box<[u8]>>>, SnapshotError> {
        recent::load(&self.folder.join(RECENT_NAME))
    }

    /// Saves the `count` recent verdicts in one step.
    pub fn save_recent<'a>(
        &self,
        count: u64,
        verdicts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), SnapshotError> {
        recent::save(&self.folder.join(RECENT_NAME), count, verdicts)
    }

    /// Replaces the saved table with this one, in one step.
    ///
    /// # Errors
    /// [`SnapshotError::Fault`] if the table can no longer be relied on, and [`SnapshotError::Io`]. The last
    /// saved table is unchanged.
    pub fn save(&self, clusterer: &Clusterer, settings: &TableSettings) -> Result<(), SnapshotError> {
        self.save_with_watermarks(clusterer, &Watermarks::default(), settings)
    }

    /// Replaces the saved table and the watermarks of its log, in one step.
    ///
    /// # Errors
    /// The errors of [`Self::save`].
    pub fn save_with_watermarks(
        &self,
        clusterer: &Clusterer,
        watermarks: &Watermarks,
        settings: &TableSettings,
    ) -> Result<(), SnapshotError> {
        if let Some(blocks) = self.blocks() {
            blocks.finish()?;
        }
        self.save_here(clusterer, watermarks, settings)
    }

    /// Saves a table that stays in use, without waiting for merges of its blocks. No centroids are moved to
    /// blocks meanwhile.
    ///
    /// # Errors
    /// [`SnapshotError`]; the last saved table is unchanged.
    pub fn save_in_between(
        &self,
        clusterer: &Clusterer,
        settings: &TableSettings,
    ) -> Result<(), SnapshotError> {
        if let Some(blocks) = self.blocks() {
            blocks.wait_for_blocks()?;
        }
        self.save_here(clusterer, &Watermarks::default(), settings)
    }

    fn save_here(
        &self,
        clusterer: &Clusterer,
        watermarks: &Watermarks,
        settings: &TableSettings,
    ) -> Result<(), SnapshotError> {
        self.save_file(&self.folder.join(FILE_NAME), clusterer, watermarks, settings)?;
        // Blocks that a checkpoint names are kept as long as the checkpoint.
        if let Some(blocks) = self.blocks().filter(|_| !self.checkpointed) {
            blocks.saved();
        }
        Ok(())
    }

    /// Writes the table's file in one step. The file may be in another folder than the blocks that it names.
    pub(super) fn save_file(
        &self,
        path: &Path,
        clusterer: &Clusterer,
        watermarks: &Watermarks,
        settings: &TableSettings,
    ) -> Result<(), SnapshotError> {
        let manifest = self.blocks().map(BlockStore::manifest);
        let position = self.position(clusterer, watermarks, settings, manifest.as_ref())?;
        let new = Unfinished::new(new_path(path));
        write(new.path(), clusterer, &*settings.detector, &position).map_err(at(new.path()))?;
        new.replace(path).map_err(at(path))
    }

    /// Returns the position record of a saved table, which describes the table.
    fn position(
        &self,
        clusterer: &Clusterer,
        watermarks: &Watermarks,
        settings: &TableSettings,
        manifest: Option<&Manifest>,
    ) -> Result<proto::Position, TableFault> {
        let identity = settings.identity(clusterer.position().log_partition);
        let count = clusterer.in_memory_count() as u64;
        let mut position = identity.table_position(clusterer, 0, count, watermarks)?;
        position.format_version = TableDir::FORMAT_VERSION;
        position.text_count = clusterer.seen_texts(blocks_end(manifest)).0.count;
        if let Some(manifest) = manifest {
            position.blocks = Some(blocks_of(manifest, clusterer, &*settings.detector));
        }
        if let Some((counted, dead_below)) = clusterer.crawl_bounds() {
            position.crawls = Some(counted);
            position.crawls_dead_below = dead_below;
            position.crawl_change_count = clusterer.crawl_changes().0;
        }
        position.runs = self.runs();
        Ok(position)
    }

    /// Returns the finished runs in the table, oldest first.
    pub(super) fn runs(&self) -> Vec<proto::FinishedRun> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the finished runs in the table.
    pub(super) fn set_runs(&self, runs: Vec<proto::FinishedRun>) {
        *self.runs.lock().unwrap_or_else(PoisonError::into_inner) = runs;
    }
}

/// Returns the number of the first centroid that is in no block.
fn blocks_end(manifest: Option<&Manifest>) -> u64 {
    manifest.map_or(0, |manifest| manifest.end)
}

/// Returns the temporary name of a file until it is complete.
fn new_path(path: &Path) -> PathBuf {
    path.with_extension("leitong.new")
}

/// The settings with which a table must have been made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SameSettings {
    /// All settings that verdicts depend on.
    All,
    /// The settings that fingerprints depend on.
    UpstreamOfLog,
}

/// Refuses a worker's file, and a table that was made with other settings.
pub(super) fn check_usable(
    path: &Path,
    saved: &proto::Position,
    settings: &TableSettings,
    same: SameSettings,
) -> Result<(), SnapshotError> {
    let path = || path.to_owned();
    if saved.blocks.as_ref().is_some_and(|blocks| blocks.changelog.is_some()) {
        return Err(SnapshotError::OfWorker { path: path() });
    }
    let fingerprint_hash = ("fingerprint_hash", saved.fingerprint_hash, settings.fingerprint_hash);
    let cluster_hash = ("cluster_hash", saved.cluster_hash, settings.cluster_hash);
    let all = same == SameSettings::All;
    for (which, found, wanted) in [Some(fingerprint_hash), all.then_some(cluster_hash)].into_iter().flatten()
    {
        if found != wanted {
            return Err(SnapshotError::OtherSettings { path: path(), which, found, wanted });
        }
    }
    // Tables of earlier versions have no such hash. With `UpstreamOfLog`, it does not matter, because the
    // records of a worker's log contain their corpora.
    if all && saved.corpus_hash.is_some_and(|found| found != settings.corpus_hash) {
        return Err(SnapshotError::OtherCorpora { path: path() });
    }
    Ok(())
}

/// Returns the position up to which a saved table has processed its log.
pub(super) fn position_of(saved: &proto::Position) -> Position {
    Position {
        log_generation: saved.log_generation,
        log_partition: saved.log_partition,
        next_log_offset: saved.next_log_offset,
        log_time: saved.log_time_ms.and_then(Timestamp::from_ms),
    }
}

/// Opens a saved table. Returns a reader that is before the articles and centroids, and the position record.
pub(super) fn begin(path: &Path) -> Result<Option<(Reader<'_>, proto::Position)>, SnapshotError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(path)(error)),
    };
    read_head(ChecksummedReader::new(file), path).map(Some)
}

/// Opens a saved table like [`begin`], after verifying the checksum of the whole file. Callers that delete or
/// replace other files because of its contents need this.
pub(super) fn begin_verified(path: &Path) -> Result<Option<(Reader<'_>, proto::Position)>, SnapshotError> {
    let Some((reader, saved)) = begin(path)? else { return Ok(None) };
    if !reader.rest_fits()? {
        return Err(damage_of(path, &saved));
    }
    begin(path)
}

/// Returns the most precise description of the damage in a file with a wrong checksum.
fn damage_of(path: &Path, saved: &proto::Position) -> SnapshotError {
    let read = || {
        let Some((mut reader, _)) = begin(path)? else { return Ok(()) };
        reader.articles(saved, |_| {})?;
        for _ in 0..saved.centroid_count {
            reader.message::<proto::Centroid>()?;
        }
        reader.crawls(saved, |_, _| Ok(()))?;
        reader.texts(saved, |_, _| Ok(()))?;
        reader.check_hash()
    };
    let problem = "its checksum does not match its contents".to_owned();
    read().err().unwrap_or_else(|| SnapshotError::Damaged { path: path.to_owned(), problem })
}

/// Reads the beginning of a table. Returns a reader that is after the position record, and this record.
pub(super) fn read_head(
    inner: ChecksummedReader,
    path: &Path,
) -> Result<(Reader<'_>, proto::Position), SnapshotError> {
    let mut reader = Reader { inner, path };
    let mut magic = [0; MAGIC.len()];
    reader.exact(&mut magic)?;
    if magic != MAGIC {
        return Err(reader.damaged("this is not a centroid table"));
    }
    let saved: proto::Position = reader.message()?;
    match saved.format_version {
        found if found > TableDir::FORMAT_VERSION => {
            Err(SnapshotError::TooNew { path: path.to_owned(), found, known: TableDir::FORMAT_VERSION })
        }
        _ => Ok((reader, saved)),
    }
}

fn write(
    path: &Path,
    clusterer: &Clusterer,
    detector: &dyn Detector,
    position: &proto::Position,
) -> io::Result<()> {
    let mut writer = ChecksummedWriter::create(path)?;
    write_head(&mut writer, position, clusterer)?;
    let first = clusterer.founded() - position.centroid_count;
    for (number, (corpus, fingerprint_hash, centroid)) in (first..).zip(clusterer.centroids()) {
        let mut message = centroid.to_message(corpus, fingerprint_hash, detector.name());
        if let Some(canonical) = clusterer.canonical(number) {
            canonical.add_to(&mut message);
        }
        writer.all(&message.encode_length_delimited_to_vec())?;
    }
    for change in clusterer.crawl_changes().1 {
        writer.all(&change.to_message().encode_length_delimited_to_vec())?;
    }
    let blocks_end = position.blocks.as_ref().map_or(0, |blocks| blocks.end);
    let (from, seen) = clusterer.seen_texts(blocks_end);
    let (mut seen, mut sequence) = (seen.peekable(), from.first);
    while seen.peek().is_some() {
        let some = seen.by_ref().take(SeenText::AT_ONCE);
        let message = SeenText::to_message(sequence, some, clusterer.founded());
        sequence += message.since.len() as u64;
        writer.all(&message.encode_length_delimited_to_vec())?;
    }
    writer.finish()
}

/// Writes, message by message, the file of a table with all centroids in memory.
pub(super) struct TableWriter(ChecksummedWriter);

impl TableWriter {
    /// Creates the table's file in `folder`, which must not have one.
    pub(super) fn create(folder: &Path, position: &proto::Position) -> io::Result<Self> {
        let mut writer = ChecksummedWriter::create(&folder.join(FILE_NAME))?;
        writer.all(MAGIC)?;
        writer.all(&position.encode_length_delimited_to_vec())?;
        Ok(Self(writer))
    }

    pub(super) fn push(&mut self, message: &impl Message) -> io::Result<()> {
        self.0.all(&message.encode_length_delimited_to_vec())
    }

    pub(super) fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// Writes the beginning of a table: the position record, and the articles if it has blocks. Centroids that
/// are in no block and the checksum follow.
pub(super) fn write_head(
    writer: &mut ChecksummedWriter,
    position: &proto::Position,
    clusterer: &Clusterer,
) -> io::Result<()> {
    writer.all(MAGIC)?;
    writer.all(&position.encode_length_delimited_to_vec())?;
    if position.blocks.is_some() {
        for ArticlePage { corpus, fingerprint_hash, article, number } in clusterer.articles() {
            let message = proto::Article { corpus: corpus.to_owned(), fingerprint_hash, article, number };
            writer.all(&message.encode_length_delimited_to_vec())?;
        }
    }
    Ok(())
}

fn manifest_stretches(stretches: &[Stretch]) -> Vec<(u64, u64)> {
    stretches.iter().map(|stretch| (stretch.first, stretch.end)).collect()
}

/// Returns the manifest in a position record.
pub(super) fn manifest_of(blocks: &Blocks) -> Manifest {
    Manifest {
        table_id: blocks.table_id,
        first: blocks.first,
        end: blocks.end,
        blocks: manifest_stretches(&blocks.blocks),
        runs: manifest_stretches(&blocks.runs),
    }
}

pub(super) fn blocks_of(manifest: &Manifest, clusterer: &Clusterer, detector: &dyn Detector) -> Blocks {
    let stretch = |(first, end): &(u64, u64)| Stretch { first: *first, end: *end };
    Blocks {
        table_id: manifest.table_id,
        first: manifest.first,
        end: manifest.end,
        blocks: manifest.blocks.iter().map(stretch).collect(),
        runs: manifest.runs.iter().map(stretch).collect(),
        first_time_ms: clusterer.first_time().map(Timestamp::as_ms),
        detector: detector.name().to_owned(),
        article_count: clusterer.articles().count() as u64,
        changelog: None,
    }
}

/// Returns an id that no other table has.
pub(super) fn new_table_id() -> u64 {
    Seed::default().place(Timestamp::now().as_ms() as u64)
}

/// Reads a saved table message by message.
pub(super) struct Reader<'a> {
    inner: ChecksummedReader,
    path: &'a Path,
}

impl Reader<'_> {
    fn exact(&mut self, bytes: &mut [u8]) -> Result<(), SnapshotError> {
        self.inner.exact(bytes).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> SnapshotError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("the file ends early"),
            _ => at(self.path)(error),
        }
    }

    pub(super) fn message<M: Message + Default>(&mut self) -> Result<M, SnapshotError> {
        let mut length = 0_u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.exact(&mut byte)?;
            length |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                break;
            }
        }
        if length > MESSAGE_BYTES_MAX {
            return Err(self.damaged("a message has an invalid length"));
        }
        let mut bytes = vec![0; length as usize];
        self.exact(&mut bytes)?;
        M::decode(&*bytes).map_err(|error| self.damaged(&format!("a message is broken: {error}")))
    }

    /// Reads the articles. A table with blocks has them before its centroids.
    pub(super) fn articles(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(ArticlePage<'_>),
    ) -> Result<(), SnapshotError> {
        for _ in 0..saved.blocks.as_ref().map_or(0, |blocks| blocks.article_count) {
            let proto::Article { corpus, fingerprint_hash, article, number } = self.message()?;
            take(ArticlePage { corpus: &corpus, fingerprint_hash, article, number });
        }
        Ok(())
    }

    /// Reads the crawls of urls, which follow the centroids.
    pub(super) fn crawls(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(&mut Self, proto::Centroid) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        for _ in 0..saved.crawl_change_count {
            let message = self.message()?;
            take(self, message)?;
        }
        Ok(())
    }

    /// Reads the texts of pages that joined clusters, which follow the crawls.
    pub(super) fn texts(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(&mut Self, SeenTexts) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut left = saved.text_count;
        while left > 0 {
            let message: proto::Texts = self.message()?;
            let texts = SeenText::from_message(&message).map_err(|problem| self.damaged(&problem))?;
            let count = texts.len() as u64;
            if count == 0 || count > left {
                return Err(self.damaged("a message has an invalid number of texts"));
            }
            left -= count;
            take(self, SeenTexts { first: message.first, texts })?;
        }
        Ok(())
    }

    /// Reads the rest of the file. Returns true if the checksum at its end is right.
    fn rest_fits(self) -> Result<bool, SnapshotError> {
        self.inner.rest_fits().map_err(at(self.path))
    }

    pub(super) fn check_hash(mut self) -> Result<(), SnapshotError> {
        match self.inner.sum_fits() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged("its checksum does not match its contents")),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn damaged(&self, problem: &str) -> SnapshotError {
        SnapshotError::Damaged { path: self.path.to_owned(), problem: problem.to_owned() }
    }
}

pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |error| SnapshotError::Io { path: path.clone(), error }
}
