//! Writes an owner's transactions, each until it is known to be committed.
//!
//! A batch comes in parts. As many of them as are committed in good time make one transaction: a broker that throttles
//! or is slow gets smaller ones, since one that takes longer than `transaction.timeout.ms` would never be committed.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::owner::{Owner, Trouble};
use crate::page::timestamp::Timestamp;
use crate::sink::kafka::outputs::Outputs;
use crate::sink::kafka::transaction::{TransactionError, TransactionalProducer};
use crate::source::kafka::partition::PartitionReader;
use crate::telemetry::metrics;

/// A transaction that takes longer is too large: a fifth of the default time-out.
const SLOW: Duration = Duration::from_secs(2);
/// One that takes less may be larger.
const QUICK: Duration = Duration::from_millis(500);
/// Parts of the largest transaction there can be: `kafka.transaction.records_max` has no more.
const PARTS_MAX: usize = 1 << 17;

/// The writer of one partition's transactions.
pub(super) struct Writer<'a> {
    owner: &'a Owner,
    /// None after a failure.
    producer: Option<TransactionalProducer>,
    reader: &'a PartitionReader,
    /// The first offset of the changelog behind what is committed; none where that is not known.
    pub(super) changelog_next: Option<u64>,
    /// Parts that make one transaction, at most.
    parts_max: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        owner: &'a Owner,
        producer: TransactionalProducer,
        reader: &'a PartitionReader,
        changelog_next: Option<u64>,
    ) -> Self {
        Self { owner, producer: Some(producer), reader, changelog_next, parts_max: PARTS_MAX }
    }

    /// Writes all parts, in order.
    pub(super) fn write(&mut self, mut parts: Vec<Outputs>) -> Result<(), Trouble> {
        let mut written = 0;
        while written < parts.len() {
            let end = parts.len().min(written.saturating_add(self.parts_max));
            let began = Instant::now();
            let committed = self.try_write(&mut parts[written..end])?;
            metrics::stage("transaction", began.elapsed());
            self.adapt(end - written, committed.then(|| began.elapsed()));
            if committed {
                parts[written..end].iter().for_each(count);
                written = end;
            }
        }
        Ok(())
    }

    /// Fewer parts at once after a failure or a long wait, more after a short one.
    fn adapt(&mut self, parts: usize, took: Option<Duration>) {
        if took.is_none_or(|took| took > SLOW) {
            self.parts_max = (parts / 2).max(1);
            if parts > 1 {
                tracing::info!(
                    partition = self.owner.partition,
                    parts = self.parts_max,
                    "the broker is slow: smaller transactions"
                );
            }
        } else if took < Some(QUICK) && parts == self.parts_max {
            self.parts_max = (parts * 2).min(PARTS_MAX);
        }
    }

    /// Whether the parts are committed; false: to be tried again.
    fn try_write(&mut self, parts: &mut [Outputs]) -> Result<bool, Trouble> {
        let (owner, config) = (self.owner, &self.owner.config().kafka);
        let group = owner.cluster.group().context("this instance has left its group")?;
        let producer = match self.producer.take() {
            Some(producer) => producer,
            None => owner.take_over()?,
        };
        match producer.commit(parts, config, owner.partition, &group) {
            Ok(changelog_next) => {
                self.changelog_next = changelog_next;
                self.producer = Some(producer);
                Ok(true)
            }
            Err(error) => {
                drop(producer);
                self.changelog_next = None;
                self.failed(error, parts)?;
                if owner.stop.is_requested() {
                    return Err(Trouble::Passing(anyhow::anyhow!("stopped")));
                }
                // A new producer says what came of the one before.
                self.producer = Some(owner.take_over()?);
                self.was_committed(parts)
            }
        }
    }

    /// What to do about a failure: fenced and refused ones are not tried again as they are.
    fn failed(&self, error: TransactionError, parts: &mut [Outputs]) -> Result<(), Trouble> {
        let partition = self.owner.partition;
        match error {
            TransactionError::Fenced(_) => Err(Trouble::Fenced(error.to_string())),
            TransactionError::Client(error) => Err(Trouble::Refused(error.to_string())),
            TransactionError::Refused { topic, bytes, code } => {
                let left_out = if topic == self.owner.config().kafka.topics.dead_letters {
                    parts.iter_mut().map(Outputs::leave_out_values).sum()
                } else {
                    0
                };
                if left_out > 0 {
                    tracing::warn!(partition, topic, bytes, %code, left_out, "dead letters go without their values");
                    metrics::values_left_out(left_out);
                    return Ok(());
                }
                Err(Trouble::Halted(format!(
                    "topic {topic} does not take a record of {bytes} bytes: {code}; see `leitong topics check`"
                )))
            }
            TransactionError::Failed(why) => {
                tracing::warn!(partition, "transaction not committed, finding out what came of it: {why}");
                self.owner.stop.wait(Duration::from_millis(100));
                Ok(())
            }
        }
    }

    /// Whether the transaction in doubt was committed, by the committed offset. Only after taking over: then
    /// nothing of it is on its way any more.
    fn was_committed(&self, parts: &[Outputs]) -> Result<bool, Trouble> {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(true) };
        let (begin, end) = (first.first_log_offset, last.next_log_offset);
        match self.reader.committed()? {
            // A transaction that moved no offset is written again: the same records have the same effect.
            Some(committed) if committed == end => Ok(end != begin),
            Some(committed) if committed == begin => Ok(false),
            None => Ok(false),
            Some(committed) => Err(Trouble::Fenced(format!(
                "another instance has committed offset {committed} of the log meanwhile"
            ))),
        }
    }
}

fn count(outputs: &Outputs) {
    let now = Timestamp::now();
    for (outcome, log_time) in &outputs.outcomes {
        metrics::committed(outcome);
        if let Some(log_time) = log_time {
            let delay = u64::try_from(now.as_ms() - log_time.as_ms()).unwrap_or(0);
            metrics::verdict_delay(Duration::from_millis(delay));
        }
    }
}
