//! What librdkafka reports beside messages: errors into the log, statistics into metrics.

use std::sync::Arc;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::statistics::Partition;
use rdkafka::{ClientContext, Statistics};

use crate::telemetry::health::StageHealth;
use crate::telemetry::metrics;

/// Takes the reports of one client.
pub struct ClientEvents {
    client: &'static str,
    /// The topic whose lag is shown.
    lag_of: Option<String>,
    joins: Option<Arc<StageHealth>>,
    /// The queue whose fill is shown, and the partition of the log that it belongs to.
    queue: Option<(&'static str, String)>,
}

impl ClientEvents {
    /// Reports of the client of this name.
    #[must_use]
    pub fn new(client: &'static str) -> Self {
        Self { client, lag_of: None, joins: None, queue: None }
    }

    /// Shows the lag of the partitions of `topic` that are read.
    #[must_use]
    pub fn lag_of(self, topic: &str) -> Self {
        Self { lag_of: Some(topic.to_owned()), ..self }
    }

    /// Tells `stage` when the group has settled, even if no partition fell to this member.
    #[must_use]
    pub fn joins(self, stage: &Arc<StageHealth>) -> Self {
        Self { joins: Some(Arc::clone(stage)), ..self }
    }

    /// Shows how full the client's queue is: of messages fetched, or to be sent.
    #[must_use]
    pub fn queue(self, queue: &'static str, partition: String) -> Self {
        Self { queue: Some((queue, partition)), ..self }
    }

    fn queue_fill(&self, statistics: &Statistics) {
        let Some((queue, partition)) = &self.queue else { return };
        let (mut records, mut bytes) = (statistics.msg_cnt, statistics.msg_size);
        if statistics.client_type == "consumer" {
            // All partitions of a consumer share one queue, and each says how full it is.
            let partitions = || statistics.topics.values().flat_map(|topic| topic.partitions.values());
            let counts = partitions().map(|partition| u64::try_from(partition.fetchq_cnt).unwrap_or(0));
            records = counts.max().unwrap_or(0);
            bytes = partitions().map(|partition| partition.fetchq_size).max().unwrap_or(0);
        }
        metrics::queue(queue, partition, records, bytes);
    }

    /// Takes statistics.
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
            // -1 is the partition of what has none.
            if *number >= 0
                && partition.fetch_state == "active"
                && let Some(records) = unread(partition)
            {
                metrics::lag(&topic.topic, *number, records);
            }
        }
    }

    /// Takes an error that concerns no message; librdkafka goes on by itself.
    fn report(&self, error: &KafkaError, reason: &str) {
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::PartitionEOF) {
            return; // asked for, and no error
        }
        metrics::client_error(self.client);
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) {
            return; // follows from what was said of each of them
        }
        tracing::warn!(client = self.client, %error, "{reason}");
    }
}

/// Records of a partition that the client has not yet handed out. librdkafka's
/// own `consumer_lag` counts from what the same client has committed, and the
/// log's readers commit by a producer's transaction: for them there is none.
fn unread(partition: &Partition) -> Option<i64> {
    let Partition { app_offset, next_offset, ls_offset, fetchq_cnt, .. } = *partition;
    if ls_offset < 0 || next_offset.max(app_offset) < 0 {
        return None; // no broker has answered yet
    }
    let next = match fetchq_cnt {
        // Nothing waits, so all that was fetched is handed
        // out; markers of transactions, at the end, never are.
        ..=0 => next_offset.max(app_offset),
        waiting if app_offset < 0 => next_offset - waiting,
        _ => app_offset,
    };
    Some((ls_offset - next).max(0))
}

/// Takes what librdkafka logs. Properties are given to all clients,
/// so that some clients have no use for some of them is nothing to
/// warn of; failed connections are told by [`ClientEvents::report`].
fn log(level: RDKafkaLogLevel, facility: &str, message: &str) {
    use RDKafkaLogLevel as Level;
    match facility {
        // A transaction that a rebalance, a fencing or a broker has ended is nothing
        // broken: its owner writes it again, or drops its state, and says so. Whoever
        // takes a transactional id over waits for that, and says so if it takes long.
        "CONFWARN" | "FAIL" | "GETPID" | "TXNERR" => {
            tracing::debug!("librdkafka: {facility} {message}");
            return;
        }
        // Of one client, in whose place there will be another.
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

/// Of a producer that sends nothing.
impl ProducerContext for ClientEvents {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &DeliveryResult<'_>, (): ()) {}
}

impl ConsumerContext for ClientEvents {}

/// Lets a client's context of the product's own report by its field `events`, a [`ClientEvents`].
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
