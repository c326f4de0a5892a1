//! One transaction after the other under a transactional
//! id: all of a batch becomes visible, or nothing.
//!
//! ```text
//! begin ─► send all records ─► wait until all are delivered ─► send the offset ─► commit
//! ```
//! The offset comes last, so a transaction that moves it holds every record; a
//! commit that strikes a transaction half-written can then never count as the whole.
//!
//! There is no abort here but that of `unended.rs`. Whatever fails, the client is thrown away and a
//! new one is made under the same transactional id: `init_transactions` ends what the old one left,
//! by committing it if its commit had been decided, else by aborting it, and fences everything of
//! it that is still on its way. That is one path for errors, time-outs and crashes alike. A client
//! that was disturbed, though its commit succeeded, is thrown away as well
//! ([`TransactionalProducer::disturbance`]): a request that it repeated may still arrive once more,
//! and would commit the next transaction of the same epoch when that is half-written.

use std::time::Duration;

use thiserror::Error;

use crate::config::KafkaConfig;
use crate::kafka::client::ClientError;
use crate::kafka::ports::{Delivered, Outgoing, RequestError, TransactionClient};
use crate::worker::outputs::{OutputRecord, Outputs, To};

/// How long one attempt to take over waits for the coordinator.
const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Attempts after which the log says that the coordinator does not answer: about 30 seconds.
const ATTEMPTS_UNTIL_WARNING: u32 = 6;

/// Why a transaction was not committed, or perhaps not.
#[derive(Debug, Error)]
pub(super) enum TransactionError {
    /// Somebody else owns the partition, or took this producer for dead.
    #[error("fenced: another instance owns this partition of the log ({0})")]
    Fenced(String),
    /// A topic does not take a message.
    #[error("{0}")]
    Refused(RequestError),
    /// All else: a broker that is away, a rebalance, a time-out.
    #[error("{0}")]
    Failed(String),
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl From<RequestError> for TransactionError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Fenced(why) => Self::Fenced(why),
            refused @ RequestError::Refused { .. } => Self::Refused(refused),
            RequestError::Retriable(why) | RequestError::Failed(why) => Self::Failed(why),
        }
    }
}

/// A producer that owns its transactional id.
pub(super) struct TransactionalProducer<C> {
    client: C,
    log_partition: u32,
}

impl<C: TransactionClient> TransactionalProducer<C> {
    /// Takes the transactional id of `log_partition` from whoever had it,
    /// and ends what they left open. Waits for brokers until `stop` says no.
    ///
    /// # Errors
    /// [`TransactionError`].
    pub(super) fn take_over(
        client: C,
        log_partition: u32,
        stop: impl Fn() -> bool,
    ) -> Result<Self, TransactionError> {
        let mut attempts = 0;
        loop {
            match client.init_transactions(TAKE_OVER_TIMEOUT) {
                Ok(()) => return Ok(Self { client, log_partition }),
                Err(RequestError::Retriable(why)) if !stop() => {
                    attempts += 1;
                    if attempts % ATTEMPTS_UNTIL_WARNING == 0 {
                        tracing::warn!(log_partition, "still waiting for the transaction coordinator: {why}");
                    }
                }
                Err(error) => {
                    return Err(TransactionError::Failed(format!("cannot begin transactions: {error}")));
                }
            }
        }
    }

    /// Writes `parts` and commits them together with the group's
    /// offset. Gives the offset behind what it wrote to the changelog.
    ///
    /// # Errors
    /// [`TransactionError`]; then this producer must not be used any more,
    /// and what became of the transaction is to be found out by the next one.
    pub(super) fn commit(
        &self,
        parts: &[Outputs],
        config: &KafkaConfig,
        group: &C::Group,
    ) -> Result<Option<u64>, TransactionError> {
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
        Ok(delivered.map(|delivered| delivered.offset + 1))
    }

    /// Commits a position record and an offset that were
    /// decided to be committed, and are not visible.
    ///
    /// # Errors
    /// As for [`Self::commit`].
    pub(super) fn commit_again(
        &self,
        position: Option<Outgoing<'_>>,
        offset: u64,
        group: &C::Group,
    ) -> Result<(), TransactionError> {
        self.client.begin()?;
        if let Some(record) = position {
            self.client.send(&record)?;
            self.client.flush()?;
        }
        self.client.send_offset(self.log_partition, offset, group)?;
        Ok(self.client.commit()?)
    }

    /// Aborts a transaction of these records and, with `group`, of the group's
    /// offset; and with it all that is still open of this transactional id where they
    /// go. Once they are delivered, leaders know all that was committed before them.
    ///
    /// # Errors
    /// As for [`Self::commit`].
    pub(super) fn abort_again<'a>(
        &self,
        records: impl Iterator<Item = Outgoing<'a>>,
        group: Option<&C::Group>,
    ) -> Result<(), TransactionError> {
        self.client.begin()?;
        for record in records {
            self.client.send(&record)?;
        }
        self.client.flush()?;
        if let Some(group) = group {
            self.client.send_offset(self.log_partition, 0, group)?;
        }
        Ok(self.client.abort()?)
    }

    /// Where the records of the last transaction stand, as in [`TransactionClient::delivered`].
    pub(super) fn delivered(&self) -> Vec<Option<Delivered>> {
        self.client.delivered()
    }

    /// As in [`TransactionClient::disturbance`].
    pub(super) fn disturbance(&self) -> Option<String> {
        self.client.disturbance()
    }
}

/// The records of `parts` in the order in which they are sent: outcomes, then the changelog.
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
        headers: Some(&record.headers),
    };
    let outcomes = parts.iter().flat_map(|part| &part.records).map(outcome);
    let changelog = Outputs::changelog_of(parts).map(move |record| Outgoing {
        topic: &config.topics.centroids,
        partition: Some(log_partition),
        key: Some(&record.key),
        value: record.value.as_ref(),
        headers: None,
    });
    outcomes.chain(changelog)
}
