//! The one thread that changes the table. It writes all waiting pages to the journal together, and decides on
//! them once they are on disk.
//!
//! ```text
//! submissions ─► group: all that wait ─► journal, fsync ─► decide, in order ─► verdicts
//!                                                             └ from time to time: save the table
//! ```
//! Invariants: decisions are in the order of the journal; nothing is decided before it is on disk, so no
//! look-up sees a page that a crash could undo. Cost: one fsync per group, however many connections wait.
//! While the table is being saved, look-ups continue and stores wait.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::problem::{Problem, ProblemKind};
use super::store::{Store, journal_head, place, unreliable};
use leitong_base::proto::JournalBatch;
use leitong_base::record::{FingerprintRecord, Timestamp};
use leitong_cluster::log::Entry;
use leitong_pipeline::config::ApiConfig;
use leitong_store::snapshot::{Journal, SnapshotError, TableDir, TableSettings};

/// Number of pages from which on a group accepts no more submissions, so look-ups never wait for long.
const GROUP_PAGES: usize = 1_000;
/// Limit on the number of waiting submissions.
pub(super) const QUEUE: usize = 1_024;

/// The pages of a request, which are stored together.
pub(super) struct Submission {
    /// The pages. If all requests of a group have none, the committer tries whether the last group that could not
    /// be stored would have room now.
    pub(super) pages: Vec<FingerprintRecord>,
    /// Sender for the verdicts as JSON, in the order of the pages, or for the reason why none of the pages is
    /// stored.
    pub(super) reply: Reply,
}

/// Channel for the verdicts of a request.
type Reply = oneshot::Sender<Result<Vec<Box<[u8]>>, Problem>>;

/// Writer of a [`Store`], with its journal and folder.
pub struct Committer {
    store: Arc<Store>,
    journal: Journal,
    folder: TableDir,
    settings: TableSettings,
    journal_bytes_max: u64,
    /// Size of the journal, in bytes, at which the table is saved.
    save_at: u64,
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
        Self { store, journal, folder, settings, journal_bytes_max, save_at }
    }

    /// Stores submissions until all senders are dropped. Then saves the table.
    ///
    /// # Errors
    /// Fails if the table cannot be saved. The journal then has the pages that the saved table lacks.
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
            if self.journal.bytes() >= self.save_at {
                self.save_now_and_then();
            }
        }
        if self.journal.has_failed() {
            tracing::warn!(
                "the table is not saved, since its journal failed; the journal is read at the next start"
            );
            return Ok(());
        }
        match self.save() {
            Ok(()) => self.journal.remove(),
            Err(SnapshotError::Fault(_)) => {
                tracing::warn!(
                    "the table cannot be saved, because its files cannot be written; no page is lost: the \
                     journal has the rest"
                );
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a group durable, decides on it, and sends the verdicts.
    fn commit(&mut self, group: Vec<Submission>) {
        let (mut pages, mut replies) = (Vec::new(), Vec::with_capacity(group.len()));
        for submission in group {
            replies.push((submission.pages.len(), submission.reply));
            pages.extend(submission.pages);
        }
        // If the table makes no more decisions, pages are not stored either.
        if let Err(fault) = self.store.check() {
            refuse(replies, &unreliable(&fault));
            return;
        }
        if pages.is_empty() {
            let tried = self.journal.try_again();
            let outcome = tried.map(|()| Vec::new()).map_err(|error| self.not_durable(&error));
            if outcome.is_ok() {
                self.store.set_storing_fault(None);
            }
            for (_, reply) in replies {
                let _ = reply.send(outcome.clone());
            }
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
            pages: pages.iter().map(|page| Entry::page_message(page.clone(), detector)).collect(),
        };
        if let Err(error) = self.journal.append(&batch) {
            let problem = self.not_durable(&error);
            tracing::error!("pages are not stored: {}", problem.detail);
            refuse(replies, &problem);
            return;
        }
        self.store.set_storing_fault(None);
        let verdicts = match self.store.decide(pages, now) {
            Ok(verdicts) => verdicts,
            Err(fault) => {
                let mut problem = unreliable(&fault);
                tracing::error!("no more pages are stored: {}", problem.detail);
                problem.detail +=
                    "; this request's pages are in the journal and will get their verdicts at the next start";
                refuse(replies, &problem);
                return;
            }
        };
        let mut verdicts = self.store.keep(&verdicts).into_iter();
        for (count, reply) in replies {
            let _ = reply.send(Ok(verdicts.by_ref().take(count).collect()));
        }
    }

    /// Records that the journal could not be written, and returns the problem of the requests that waited for it.
    fn not_durable(&self, error: &io::Error) -> Problem {
        let (pages, remedy) = match self.journal.has_failed() {
            true => ("it is not known whether this request's pages are stored", "restart the server"),
            false => ("none of this request's pages is stored", "free disk space, and retry"),
        };
        let fault = format!("the journal cannot be written ({error})");
        self.store.set_storing_fault(Some(format!("pages cannot be stored: {fault}; {remedy}")));
        Problem::new(ProblemKind::NotDurable, format!("{fault}: {pages}; {remedy}"))
    }

    /// Saves the table during operation. If that fails, the journal continues.
    fn save_now_and_then(&mut self) {
        let began = Instant::now();
        let saved = self.save().and_then(|()| {
            let head = journal_head(&self.settings, self.store.position(), self.folder.id());
            match Journal::create(&self.folder.journal_path(), head) {
                Ok(journal) => self.journal = journal,
                Err(error) => {
                    // It is unknown whether the new file has already replaced the old one.
                    self.journal.give_up();
                    let fault =
                        "pages cannot be stored: the journal could not be replaced; restart the server";
                    self.store.set_storing_fault(Some(fault.to_owned()));
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
            Err(SnapshotError::Fault(fault)) => {
                // The table is never saved again.
                self.save_at = u64::MAX;
                tracing::error!("no more pages are stored: the table cannot be relied on: {fault}");
            }
            Err(error) => {
                // Tries again only once the journal has doubled. On a full disk, an attempt after each group
                // would fail.
                self.save_at = self.journal.bytes().saturating_mul(2);
                tracing::error!(
                    "the table could not be saved; pages are still written to the journal: {error}"
                );
            }
        }
    }

    /// Saves the recent verdicts, and then the table. A crash between the two leaves only verdicts that are
    /// known from the journal as well.
    fn save(&self) -> Result<(), SnapshotError> {
        self.store.check()?;
        {
            let recent = self.store.recent.read();
            self.folder.save_recent(recent.len() as u64, recent.iter())?;
        }
        self.folder.save_in_between(self.store.read()?.clusterer(), &self.settings)
    }
}

/// Sends `problem` to all requests that wait for verdicts.
fn refuse(replies: Vec<(usize, Reply)>, problem: &Problem) {
    for (_, reply) in replies {
        // The client may be gone.
        let _ = reply.send(Err(problem.clone()));
    }
}
