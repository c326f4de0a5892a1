//! The transactional producer of one partition of the log: all of a batch becomes visible, or nothing.
//!
//! There is no abort here. Whatever fails, the producer is thrown away and a new one is made under the same
//! transactional id: `init_transactions` ends what the old one left, by committing it if its commit had been
//! decided, else by aborting it, and fences everything of it that is still on its way. What came of it is then
//! read from the committed offset. That is one path for errors, time-outs and crashes alike.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext};
use rdkafka::util::Timeout;
use rdkafka::{Offset, TopicPartitionList};
use thiserror::Error;

use super::outputs::{OutputRecord, Outputs, To};
use crate::config::KafkaConfig;
use crate::pipeline::kafka::client::{self, ClientError};
use crate::pipeline::kafka::polled::PolledProducer;
use crate::telemetry::kafka::{ClientEvents, reports_by_events};
use crate::telemetry::metrics;

/// Why a transaction was not committed, or perhaps not.
#[derive(Debug, Error)]
pub enum TransactionError {
    /// Somebody else owns the partition, or took this producer for dead.
    #[error("fenced: another instance owns this partition of the log ({0})")]
    Fenced(String),
    /// A topic does not take a message.
    #[error("topic {topic} does not take a record of {bytes} bytes: {code}")]
    Refused {
        /// The topic.
        topic: String,
        /// The record's value.
        bytes: usize,
        /// What the broker says.
        code: RDKafkaErrorCode,
    },
    /// All else: a broker that is away, a rebalance, a time-out.
    #[error("{0}")]
    Failed(String),
    /// The client cannot be made.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// A producer that owns its transactional id.
pub struct TransactionalProducer {
    producer: PolledProducer<Deliveries>,
    in_flight: Arc<InFlight>,
}

/// What became of the records sent.
#[derive(Default)]
struct InFlight {
    state: Mutex<Sent>,
    changed: Condvar,
}

#[derive(Default)]
struct Sent {
    /// Sent and not delivered yet.
    records: usize,
    /// The last delivered to the changelog.
    changelog_offset: Option<i64>,
    /// The first that failed: its topic, its value's bytes, and why.
    failed: Option<(String, usize, RDKafkaErrorCode)>,
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Deliveries {
    events: ClientEvents,
    in_flight: Arc<InFlight>,
    changelog: String,
}

impl TransactionalProducer {
    /// Takes the transactional id of `log_partition` from whoever had it, and ends what they left open. Waits
    /// for brokers until `stop` says no.
    ///
    /// # Errors
    /// [`TransactionError`].
    pub fn take_over(
        config: &KafkaConfig,
        log_partition: u32,
        stop: impl Fn() -> bool,
    ) -> Result<Self, TransactionError> {
        let in_flight = Arc::<InFlight>::default();
        let deliveries = Deliveries {
            events: ClientEvents::new("cluster").queue("transaction", log_partition.to_string()),
            in_flight: Arc::clone(&in_flight),
            changelog: config.topics.centroids.clone(),
        };
        let producer =
            PolledProducer::new(&client::transactional_producer(config, log_partition), deliveries)?;
        let mut said = Instant::now();
        loop {
            match producer.init_transactions(Duration::from_secs(5)) {
                Ok(()) => return Ok(Self { producer, in_flight }),
                Err(KafkaError::Transaction(error)) if error.is_retriable() && !stop() => {
                    if said.elapsed() > Duration::from_secs(30) {
                        tracing::warn!(log_partition, %error, "still waiting for the transaction coordinator");
                        said = Instant::now();
                    }
                }
                Err(error) => {
                    return Err(TransactionError::Failed(format!("cannot begin transactions: {error}")));
                }
            }
        }
    }

    /// Writes `parts` and commits them together with the group's offset. Gives the offset behind what it wrote to the
    /// changelog.
    ///
    /// # Errors
    /// [`TransactionError`]; then this producer must not be used any more, and whether the transaction was
    /// committed is to be read from the committed offset.
    pub fn commit(
        &self,
        parts: &[Outputs],
        config: &KafkaConfig,
        log_partition: u32,
        group: &ConsumerGroupMetadata,
    ) -> Result<Option<u64>, TransactionError> {
        let began = Instant::now();
        let result = self.try_commit(parts, config, log_partition, group);
        metrics::transaction(result.is_ok(), began.elapsed());
        result?;
        let last = self.in_flight.lock().changelog_offset;
        Ok(last.and_then(|last| u64::try_from(last).ok()).map(|last| last + 1))
    }

    fn try_commit(
        &self,
        parts: &[Outputs],
        config: &KafkaConfig,
        log_partition: u32,
        group: &ConsumerGroupMetadata,
    ) -> Result<(), TransactionError> {
        let Some(last) = parts.last() else { return Ok(()) };
        let (log_partition, offset) = (as_i32(log_partition)?, as_i64(last.next_log_offset)?);
        self.producer.begin_transaction().map_err(|error| self.explain(&error))?;
        for record in parts.iter().flat_map(|part| &part.records) {
            self.send_output(record, config)?;
        }
        for record in Outputs::changelog_of(parts) {
            let message = BaseRecord::to(&config.topics.centroids).partition(log_partition).key(&record.key);
            let message = match &record.value {
                Some(value) => message.payload(value),
                None => message,
            };
            self.send(message)?;
        }
        let mut offsets = TopicPartitionList::new();
        offsets
            .add_partition_offset(&config.topics.fingerprints, log_partition, Offset::Offset(offset))
            .map_err(|error| TransactionError::Failed(error.to_string()))?;
        // Never is librdkafka's recommendation: it waits no longer than the transaction has left.
        self.producer
            .send_offsets_to_transaction(&offsets, group, Timeout::Never)
            .map_err(|error| self.explain(&error))?;
        self.wait_for_deliveries();
        self.producer.commit_transaction(Timeout::Never).map_err(|error| self.explain(&error))
    }

    /// Waits until all is delivered or anything failed. The commit would wait as well, but rdkafka does it in steps
    /// of 100 ms: measured as 110 ms a transaction, and 15 with this.
    fn wait_for_deliveries(&self) {
        // A record that is not delivered in time has failed, so this ends.
        let is_open = |sent: &mut Sent| sent.records > 0 && sent.failed.is_none();
        let sent = self.in_flight.changed.wait_while(self.in_flight.lock(), is_open);
        let failed = sent.unwrap_or_else(PoisonError::into_inner).failed.is_some();
        // librdkafka counts a record until its report is put away, a moment after it was given to us.
        while !failed && self.producer.in_flight_count() > 0 {
            client::before_asking_again(Duration::from_micros(50));
        }
    }

    fn send_output(&self, record: &OutputRecord, config: &KafkaConfig) -> Result<(), TransactionError> {
        let topic = match record.to {
            To::Verdicts => &config.topics.verdicts,
            To::DeadLetters => &config.topics.dead_letters,
        };
        let mut message: BaseRecord<'_, Vec<u8>, Vec<u8>> =
            BaseRecord::to(topic).headers(record.headers.clone());
        message.key = record.key.as_ref();
        message.payload = record.value.as_ref();
        self.send(message)
    }

    fn send(&self, mut message: BaseRecord<'_, Vec<u8>, Vec<u8>>) -> Result<(), TransactionError> {
        let (topic, bytes) = (message.topic, message.payload.map_or(0, Vec::len));
        self.in_flight.lock().records += 1;
        loop {
            match self.producer.send(message) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    message = back;
                    client::before_asking_again(Duration::from_millis(2));
                }
                Err((KafkaError::MessageProduction(code), _))
                    if code == RDKafkaErrorCode::MessageSizeTooLarge =>
                {
                    return Err(TransactionError::Refused { topic: topic.to_owned(), bytes, code });
                }
                Err((error, _)) => return Err(self.explain(&error)),
            }
        }
    }

    /// What an error means, with the first failed delivery, which is its cause if there was one.
    fn explain(&self, error: &KafkaError) -> TransactionError {
        use RDKafkaErrorCode as Code;
        let first = self.in_flight.lock().failed.take();
        let code = match error {
            KafkaError::Transaction(error) => Some(error.code()),
            other => other.rdkafka_error_code(),
        };
        let text = match error {
            KafkaError::Transaction(error) => error.string(),
            other => other.to_string(),
        };
        let fenced = |code: Option<Code>| {
            matches!(code, Some(Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch))
        };
        match first {
            _ if fenced(code) => TransactionError::Fenced(text),
            Some((_, _, code)) if fenced(Some(code)) => TransactionError::Fenced(text),
            Some((topic, bytes, code))
                if matches!(
                    code,
                    Code::MessageSizeTooLarge
                        | Code::InvalidRecord
                        | Code::InvalidMessage
                        | Code::PolicyViolation
                ) =>
            {
                TransactionError::Refused { topic, bytes, code }
            }
            Some((topic, _, code)) => {
                TransactionError::Failed(format!("{text}; a record for {topic}: {code}"))
            }
            None => TransactionError::Failed(text),
        }
    }
}

fn as_i32(number: u32) -> Result<i32, TransactionError> {
    i32::try_from(number).map_err(|_| TransactionError::Failed(format!("no partition {number}")))
}

fn as_i64(number: u64) -> Result<i64, TransactionError> {
    i64::try_from(number).map_err(|_| TransactionError::Failed(format!("no offset {number}")))
}

reports_by_events!(Deliveries);

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let mut sent = self.in_flight.lock();
        sent.records = sent.records.saturating_sub(1);
        match result {
            Ok(message) if message.topic() == self.changelog => {
                sent.changelog_offset = sent.changelog_offset.max(Some(message.offset()));
            }
            Ok(_) => {}
            Err((error, message)) => {
                let code = error.rdkafka_error_code();
                let purged = [RDKafkaErrorCode::PurgeQueue, RDKafkaErrorCode::PurgeInflight].map(Some);
                if let Some(code) = code.filter(|_| !purged.contains(&code)) {
                    let failed = (message.topic().to_owned(), message.payload_len(), code);
                    sent.failed.get_or_insert(failed);
                }
            }
        }
        if sent.records == 0 || sent.failed.is_some() {
            self.in_flight.changed.notify_all();
        }
    }
}
