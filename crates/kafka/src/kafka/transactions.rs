//! Kafka's transactional producer, as an implementation of the interface for owners.
//!
//! **Disturbances.** librdkafka repeats a request whose connection broke or that timed out, under the same
//! producer epoch. The first copy may still be on its way. If it is an EndTxn and arrives late, it commits
//! whatever transaction of that epoch is open then. (KIP-890 closes this gap for clients that support its
//! protocol; librdkafka does not.) So this client must notice every such moment. librdkafka logs each broken
//! connection (`FAIL`) and each request that timed out (`REQTMOUT`) before it repeats a request, hence before
//! a commit succeeds. These log lines come through the queue that this client empties on its owner's thread,
//! so after a commit none of them is outstanding. (Error events and log lines of higher levels are not
//! sufficient, since librdkafka suppresses equal ones for 30 s.) A commit that takes longer than
//! [`SLOW_COMMIT`] counts as disturbed, too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::util::Timeout;
use rdkafka::{ClientContext, Offset, Statistics, TopicPartitionList};

use crate::backoff::backoff;
use crate::kafka::client;
use crate::kafka::error::ClientError;
use crate::kafka::events::ClientEvents;
use crate::kafka::headers;
use crate::kafka::log_member::Generation;
use crate::kafka::ports::{Delivered, Outgoing, RequestError, TransactionClient};
use leitong_pipeline::config::kafka::KafkaConfig;

/// Duration above which a commit may have been repeated without a log line.
const SLOW_COMMIT: Duration = Duration::from_secs(2);
/// First wait for the coordinator to end a former owner's transaction before the request is repeated. The
/// wait doubles with each repetition.
const FIRST_RETRY: Duration = Duration::from_millis(50);
/// Facilities of librdkafka's log that report requests with an unknown outcome.
const DISTURBANCES: [&str; 2] = ["FAIL", "REQTMOUT"];
/// Time for emptying the queue of events. rdkafka spins for this time.
const EVENTS: Duration = Duration::from_micros(200);

/// A producer with the transactional id of one partition of the log.
pub(crate) struct KafkaTransactions {
    producer: BaseProducer<Deliveries>,
    state: Arc<Shared>,
    log_topic: String,
}

/// The state that the client's callbacks and its user share.
#[derive(Default)]
struct Shared(Mutex<Sent>);

/// The results of the records sent since the transaction began.
#[derive(Default)]
struct Sent {
    /// Number of records that are sent and not delivered yet.
    in_flight: usize,
    /// Places of the records, in the order of sending.
    delivered: Vec<Option<Delivered>>,
    /// The first failed record: its topic, the bytes of its value, and the error.
    failed: Option<(String, usize, RDKafkaErrorCode)>,
    /// True once the transactional id is taken.
    initialised: bool,
    /// The first disturbance since the transactional id was taken.
    disturbance: Option<String>,
}

impl Shared {
    fn disturbed(&self, what: impl FnOnce() -> String) {
        let mut sent = self.0.lock();
        // Before the id is taken, connections may open and close, but no request of this epoch is on its way.
        if sent.initialised && sent.disturbance.is_none() {
            sent.disturbance = Some(what());
        }
    }
}

struct Deliveries {
    events: ClientEvents,
    shared: Arc<Shared>,
}

impl KafkaTransactions {
    /// Creates the client without connecting.
    ///
    /// # Errors
    /// Fails if the client cannot be created.
    pub(crate) fn new(config: &KafkaConfig, log_partition: u32) -> Result<Self, ClientError> {
        let state = Arc::<Shared>::default();
        let deliveries = Deliveries {
            events: ClientEvents::new("cluster").queue("transaction", log_partition.to_string()),
            shared: Arc::clone(&state),
        };
        let producer = client::create(&client::transactional_producer(config, log_partition), deliveries)?;
        Ok(Self { producer, state, log_topic: config.topics.fingerprints.clone() })
    }

    /// Converts an error. The first failed delivery, if there is one, is its cause.
    fn explain(&self, error: &KafkaError) -> RequestError {
        let (code, text, retriable) = match error {
            KafkaError::Transaction(error) => (Some(error.code()), error.string(), error.is_retriable()),
            other => (other.rdkafka_error_code(), other.to_string(), false),
        };
        match self.state.0.lock().failed.take() {
            _ if is_fenced(code) => RequestError::Fenced(text),
            Some(failed) => explain_delivery(failed, &text),
            None if retriable => RequestError::Retriable(text),
            None => RequestError::Failed(text),
        }
    }
}

fn is_fenced(code: Option<RDKafkaErrorCode>) -> bool {
    use RDKafkaErrorCode as Code;
    matches!(code, Some(Code::Fenced | Code::ProducerFenced | Code::InvalidProducerEpoch))
}

fn explain_delivery(failed: (String, usize, RDKafkaErrorCode), text: &str) -> RequestError {
    use RDKafkaErrorCode as Code;
    match failed {
        (_, _, code) if is_fenced(Some(code)) => RequestError::Fenced(text.to_owned()),
        (
            topic,
            bytes,
            code @ (Code::MessageSizeTooLarge
            | Code::InvalidRecord
            | Code::InvalidMessage
            | Code::PolicyViolation),
        ) => RequestError::Refused { topic, bytes, code: code.to_string() },
        (topic, _, code) => {
            RequestError::Failed(format!("{text}: a record for topic {topic} was not delivered: {code}"))
        }
    }
}

impl TransactionClient for KafkaTransactions {
    type Group = Generation;

    /// Takes the transactional id. librdkafka waits 500 ms before it looks for the coordinator again, and
    /// again 500 ms each time the coordinator is still ending the former owner's transaction. So brokers are
    /// made known first. Repeating the call makes librdkafka ask at once, unless a request is under way. For
    /// an id whose owner died in a transaction, this took 0.16 s instead of 0.57 to 1.03 s when measured.
    fn init_transactions(&self, timeout: Duration) -> Result<(), RequestError> {
        let began = Instant::now();
        // Errors are ignored here, since the following request reports them better.
        let _ = self.producer.client().fetch_metadata(Some(&self.log_topic), timeout / 2);
        let mut wait = FIRST_RETRY;
        loop {
            let left = timeout.saturating_sub(began.elapsed());
            let answer = self.producer.init_transactions(wait.min(left));
            match answer.map_err(|error| self.explain(&error)) {
                Ok(()) => break,
                Err(RequestError::Retriable(_)) if wait < left => wait *= 2,
                Err(error) => return Err(error),
            }
        }
        // Earlier events belong to no epoch yet: a starting client opens and closes connections.
        self.producer.poll(EVENTS);
        self.state.0.lock().initialised = true;
        Ok(())
    }

    fn begin(&self) -> Result<(), RequestError> {
        let mut sent = self.state.0.lock();
        sent.delivered.clear();
        drop(sent);
        self.producer.begin_transaction().map_err(|error| self.explain(&error))
    }

    fn send(&self, record: &Outgoing<'_>) -> Result<(), RequestError> {
        let number = {
            let mut sent = self.state.0.lock();
            sent.in_flight += 1;
            sent.delivered.push(None);
            sent.delivered.len() - 1
        };
        let mut message: BaseRecord<'_, Vec<u8>, Vec<u8>, usize> =
            BaseRecord::with_opaque_to(record.topic, number);
        (message.key, message.payload) = (record.key, record.value);
        if !record.headers.is_empty() {
            let headers = record.headers.iter().map(|(name, value)| (name, value.as_ref()));
            message.headers = Some(headers::to_native(headers));
        }
        if let Some(partition) = record.partition {
            let partition = i32::try_from(partition);
            let partition = partition.map_err(|_| RequestError::Failed("no such partition".to_owned()))?;
            message = message.partition(partition);
        }
        loop {
            match self.producer.send(message) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    message = back;
                    self.producer.poll(Duration::ZERO);
                    backoff(Duration::from_millis(2));
                }
                Err((
                    KafkaError::MessageProduction(code @ RDKafkaErrorCode::MessageSizeTooLarge),
                    message,
                )) => {
                    let bytes = message.payload.map_or(0, Vec::len);
                    let (topic, code) = (record.topic.to_owned(), code.to_string());
                    return Err(RequestError::Refused { topic, bytes, code });
                }
                Err((error, _)) => return Err(self.explain(&error)),
            }
        }
    }

    /// Waits for all deliveries. The commit would wait as well, but in rdkafka's steps of 100 ms:
    /// transactions took 110 ms when measured, and 15 ms with this.
    fn flush(&self) -> Result<(), RequestError> {
        // This loop ends, since a record that is not delivered in time fails.
        loop {
            self.producer.poll(Duration::ZERO);
            let mut sent = self.state.0.lock();
            if let Some(failed) = sent.failed.take() {
                drop(sent);
                return Err(explain_delivery(failed, "the transaction failed"));
            }
            // librdkafka counts a record until its report is freed, a moment after the callback got it.
            if sent.in_flight == 0 && self.producer.in_flight_count() == 0 {
                return Ok(());
            }
            drop(sent);
            backoff(Duration::from_micros(200));
        }
    }

    fn delivered(&self) -> Vec<Option<Delivered>> {
        self.state.0.lock().delivered.clone()
    }

    fn send_offset(&self, log_partition: u32, offset: u64, group: &Generation) -> Result<(), RequestError> {
        let mut offsets = TopicPartitionList::new();
        let invalid =
            || RequestError::Failed(format!("the log has no offset {offset} in partition {log_partition}"));
        let (Ok(partition), Ok(offset)) = (i32::try_from(log_partition), i64::try_from(offset)) else {
            return Err(invalid());
        };
        offsets
            .add_partition_offset(&self.log_topic, partition, Offset::Offset(offset))
            .map_err(|_| invalid())?;
        // librdkafka recommends no timeout here: the call waits no longer than the transaction may last.
        self.producer
            .send_offsets_to_transaction(&offsets, group, Timeout::Never)
            .map_err(|error| self.explain(&error))
    }

    fn commit(&self) -> Result<(), RequestError> {
        let began = Instant::now();
        let result = self.producer.commit_transaction(Timeout::Never);
        if began.elapsed() > SLOW_COMMIT {
            self.state.disturbed(|| format!("a commit took {:.1} s", began.elapsed().as_secs_f64()));
        }
        result.map_err(|error| self.explain(&error))
    }

    fn abort(&self) -> Result<(), RequestError> {
        self.producer.abort_transaction(Timeout::Never).map_err(|error| self.explain(&error))
    }

    fn disturbance(&self) -> Option<String> {
        self.producer.poll(EVENTS);
        self.state.0.lock().disturbance.clone()
    }
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        // The connection to a bootstrap server only asks for metadata, and is closed once brokers are known.
        if DISTURBANCES.contains(&facility) && !message.contains("/bootstrap") {
            self.shared.disturbed(|| format!("{facility}: {message}"));
        }
        self.events.log(level, facility, message);
    }

    fn stats(&self, statistics: Statistics) {
        self.events.stats(statistics);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.events.error(error, reason);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, number: usize) {
        let mut sent = self.shared.0.lock();
        sent.in_flight = sent.in_flight.saturating_sub(1);
        match result {
            Ok(message) => {
                let (partition, offset) =
                    (u32::try_from(message.partition()), u64::try_from(message.offset()));
                if let (Ok(partition), Ok(offset), Some(delivered)) =
                    (partition, offset, sent.delivered.get_mut(number))
                {
                    *delivered = Some((partition, offset));
                }
            }
            Err((error, message)) => {
                let code = error.rdkafka_error_code();
                let purged = [RDKafkaErrorCode::PurgeQueue, RDKafkaErrorCode::PurgeInflight].map(Some);
                if let Some(code) = code.filter(|_| !purged.contains(&code)) {
                    let failed = (message.topic().to_owned(), message.payload_len(), code);
                    sent.failed.get_or_insert(failed);
                }
            }
        }
    }
}
