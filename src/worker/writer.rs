//! Writes an owner's transactions, each until it is known to be committed.
//!
//! ```text
//! parts ─► transaction ─► committed ─► next parts
//!              └ failed: a new producer fences the old one and ends its transaction,
//!                        then what is visible of it is read (doubt.rs), and the rest is written again
//! ```
//! A batch comes in parts. As many of them as are committed in good time make
//! one transaction: a broker that throttles or is slow gets smaller ones, since
//! one that takes longer than `transaction.timeout.ms` would never be committed.

use std::time::Duration;

use anyhow::Context;

use super::doubt::{self, Fate};
use super::owner::{Owner, Trouble};
use super::ports::World;
use super::registry::Served;
use super::transaction::{TransactionError, TransactionalProducer};
use crate::kafka::ports::Delivered;
use crate::kafka::ports::{Reader, RequestError};
use crate::telemetry::traces::page::Committed;
use crate::telemetry::{exemplars, metrics, tally, templates, traces};
use crate::worker::outputs::{Counted, OutputRecord, Outputs, To};

/// A transaction that takes longer is too large: a fifth of the default time-out.
const SLOW: Duration = Duration::from_secs(2);
/// One that takes less may be larger.
const QUICK: Duration = Duration::from_millis(500);
/// How long to wait after a failed transaction.
const FAILED_PAUSE: Duration = Duration::from_millis(100);
/// Parts of the largest transaction there can be: `kafka.transaction.records_max` has no more.
const PARTS_MAX: usize = 1 << 17;

/// The writer of one partition's transactions.
pub(super) struct Writer<'a, W: World> {
    owner: &'a Owner<W>,
    /// None after a failure, or once it was disturbed.
    producer: Option<TransactionalProducer<W::Client>>,
    reader: &'a W::Reader,
    /// The first offset of the changelog behind what is committed; none where that is not known.
    pub(super) changelog_next: Option<u64>,
    /// What the group has committed, as far as this owner's table goes.
    committed: Option<u64>,
    /// Parts that make one transaction, at most.
    parts_max: usize,
    /// Look-ups read the table, and what is committed.
    pub(super) served: Option<Served<'a>>,
}

impl<'a, W: World> Writer<'a, W> {
    pub(super) fn new(
        owner: &'a Owner<W>,
        producer: TransactionalProducer<W::Client>,
        reader: &'a W::Reader,
        changelog_next: Option<u64>,
        committed: Option<u64>,
    ) -> Self {
        let producer = Some(producer);
        Self { owner, producer, reader, changelog_next, committed, parts_max: PARTS_MAX, served: None }
    }

    /// Writes all parts, in order.
    pub(super) fn write(&mut self, mut parts: Vec<Outputs>) -> Result<(), Trouble> {
        let world = &self.owner.role.world;
        let mut written = 0;
        while written < parts.len() {
            let end = parts.len().min(written.saturating_add(self.parts_max));
            // Without its topics no transaction is ever committed.
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

    /// Takes in what the client has to say while there is nothing
    /// to write; a disturbed one goes with the next transaction.
    pub(super) fn idle(&self) {
        let _ = self.producer.as_ref().map(TransactionalProducer::disturbance);
    }

    /// Fewer parts at once after a long wait, more after a short one. A failure
    /// without a wait says nothing of their number: a rebalance, mostly.
    fn adapt(&mut self, parts: usize, committed: bool, took: Duration) {
        if took > SLOW {
            self.parts_max = (parts / 2).max(1);
            if parts > 1 {
                tracing::info!(
                    partition = self.owner.partition,
                    parts = self.parts_max,
                    "the broker is slow: smaller transactions"
                );
            }
        } else if committed && took < QUICK && parts == self.parts_max {
            self.parts_max = (parts * 2).min(PARTS_MAX);
        }
    }

    /// Whether the parts are committed (false: what is left of
    /// them is to be written again), and how long the commit took.
    fn try_write(&mut self, parts: &mut [Outputs]) -> Result<(bool, Duration), Trouble> {
        let (owner, world) = (self.owner, &self.owner.role.world);
        let config = &owner.config().kafka;
        let producer = self.undisturbed_producer()?;
        // Asked for at each commit: the generation changes with every rebalance.
        let group = world.group().context("this instance has left its group")?;
        let began = world.now();
        let began_at = traces::tracer().map_or(0, |_| traces::now());
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
                if owner.stop.is_requested() {
                    return Err(Trouble::Transient(anyhow::anyhow!("stopped")));
                }
                // Fences the one before, so that what came of it cannot change any more.
                self.producer = Some(owner.take_over(self.reader)?);
                let fate = doubt::resolve(owner, self.reader, self.committed, parts, &delivered)?;
                Ok((fate == Fate::Committed, took))
            }
        }
    }

    /// The producer, or a new one if a request of the present
    /// one may still be on its way: the new epoch fences it.
    fn undisturbed_producer(&mut self) -> Result<TransactionalProducer<W::Client>, Trouble> {
        let Some(producer) = self.producer.take() else { return self.take_over_again() };
        let Some(what) = producer.disturbance() else { return Ok(producer) };
        tracing::info!(
            partition = self.owner.partition,
            "going on with a new producer, since a request of this one may still arrive: {what}"
        );
        metrics::producer_replaced();
        drop(producer);
        self.take_over_again()
    }

    /// A new producer for the table at hand. It fences whoever has taken the partition over
    /// meanwhile, and Kafka lets any member of the group commit any partition's offset: so one that
    /// has gone on must not be overtaken by what it has done already. Once all others are fenced,
    /// the committed offset tells.
    fn take_over_again(&self) -> Result<TransactionalProducer<W::Client>, Trouble> {
        let producer = self.owner.take_over(self.reader)?;
        match self.reader.committed()? {
            committed if committed == self.committed => Ok(producer),
            committed => Err(doubt::other_owner(committed)),
        }
    }

    /// What to do about a failure: fenced and refused ones are not tried again as they are.
    fn failed(&self, error: TransactionError, parts: &mut [Outputs]) -> Result<(), Trouble> {
        let owner = self.owner;
        let partition = owner.partition;
        match error {
            TransactionError::Refused(RequestError::Refused { ref topic, bytes, code }) => {
                let left_out = if *topic == owner.config().kafka.topics.dead_letters {
                    parts.iter_mut().map(Outputs::leave_out_values).sum()
                } else {
                    0
                };
                if left_out == 0 {
                    return Err(Trouble::Halted(format!("{error}; see `leitong topics check`")));
                }
                tracing::warn!(partition, topic, bytes, %code, left_out, "dead letters go without their values");
                metrics::values_left_out(left_out);
                Ok(())
            }
            TransactionError::Failed(why) => {
                tracing::warn!(partition, "transaction not committed, finding out what came of it: {why}");
                owner.role.world.wait(&owner.stop, FAILED_PAUSE);
                Ok(())
            }
            other => Err(other.into()),
        }
    }

    /// Counts what is committed; of a transaction of which that was found out later, traces are told now.
    fn count(&self, outputs: &mut Outputs) {
        if traces::tracer().is_some() {
            tell(std::slice::from_mut(outputs), &[], traces::now());
        }
        if let Some(served) = &self.served {
            served.keep(std::mem::take(&mut outputs.kept));
        }
        let now = self.owner.role.world.timestamp();
        tally::committed(&outputs.tallied);
        templates::committed(&outputs.noticed);
        for Counted { outcome, log_time, exemplar } in &outputs.outcomes {
            metrics::committed(outcome);
            let delay = log_time.map(|log_time| {
                let delay = u64::try_from(now.as_ms() - log_time.as_ms()).unwrap_or(0);
                Duration::from_millis(delay)
            });
            delay.into_iter().for_each(metrics::verdict_delay);
            if let Some(exemplar) = exemplar {
                exemplars::committed(outcome, exemplar, delay.map(|delay| delay.as_secs_f64()), now);
            }
        }
    }
}

/// Tells the traces of committed outcomes, which stand at `delivered` in the order of sending.
fn tell(parts: &mut [Outputs], delivered: &[Option<Delivered>], began: u64) {
    let Some(tracer) = traces::tracer() else { return };
    let records = parts.iter_mut().flat_map(|part| &mut part.records);
    for (number, OutputRecord { to, trace, .. }) in records.enumerate() {
        if let Some(trace) = trace.take() {
            let at = delivered.get(number).copied().flatten();
            let at = at.map(|at| (at.partition, at.offset));
            tracer.committed(&trace, Committed { is_verdict: *to == To::Verdicts, at, began });
        }
    }
}
