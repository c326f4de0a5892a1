//! Owns one partition of the fingerprint log: takes it over, restores its table, and then decides and commits
//! batch by batch.
//!
//! In Kafka's terms: the instances of the cluster stage form one consumer group on the log, and an owner runs
//! while its partition is assigned to this instance. Its state is a centroid table. The changelog topic has
//! every change of that table. One transaction contains the verdicts of a batch, the changes of the table,
//! and the group's new offset in the log.
//!
//! Each partition has its own transactional id. So taking over means calling `init_transactions` under that
//! id: it fences the former owner, even one that does not know yet that it lost the partition, and ends its
//! open transaction. From then on only this owner can change the changelog and the committed offset, so it
//! can read both and rely on them.
//!
//! ```text
//! take over (take_over.rs: fences the former owner, ends its transaction)
//!    └► changelog to its end ─► committed offset ─► compare (../restore/) ─► read the log from there
//!          ┌────────────────────────────────────────────────────┘
//!          └► batch (batch.rs) ─► transaction (writer.rs) ─► …
//!                │                  └ failed: take over again, write again unless it was committed (doubt.rs)
//!                └► next batch, meanwhile ─► its transaction, once the one before is committed
//! ```
//! Read this file (the loop of an owner) → `take_over.rs` (`unended.rs` ends what brokers left open) → `../restore/`
//! (the table) → `batch.rs` and `../log_partition.rs` (decisions; `outputs.rs` has what they write) → `writer.rs` and
//! `transaction.rs` (`doubt.rs` if the result of a commit is unknown). All of them share `owned.rs`, and end with a
//! reason from `trouble.rs`.
//!
//! Example: owner A has committed the log up to offset 100, and its process freezes while it writes the
//! transaction for the records 100 to 149. After the session timeout, the group assigns the partition to B. B
//! takes over, so brokers abort that transaction: none of its verdicts becomes visible, and the committed
//! offset stays 100. B restores the table as of offset 100, and decides on 100 to 149 again. The verdicts are
//! the same, because they depend on nothing but the log. When A wakes up, brokers reject its commit, and A
//! drops its table.
//!
//! Invariants: transactions follow one another. The table is ahead of the broker by at most two batches, one
//! that is being written and one that is being decided. Each batch is written until it is committed, or the
//! table is dropped. The deletion of old records and the saving of blocks learn of a batch only after it is
//! committed. Memory: the table, two batches and their outputs.

mod batch;
mod doubt;
mod outputs;
pub(crate) mod owned;
mod take_over;
mod transaction;
pub(super) mod trouble;
mod unended;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::kafka::error::refused;
use crate::kafka::ports::{ReadMode, Reader};
use crate::worker::deletion::Committed;
use crate::worker::disk::DiskTable;
use crate::worker::log_partition::LogPartition;
use crate::worker::ports::World;
use crate::worker::replica::TableReplica;
use crate::worker::restore::{self, Restore, RestoredTable};
use batch::Batch;
use leitong_base::error::StepError;
use leitong_cluster::TableFault;
use leitong_cluster::changelog::Restoration;
use leitong_graph::telemetry::metrics;
use outputs::Outputs;
use owned::OwnedPartition;
use take_over::take_over;
use transaction::TransactionalProducer;
use trouble::Trouble;
use writer::Writer;

/// Pause before a failed attempt is repeated.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// Pause after being fenced. By then the consumer group has decided who owns the partition.
const FENCED_PAUSE: Duration = Duration::from_secs(4);
/// Number of fenced attempts in a row after which the owner reports that another process may be using its
/// transactional id.
const FENCED_ROUNDS_MAX: u32 = 3;
/// Time without being fenced after which earlier fencing no longer counts.
const FENCED_FORGOTTEN: Duration = Duration::from_secs(60);
/// Interval at which the reason of a halt is logged again.
const HALT_REMINDER: Duration = Duration::from_secs(60);

/// State that an owner keeps between attempts to serve.
#[derive(Default)]
struct History {
    /// Number of attempts in a row that found a damaged changelog.
    damaged: u32,
    /// Number of attempts in a row that ended by being fenced.
    fenced: u32,
}

/// A decided batch, and figures of the table at that time. When the batch is committed, the table may already
/// be ahead of it.
struct DecidedParts {
    parts: Vec<Outputs>,
    /// Number of the oldest centroid that has not expired.
    first: u64,
    /// Number of unexpired centroids.
    count: u64,
    oldest_log_offset: Option<u64>,
    centroids: usize,
}

impl DecidedParts {
    fn new(parts: Vec<Outputs>, state: &LogPartition) -> Result<Self, TableFault> {
        let table = state.clusterer();
        let (count, oldest_log_offset) = table.unexpired()?;
        let (first, centroids) = (table.founded() - count, table.centroid_count());
        Ok(Self { parts, first, count, oldest_log_offset, centroids })
    }
}

/// Owns the partition until its stop flag is raised.
pub(crate) fn run<W: World>(owned: &OwnedPartition<W>) {
    let table = owned.serve_until_stopped();
    owned.role.needed.remove(&owned.partition);
    // Without a standby, nobody would continue this table or drop it.
    let table = table.filter(|_| owned.config().kafka.standby);
    owned.role.tables.release(owned.partition, table);
}

impl<W: World> OwnedPartition<W> {
    fn serve_until_stopped(&self) -> Option<TableReplica> {
        let mut history = History::default();
        while !self.stop.is_requested() {
            // A panic must not silently leave the partition without an owner, so it counts as a transient
            // error.
            let served = catch_unwind(AssertUnwindSafe(|| self.serve(&mut history)));
            let served = served.unwrap_or_else(|_| {
                Err(Trouble::Transient(refused!(
                    "a bug in Leitong: the owner's thread panicked; please report it with the log"
                )))
            });
            match served {
                Ok(table) => return table,
                Err(trouble) => self.wait_after(trouble, &mut history),
            }
        }
        None
    }

    /// Waits as long as `trouble` requires.
    fn wait_after(&self, trouble: Trouble, history: &mut History) {
        let (partition, world) = (self.partition, self.world());
        // Once the owner is asked to stop, the partition is no longer its own, so errors no longer matter.
        let is_left = || self.stop.is_requested();
        if is_left() {
            tracing::info!(
                partition,
                "log partition: an error is ignored, because the partition is being released: {trouble}"
            );
            return;
        }
        let not_ready = |why: String| self.role.health.wait_for_unless(partition, why, is_left);
        match trouble {
            Trouble::Transient(error) => {
                not_ready(StepError::with_causes(&error));
                tracing::warn!(
                    partition,
                    "log partition: no verdicts for now; trying again: {}",
                    StepError::with_causes(&error)
                );
                world.wait(&self.stop, RETRY_PAUSE);
            }
            Trouble::Fenced(why) => {
                history.fenced += 1;
                not_ready(self.fenced(&why, history.fenced));
                tracing::warn!(
                    partition,
                    "log partition: no verdicts until its table is restored again: {}",
                    self.fenced(&why, history.fenced)
                );
                world.wait(&self.stop, FENCED_PAUSE);
            }
            halt @ (Trouble::Halted(_) | Trouble::Table(_)) => {
                let why = halt.to_string();
                not_ready(why.clone());
                metrics::halted(partition, true);
                while !self.stop.is_requested() {
                    tracing::error!(partition, "log partition halted: {why}");
                    world.wait(&self.stop, HALT_REMINDER);
                }
            }
            Trouble::Refused(why) => {
                not_ready(why.clone());
                self.role.refuse(refused!("log partition {partition}: {why}"));
                self.stop.request();
            }
        }
    }

    /// Returns the message for being fenced the `rounds`th time in a row.
    fn fenced(&self, why: &str, rounds: u32) -> String {
        if rounds < FENCED_ROUNDS_MAX {
            return why.to_owned();
        }
        format!(
            "{why}; this happened {rounds} times in a row: does a second installation have kafka.app = {:?} and other \
             topics? Give each installation its own kafka.app",
            self.config().kafka.app
        )
    }

    /// Serves the partition, from taking over to the stop. Returns the table if a standby can continue it.
    fn serve(&self, history: &mut History) -> Result<Option<TableReplica>, Trouble> {
        let reader = self.world().reader(
            &self.config().kafka.topics.fingerprints,
            self.partition,
            ReadMode::Following,
        )?;
        let producer = take_over(self, &reader)?;
        let mut table = match restore::restore(self, &reader, history.damaged + 1)? {
            Restore::Table(table) => table,
            Restore::Stopped(followed) => return Ok(followed.map(|followed| *followed)),
            Restore::Damaged(error) => {
                history.damaged += 1;
                return Err(Trouble::Transient(error.into()));
            }
        };
        history.damaged = 0;
        let mut disk = table.disk.take();
        match self.serve_table((&reader, producer), (table, &mut disk), history) {
            Ok(left) => Ok(left.map(|(restoration, next_offset)| TableReplica {
                is_whole: true,
                ..TableReplica::new(restoration, disk, next_offset)
            })),
            Err(trouble) => {
                if let (Trouble::Table(fault), Some(disk)) = (&trouble, &disk) {
                    disk.set_aside_after(fault);
                }
                Err(trouble)
            }
        }
    }

    /// Serves the partition with a restored table. After the stop, when all of the table is committed,
    /// returns the table and the next changelog offset, if a standby takes them.
    fn serve_table(
        &self,
        (reader, producer): (&W::Reader, TransactionalProducer<W::Client>),
        (table, disk): (RestoredTable, &mut Option<DiskTable>),
        history: &mut History,
    ) -> Result<Option<(Restoration, u64)>, Trouble> {
        let RestoredTable { mut state, reset, changelog_next, committed, .. } = table;
        let mut writer = Writer::new(self, producer, reader, changelog_next, committed);
        if reset {
            let changelog = state.take_changelog()?;
            writer.write(vec![Outputs { changelog, ..self.outputs(&state, state.next_offset()) }])?;
        }
        reader.begin(state.next_offset())?;
        writer.served = Some(self.role.tables.serve(self.partition, &mut state)?);
        self.decide_and_write(reader, (&mut state, disk), &mut writer, history)?;
        // Everything in the table is committed.
        let Some(next_offset) = writer.changelog_next.filter(|_| self.config().kafka.standby) else {
            return Ok(None);
        };
        writer.served = None;
        let position = state.position()?;
        let (stage, _) = state.into_parts();
        Ok(Some((Restoration::resume(stage.into_clusterer(), position), next_offset)))
    }

    /// Decides on batches and writes them, until the owner is stopped or an error occurs.
    fn decide_and_write(
        &self,
        reader: &W::Reader,
        (state, disk): (&mut LogPartition, &mut Option<DiskTable>),
        writer: &mut Writer<'_, W>,
        history: &mut History,
    ) -> Result<(), Trouble> {
        tracing::info!(
            partition = self.partition,
            offset = state.next_offset(),
            centroids = state.clusterer().centroid_count(),
            "log partition: serving"
        );
        metrics::halted(self.partition, false);
        let began = self.world().now();
        if disk.is_some() {
            state.insert_pending()?;
        }
        if history.fenced < FENCED_ROUNDS_MAX {
            self.role.health.stop_waiting_for(self.partition);
        }
        let mut waiting = None;
        while !self.stop.is_requested() {
            self.world().verify_table()?;
            let Batch { parts, trouble } = match waiting.take() {
                None => Batch::read(self, reader, state)?,
                Some(decided) => {
                    let (written, batch) = self
                        .world()
                        .both(|| self.write(decided, writer), || Batch::read(self, reader, state));
                    written?;
                    batch?
                }
            };
            let decided = match parts.is_empty() {
                true => None,
                false => Some(DecidedParts::new(parts, state)?),
            };
            match decided {
                None => {
                    writer.idle();
                    self.idle(state, disk, writer)?;
                }
                // Blocks can be saved only when all of the table is committed, so no other batch may be
                // decided before that.
                Some(decided) if disk.is_some() || trouble.is_some() => {
                    self.write(decided, writer)?;
                    self.save(state, disk, writer)?;
                }
                decided => waiting = decided,
            }
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
            self.reset_fence_count(began, history);
        }
        waiting.map_or(Ok(()), |decided| self.write(decided, writer))
    }

    /// Writes a decided batch, and retries until it is committed.
    fn write(&self, decided: DecidedParts, writer: &mut Writer<'_, W>) -> Result<(), Trouble> {
        let DecidedParts { parts, first, count, oldest_log_offset, centroids } = decided;
        writer.write(parts)?;
        metrics::CENTROIDS.set_of(self.partition, centroids as f64);
        let Some(next) = writer.changelog_next else { return Ok(()) };
        let position_offset = next.saturating_sub(1);
        self.role
            .needed
            .insert(self.partition, Committed { first, count, oldest_log_offset, position_offset });
        Ok(())
    }

    /// Continues writing old centroids to disk. After a restore, some of them may still be in memory only.
    fn idle(
        &self,
        state: &mut LogPartition,
        disk: &mut Option<DiskTable>,
        writer: &Writer<'_, W>,
    ) -> Result<(), TableFault> {
        if disk.is_some() {
            state.insert_pending()?;
        }
        self.save(state, disk, writer)
    }

    /// Informs the part of the table on disk that all of the table is committed.
    fn save(
        &self,
        state: &LogPartition,
        disk: &mut Option<DiskTable>,
        writer: &Writer<'_, W>,
    ) -> Result<(), TableFault> {
        match (disk, writer.changelog_next) {
            (Some(disk), Some(next)) => {
                disk.committed(&state.clusterer(), next, || state.position(), self.world().now())
            }
            _ => Ok(()),
        }
    }

    /// Resets the count of fenced attempts after a long time without one.
    fn reset_fence_count(&self, began: Instant, history: &mut History) {
        if history.fenced > 0 && self.world().now().duration_since(began) >= FENCED_FORGOTTEN {
            history.fenced = 0;
            self.role.health.stop_waiting_for(self.partition);
        }
    }
}
