//! What librdkafka reports beside messages: errors into the log, statistics into metrics.

use std::sync::Arc;

use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::{ClientContext, Statistics};

use super::health::Half;
use super::metrics;

/// Takes the reports of one client.
pub struct ClientEvents {
    client: &'static str,
    /// The topic whose lag is shown.
    lag_of: Option<String>,
    joins: Option<Arc<Half>>,
}

impl ClientEvents {
    /// Reports of the client of this name.
    #[must_use]
    pub fn new(client: &'static str) -> Self {
        Self { client, lag_of: None, joins: None }
    }

    /// Shows the lag of the partitions of `topic` that are read.
    #[must_use]
    pub fn lag_of(self, topic: &str) -> Self {
        Self { lag_of: Some(topic.to_owned()), ..self }
    }

    /// Tells `half` when the group has settled, even if no partition fell to this member.
    #[must_use]
    pub fn joins(self, half: &Arc<Half>) -> Self {
        Self { joins: Some(Arc::clone(half)), ..self }
    }

    /// Takes statistics.
    pub fn statistics(&self, statistics: &Statistics) {
        if let (Some(half), Some(group)) = (&self.joins, &statistics.cgrp)
            && group.join_state == "steady"
        {
            half.joined();
        }
        let Some(topic) = &self.lag_of else { return };
        let Some(topic) = statistics.topics.get(topic) else { return };
        for (number, partition) in &topic.partitions {
            // -1 is the partition of what has none.
            if *number >= 0 && partition.fetch_state == "active" && partition.consumer_lag >= 0 {
                metrics::lag(&topic.topic, *number, partition.consumer_lag);
            }
        }
    }

    /// Takes an error that concerns no message; librdkafka goes on by itself.
    pub fn report(&self, error: &KafkaError, reason: &str) {
        if error.rdkafka_error_code() == Some(RDKafkaErrorCode::PartitionEOF) {
            return; // asked for, and no error
        }
        metrics::client_error(self.client);
        tracing::warn!(client = self.client, %error, "{reason}");
    }
}

impl ClientContext for ClientEvents {
    fn stats(&self, statistics: Statistics) {
        self.statistics(&statistics);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.report(&error, reason);
    }
}

impl ConsumerContext for ClientEvents {}
