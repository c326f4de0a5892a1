//! Producer of log records: in order and at least once.
//!
//! The producer is idempotent, so the records that one session sends to a partition are there in that order,
//! once each. The first failed delivery ends the session. Later records of the session name a predecessor
//! that is missing, and do not count.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext};

use super::session::Ticket;
use crate::backoff::backoff;
use crate::kafka::client;
use crate::kafka::error::Result;
use crate::kafka::events::{ClientEvents, reports_by_events};
use crate::kafka::headers;
use crate::kafka::page_session::Shared;
use crate::kafka::pages::PageOrigin;
use crate::kafka::polled::PolledProducer;
use leitong_base::record::LogRecord;
use leitong_cluster::log::{Entry, MessageOrigin};
use leitong_graph::telemetry::metrics;
use leitong_graph::telemetry::traces::{self, page::PageTrace};
use leitong_pipeline::config::kafka::KafkaConfig;
use leitong_pipeline::log_partition;

/// One producer session.
pub(crate) struct LogProducer {
    producer: PolledProducer<Deliveries>,
    topic: String,
    log_partitions: u32,
    detector: &'static str,
    shared: Arc<Shared>,
}

/// Context of the producer, which enters delivery reports into the session.
struct Deliveries {
    events: ClientEvents,
    shared: Arc<Shared>,
}

/// A record that was passed to librdkafka and is not delivered yet.
pub(crate) struct InFlight {
    ticket: Ticket,
    trace: Option<Box<PageTrace>>,
}

impl InFlight {
    /// Adds the result of the delivery to the record's trace, if there is one.
    fn trace_result(&self, result: impl FnOnce(&traces::Tracer, &PageTrace)) {
        if let (Some(tracer), Some(trace)) = (traces::tracer(), &self.trace) {
            result(tracer, trace);
        }
    }
}

impl LogProducer {
    /// Starts a session.
    ///
    /// # Errors
    /// Fails if the client cannot be created.
    pub(crate) fn new(
        config: &KafkaConfig,
        log_partitions: u32,
        detector: &'static str,
        shared: &Arc<Shared>,
    ) -> Result<Self> {
        let deliveries = Deliveries {
            events: ClientEvents::new("log").queue("log-send", String::new()),
            shared: Arc::clone(shared),
        };
        let producer = PolledProducer::new(&client::log_producer(config), deliveries)?;
        let (topic, shared) = (config.topics.fingerprints.clone(), Arc::clone(shared));
        Ok(Self { producer, topic, log_partitions, detector, shared })
    }

    /// Sends `record`, unless its assignment has ended. Waits while librdkafka's queue is full. Returns false
    /// if the session has ended.
    pub(crate) fn send(
        &self,
        record: LogRecord,
        origin: PageOrigin,
        mut trace: Option<Box<PageTrace>>,
    ) -> bool {
        let PageOrigin { assignment, partition, offset, timestamp_ms, topic_id } = origin;
        let log_partition = self.log_partition(&record);
        // Checked before a ticket is taken, since a ticket that is never delivered would hold up all later
        // ones.
        let Ok(number) = i32::try_from(log_partition) else {
            self.shared.fail(format!("the log has no partition {log_partition}"));
            return false;
        };
        let (previous_offset, ticket) = {
            let mut state = self.shared.lock();
            if state.broken.is_some() {
                return false;
            }
            match state.session.send(assignment, partition, offset, log_partition) {
                Some(sent) => sent,
                None => return true, // assigned to another instance by now
            }
        };
        let bytes =
            Entry::encode(record, MessageOrigin { previous_offset, timestamp_ms, topic_id }, self.detector);
        let context = trace.as_mut().map(|trace| trace.sending());
        let sent = Box::new(InFlight { ticket, trace });
        let mut message: BaseRecord<'_, (), [u8], Box<InFlight>> =
            BaseRecord::with_opaque_to(&self.topic, sent).partition(number).payload(&bytes);
        if let Some(context) = context {
            let headers = context.headers().map(|(name, value)| (name, Some(value)));
            message = message.headers(headers::to_native(headers));
        }
        loop {
            match self.producer.send(message) {
                Ok(()) => return true,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back)) => {
                    if self.shared.lock().broken.is_some() {
                        return false;
                    }
                    message = back;
                    backoff(Duration::from_millis(5));
                }
                Err((error, _)) => {
                    self.shared.fail(format!(
                        "a record of {} bytes cannot be sent to the log: {error}",
                        bytes.len()
                    ));
                    return false;
                }
            }
        }
    }

    /// Skips a message for which nothing is sent.
    pub(crate) fn pass_over(&self, origin: PageOrigin) {
        let PageOrigin { assignment, partition, offset, .. } = origin;
        self.shared.lock().session.pass_over(assignment, partition, offset);
        self.shared.notify();
    }

    /// Returns the number of messages that librdkafka holds.
    pub(crate) fn in_flight(&self) -> usize {
        usize::try_from(self.producer.in_flight_count()).unwrap_or(0)
    }

    /// Returns the partition of the log for a record. A message that is not a page has no corpus, and goes to
    /// the first partition.
    fn log_partition(&self, record: &LogRecord) -> u32 {
        match record {
            LogRecord::Page(page) => log_partition(&page.corpus, self.log_partitions),
            LogRecord::Unreadable(_) => 0,
        }
    }
}

reports_by_events!(Deliveries);

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<InFlight>;

    fn delivery(&self, result: &DeliveryResult<'_>, sent: Box<InFlight>) {
        match result {
            Ok(message) => {
                sent.trace_result(|tracer, trace| {
                    let number = |number: i64| u64::try_from(number).unwrap_or(0);
                    let partition = u32::try_from(message.partition()).unwrap_or(0);
                    tracer.delivered(trace, partition, number(message.offset()));
                });
                self.shared.lock().session.delivered(sent.ticket);
                metrics::LOG_RECORDS_SENT.add(1);
                self.shared.notify();
            }
            // Records are purged when the session ends, so it has ended already.
            Err((
                KafkaError::MessageProduction(RDKafkaErrorCode::PurgeQueue | RDKafkaErrorCode::PurgeInflight),
                _,
            )) => {}
            Err((error, _)) => {
                sent.trace_result(|tracer, trace| tracer.not_delivered(trace, &error.to_string()));
                self.shared.fail(format!("a record was not delivered to the log: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_partition_of_a_corpus_never_changes() {
        let partitions =
            ["default", "news.example.com", "例子.测试"].map(|corpus| super::log_partition(corpus, 16));
        assert_eq!(partitions, [10, 9, 8]);
        assert_eq!(super::log_partition("default", 1), 0);
    }
}
