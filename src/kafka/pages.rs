//! The page topic as one member of the group reads it.
//!
//! Invariants: an assignment begins at the committed offset; only what is delivered is committed; a
//! partition that is lost is dropped without a commit. Rebalances ([`super::assignments`]) run
//! inside [`PageConsumer::poll`], on the caller's thread. Memory: a message that is held holds the
//! broker's whole answer, at most 1 MB a partition.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message as _};

use super::assignments::{PagesContext, commit};
use super::page_session::Shared;
use crate::kafka::client;
use crate::kafka::config::KafkaConfig;
use crate::kafka::events::ClientEvents;
use crate::kafka::headers;
use crate::kafka::identity::TopicWatch;
use crate::kafka::page_message::Message;
use crate::log::identity::TopicId;
use crate::log::session::AssignmentId;
use crate::record::timestamp::Timestamp;
use crate::record::{Place, Received};
use crate::telemetry::health::StageHealth;
use crate::telemetry::traces::{self, context::TraceContext};

/// A record that was read under an assignment.
pub struct Assigned<'a> {
    message: BorrowedMessage<'a>,
    /// Where it stands.
    pub place: Place,
    /// The same as its log record says it.
    pub origin: PageOrigin,
    /// When it was read, in nanoseconds since 1970; 0 where pages are not traced.
    pub(crate) read_at: u64,
}

impl Assigned<'_> {
    /// Bytes of the message's value.
    #[must_use]
    pub fn value_bytes(&self) -> usize {
        self.message.payload_len()
    }

    /// Bytes of memory that the message holds, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let headers = self.message.headers().map_or(0, |all| {
            headers::all(all).map(|(name, value)| name.len() + value.map_or(0, <[u8]>::len) + 64).sum()
        });
        self.message.payload_len() + self.message.key_len() + headers + size_of::<Self>()
    }

    /// The trace that it belongs to, if it says so.
    pub(crate) fn trace_context(&self) -> Option<TraceContext> {
        self.message.headers().and_then(headers::trace_context)
    }

    /// The message. Its value stays where the client has received it; key and headers are copied.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        let headers = self.message.headers().map_or_else(Vec::new, |all| {
            let owned =
                |(name, value): (Cow<'_, str>, Option<&[u8]>)| (name.into_owned(), value.map(<[u8]>::to_vec));
            headers::all(all).map(owned).collect()
        });
        // A record without a time counts as read now; a repetition
        // may say otherwise, and the first one in the log decides.
        let now = Timestamp::now();
        let received = Received {
            key: self.message.key().map(<[u8]>::to_vec),
            headers,
            log_time: Some(
                self.origin.timestamp_ms.and_then(Timestamp::from_ms).map_or(now, |time| time.min(now)),
            ),
        };
        Message { value: self.message.payload(), received: Box::new(received) }
    }
}

/// Where a page stands, as its log record says it.
#[derive(Debug, Clone, Copy)]
pub struct PageOrigin {
    /// The assignment under which it was read.
    pub assignment: AssignmentId,
    /// Partition of the page topic.
    pub partition: u32,
    /// Offset in it.
    pub offset: u64,
    /// Its Kafka timestamp, in milliseconds.
    pub timestamp_ms: Option<i64>,
    /// The page topic's id.
    pub topic_id: Option<TopicId>,
}

/// A member of the group.
pub struct PageConsumer {
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
    /// The client cannot be made.
    pub fn new(
        config: &KafkaConfig,
        shared: &Arc<Shared>,
        topics: &Arc<TopicWatch>,
        health: &Arc<StageHealth>,
    ) -> anyhow::Result<Self> {
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

    /// The next record, waiting for it at most `timeout`.
    ///
    /// # Errors
    /// The consumer cannot go on; what may pass is waited out.
    pub fn poll(&self, timeout: Duration) -> anyhow::Result<Option<Assigned<'_>>> {
        match self.consumer.poll(timeout) {
            None => Ok(None),
            Some(Ok(message)) => Ok(self.leased(message)),
            Some(Err(KafkaError::MessageConsumptionFatal(error))) => bail!("cannot read pages: {error}"),
            Some(Err(error)) => {
                use RDKafkaErrorCode as Code;
                if let Some(Code::AutoOffsetReset | Code::LogTruncation) = error.rdkafka_error_code() {
                    // It does not say which partition; whoever is
                    // assigned it next counts what is missing.
                    tracing::warn!(%error, "a partition of the page topic is not where it was read");
                    self.shared.lock().overtaken = true;
                }
                tracing::debug!(%error, "waiting for the broker");
                Ok(None)
            }
        }
    }

    fn leased<'a>(&'a self, message: BorrowedMessage<'a>) -> Option<Assigned<'a>> {
        let partition = u32::try_from(message.partition()).ok()?;
        let offset = u64::try_from(message.offset()).ok()?;
        let assignment = self.shared.lock().session.assignment(partition)?;
        let place = Place::Message { topic: Arc::clone(&self.topic), partition, offset, epoch: self.epoch };
        let timestamp_ms = message.timestamp().to_millis().filter(|ms| *ms >= 0);
        let topic_id = self.topics.ids().pages;
        let origin = PageOrigin { assignment, partition, offset, timestamp_ms, topic_id };
        let read_at = traces::tracer().map_or(0, |_| traces::now());
        Some(Assigned { message, place, origin, read_at })
    }

    /// Commits what has been delivered since the last time.
    pub fn commit(&self, mode: CommitMode) {
        let committable = self.shared.lock().session.take_committable();
        commit(&self.consumer, &self.topic, &self.topics.ids(), &committable, mode);
    }

    /// Stops fetching; polling goes on.
    ///
    /// # Errors
    /// librdkafka refuses.
    pub fn pause(&self) -> anyhow::Result<()> {
        Ok(self.consumer.pause(&self.consumer.assignment()?)?)
    }

    /// Fetches again.
    ///
    /// # Errors
    /// librdkafka refuses.
    pub fn resume(&self) -> anyhow::Result<()> {
        Ok(self.consumer.resume(&self.consumer.assignment()?)?)
    }
}
