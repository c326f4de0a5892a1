//! Locks, loads and saves the folder of a table.
//!
//! Invariants: one process uses a folder at a time; the table's file (`file.rs`) is replaced in one step; it is used only if
//! the hashes of the settings are right; no other file of the table is written before it. Cost: loading and saving take time and I/O for all centroids in memory, and
//! little for those in blocks.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::file::{self, Reader, at, begin, begin_verified, blocks_of, manifest_of};
use super::folder::{self, Unfinished};
use super::ours::{self, FILE_NAME, JOURNAL_NAME, RECENT_NAME};
use super::{SnapshotError, recent};
use crate::blocks::{BlockStore, Folder, Manifest, StoreOptions};
use leitong_base::hashed::Seed;
use leitong_base::proto::{self, Blocks};
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::{Identity, Restoration};
use leitong_cluster::log::{TopicIds, Watermarks};
use leitong_cluster::{
    Bounds, Canonical, Centroid, ClusterRules, Clusterer, CrawlChange, OldCentroids, Position, SeenTexts,
    TableFault, TextBounds,
};
use leitong_fingerprint::Detector;

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
    /// The id of the table that was loaded or created, and the generation of its log; 0 before its first record.
    lineage: Mutex<Option<(u64, u32)>>,
    /// The finished runs in the loaded table. The next saved table lists them as well.
    runs: Mutex<Vec<proto::FinishedRun>>,
}

impl TableDir {
    /// The newest format version of saved tables.
    pub const FORMAT_VERSION: u32 = file::FORMAT_VERSION;

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
    /// pages that the table lacks, [`SnapshotError::HeadMissing`] if it has only a part of a table,
    /// [`SnapshotError::OtherFiles`] and [`SnapshotError::NotAFolder`] if it is no folder for tables, and [`SnapshotError::Io`] if it cannot be used.
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
        ours::check_head(folder)?;
        ours::check(folder)?;
        let path = folder.join(ours::LOCK);
        match folder::lock(&path).map_err(at(&path))? {
            Some(mut lock) => {
                ours::mark(&mut lock).map_err(at(&path))?;
                let (folder, blocks, lineage) = (folder.to_owned(), OnceLock::new(), Mutex::default());
                Ok(Self { folder, lock, checkpointed: false, blocks, lineage, runs: Mutex::default() })
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
        self.set_lineage((saved.table_id.unwrap_or_else(new_table_id), saved.log_generation));
        let founded = saved.founded.unwrap_or_default();
        if founded > Restoration::NUMBER_MAX || saved.dead_below > founded {
            return Err(reader.damaged("its number of centroids is invalid"));
        }
        let position = Position::from_message(&saved);
        let mut clusterer = self.clusterer(path, position, Some(&saved), settings)?;
        reader.articles(&saved, |page| clusterer.restore_article(page))?;
        restore_centroids(&mut reader, &saved, &mut clusterer)?;
        restore_crawls(&mut reader, &saved, &mut clusterer)?;
        restore_texts(&mut reader, &saved, &mut clusterer)?;
        reader.check_hash()?;
        clusterer.restore_bounds(Bounds::from_position(&saved));
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

    /// Loads the saved table, or creates an empty one. A new table is saved at once: files with its id may be written
    /// from then on.
    ///
    /// # Errors
    /// The errors of [`Self::load`] and [`Self::save`].
    pub fn load_or_begin(&self, settings: &TableSettings) -> Result<Clusterer, SnapshotError> {
        if let Some(clusterer) = self.load(settings)? {
            return Ok(clusterer);
        }
        self.set_lineage((new_table_id(), 0));
        let clusterer = self.clusterer(&self.folder.join(FILE_NAME), Position::default(), None, settings)?;
        self.save_here(&clusterer, &Watermarks::default(), settings)?;
        Ok(clusterer)
    }

    /// Returns the random id of the table that was loaded, created or saved, which is in all of its files.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        self.lineage.lock().unwrap_or_else(PoisonError::into_inner).map(|(id, _)| id)
    }

    fn set_lineage(&self, lineage: (u64, u32)) {
        *self.lineage.lock().unwrap_or_else(PoisonError::into_inner) = Some(lineage);
    }

    /// Returns the id for saving a table whose log has this generation: that of the loaded table, or a new one if the
    /// table is not the loaded one, continued.
    fn id_to_save(&self, log_generation: u32) -> u64 {
        let mut lineage = self.lineage.lock().unwrap_or_else(PoisonError::into_inner);
        let id = lineage.filter(|(_, loaded)| *loaded == 0 || *loaded == log_generation).map(|(id, _)| id);
        let id = id.unwrap_or_else(new_table_id);
        *lineage = Some((id, log_generation));
        id
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
        let blocks = saved.filter(|saved| !is_empty(saved)).and_then(|saved| saved.blocks.as_ref());
        let first = saved.map_or(0, |saved| saved.founded.unwrap_or(0).saturating_sub(saved.centroid_count));
        let (detector, rules) = (Arc::clone(&settings.detector), settings.rules.clone());
        let Some(options) = settings.on_disk else {
            return match blocks {
                Some(_) => Err(SnapshotError::OnDisk { path: path.to_owned() }),
                None => {
                    let mut clusterer = Clusterer::new(detector, rules, position);
                    clusterer.begin_at(first);
                    Ok(clusterer)
                }
            };
        };
        let manifest = match blocks {
            Some(blocks) => manifest_of(blocks),
            None => Manifest { table_id: self.id().unwrap_or_else(new_table_id), ..Manifest::default() },
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
            folder::if_there(std::fs::remove_file(&path)).map_err(at(&path))?;
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
        recent::load(&self.folder.join(RECENT_NAME), self.id())
    }

    /// Saves the `count` recent verdicts in one step.
    pub fn save_recent<'a>(
        &self,
        count: u64,
        verdicts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), SnapshotError> {
        recent::save(&self.folder.join(RECENT_NAME), self.id().unwrap_or_default(), count, verdicts)
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
        file::write(new.path(), clusterer, &position).map_err(at(new.path()))?;
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
        position.table_id = Some(match manifest {
            Some(manifest) => manifest.table_id,
            None => self.id_to_save(position.log_generation),
        });
        position.text_count = clusterer.seen_texts(blocks_end(manifest)).0.count;
        if let Some(manifest) = manifest {
            position.blocks = Some(blocks_of(manifest, clusterer));
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

/// Fills `clusterer` with the centroids of a saved table that are in no block.
fn restore_centroids(
    reader: &mut Reader<'_>,
    saved: &proto::Position,
    clusterer: &mut Clusterer,
) -> Result<(), SnapshotError> {
    let detector = Arc::clone(clusterer.detector());
    for _ in 0..saved.centroid_count {
        let mut message: proto::Centroid = reader.message()?;
        let centroid =
            Centroid::from_message(&mut message, &*detector).map_err(|problem| reader.damaged(&problem))?;
        clusterer.restore(&message.corpus, message.fingerprint_hash, &centroid)?;
        let canonical = Canonical::from_message(&message).map_err(|problem| reader.damaged(&problem))?;
        clusterer.restore_canonical(clusterer.founded() - 1, canonical);
    }
    Ok(())
}

/// Fills `clusterer` with the crawls of a saved table, which follow the centroids.
fn restore_crawls(
    reader: &mut Reader<'_>,
    saved: &proto::Position,
    clusterer: &mut Clusterer,
) -> Result<(), SnapshotError> {
    let founded = clusterer.founded();
    reader.crawls(saved, |reader, mut message| {
        let change = CrawlChange::from_message(&mut message, &**clusterer.detector());
        let change = change.map_err(|problem| reader.damaged(&problem))?;
        let change = change.filter(|change| change.cluster < founded);
        clusterer.restore_crawl(change.ok_or_else(|| reader.damaged("a crawl is in no cluster"))?);
        Ok(())
    })?;
    if let Some(counted) = saved.crawls.filter(|counted| *counted <= Restoration::NUMBER_MAX) {
        clusterer.restore_crawl_bounds((counted, saved.crawls_dead_below.min(counted)));
    }
    Ok(())
}

/// Fills `clusterer` with the texts of a saved table, which follow the crawls.
fn restore_texts(
    reader: &mut Reader<'_>,
    saved: &proto::Position,
    clusterer: &mut Clusterer,
) -> Result<(), SnapshotError> {
    let founded = clusterer.founded();
    reader.texts(saved, |reader, SeenTexts { first, texts }| {
        if first > Restoration::NUMBER_MAX || texts.iter().any(|text| text.cluster >= founded) {
            return Err(reader.damaged("the number of its texts is invalid"));
        }
        clusterer.restore_texts(first, texts.into_iter());
        Ok(())
    })?;
    let texts = TextBounds::from_position(saved);
    if texts.counted > Restoration::NUMBER_MAX {
        return Err(reader.damaged("the number of its texts is invalid"));
    }
    clusterer.restore_text_bounds(texts);
    if !clusterer.has_all_texts(texts) {
        return Err(reader.damaged("texts are missing"));
    }
    Ok(())
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
    // A run that was begun with other settings, and saved no page.
    if is_empty(saved) {
        return Ok(());
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
    // With `UpstreamOfLog`, this hash does not matter, because the records of a worker's log contain their corpora.
    if all && saved.corpus_hash.is_some_and(|found| found != settings.corpus_hash) {
        return Err(SnapshotError::OtherCorpora { path: path() });
    }
    Ok(())
}

/// Returns true if the table was begun, and has no pages yet.
fn is_empty(saved: &proto::Position) -> bool {
    saved.next_log_offset == 0 && saved.founded.unwrap_or_default() == 0
}

/// Returns an id that no other table has.
pub(super) fn new_table_id() -> u64 {
    Seed::default().place(Timestamp::now().as_ms() as u64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use leitong_base::record::FingerprintRecord;
    use leitong_cluster::{ClusterRules, ExpiryConfig};
    use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
    use leitong_fingerprint::detectors::simhash::{SimHash, SimHashConfig};

    fn settings(on_disk: bool, fingerprint_hash: u64) -> TableSettings {
        TableSettings {
            detector: Arc::new(SimHash::new(&SimHashConfig::default())),
            rules: ClusterRules::expiry_only(ExpiryConfig::default()),
            fingerprint_hash,
            cluster_hash: 2,
            corpus_hash: 3,
            on_disk: on_disk.then(|| StoreOptions {
                readers: 0,
                portion: 8,
                ..StoreOptions::for_table(32, 1 << 20)
            }),
        }
    }

    fn decide(clusterer: &mut Clusterer, log_generation: u32, count: usize) {
        clusterer.name_log(log_generation);
        for number in 0..count {
            let print = Fingerprints::even(1).get(number as u64);
            let page = FingerprintRecord::numbered(number, Some(print));
            clusterer.decide(Some(&page)).expect("decided");
        }
    }

    /// Makes a table in `folder`. Without `saved`, its process is killed before it saves.
    fn make(folder: &Path, on_disk: bool, count: usize, saved: bool) {
        let settings = settings(on_disk, 1);
        let dir = TableDir::open(folder).expect("a folder");
        let mut clusterer = dir.load_or_begin(&settings).expect("a table");
        decide(&mut clusterer, 9, count);
        if saved {
            dir.save(&clusterer, &settings).expect("saved");
        }
    }

    fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
        let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let files = files.map(|entry| (name(&entry), fs::read(entry.path()).expect("a file")));
        files.filter(|(name, _)| name != ours::LOCK).collect()
    }

    /// Returns why a folder cannot be used in any way. Checks that nothing in it is changed.
    fn refusal(folder: &Path, on_disk: bool) -> String {
        let before = contents(folder);
        let settings = settings(on_disk, 1);
        let used = TableDir::open(folder).and_then(|dir| dir.load_or_begin(&settings));
        let why = used.err().expect("it must be refused").to_string();
        assert!(contents(folder) == before, "{why}");
        why
    }

    /// Half of a restore must not cost the other half, and must not begin a table that knows nothing.
    #[test]
    fn a_part_of_a_table_without_its_head_is_refused_and_left_as_it_is() {
        let temporary = tempfile::tempdir().expect("a folder");
        let whole = temporary.path().join("whole");
        make(&whole, true, 100, true);
        let names: Vec<String> = contents(&whole).into_keys().filter(|name| name != FILE_NAME).collect();
        assert!(names.len() > 3, "{names:?}");
        let others = [JOURNAL_NAME, RECENT_NAME, "texts.leitong", "sizes.leitong", "sizes.before"];
        for name in names.iter().map(String::as_str).chain(others) {
            let folder = temporary.path().join(format!("only-{name}"));
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join(name), "some bytes").expect("written");
            // A killed save leaves such a file, which is no head.
            fs::write(folder.join("centroids.leitong.new"), "half").expect("written");
            for has_lock in [false, true] {
                if has_lock {
                    fs::write(folder.join(ours::LOCK), "").expect("written");
                }
                for on_disk in [false, true] {
                    let why = refusal(&folder, on_disk);
                    assert!(why.contains(name) && why.contains("centroids.leitong is missing"), "{why}");
                }
            }
            assert!(TableDir::inspect(&folder, |_, _| {}).is_err());
            assert!(TableDir::verify(&folder, |_, _| {}).is_err());
            assert!(TableDir::has_blocks(&folder).is_err());
        }
        fs::write(whole.join(FILE_NAME), "").expect("written");
        assert!(refusal(&whole, true).contains("ends early"));
        let good = temporary.path().join("good");
        make(&good, true, 100, true);
        let head = fs::read(good.join(FILE_NAME)).expect("a head");
        fs::write(whole.join(FILE_NAME), &head[..head.len() / 2]).expect("written");
        assert!(refusal(&whole, true).contains("restore the file from a backup"));
        // The other half: the head is there, and a block is not.
        let block = names.iter().find(|name| name.starts_with("centroids-")).expect("a block");
        fs::remove_file(good.join(block)).expect("removed");
        assert!(refusal(&good, true).contains(block));
    }

    #[test]
    fn the_head_of_another_table_deletes_nothing() {
        let temporary = tempfile::tempdir().expect("a folder");
        let [table, large, small, memory] =
            ["table", "large", "small", "memory"].map(|name| temporary.path().join(name));
        make(&table, true, 100, true);
        make(&large, true, 150, true);
        make(&small, true, 3, true);
        make(&memory, false, 3, true);
        let blocks = contents(&table).len();
        for other in [large, small, memory] {
            fs::copy(other.join(FILE_NAME), table.join(FILE_NAME)).expect("copied");
            let why = refusal(&table, true);
            assert!(why.contains("belongs to another table"), "{why}");
            assert_eq!(contents(&table).len(), blocks);
        }
    }

    /// Its blocks are recognised by the id in the head that was saved first, so they can be deleted.
    #[test]
    fn a_killed_first_run_can_be_repeated() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().join("table");
        make(&folder, true, 100, false);
        let left = contents(&folder);
        assert!(left.len() > 3, "{:?}", left.keys());
        assert!(left.keys().all(|name| !name.ends_with(".new")), "{:?}", left.keys());
        // It may be repeated with other settings, or in memory.
        for (on_disk, fingerprint_hash) in [(true, 1), (true, 7), (false, 8)] {
            let settings = settings(on_disk, fingerprint_hash);
            let dir = TableDir::open(&folder).expect("a folder");
            let clusterer = dir.load_or_begin(&settings).expect("an empty table");
            assert_eq!((clusterer.centroid_count(), clusterer.founded()), (0, 0));
        }
        make(&folder, true, 40, true);
        let names: Vec<String> = contents(&folder).into_keys().collect();
        assert_eq!(names.iter().filter(|name| name.starts_with("centroids-")).count(), 1, "{names:?}");
        let refused = TableDir::open(&folder).and_then(|dir| dir.load_or_begin(&settings(true, 7)));
        assert!(refused.err().expect("refused").to_string().contains("made with other settings"));
    }

    #[test]
    fn a_table_keeps_its_id_and_another_one_that_replaces_it_gets_another_id() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().join("table");
        let settings = settings(false, 1);
        let id = || {
            let saved = TableDir::inspect(&folder, |_, _| {}).expect("read").expect("a table");
            saved.table_id.expect("an id")
        };
        make(&folder, false, 0, false);
        let first = id();
        make(&folder, false, 10, true);
        make(&folder, false, 10, true);
        assert_eq!(id(), first);
        // A program that embeds Leitong may save a table that it has not loaded.
        let dir = TableDir::open(&folder).expect("a folder");
        let mut other = empty(&settings);
        decide(&mut other, 10, 5);
        dir.load(&settings).expect("loaded");
        dir.save(&other, &settings).expect("saved");
        let second = id();
        assert_ne!(second, first);
        dir.save(&other, &settings).expect("saved");
        assert_eq!(id(), second);
    }

    fn empty(settings: &TableSettings) -> Clusterer {
        Clusterer::new(Arc::clone(&settings.detector), settings.rules.clone(), Position::default())
    }
}
