//! The one thread that changes the table: what waits is written to the journal together, and
//! decided on once it is on disk.
//!
//! ```text
//! submissions ─► group: all that wait ─► journal, fsync ─► decide, in order ─► verdicts
//!                                                             └ now and then: save the table
//! ```
//! Invariants: the order of deciding is that of the journal; nothing is decided on before it is on
//! disk, so no look-up sees a page that a crash could take back. Cost: one fsync a group, however
//! many connections wait. While the table is saved look-ups go on, and stores wait.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::problem::{Kind, Problem};
use super::store::{Store, journal_head, place};
use crate::config::ApiConfig;
use crate::log::entry::page_message;
use crate::proto::JournalBatch;
use crate::record::FingerprintRecord;
use crate::record::timestamp::Timestamp;
use crate::snapshot::journal::Journal;
use crate::snapshot::{SnapshotError, TableDir, TableSettings};

/// Pages from which on a group takes no more submissions, so that look-ups never wait for long.
const GROUP_PAGES: usize = 1_000;
/// Submissions that wait.
pub(super) const QUEUE: usize = 1_024;

/// The pages of a request, to be stored all together.
pub(super) struct Submission {
    pub(super) pages: Vec<FingerprintRecord>,
    /// Gets their verdicts as JSON, in their order, or why none of them is stored.
    pub(super) reply: Reply,
}

/// Who waits for the verdicts of a request.
type Reply = oneshot::Sender<Result<Vec<Box<[u8]>>, Problem>>;

/// Journal and folder of a [`Store`].
pub struct Committer {
    store: Arc<Store>,
    journal: Journal,
    folder: TableDir,
    settings: TableSettings,
    journal_bytes_max: u64,
    /// Bytes of the journal at which the table is saved.
    save_at: u64,
    /// Nothing of what was decided was read from files that failed.
    is_fit: bool,
}

impl Committer {
    pub(super) fn new(
        store: Arc<Store>,
        journal: Journal,
        folder: TableDir,
        settings: TableSettings,
        config: &ApiConfig,
    ) -> Self {
        let save_at = config.journal_bytes_max.max(folder.saved_bytes());
        let journal_bytes_max = config.journal_bytes_max;
        Self { store, journal, folder, settings, journal_bytes_max, save_at, is_fit: true }
    }

    /// Stores what is submitted until nobody can submit any more; then saves the table.
    ///
    /// # Errors
    /// The table cannot be saved. The journal has what it lacks.
    pub(super) fn run(mut self, mut submissions: mpsc::Receiver<Submission>) -> Result<(), SnapshotError> {
        while let Some(first) = submissions.blocking_recv() {
            let mut pages = first.pages.len();
            let mut group = vec![first];
            while pages < GROUP_PAGES
                && let Ok(next) = submissions.try_recv()
            {
                pages += next.pages.len();
                group.push(next);
            }
            self.commit(group);
            if self.is_fit && self.journal.bytes() >= self.save_at {
                self.save_now_and_then();
            }
        }
        if !self.is_fit {
            tracing::warn!("the table is not saved, since its files failed; the journal has what it lacks");
            return Ok(());
        }
        if self.journal.has_failed() {
            tracing::warn!("the table is not saved, since its journal failed; it is read at the next start");
            return Ok(());
        }
        self.save()?;
        self.journal.remove()
    }

    /// Makes a group durable, decides on it and answers.
    fn commit(&mut self, group: Vec<Submission>) {
        let (mut pages, mut replies) = (Vec::new(), Vec::with_capacity(group.len()));
        for submission in group {
            replies.push((submission.pages.len(), submission.reply));
            pages.extend(submission.pages);
        }
        if let Some(problem) = self.store.fault_of_table() {
            self.is_fit = false;
            refuse(replies, &problem);
            return;
        }
        let first_log_offset = self.store.position().next_log_offset;
        for (log_offset, page) in (first_log_offset..).zip(&mut pages) {
            page.source = place(log_offset);
        }
        let now = Timestamp::now();
        let detector = self.settings.detector.name();
        let batch = JournalBatch {
            first_log_offset,
            decided_at_ms: now.as_ms(),
            pages: pages.iter().map(|page| page_message(page.clone(), detector)).collect(),
        };
        if let Err(error) = self.journal.append(&batch) {
            tracing::error!(%error, "the journal cannot be written, so pages are not stored");
            let remedy = match self.journal.has_failed() {
                true => {
                    self.store.journal_has_failed();
                    "whether this request's pages are stored is not known, and nothing more is until a restart"
                }
                false => "none of this request's pages is stored; make room on the disk, and send it again",
            };
            let problem = Problem::new(Kind::NotDurable, format!("the journal cannot be written: {remedy}"));
            refuse(replies, &problem);
            return;
        }
        let verdicts = self.store.decide(pages, now);
        if let Some(mut problem) = self.store.fault_of_table() {
            self.is_fit = false;
            tracing::error!("the table cannot be relied on, so nothing more is stored: {}", problem.detail);
            problem.detail +=
                "; this request's pages are in the journal, and get their verdicts at the next start";
            refuse(replies, &problem);
            return;
        }
        let mut verdicts = self.store.keep(&verdicts).into_iter();
        for (count, reply) in replies {
            let _ = reply.send(Ok(verdicts.by_ref().take(count).collect()));
        }
    }

    /// Saves the table in the midst; if that fails, the journal goes on.
    fn save_now_and_then(&mut self) {
        let began = Instant::now();
        let saved = self.save().and_then(|()| {
            let head = journal_head(&self.settings, self.store.position());
            match Journal::create(&self.folder.journal_path(), head) {
                Ok(journal) => self.journal = journal,
                Err(error) => {
                    // The old one may or may not have lost its name.
                    self.journal.give_up();
                    self.store.journal_has_failed();
                    return Err(error);
                }
            }
            Ok(())
        });
        match saved {
            Ok(()) => {
                self.save_at = self.journal_bytes_max.max(self.folder.saved_bytes());
                tracing::info!("saved the table in {:.1} s", began.elapsed().as_secs_f64());
            }
            Err(error) => {
                // Not at once again: on a full disk it would fail at every group.
                self.save_at = self.journal.bytes().saturating_mul(2);
                tracing::error!("cannot save the table, the journal goes on: {error}");
            }
        }
    }

    /// Saves the verdicts that were given last, and then the table: of a crash between the two
    /// nothing is left but verdicts that are known already.
    fn save(&self) -> Result<(), SnapshotError> {
        {
            let recent = self.store.recent();
            self.folder.save_recent(recent.len() as u64, recent.iter())?;
        }
        self.folder.save_in_between(self.store.read().clusterer(), &self.settings)
    }
}

/// Tells those who wait for verdicts that there are none.
fn refuse(replies: Vec<(usize, Reply)>, problem: &Problem) {
    for (_, reply) in replies {
        // Whoever asked may be gone.
        let _ = reply.send(Err(problem.clone()));
    }
}
