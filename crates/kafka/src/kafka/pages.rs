//! Reads the page topic as a member of the consumer group.
//!
//! Invariants: an assignment starts at the committed offset; only delivered records are committed; a lost
//! partition is dropped without a commit. Rebalances ([`super::assignments`]) run inside
//! [`PageConsumer::poll`], on the caller's thread. Memory: a message keeps the broker's whole answer alive,
//! at most 1 MB per partition.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::{BorrowedMessage, Message as _};

use super::assignments::{PagesContext, commit};
use super::page_session::Shared;
use super::session::AssignmentId;
use crate::kafka::client;
use crate::kafka::error::{Result, refused};
use crate::kafka::events::ClientEvents;
use crate::kafka::headers;
use crate::kafka::identity::TopicWatch;
use leitong_base::error::Context;
use leitong_base::record::{Place, Received, Timestamp};
use leitong_cluster::log::TopicId;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::traces::{self, context::TraceContext};
use leitong_pipeline::Message;
use leitong_pipeline::config::kafka::KafkaConfig;
use leitong_pipeline::marks::now;

/// A record that was read under an assignment.
pub(crate) struct Assigned<'a> {
    message: BorrowedMessage<'a>,
    /// Place of the message.
    pub place: Place,
    /// The same place, in the form of a log record.
    pub origin: PageOrigin,
    /// Time when the message was read, in nanoseconds since 1970; 0 if pages are not traced.
    pub(crate) read_at: u64,
}

impl Assigned<'_> {
    /// Returns the bytes of the message's value.
    pub(crate) fn value_bytes(&self) -> usize {
        self.message.payload_len()
    }

    /// Returns the approximate bytes of memory that the message holds.
    pub(crate) fn bytes(&self) -> usize {
        let headers = self.message.headers().into_iter().flat_map(headers::all);
        let headers: usize =
            headers.map(|(name, value)| name.len() + value.map_or(0, <[u8]>::len) + 64).sum();
        self.message.payload_len() + self.message.key_len() + headers + size_of::<Self>()
    }

    /// Returns the trace context in the message's headers, if there is one.
    pub(crate) fn trace_context(&self) -> Option<TraceContext> {
        TraceContext::from_headers(self.message.headers().into_iter().flat_map(headers::all))
    }

    /// Returns the message. Its value is not copied; key and headers are.
    pub(crate) fn message(&self) -> Message<'_> {
        // A record without a time counts as read now. If it is read again, the time may differ, and the first
        // one in the log is used.
        let now = Timestamp::now();
        let received = Received {
            key: self.message.key().map(<[u8]>::to_vec),
            headers: headers::copy(self.message.headers()),
            log_time: Some(
                self.origin.timestamp_ms.and_then(Timestamp::from_ms).map_or(now, |time| time.min(now)),
            ),
        };
        Message { value: self.message.payload(), received: Box::new(received) }
    }
}

/// Place of a page, in the form of a log record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageOrigin {
    /// Assignment under which the page was read.
    pub assignment: AssignmentId,
    /// Partition of the page topic.
    pub partition: u32,
    /// Offset in that partition.
    pub offset: u64,
    /// The message's Kafka timestamp, in milliseconds.
    pub timestamp_ms: Option<i64>,
    /// The page topic's id.
    pub topic_id: Option<TopicId>,
}

/// A member of the group that reads the page topic.
pub(crate) struct PageConsumer {
    consumer: BaseConsumer<PagesContext>,
    topic: Arc<str>,
    epoch: u32,
    shared: Arc<Shared>,
    topics: Arc<TopicWatch>,
}

impl PageConsumer {
    /// Joins the group.
    ///
    /// # Errors
    /// Fails if the client cannot be created.
    pub(crate) fn new(
        config: &KafkaConfig,
        shared: &Arc<Shared>,
        topics: &Arc<TopicWatch>,
        health: &Arc<StageHealth>,
    ) -> Result<Self> {
        let topic: Arc<str> = config.topics.pages.as_str().into();
        let context = PagesContext {
            events: ClientEvents::new("pages")
                .lag_of(&config.topics.pages)
                .joins(health)
                .queue("page-fetch", String::new()),
            shared: Arc::clone(shared),
            health: Arc::clone(health),
            topic: Arc::clone(&topic),
            topics: Arc::clone(topics),
        };
        let consumer: BaseConsumer<PagesContext> = client::create(&client::pages_consumer(config), context)?;
        consumer.subscribe(&[&topic]).context("cannot subscribe to the page topic")?;
        let (shared, topics) = (Arc::clone(shared), Arc::clone(topics));
        Ok(Self { consumer, topic, epoch: config.epoch, shared, topics })
    }

    /// Returns the next record. Waits for it at most `timeout`.
    ///
    /// # Errors
    /// Fails if the consumer cannot continue. Temporary errors are waited out.
    pub(crate) fn poll(&self, timeout: Duration) -> Result<Option<Assigned<'_>>> {
        match self.consumer.poll(timeout) {
            None => Ok(None),
            Some(Ok(message)) => Ok(self.under_assignment(message)),
            Some(Err(error)) if let Some(advice) = client::final_advice(&error) => {
                Err(refused!("cannot read pages of topic {}: {error}{advice}", self.topic))
            }
            Some(Err(error)) => {
                use RDKafkaErrorCode as Code;
                if let Some(Code::AutoOffsetReset | Code::LogTruncation) = error.rdkafka_error_code() {
                    // The error does not name the partition. Its next owner counts the missing records.
                    tracing::warn!(%error, "pages may be lost: the next offset of a partition of the page topic is gone");
                    self.shared.lock().overtaken = true;
                }
                tracing::debug!(%error, "waiting for the broker");
                Ok(None)
            }
        }
    }

    fn under_assignment<'a>(&'a self, message: BorrowedMessage<'a>) -> Option<Assigned<'a>> {
        let partition = u32::try_from(message.partition()).ok()?;
        let offset = u64::try_from(message.offset()).ok()?;
        let assignment = self.shared.lock().session.assignment(partition)?;
        let place = Place::Message { topic: Arc::clone(&self.topic), partition, offset, epoch: self.epoch };
        let timestamp_ms = message.timestamp().to_millis().filter(|ms| *ms >= 0);
        let topic_id = self.topics.ids().pages;
        let origin = PageOrigin { assignment, partition, offset, timestamp_ms, topic_id };
        let read_at = traces::tracer().map_or(0, |_| now());
        Some(Assigned { message, place, origin, read_at })
    }

    /// Commits the offsets of records that were delivered since the last commit, without waiting for the answer.
    pub(crate) fn commit(&self) {
        self.commit_in(CommitMode::Async);
    }

    /// Commits like [`Self::commit`], and waits for the answer.
    pub(crate) fn commit_and_wait(&self) {
        self.commit_in(CommitMode::Sync);
    }

    fn commit_in(&self, mode: CommitMode) {
        let committable = self.shared.lock().session.take_committable();
        commit(&self.consumer, &self.topic, &self.topics.ids(), &committable, mode);
    }

    /// Pauses fetching; polling continues.
    ///
    /// # Errors
    /// Fails if librdkafka refuses.
    pub(crate) fn pause(&self) -> Result<()> {
        Ok(self.consumer.pause(&self.consumer.assignment()?)?)
    }

    /// Resumes fetching.
    ///
    /// # Errors
    /// Fails if librdkafka refuses.
    pub(crate) fn resume(&self) -> Result<()> {
        Ok(self.consumer.resume(&self.consumer.assignment()?)?)
    }
}
