//! Opens the table of a server, and shares it between look-ups and the committer.
//!
//! Look-ups [hold the read lock](super::shared_stage) while they search. The [committer](super::committer) holds the
//! write lock while it decides; if it panics, there is no table for look-ups any more. No lock is held while a page is
//! parsed, or during a wait for the disk. Cost of opening:
//! loading the table, and deciding again on the pages in the journal.

use std::sync::Arc;

use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock};

use super::committer::Committer;
use super::problem::{Problem, ProblemKind};
use super::recent::{Named, Recent};
use super::shared_stage::{SharedStage, StageReader};
use super::tables::{AsOf, KnownCluster, LookedUp, Tables};
use leitong_base::hashed::Seed;
use leitong_base::proto::{FORMAT_VERSION, JournalBatch, JournalHead};
use leitong_base::record::{FingerprintRecord, LogRecord, Place, Timestamp};
use leitong_cluster::log::Entry;
use leitong_cluster::verdict::{Conclusion, Verdict};
use leitong_cluster::{ClusterId, Clusterer, Position, PreviewOptions, Scratch, TableFault};
use leitong_graph::telemetry::metrics;
use leitong_pipeline::ClusterStage;
use leitong_pipeline::config::Config;
use leitong_store::snapshot::{Journal, SnapshotError, TableDir, TableSettings, Torn};

/// A table, and the recent verdicts.
pub struct Store {
    table: SharedStage,
    /// The table for look-ups.
    reader: StageReader,
    pub(super) recent: RwLock<Recent>,
    /// The reason why the last store failed; `None` if it worked.
    storing_fault: Mutex<Option<String>>,
}

/// The state of the journal when a store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Number of pages in the journal that the saved table lacked.
    pub replayed: u64,
    /// The incomplete write that was cut off the end of the journal.
    pub torn: Option<Torn>,
}

impl Store {
    /// Opens the table in `folder`, and applies the journal to it.
    ///
    /// # Errors
    /// [`SnapshotError`] if a file cannot be read, is damaged, or was made with other settings.
    pub fn open(
        folder: TableDir,
        settings: TableSettings,
        config: &Config,
    ) -> Result<(Arc<Self>, Committer, Found), SnapshotError> {
        let store = Self::new(folder.load_or_begin(&settings)?, &settings, config);
        store.load_recent(&folder)?;
        let mut replayed = 0;
        let path = folder.journal_path();
        let opened = Journal::open(
            &path,
            |head| check_head(head, &folder, &settings, store.position()),
            |batch| {
                replayed += store.replay(batch, &folder, &settings)?;
                Ok(())
            },
        )?;
        store.table.write(|stage| stage.clusterer_mut().insert_pending())?;
        let (journal, torn) = match opened {
            Some(opened) => opened,
            None => (Journal::create(&path, journal_head(&settings, store.position(), folder.id()))?, None),
        };
        let store = Arc::new(store);
        let committer = Committer::new(Arc::clone(&store), journal, folder, settings, &config.api);
        Ok((store, committer, Found { replayed, torn }))
    }

    /// Creates a store of this table, without recent verdicts.
    pub(super) fn new(clusterer: Clusterer, settings: &TableSettings, config: &Config) -> Self {
        let stage = ClusterStage::new(clusterer, Arc::clone(&settings.detector), settings.cluster_hash);
        let table = SharedStage::new(stage);
        Self {
            reader: table.reader(),
            table,
            recent: RwLock::new(Recent::new(config.api.recent_bytes_max)),
            storing_fault: Mutex::default(),
        }
    }

    /// Loads the verdicts on pages that the saved table has. The journal provides later ones.
    fn load_recent(&self, folder: &TableDir) -> Result<(), SnapshotError> {
        let next = self.position().next_log_offset;
        let mut recent = self.recent.write();
        for json in folder.load_recent()?.into_iter().flatten() {
            if let Some(named) = Named::from_json(&json).filter(|named| named.log_offset < next) {
                recent.push(named, json);
            }
        }
        Ok(())
    }

    /// Decides again on a batch of the journal. Returns the number of its pages that the table lacked.
    fn replay(
        &self,
        batch: JournalBatch,
        folder: &TableDir,
        settings: &TableSettings,
    ) -> Result<u64, SnapshotError> {
        let next = self.position().next_log_offset;
        if batch.first_log_offset > next {
            let (path, journal) = (folder.journal_path(), batch.first_log_offset);
            return Err(SnapshotError::JournalApart { path, journal, table: next });
        }
        let lacked = (batch.first_log_offset..).zip(batch.pages).filter(|(offset, _)| *offset >= next);
        let pages = lacked.map(|(offset, message)| {
            Entry::page_from_message(message, place(offset), &*settings.detector).map_err(|error| {
                SnapshotError::JournalDamaged {
                    path: folder.journal_path(),
                    at: 0,
                    problem: error.to_string(),
                }
            })
        });
        let pages: Vec<FingerprintRecord> = pages.collect::<Result<_, _>>()?;
        let replayed = pages.len() as u64;
        let decided_at = Timestamp::from_ms(batch.decided_at_ms).unwrap_or_else(Timestamp::now);
        let verdicts = self.decide(pages, decided_at)?;
        self.keep(&verdicts);
        Ok(replayed)
    }

    /// Decides on pages in their order, without making them durable. If files of the table cannot be read,
    /// there is no decision on any of the pages, and this and all later calls fail.
    pub(super) fn decide(
        &self,
        pages: Vec<FingerprintRecord>,
        decided_at: Timestamp,
    ) -> Result<Vec<Verdict>, TableFault> {
        let records = pages.into_iter().map(|page| LogRecord::Page(Box::new(page))).collect();
        let conclusions = self.table.write(|stage| stage.decide_batch(records, decided_at))?;
        conclusions.iter().for_each(|conclusion| metrics::committed(&metrics::counts(conclusion)));
        let verdict = |conclusion| match conclusion {
            Conclusion::Verdict(verdict) => *verdict,
            Conclusion::DeadLetter(_) => unreachable!("pages have verdicts"),
        };
        Ok(conclusions.into_iter().map(verdict).collect())
    }

    /// Keeps verdicts for later requests, and returns them as JSON.
    pub(super) fn keep(&self, verdicts: &[Verdict]) -> Vec<Box<[u8]>> {
        let json = |verdict: &Verdict| -> Box<[u8]> {
            serde_json::to_vec(verdict).expect("maps have texts for keys").into()
        };
        let all: Vec<Box<[u8]>> = verdicts.iter().map(json).collect();
        let mut recent = self.recent.write();
        for (verdict, json) in verdicts.iter().zip(&all) {
            recent.push(Named::from_verdict(verdict), json.clone());
        }
        all
    }

    /// Fails if the table makes no more decisions because its files failed, or because a decision panicked.
    pub(super) fn check(&self) -> Result<(), TableFault> {
        self.read()?.clusterer().check()
    }

    /// Records the reason why pages cannot be stored now; `None` if they can.
    pub(super) fn set_storing_fault(&self, fault: Option<String>) {
        *self.storing_fault.lock() = fault;
    }

    /// Returns the position of the table. Only the committer, and those that open the store, may call it.
    #[must_use]
    pub fn position(&self) -> Position {
        self.table.read().clusterer().position()
    }

    /// Locks the table for reading, which several threads can do at once. Fails if the committer panicked while it
    /// decided, because then the table is half changed.
    pub(super) fn read(&self) -> Result<MappedRwLockReadGuard<'_, ClusterStage>, TableFault> {
        self.reader.read().ok_or_else(|| {
            TableFault::unreadable(
                "a decision has failed because of a bug in Leitong, please report it; all answered pages are in the \
                 journal, from which a restart reads them",
            )
        })
    }
}

impl Tables for Store {
    fn look_up(
        &self,
        mut record: FingerprintRecord,
        preview: PreviewOptions,
        now: Timestamp,
        scratch: &mut Scratch,
    ) -> Result<LookedUp, Problem> {
        let table = self.read().map_err(|fault| unreliable(&fault))?;
        let position = table.clusterer().position();
        record.source = place(position.next_log_offset);
        let previewed = table.view().preview(record, preview, now, scratch);
        drop(table);
        let (verdict, nearest) = previewed.map_err(|fault| unreliable(&fault))?;
        Ok(LookedUp { verdict, nearest, as_of: AsOf::new(position, None) })
    }

    fn page(&self, page_id: &str) -> Result<Box<[u8]>, Problem> {
        let recent = self.recent.read();
        recent.page(page_id).map(Into::into).ok_or_else(|| {
            Problem::new(
                ProblemKind::UnknownPage,
                format!("{page_id:?}: no verdict on this page is kept (api.recent_bytes_max)"),
            )
        })
    }

    fn page_of_url(&self, url: &str) -> Result<Box<[u8]>, Problem> {
        self.recent.read().page_of_url(url).map(Into::into).ok_or_else(|| {
            Problem::new(
                ProblemKind::UnknownPage,
                format!("{url:?}: no verdict on a page with this url is kept (api.recent_bytes_max)"),
            )
        })
    }

    fn not_ready(&self) -> Option<String> {
        let fault = self.storing_fault.lock().clone();
        fault.or_else(|| self.check().err().map(|fault| unreliable(&fault).detail))
    }

    fn measure(&self) {
        if let Some(table) = self.reader.read() {
            metrics::CENTROIDS.set_of(0, table.clusterer().centroid_count() as f64);
        }
    }

    fn cluster(
        &self,
        id: ClusterId,
        members_max: usize,
        scratch: &mut Scratch,
    ) -> Result<KnownCluster, Problem> {
        let (centroid, position) = {
            let table = self.read().map_err(|fault| unreliable(&fault))?;
            (table.clusterer().centroid(id, scratch), table.clusterer().position())
        };
        let centroid = centroid.map_err(|fault| unreliable(&fault))?;
        let is_of_this_log =
            (id.log_generation, id.log_partition) == (position.log_generation, position.log_partition);
        let (members_kept, members) = match is_of_this_log {
            true => self.recent.read().youngest_members(id.log_offset, members_max),
            false => (0, Vec::new()),
        };
        Ok(KnownCluster { centroid, members_kept, members })
    }

    fn instead_of_storing(&self) -> Option<String> {
        None
    }
}

/// Returns the problem of a request to a table whose files failed.
pub(super) fn unreliable(fault: &TableFault) -> Problem {
    Problem::new(ProblemKind::NotReady, format!("the table cannot be relied on: {fault}"))
}

/// Returns the place of a page that came over the API: its number, from 1, in the log of this table.
pub fn place(log_offset: u64) -> Place {
    Place::Line { input: "api".into(), line: log_offset + 1 }
}

/// Returns the head of a journal that begins where the table with the id `table_id` ends.
pub(super) fn journal_head(
    settings: &TableSettings,
    position: Position,
    table_id: Option<u64>,
) -> JournalHead {
    let salt = Timestamp::now().as_ms() as u64;
    JournalHead {
        format_version: FORMAT_VERSION,
        fingerprint_hash: settings.fingerprint_hash,
        cluster_hash: settings.cluster_hash,
        corpus_hash: Some(settings.corpus_hash),
        next_log_offset: position.next_log_offset,
        log_generation: position.log_generation,
        salt: Seed::default().place(salt),
        table_id,
    }
}

/// Checks that a journal continues where the saved table ends, or begins before that.
fn check_head(
    head: &JournalHead,
    folder: &TableDir,
    settings: &TableSettings,
    table: Position,
) -> Result<(), SnapshotError> {
    let path = folder.journal_path();
    let hashes = [
        ("fingerprint_hash", head.fingerprint_hash, settings.fingerprint_hash),
        ("cluster_hash", head.cluster_hash, settings.cluster_hash),
    ];
    for (which, found, wanted) in hashes {
        if found != wanted {
            return Err(SnapshotError::OtherSettings { path, which, found, wanted });
        }
    }
    if head.corpus_hash.is_some_and(|found| found != settings.corpus_hash) {
        return Err(SnapshotError::OtherCorpora { path });
    }
    let of_other_table = || {
        let problem = "the journal belongs to another table than the one next to it".to_owned();
        Err(SnapshotError::JournalDamaged { path: folder.journal_path(), at: 0, problem })
    };
    // Journals of earlier versions have no id.
    if head.table_id.is_some() && head.table_id != folder.id() {
        return of_other_table();
    }
    if head.next_log_offset > table.next_log_offset {
        let (journal, table) = (head.next_log_offset, table.next_log_offset);
        return Err(SnapshotError::JournalApart { path, journal, table });
    }
    // A journal that was begun before the first page has no log generation yet.
    if head.log_generation != 0 && head.log_generation != table.log_generation {
        return of_other_table();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use leitong_cluster::ClusterRules;
    use leitong_fingerprint::detectors::simhash::SimHash;

    /// A panic in the middle of a decision leaves a table that may have a page without its texts or keys. Look-ups that
    /// went on with it could call a known page new.
    #[test]
    fn after_a_panic_in_a_decision_nothing_is_looked_up_any_more() {
        let config = Config::default();
        let settings = TableSettings {
            detector: Arc::new(SimHash::new(&config.simhash)),
            rules: ClusterRules::default(),
            fingerprint_hash: 1,
            cluster_hash: 2,
            corpus_hash: 3,
            on_disk: None,
        };
        let (detector, rules) = (Arc::clone(&settings.detector), settings.rules.clone());
        let store = Store::new(Clusterer::new(detector, rules, Position::default()), &settings, &config);
        let page = FingerprintRecord::numbered(1, None);
        let preview = PreviewOptions { top: 8, max_distance: None };
        let now = Timestamp::from_ms(1).expect("a time");
        let mut scratch = Scratch::default();
        let look_up = |scratch: &mut Scratch| store.look_up(page.clone(), preview, now, scratch).map(drop);
        assert!(look_up(&mut scratch).is_ok() && store.not_ready().is_none());
        let failed = catch_unwind(AssertUnwindSafe(|| store.table.write(|_| panic!("in a decision"))));
        assert!(failed.is_err());
        let problem = look_up(&mut scratch).expect_err("there is no table");
        assert!(problem.detail.contains("cannot be relied on"), "{}", problem.detail);
        let id = ClusterId { log_generation: 0, log_partition: 0, log_offset: 0 };
        assert!(store.cluster(id, 1, &mut scratch).is_err());
        assert!(store.check().is_err() && store.not_ready().is_some());
        store.measure();
    }
}
