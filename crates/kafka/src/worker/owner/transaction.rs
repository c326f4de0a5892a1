//! Transactions under one transactional id, one after another. Either all records of a batch become visible,
//! or none.
//!
//! ```text
//! begin ─► send all records ─► wait until all are delivered ─► send the offset ─► commit
//! ```
//! The offset is sent last, so a transaction that contains the offset contains every record. If a late commit
//! reaches a transaction that is only half written, it does not move the offset.
//!
//! The worker aborts transactions only in `unended.rs`. After any failure, the client is discarded and a new
//! one is created with the same transactional id. Its `init_transactions` ends the old transaction, by
//! committing it if its commit had been decided, and otherwise by aborting it. It also fences all requests of
//! the old client that are still on their way. So errors, timeouts and crashes are handled in the same way. A
//! client that was disturbed is discarded even if its commit succeeded
//! ([`TransactionalProducer::disturbance`]): a repeated request may still arrive, and would commit the next
//! transaction of the same epoch when it is half written.

use std::time::Duration;

use super::outputs::{OutputRecord, Outputs, To};
use crate::kafka::ports::{Delivered, Outgoing, RequestError, TransactionClient};
use leitong_pipeline::config::KafkaConfig;

/// Timeout for the coordinator in one attempt to take over.
const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of attempts after which a missing answer of the coordinator is logged: about 30 seconds.
const ATTEMPTS_UNTIL_WARNING: u32 = 6;

/// A producer that owns its transactional id.
pub(super) struct TransactionalProducer<C> {
    client: C,
    log_partition: u32,
}

impl<C: TransactionClient> TransactionalProducer<C> {
    /// Takes over the transactional id of `log_partition` from its previous owner, and ends a transaction
    /// that is still open. Waits for brokers until `stop` is raised.
    ///
    /// # Errors
    /// [`RequestError`] if the id cannot be taken over.
    pub(super) fn take_over(
        client: C,
        log_partition: u32,
        stop: impl Fn() -> bool,
    ) -> Result<Self, RequestError> {
        let mut attempts = 0;
        loop {
            match client.init_transactions(TAKE_OVER_TIMEOUT) {
                Ok(()) => return Ok(Self { client, log_partition }),
                Err(RequestError::Retriable(why)) if !stop() => {
                    attempts += 1;
                    if attempts % ATTEMPTS_UNTIL_WARNING == 0 {
                        tracing::warn!(
                            log_partition,
                            "verdicts are delayed: still waiting for the transaction coordinator: {why}"
                        );
                    }
                }
                Err(error) => {
                    return Err(RequestError::Failed(format!("cannot begin transactions: {error}")));
                }
            }
        }
    }

    /// Writes `parts` and commits them together with the group's offset. Returns the changelog offset after
    /// the written records.
    ///
    /// # Errors
    /// [`RequestError`] if the commit failed or its result is unknown. This producer must then not be
    /// used again; the next one finds out the result.
    pub(super) fn commit(
        &self,
        parts: &[Outputs],
        config: &KafkaConfig,
        group: &C::Group,
    ) -> Result<Option<u64>, RequestError> {
        let Some(last) = parts.last() else { return Ok(None) };
        self.client.begin()?;
        let mut changelog_last = None;
        for (at, record) in outgoing(parts, config, self.log_partition).enumerate() {
            self.client.send(&record)?;
            if record.topic == config.topics.centroids {
                changelog_last = Some(at);
            }
        }
        self.client.flush()?;
        self.client.send_offset(self.log_partition, last.next_log_offset, group)?;
        self.client.commit()?;
        let delivered = changelog_last.and_then(|at| self.client.delivered().get(at).copied().flatten());
        Ok(delivered.map(|(_, offset)| offset + 1))
    }

    /// Commits again a position record and an offset whose commit was decided, but which are not visible.
    ///
    /// # Errors
    /// The errors of [`Self::commit`].
    pub(super) fn commit_again(
        &self,
        position: Option<Outgoing<'_>>,
        offset: u64,
        group: &C::Group,
    ) -> Result<(), RequestError> {
        self.client.begin()?;
        if let Some(record) = position {
            self.client.send(&record)?;
            self.client.flush()?;
        }
        self.client.send_offset(self.log_partition, offset, group)?;
        self.client.commit()
    }

    /// Writes these records and, with `group`, an offset of the group in a transaction, and aborts it. This
    /// also ends transactions that are still open under this transactional id in the same partitions. When
    /// the records are delivered, leaders know everything that was committed before them.
    ///
    /// # Errors
    /// The errors of [`Self::commit`].
    pub(super) fn abort_again<'a>(
        &self,
        records: impl Iterator<Item = Outgoing<'a>>,
        group: Option<&C::Group>,
    ) -> Result<(), RequestError> {
        self.client.begin()?;
        for record in records {
            self.client.send(&record)?;
        }
        self.client.flush()?;
        if let Some(group) = group {
            self.client.send_offset(self.log_partition, 0, group)?;
        }
        self.client.abort()
    }

    /// Returns the places of the last transaction's records, as in [`TransactionClient::delivered`].
    pub(super) fn delivered(&self) -> Vec<Option<Delivered>> {
        self.client.delivered()
    }

    /// Returns the disturbance of the client, as in [`TransactionClient::disturbance`].
    pub(super) fn disturbance(&self) -> Option<String> {
        self.client.disturbance()
    }
}

/// Returns the records of `parts` in the order of sending: verdicts and dead letters, then the changelog.
pub(super) fn outgoing<'a>(
    parts: &'a [Outputs],
    config: &'a KafkaConfig,
    log_partition: u32,
) -> impl Iterator<Item = Outgoing<'a>> {
    let outcome = |record: &'a OutputRecord| Outgoing {
        topic: match record.to {
            To::Verdicts => &config.topics.verdicts,
            To::DeadLetters => &config.topics.dead_letters,
        },
        partition: None,
        key: record.key.as_ref(),
        value: record.value.as_ref(),
        headers: &record.headers,
    };
    let outcomes = parts.iter().flat_map(|part| &part.records).map(outcome);
    let changelog = Outputs::changelog_of(parts).map(move |record| Outgoing {
        topic: &config.topics.centroids,
        partition: Some(log_partition),
        key: Some(&record.key),
        value: Some(&record.value),
        headers: &[],
    });
    outcomes.chain(changelog)
}
