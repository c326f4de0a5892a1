//! The page topic as one member of the group reads it.
//!
//! Invariants: an assignment begins at the committed offset; only what is delivered is committed; a partition that is
//! lost is dropped without a commit. Rebalances ([`super::assignments`]) run inside [`PageConsumer::poll`], on the caller's
//! thread. Memory: a message that is held holds the broker's whole answer, at most 1 MB a partition.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::Duration;

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{BorrowedHeaders, BorrowedMessage, Header, Headers, Message as _};

use super::assignments::{PagesContext, commit};
use super::page_session::Shared;
use crate::kafka::client;
use crate::kafka::config::KafkaConfig;
use crate::kafka::events::ClientEvents;
use crate::kafka::identity::TopicWatch;
use crate::kafka::page_message::Message;
use crate::log::identity::TopicId;
use crate::log::session::AssignmentId;
use crate::record::HEADERS_LEFT_OUT;
use crate::record::timestamp::Timestamp;
use crate::record::{Place, Received};
use crate::telemetry::health::StageHealth;
use crate::telemetry::metrics;

/// A record that was read under an assignment.
pub struct Assigned<'a> {
    message: BorrowedMessage<'a>,
    /// Where it stands.
    pub place: Place,
    /// The same as its log record says it.
    pub origin: PageOrigin,
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
        let headers = self.message.headers().map_or(0, |headers| {
            let all = (0..headers.count()).filter_map(|at| readable_header(headers, at));
            all.map(|header| header.key.len() + header.value.map_or(0, <[u8]>::len) + 64).sum()
        });
        self.message.payload_len() + self.message.key_len() + headers + size_of::<Self>()
    }

    /// The message. Its value stays where the client has received it; key and headers are copied.
    #[must_use]
    pub fn message(&self) -> Message<'_> {
        let headers = self.message.headers().map_or_else(Vec::new, |headers| {
            let all = (0..headers.count()).filter_map(|at| readable_header(headers, at));
            let mut all: Vec<_> =
                all.map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect();
            let unreadable = headers.count() - all.len();
            if unreadable > 0 {
                metrics::headers_unreadable(unreadable);
                // As a header, it goes with the others into a dead letter.
                let told = format!("{unreadable} whose names are not UTF-8; they stand at {}", self.place);
                all.push((HEADERS_LEFT_OUT.to_owned(), Some(told.into_bytes())));
            }
            all
        });
        // A record without a time counts as read now; a repetition may say otherwise, and the first one in the log
        // decides.
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

thread_local! {
    /// This thread reads a header, and knows what to do when that panics.
    static READING_HEADER: Cell<bool> = const { Cell::new(false) };
}

/// A header; none where its name is not UTF-8, on which rdkafka panics: it has no function that gives the bytes. The panic is
/// caught here, and [`quiet_header_panics`] keeps it off standard error.
fn readable_header(headers: &BorrowedHeaders, at: usize) -> Option<Header<'_, &[u8]>> {
    READING_HEADER.set(true);
    let header = catch_unwind(AssertUnwindSafe(|| headers.get(at))).ok();
    READING_HEADER.set(false);
    header
}

/// Has the panic hook say nothing of panics that [`readable_header`] catches; of all others it says what it did before.
fn quiet_header_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !READING_HEADER.get() {
                loud(panic);
            }
        }));
    });
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
        quiet_header_panics();
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
                    // It does not say which partition; whoever is assigned it next counts what is missing.
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
        Some(Assigned { message, place, origin })
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
