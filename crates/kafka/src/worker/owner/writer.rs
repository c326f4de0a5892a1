//! Writes an owner's transactions. Each one is retried until it is known to be committed.
//!
//! ```text
//! parts ─► transaction ─► committed ─► next parts
//!              └ failed: a new producer fences the old one and ends its transaction,
//!                        then what is visible of it is read (doubt.rs), and the rest is written again
//! ```
//! A batch comes in parts. One transaction has as many parts as can be committed quickly. So a slow or
//! throttling broker gets smaller transactions: one that takes longer than `transaction.timeout.ms` would
//! never be committed.

use std::time::Duration;

use super::doubt;
use super::outputs::{OutputRecord, Outputs};
use super::owned::OwnedPartition;
use super::take_over::take_over;
use super::transaction::TransactionalProducer;
use super::trouble::Trouble;
use crate::kafka::error::refused;
use crate::kafka::ports::{Delivered, Reader, RequestError};
use crate::worker::ports::World;
use crate::worker::registry::Served;
use leitong_base::error::Context;
use leitong_graph::telemetry::{metrics, traces};
use leitong_pipeline::marks::now;
use leitong_pipeline::templates;

/// Duration above which a transaction counts as too large: a fifth of the default `transaction.timeout.ms`.
const SLOW: Duration = Duration::from_secs(2);
/// Duration below which the next transaction may be larger.
const QUICK: Duration = Duration::from_millis(500);
/// Pause after a failed transaction.
const FAILED_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of parts in a transaction. `kafka.transaction.records_max` allows no more.
const PARTS_MAX: usize = 1 << 17;

/// The writer of one partition's transactions.
pub(super) struct Writer<'a, W: World> {
    owned: &'a OwnedPartition<W>,
    /// The producer, or `None` after a failure or disturbance.
    producer: Option<TransactionalProducer<W::Client>>,
    reader: &'a W::Reader,
    /// The first changelog offset after the committed records, or `None` if it is unknown.
    pub(super) changelog_next: Option<u64>,
    /// The log offset that the group has committed with this owner's table.
    committed: Option<u64>,
    /// The current maximum number of parts in a transaction.
    parts_max: usize,
    /// This owner's entry in the registry. It keeps committed verdicts for look-ups.
    pub(super) served: Option<Served<'a>>,
}

impl<'a, W: World> Writer<'a, W> {
    pub(super) fn new(
        owned: &'a OwnedPartition<W>,
        producer: TransactionalProducer<W::Client>,
        reader: &'a W::Reader,
        changelog_next: Option<u64>,
        committed: Option<u64>,
    ) -> Self {
        let producer = Some(producer);
        Self { owned, producer, reader, changelog_next, committed, parts_max: PARTS_MAX, served: None }
    }

    /// Writes all parts, in order.
    pub(super) fn write(&mut self, mut parts: Vec<Outputs>) -> Result<(), Trouble> {
        let world = self.owned.world();
        let mut written = 0;
        while written < parts.len() {
            let end = parts.len().min(written.saturating_add(self.parts_max));
            // Nothing may be written to a topic that has replaced the log or the changelog.
            world.verify_table()?;
            let began = world.now();
            let (committed, took) = self.try_write(&mut parts[written..end])?;
            metrics::stage("transaction", world.now().duration_since(began));
            self.adapt(end - written, committed, took);
            if committed {
                parts[written..end].iter_mut().for_each(|part| self.count(part));
                self.committed = Some(parts[end - 1].next_log_offset);
                written = end;
            }
        }
        Ok(())
    }

    /// Handles the client's events while there is nothing to write. If the client was disturbed, it is
    /// replaced before the next transaction.
    pub(super) fn idle(&self) {
        let _ = self.producer.as_ref().map(TransactionalProducer::disturbance);
    }

    /// Lowers the number of parts after a long commit, and raises it after a short one. A transaction that
    /// fails at once, mostly because of a rebalance, does not change the number.
    fn adapt(&mut self, parts: usize, committed: bool, took: Duration) {
        if took > SLOW {
            self.parts_max = (parts / 2).max(1);
            if parts > 1 {
                tracing::info!(
                    partition = self.owned.partition,
                    parts = self.parts_max,
                    "the broker is slow: using smaller transactions"
                );
            }
        } else if committed && took < QUICK && parts == self.parts_max {
            self.parts_max = (parts * 2).min(PARTS_MAX);
        }
    }

    /// Tries to write and commit the parts. Returns true if they are committed. Otherwise, the records that
    /// remain in them must be written again. Also returns how long the commit took.
    fn try_write(&mut self, parts: &mut [Outputs]) -> Result<(bool, Duration), Trouble> {
        let (owned, world) = (self.owned, self.owned.world());
        let config = &owned.config().kafka;
        let producer = self.undisturbed_producer()?;
        // Read for each commit, because every rebalance changes the generation of the group.
        let group = world.group().context("this instance has left its group")?;
        let began = world.now();
        let began_at = traces::tracer().map_or(0, |_| now());
        let result = producer.commit(parts, config, &group);
        let took = world.now().duration_since(began);
        metrics::transaction(result.is_ok(), took);
        match result {
            Ok(changelog_next) => {
                self.changelog_next = changelog_next;
                if traces::tracer().is_some() {
                    tell(parts, &producer.delivered(), began_at);
                }
                self.producer = Some(producer);
                Ok((true, took))
            }
            Err(error) => {
                let delivered = producer.delivered();
                drop(producer);
                self.changelog_next = None;
                self.failed(error, parts)?;
                if owned.stop.is_requested() {
                    return Err(Trouble::Transient(refused!("stopped")));
                }
                // Fences the previous producer, so its result cannot change any more.
                self.producer = Some(take_over(self.owned, self.reader)?);
                let committed = doubt::resolve(owned, self.reader, self.committed, parts, &delivered)?;
                Ok((committed, took))
            }
        }
    }

    /// Returns the producer, or a new one if a request of the present one may still be on its way. The epoch
    /// of the new one fences that request.
    fn undisturbed_producer(&mut self) -> Result<TransactionalProducer<W::Client>, Trouble> {
        let Some(producer) = self.producer.take() else { return self.take_over_again() };
        let Some(what) = producer.disturbance() else { return Ok(producer) };
        tracing::info!(
            partition = self.owned.partition,
            "using a new producer, because a late request of the old one must not count: {what}"
        );
        drop(producer);
        self.take_over_again()
    }

    /// Creates a new producer for the current table. The producer fences any owner that has taken over
    /// meanwhile. Kafka lets any member of the group commit any partition's offset, so work that such an owner
    /// has done must not be done again. Once all others are fenced, the committed offset shows if there is such
    /// work.
    fn take_over_again(&self) -> Result<TransactionalProducer<W::Client>, Trouble> {
        let producer = take_over(self.owned, self.reader)?;
        match self.reader.committed()? {
            committed if committed == self.committed => Ok(producer),
            committed => Err(doubt::other_owner(committed)),
        }
    }

    /// Handles a failed transaction. Returns `Ok` if it may be written again: if its result is unknown, or if
    /// dead letters were refused and now have no values.
    fn failed(&self, error: RequestError, parts: &mut [Outputs]) -> Result<(), Trouble> {
        let owned = self.owned;
        let partition = owned.partition;
        match error {
            RequestError::Refused { ref topic, bytes, ref code } => {
                let left_out = if *topic == owned.config().kafka.topics.dead_letters {
                    parts.iter_mut().map(Outputs::leave_out_values).sum()
                } else {
                    0
                };
                if left_out == 0 {
                    return Err(Trouble::Halted(format!("{error}; see `leitong run --check`")));
                }
                tracing::warn!(partition, topic, bytes, %code, left_out, "dead letters are written without their values");
                metrics::DEAD_LETTER_VALUES_LEFT_OUT.add(left_out);
                Ok(())
            }
            RequestError::Retriable(why) | RequestError::Failed(why) => {
                tracing::warn!(
                    partition,
                    "the result of a transaction is unknown; checking whether it was committed: {why}"
                );
                owned.world().wait(&owned.stop, FAILED_PAUSE);
                Ok(())
            }
            fenced @ RequestError::Fenced(_) => Err(fenced.into()),
        }
    }

    /// Counts committed outputs, and keeps their verdicts for look-ups. If the commit was confirmed only
    /// later, also records their traces.
    fn count(&self, outputs: &mut Outputs) {
        if traces::tracer().is_some() {
            tell(std::slice::from_mut(outputs), &[], now());
        }
        if let Some(served) = &self.served {
            served.keep(std::mem::take(&mut outputs.kept));
        }
        let now = self.owned.world().timestamp();
        templates::committed(&outputs.noticed);
        for (counts, log_time) in &outputs.outcomes {
            metrics::committed(counts);
            let delay = log_time.map(|log_time| {
                let delay = u64::try_from(now.as_ms() - log_time.as_ms()).unwrap_or(0);
                Duration::from_millis(delay)
            });
            delay.into_iter().for_each(|delay| metrics::VERDICT_DELAY_SECONDS.record(delay));
        }
    }
}

/// Records the traces of committed verdicts and dead letters. `delivered` has the places of the records, in
/// the order of sending.
fn tell(parts: &mut [Outputs], delivered: &[Option<Delivered>], began: u64) {
    let Some(tracer) = traces::tracer() else { return };
    let records = parts.iter_mut().flat_map(|part| &mut part.records);
    for (number, OutputRecord { trace, .. }) in records.enumerate() {
        if let Some(trace) = trace.take() {
            tracer.committed(&trace, delivered.get(number).copied().flatten(), began);
        }
    }
}
