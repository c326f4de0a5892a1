//! Handles everything that librdkafka reports apart from messages: errors go to the log, statistics to
//! metrics.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use parking_lot::Mutex;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::statistics::Partition;
use rdkafka::{ClientContext, Statistics};

use super::repeats::Repeats;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::metrics;

/// Receiver of the reports of one client.
pub(crate) struct ClientEvents {
    client: &'static str,
    /// Topic whose lag is exported.
    lag_of: Option<String>,
    joins: Option<Arc<StageHealth>>,
    /// Name of the queue of messages whose fill is exported, and the partition of the topic to which it
    /// belongs; an empty text if the queue is that of a whole topic.
    queue: Option<(&'static str, String)>,
}

impl ClientEvents {
    /// Creates a receiver for the client with this name.
    pub(crate) fn new(client: &'static str) -> Self {
        Self { client, lag_of: None, joins: None, queue: None }
    }

    /// Exports the lag of those partitions of `topic` that are read.
    pub(crate) fn lag_of(self, topic: &str) -> Self {
        Self { lag_of: Some(topic.to_owned()), ..self }
    }

    /// Tells `stage` when the group is stable, even if this member has no partition.
    pub(crate) fn joins(self, stage: &Arc<StageHealth>) -> Self {
        Self { joins: Some(Arc::clone(stage)), ..self }
    }

    /// Exports the fill of the client's queue of messages that were fetched, or are to be sent.
    pub(crate) fn queue(self, queue: &'static str, partition: String) -> Self {
        Self { queue: Some((queue, partition)), ..self }
    }

    fn queue_fill(&self, statistics: &Statistics) {
        let Some((queue, partition)) = &self.queue else { return };
        let (mut records, mut bytes) = (statistics.msg_cnt, statistics.msg_size);
        if statistics.client_type == "consumer" {
            // All partitions of a consumer share one queue, and each reports the fill of the whole queue.
            let partitions = || statistics.topics.values().flat_map(|topic| topic.partitions.values());
            let counts = partitions().map(|partition| u64::try_from(partition.fetchq_cnt).unwrap_or(0));
            records = counts.max().unwrap_or(0);
            bytes = partitions().map(|partition| partition.fetchq_size).max().unwrap_or(0);
        }
        metrics::queue(queue, partition, records, bytes);
    }

    /// Exports statistics.
    fn statistics(&self, statistics: &Statistics) {
        self.queue_fill(statistics);
        if let (Some(stage), Some(group)) = (&self.joins, &statistics.cgrp)
            && group.join_state == "steady"
        {
            stage.joined();
        }
        let Some(topic) = &self.lag_of else { return };
        let Some(topic) = statistics.topics.get(topic) else { return };
        for (number, partition) in &topic.partitions {
            // -1 stands for messages that have no partition yet.
            if *number >= 0
                && partition.fetch_state == "active"
                && let Some(records) = unread(partition)
            {
                metrics::lag(&topic.topic, *number, records);
            }
        }
    }

    /// Logs and counts an error that concerns no message. librdkafka recovers from such errors on its own. Each broker
    /// has one line per minute and kind of error, whatever number of clients cannot reach it.
    fn report(&self, error: &KafkaError, reason: &str) {
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::PartitionEOF) {
            return; // requested, and not an error
        }
        metrics::CLIENT_ERRORS.add_as(self.client, 1);
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            return; // each broker's error was already reported
        }
        // Another error of the same broker is not hidden by the first.
        let kind = broker(reason).map(|broker| format!("{broker} {:?}", error.rdkafka_error_code()));
        let Some(left_out) = REPEATS.lock().report(kind.as_deref(), Instant::now()) else {
            tracing::debug!(client = self.client, %error, "{reason}");
            return;
        };
        let repeats = match left_out {
            0 => String::new(),
            count => format!("; {count} more of these errors since the last line"),
        };
        tracing::warn!(client = self.client, %error, "{reason}{}{repeats}", remedy(error));
    }
}

/// The errors of all clients of this process.
static REPEATS: LazyLock<Mutex<Repeats>> = LazyLock::new(Mutex::default);

/// Returns the host and port of the broker that an error is about, or `None`. librdkafka's messages begin with
/// `sasl_ssl://host:port/7: `, where 7 is the broker's id.
fn broker(reason: &str) -> Option<&str> {
    let (name, _) = reason.split_once(": ")?;
    let name = name.split_once("://").map_or(name, |(_, name)| name);
    let (broker, _) = name.split_once('/')?;
    let (host, port) = broker.rsplit_once(':')?;
    let is_broker = !host.is_empty() && !host.contains(' ') && port.parse::<u16>().is_ok();
    is_broker.then_some(broker)
}

/// Returns what to do about an error that lasts until somebody acts.
fn remedy(error: &KafkaError) -> &'static str {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::InvalidSessionTimeout) => {
            "; set session.timeout.ms in [kafka.properties] to a value between group.min.session.timeout.ms and \
             group.max.session.timeout.ms of the brokers"
        }
        _ => "",
    }
}

/// Returns the number of records in a partition that the client has not handed out yet. librdkafka's own
/// `consumer_lag` is based on offsets that the same client has committed. The log's readers commit through a
/// producer's transaction, so for them `consumer_lag` has no value.
fn unread(partition: &Partition) -> Option<i64> {
    let Partition { app_offset, next_offset, ls_offset, fetchq_cnt, .. } = *partition;
    if ls_offset < 0 || next_offset.max(app_offset) < 0 {
        return None; // no broker has answered yet
    }
    let next = match fetchq_cnt {
        // Nothing is waiting, so everything fetched was handed out. Transaction markers at the end are never
        // handed out.
        ..=0 => next_offset.max(app_offset),
        waiting if app_offset < 0 => next_offset - waiting,
        _ => app_offset,
    };
    Some((ls_offset - next).max(0))
}

/// Forwards log lines of librdkafka. All clients get all properties, so a warning about a property that one
/// client does not use is only logged for debugging. Failed connections are also only logged for debugging
/// here, because [`ClientEvents::report`] reports them.
fn log(level: RDKafkaLogLevel, facility: &str, message: &str) {
    use RDKafkaLogLevel as Level;
    match facility {
        // A transaction that was ended by a rebalance, a fencing or a broker is not a fault. Its owner writes
        // it again or drops its state, and logs that. A new owner of a transactional id waits until the
        // former owner's transaction has ended, and logs it if that takes long.
        "ADDPARTS" | "CONFWARN" | "FAIL" | "GETPID" | "TXNERR" => {
            tracing::debug!("librdkafka: {facility} {message}");
            return;
        }
        // The client failed and will be replaced.
        "FATAL" => {
            tracing::warn!("librdkafka: {facility} {message}");
            return;
        }
        _ => {}
    }
    match level {
        Level::Emerg | Level::Alert | Level::Critical | Level::Error => {
            tracing::error!("librdkafka: {facility} {message}");
        }
        Level::Warning => tracing::warn!("librdkafka: {facility} {message}"),
        Level::Notice | Level::Info => tracing::info!("librdkafka: {facility} {message}"),
        Level::Debug => tracing::debug!("librdkafka: {facility} {message}"),
    }
}

impl ClientContext for ClientEvents {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log(level, facility, message);
    }

    fn stats(&self, statistics: Statistics) {
        self.statistics(&statistics);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.report(&error, reason);
    }
}

/// Delivery callback of a client that sends nothing.
impl ProducerContext for ClientEvents {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

impl ConsumerContext for ClientEvents {}

/// Implements `ClientContext` for a context of this crate that has a field `events`, a [`ClientEvents`].
macro_rules! reports_by_events {
    ($context:ty) => {
        impl rdkafka::ClientContext for $context {
            fn log(&self, level: rdkafka::config::RDKafkaLogLevel, facility: &str, message: &str) {
                self.events.log(level, facility, message);
            }
            fn stats(&self, statistics: rdkafka::Statistics) {
                self.events.stats(statistics);
            }
            fn error(&self, error: rdkafka::error::KafkaError, reason: &str) {
                self.events.error(error, reason);
            }
        }
    };
}
pub(crate) use reports_by_events;

#[cfg(test)]
mod tests {
    use super::broker;

    #[test]
    fn errors_name_their_broker() {
        for (reason, found) in [
            ("127.0.0.1:9/bootstrap: Connect to ipv4#127.0.0.1:9 failed", Some("127.0.0.1:9")),
            ("sasl_ssl://kafka-1.example:9093/7: Disconnected: verify", Some("kafka-1.example:9093")),
            ("ssl://[::1]:9093/bootstrap: SSL handshake failed", Some("[::1]:9093")),
            ("2/3 brokers are down", None),
            ("Fetch from broker 1 failed: Not leader", None),
        ] {
            assert_eq!(broker(reason), found, "{reason}");
        }
    }
}
