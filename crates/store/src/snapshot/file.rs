//! The folder of a table: lock, load, save.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prost::Message;

use super::checksummed::{ChecksummedReader, ChecksummedWriter};
use super::folder::{self, Unfinished};
use super::{SnapshotError, recent};
use crate::blocks::{BlockStore, Folder, Manifest, StoreOptions};
use leitong_base::hashed::Seed;
use leitong_base::proto::{self, Blocks, Stretch};
use leitong_base::record::timestamp::Timestamp;
use leitong_cluster::changelog::centroid::{canonical_of, from_message, set_canonical, to_message};
use leitong_cluster::changelog::restore::{NUMBER_MAX, watermarks};
use leitong_cluster::changelog::{Identity, bounds, table_message, text_bounds};
use leitong_cluster::changelog::{crawl, texts};
use leitong_cluster::log::identity::TopicIds;
use leitong_cluster::log::watermarks::Watermarks;
use leitong_cluster::{ArticlePage, ClusterRules, Clusterer, OldCentroids, Position, SeenTexts, TableFault};
use leitong_fingerprint::Detector;

/// The version of saved tables. Since 2 they may have blocks, since 3 they may say what is known of urls,
/// and since 4 they have the texts of pages that joined clusters.
pub const FORMAT_WITH_TEXTS: u32 = 4;
const MAGIC: &[u8] = b"leitong centroid table\n";
pub(super) const FILE_NAME: &str = "centroids.leitong";
pub(super) const JOURNAL_NAME: &str = "journal.leitong";
pub(super) const RECENT_NAME: &str = "verdicts.leitong";
/// Bytes of one message: far above any centroid, so that a
/// damaged length does not ask for the whole memory.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

/// What a table is made with, and must be used with.
pub struct TableSettings {
    /// The detector whose fingerprints it holds.
    pub detector: Arc<dyn Detector>,
    /// How long its centroids are kept, and which pages stand for their clusters.
    pub rules: ClusterRules,
    /// Of the settings upstream of the log.
    pub fingerprint_hash: u64,
    /// Of the settings downstream of the log.
    pub cluster_hash: u64,
    /// Hash of `corpus.*`: under other settings no page would be compared with these centroids.
    pub corpus_hash: u64,
    /// How old centroids are kept on disk; none: all are in memory.
    pub on_disk: Option<StoreOptions>,
}

impl TableSettings {
    /// What a table of this log partition belongs to, where no topics are known.
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

/// A folder that holds a table, locked for this run.
pub struct TableDir {
    folder: PathBuf,
    lock: File,
    /// The saved table stays as it is until the run is through, whatever is saved [elsewhere](super::checkpointed).
    pub(super) checkpointed: bool,
    /// The blocks of the table that was loaded or begun.
    blocks: OnceLock<Arc<BlockStore>>,
    /// The runs that the loaded table has finished; the next saved table lists them as well.
    runs: Mutex<Vec<proto::FinishedRun>>,
}

impl TableDir {
    /// Locks `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// [`SnapshotError::Locked`] where another run has it, [`SnapshotError::JournalLeft`] where the
    /// table lacks pages that a journal has, [`SnapshotError::Io`] where it cannot be had.
    pub fn open(folder: &Path) -> Result<Self, SnapshotError> {
        let opened = Self::open_beside_journal(folder)?;
        let journal = opened.journal_path();
        if journal.exists() { Err(SnapshotError::JournalLeft { path: journal }) } else { Ok(opened) }
    }

    /// The same for whoever reads the [journal](super::journal) as well.
    ///
    /// # Errors
    /// As of [`Self::open`], but for the journal.
    pub fn open_beside_journal(folder: &Path) -> Result<Self, SnapshotError> {
        let path = folder.join("lock");
        match folder::lock(&path).map_err(at(&path))? {
            Some(lock) => {
                let (folder, blocks, runs) = (folder.to_owned(), OnceLock::new(), Mutex::default());
                Ok(Self { folder, lock, checkpointed: false, blocks, runs })
            }
            None => Err(SnapshotError::Locked { path: folder.to_owned() }),
        }
    }

    /// The table that the last run left, or none if there was no such run.
    ///
    /// # Errors
    /// [`SnapshotError`], where the file cannot be read, is
    /// damaged, or was made with other settings.
    pub fn load(&self, settings: &TableSettings) -> Result<Option<Clusterer>, SnapshotError> {
        Ok(self.load_with_watermarks(settings, false)?.map(|(clusterer, _)| clusterer))
    }

    /// The same with the watermarks of the log. `any_cluster_hash`: the settings
    /// downstream of the log may be others, which then count from here on.
    ///
    /// # Errors
    /// [`SnapshotError`], as of [`Self::load`].
    pub fn load_with_watermarks(
        &self,
        settings: &TableSettings,
        any_cluster_hash: bool,
    ) -> Result<Option<(Clusterer, Watermarks)>, SnapshotError> {
        self.load_file(&self.folder.join(FILE_NAME), settings, any_cluster_hash)
    }

    /// The same from a file that may be in another folder than its blocks.
    pub(super) fn load_file(
        &self,
        path: &Path,
        settings: &TableSettings,
        any_cluster_hash: bool,
    ) -> Result<Option<(Clusterer, Watermarks)>, SnapshotError> {
        let Some((mut reader, saved)) = begin_verified(path)? else { return Ok(None) };
        check_usable(path, &saved, settings, any_cluster_hash)?;
        self.set_runs(saved.runs.clone());
        if saved.founded > Some(NUMBER_MAX) || saved.dead_below > saved.founded.unwrap_or_default() {
            return Err(reader.damaged("it counts an impossible number of centroids"));
        }
        let position = position_of(&saved);
        let mut clusterer = self.clusterer(path, position, Some(&saved), settings)?;
        reader.articles(&saved, |page| clusterer.restore_article(page))?;
        for _ in 0..saved.centroid_count {
            let mut message: proto::Centroid = reader.message()?;
            let centroid = from_message(&mut message, &*settings.detector).map_err(|e| reader.damaged(&e))?;
            clusterer.restore(&message.corpus, message.fingerprint_hash, &centroid)?;
            let canonical = canonical_of(&message).map_err(|problem| reader.damaged(&problem))?;
            clusterer.restore_canonical(clusterer.founded() - 1, canonical);
        }
        let founded = clusterer.founded();
        reader.crawls(&saved, |reader, mut message| {
            let change = crawl::from_message(&mut message, &*settings.detector);
            let change = change.map_err(|problem| reader.damaged(&problem))?;
            let change = change.filter(|change| change.cluster < founded);
            clusterer.restore_crawl(change.ok_or_else(|| reader.damaged("a crawl is in no cluster"))?);
            Ok(())
        })?;
        if let Some(counted) = saved.crawls.filter(|counted| *counted <= NUMBER_MAX) {
            clusterer.restore_crawl_bounds((counted, saved.crawls_dead_below.min(counted)));
        }
        reader.texts(&saved, |reader, SeenTexts { first, texts }| {
            if first > NUMBER_MAX || texts.iter().any(|text| text.cluster >= founded) {
                return Err(reader.damaged("texts have an impossible number"));
            }
            clusterer.restore_texts(first, texts.into_iter());
            Ok(())
        })?;
        if let Some(texts) = text_bounds(&saved).filter(|texts| texts.counted <= NUMBER_MAX) {
            clusterer.restore_text_bounds(texts);
            if !clusterer.has_all_texts(texts) {
                return Err(reader.damaged("texts are missing"));
            }
        }
        reader.check_hash()?;
        let mut bounds = bounds(&saved);
        // Blocks that were just begun count from 0.
        let skipped = saved.founded.unwrap_or_default().saturating_sub(clusterer.founded());
        bounds.dead_below = bounds.dead_below.saturating_sub(skipped);
        clusterer.restore_bounds(bounds);
        Ok(Some((clusterer, watermarks(&saved))))
    }

    /// The table that the last run left, or an empty one.
    ///
    /// # Errors
    /// As of [`Self::load`].
    pub fn load_or_begin(&self, settings: &TableSettings) -> Result<Clusterer, SnapshotError> {
        match self.load(settings)? {
            Some(clusterer) => Ok(clusterer),
            None => self.clusterer(&self.folder.join(FILE_NAME), Position::default(), None, settings),
        }
    }

    /// A table without the centroids that are in no block.
    fn clusterer(
        &self,
        path: &Path,
        position: Position,
        saved: Option<&proto::Position>,
        settings: &TableSettings,
    ) -> Result<Clusterer, SnapshotError> {
        if !self.checkpointed {
            self.forget_checkpoints()?;
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
        // Nobody else has the folder as long as threads may write there.
        let locked = self.lock.try_clone().and_then(|lock| Folder::open_locked(&self.folder, lock));
        let files = Arc::new(locked.map_err(at(&self.folder))?);
        let own = if self.checkpointed { self.saved_manifest()? } else { None };
        let store = BlockStore::open_beside(files, Arc::clone(&detector), options, &manifest, own.as_ref())?;
        let store = Arc::new(store);
        let old = (Arc::clone(&store) as Arc<dyn OldCentroids>, manifest.first);
        // A table that is loaded again, by whoever has given the first one up, has a store of its own.
        let _ = self.blocks.set(store);
        let first_time = blocks.and_then(|blocks| blocks.first_time_ms).and_then(Timestamp::from_ms);
        let mut clusterer = Clusterer::with_old(detector, rules.expiry, position, first_time, old)?;
        if blocks.is_none() && first > 0 {
            clusterer.begin_at(first);
        }
        Ok(clusterer)
    }

    /// Which blocks the saved table has.
    fn saved_manifest(&self) -> Result<Option<Manifest>, SnapshotError> {
        let path = self.folder.join(FILE_NAME);
        let saved = begin_verified(&path)?;
        Ok(saved.and_then(|(_, saved)| saved.blocks.as_ref().map(manifest_of)))
    }

    /// Removes what a process left that was killed while it saved.
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

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The blocks of the table that was loaded or begun, if it has some.
    #[must_use]
    pub fn blocks(&self) -> Option<&BlockStore> {
        self.blocks.get().map(|blocks| &**blocks)
    }

    /// Where the journal is.
    pub fn journal_path(&self) -> PathBuf {
        self.folder.join(JOURNAL_NAME)
    }

    /// Bytes of the saved table; 0 where there is none.
    pub fn saved_bytes(&self) -> u64 {
        std::fs::metadata(self.folder.join(FILE_NAME)).map_or(0, |file| file.len())
    }

    /// The verdicts that were given last, as JSON, if they were saved.
    pub fn load_recent(&self) -> Result<Option<Vec<Box<[u8]>>>, SnapshotError> {
        recent::load(&self.folder.join(RECENT_NAME))
    }

    /// Saves the verdicts that were given last, `count` in number, in one step.
    pub fn save_recent<'a>(
        &self,
        count: u64,
        verdicts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), SnapshotError> {
        recent::save(&self.folder.join(RECENT_NAME), count, verdicts)
    }

    /// Saves the table instead of the last one, in one step.
    ///
    /// # Errors
    /// [`SnapshotError::Fault`] if the table cannot be relied on any more, and [`SnapshotError::Io`]. The last
    /// table is still there.
    pub fn save(&self, clusterer: &Clusterer, settings: &TableSettings) -> Result<(), SnapshotError> {
        self.save_with_watermarks(clusterer, &Watermarks::default(), settings)
    }

    /// Saves the table and the watermarks of the log instead of the last ones, in one step.
    ///
    /// # Errors
    /// As of [`Self::save`].
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

    /// The same without waiting for merges, for a table that goes on. Nothing is handed over to blocks
    /// meanwhile.
    ///
    /// # Errors
    /// [`SnapshotError`]; the last table is still there.
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
        // Checkpoints need what they name until they are gone.
        if let Some(blocks) = self.blocks().filter(|_| !self.checkpointed) {
            blocks.saved();
        }
        Ok(())
    }

    /// Writes the file that names the blocks, which may be in another folder, in one step.
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

    /// Returns what a saved table says about itself.
    fn position(
        &self,
        clusterer: &Clusterer,
        watermarks: &Watermarks,
        settings: &TableSettings,
        manifest: Option<&Manifest>,
    ) -> Result<proto::Position, TableFault> {
        let identity = settings.identity(clusterer.position().log_partition);
        let count = clusterer.in_memory_count() as u64;
        let mut position = table_message(clusterer, &identity, 0, count, watermarks)?;
        position.format_version = FORMAT_WITH_TEXTS;
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

    /// The runs that are part of the table, the oldest first.
    pub(super) fn runs(&self) -> Vec<proto::FinishedRun> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the runs that are part of the table.
    pub(super) fn set_runs(&self, runs: Vec<proto::FinishedRun>) {
        *self.runs.lock().unwrap_or_else(PoisonError::into_inner) = runs;
    }
}

/// The number of the first centroid that is in no block.
fn blocks_end(manifest: Option<&Manifest>) -> u64 {
    manifest.map_or(0, |manifest| manifest.end)
}

/// The name of a file until it is whole.
fn new_path(path: &Path) -> PathBuf {
    path.with_extension("leitong.new")
}

/// Refuses a part of a worker's table, and a table that was made with other settings. With
/// `any_cluster_hash` only the settings upstream of the log must be the same.
pub(super) fn check_usable(
    path: &Path,
    saved: &proto::Position,
    settings: &TableSettings,
    any_cluster_hash: bool,
) -> Result<(), SnapshotError> {
    let path = || path.to_owned();
    if saved.blocks.as_ref().is_some_and(|blocks| blocks.changelog.is_some()) {
        return Err(SnapshotError::OfWorker { path: path() });
    }
    let hashes = [
        ("fingerprint_hash", saved.fingerprint_hash, settings.fingerprint_hash),
        ("cluster_hash", saved.cluster_hash, settings.cluster_hash),
    ];
    for (which, found, wanted) in hashes {
        if found != wanted && !(any_cluster_hash && which == "cluster_hash") {
            return Err(SnapshotError::OtherSettings { path: path(), which, found, wanted });
        }
    }
    // Tables of former versions do not say. A log has its corpora in its records.
    if !any_cluster_hash && saved.corpus_hash.is_some_and(|found| found != settings.corpus_hash) {
        return Err(SnapshotError::OtherCorpora { path: path() });
    }
    Ok(())
}

/// Centroids of a table that have not expired.
pub fn unexpired(position: &proto::Position) -> u64 {
    let of_blocks =
        |blocks: &Blocks| (blocks.end.saturating_add(position.centroid_count)).saturating_sub(blocks.first);
    position.blocks.as_ref().map_or(position.centroid_count, of_blocks)
}

/// How far a saved table has read its log.
pub(super) fn position_of(saved: &proto::Position) -> Position {
    Position {
        log_generation: saved.log_generation,
        log_partition: saved.log_partition,
        next_log_offset: saved.next_log_offset,
        log_time: saved.log_time_ms.and_then(Timestamp::from_ms),
    }
}

/// A reader that stands before the first centroid, and what the table says of itself.
pub(super) fn begin(path: &Path) -> Result<Option<(Reader<'_>, proto::Position)>, SnapshotError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(path)(error)),
    };
    read_head(ChecksummedReader::new(file), path).map(Some)
}

/// The same, once the checksum of the whole file fits: for callers that delete or replace other files by
/// what this one says.
pub(super) fn begin_verified(path: &Path) -> Result<Option<(Reader<'_>, proto::Position)>, SnapshotError> {
    let Some((reader, saved)) = begin(path)? else { return Ok(None) };
    if !reader.rest_fits()? {
        return Err(damage_of(path, &saved));
    }
    begin(path)
}

/// Where a file whose checksum does not fit is damaged, as far as that can be told.
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
    let problem = "its checksum does not fit its contents".to_owned();
    read().err().unwrap_or_else(|| SnapshotError::Damaged { path: path.to_owned(), problem })
}

/// A reader that stands behind what the table says of itself, which is given as well.
pub(super) fn read_head(
    inner: ChecksummedReader,
    path: &Path,
) -> Result<(Reader<'_>, proto::Position), SnapshotError> {
    let mut reader = Reader { inner, path };
    let mut magic = [0; MAGIC.len()];
    reader.exact(&mut magic)?;
    if magic != MAGIC {
        return Err(reader.damaged("this is no centroid table"));
    }
    let saved: proto::Position = reader.message()?;
    match saved.format_version {
        found if found > FORMAT_WITH_TEXTS => {
            Err(SnapshotError::TooNew { path: path.to_owned(), found, known: FORMAT_WITH_TEXTS })
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
        let mut message = to_message(corpus, fingerprint_hash, &centroid, detector);
        set_canonical(&mut message, clusterer.canonical(number));
        writer.all(&message.encode_length_delimited_to_vec())?;
    }
    for change in clusterer.crawl_changes().1 {
        writer.all(&crawl::to_message(change).encode_length_delimited_to_vec())?;
    }
    let blocks_end = position.blocks.as_ref().map_or(0, |blocks| blocks.end);
    let (from, seen) = clusterer.seen_texts(blocks_end);
    let (mut seen, mut sequence) = (seen.peekable(), from.first);
    while seen.peek().is_some() {
        let some = seen.by_ref().take(texts::AT_ONCE);
        let message = texts::to_message(sequence, some, clusterer.founded());
        sequence += message.since.len() as u64;
        writer.all(&message.encode_length_delimited_to_vec())?;
    }
    writer.finish()
}

/// Writes a table with all its centroids in memory of the messages that it consists of.
pub(super) struct TableWriter(ChecksummedWriter);

impl TableWriter {
    /// Begins the table of `folder`, where there is none.
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

/// What a table says of itself, with the articles if it has blocks: all but the centroids that are
/// in no block, and the checksum.
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

/// What a saved table says of its blocks.
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

/// A number that no other table has.
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
            return Err(self.damaged("a message has an impossible length"));
        }
        let mut bytes = vec![0; length as usize];
        self.exact(&mut bytes)?;
        M::decode(&*bytes).map_err(|error| self.damaged(&format!("a message is broken: {error}")))
    }

    /// Reads the articles, which stand before the centroids where the table has blocks.
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

    /// Reads what is known of urls, which follows the centroids.
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

    /// Reads the texts of pages that joined clusters, which follow what is known of urls.
    pub(super) fn texts(
        &mut self,
        saved: &proto::Position,
        mut take: impl FnMut(&mut Self, SeenTexts) -> Result<(), SnapshotError>,
    ) -> Result<(), SnapshotError> {
        let mut left = saved.text_count;
        while left > 0 {
            let message: proto::Texts = self.message()?;
            let texts = texts::from_message(&message).map_err(|problem| self.damaged(&problem))?;
            let count = texts.len() as u64;
            if count == 0 || count > left {
                return Err(self.damaged("a message has an impossible number of texts"));
            }
            left -= count;
            take(self, SeenTexts { first: message.first, texts })?;
        }
        Ok(())
    }

    /// Reads the rest of the file, whatever it holds. Returns true if the checksum at its end fits.
    fn rest_fits(self) -> Result<bool, SnapshotError> {
        self.inner.rest_fits().map_err(at(self.path))
    }

    pub(super) fn check_hash(mut self) -> Result<(), SnapshotError> {
        match self.inner.sum_fits() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged("its checksum does not fit its contents")),
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
