//! The page topic as one member of the group reads it.
//!
//! Invariants: a lease begins at the committed offset; only what is delivered is committed; a partition that is
//! lost is dropped without a commit. Rebalances ([`super::leases`]) run inside [`PageConsumer::poll`], on the caller's
//! thread. Memory: a message that is held holds the broker's whole answer, at most 1 MB a partition.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedHeaders, BorrowedMessage, Header, Headers, Message as _};

use super::leases::{PagesContext, commit};
use super::session::Shared;
use crate::config::KafkaConfig;
use crate::fingerprint::record::{Place, Received};
use crate::log::session::LeaseId;
use crate::page::message::Message;
use crate::page::timestamp::Timestamp;
use crate::pipeline::kafka::client;
use crate::telemetry::health::Half;
use crate::telemetry::kafka::ClientEvents;

/// A record that was read under a lease.
pub struct Leased<'a> {
    message: BorrowedMessage<'a>,
    /// Where it stands.
    pub place: Place,
    /// The same as its log record says it.
    pub origin: PageOrigin,
}

impl Leased<'_> {
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
            all.map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect()
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

/// A header; none where its name is not UTF-8, on which rdkafka panics.
fn readable_header(headers: &BorrowedHeaders, at: usize) -> Option<Header<'_, &[u8]>> {
    catch_unwind(AssertUnwindSafe(|| headers.get(at))).ok()
}

/// Where a page stands, as its log record says it.
#[derive(Debug, Clone, Copy)]
pub struct PageOrigin {
    /// The lease under which it was read.
    pub lease: LeaseId,
    /// Partition of the page topic.
    pub partition: u32,
    /// Offset in it.
    pub offset: u64,
    /// Its Kafka timestamp, in milliseconds.
    pub timestamp_ms: Option<i64>,
}

/// A member of the group.
pub struct PageConsumer {
    consumer: BaseConsumer<PagesContext>,
    topic: Arc<str>,
    epoch: u32,
    shared: Arc<Shared>,
}

impl PageConsumer {
    /// Joins the group.
    ///
    /// # Errors
    /// The client cannot be made.
    pub fn new(config: &KafkaConfig, shared: &Arc<Shared>, health: &Arc<Half>) -> anyhow::Result<Self> {
        let topic: Arc<str> = config.topics.pages.as_str().into();
        let context = PagesContext {
            events: ClientEvents::new("pages")
                .lag_of(&config.topics.pages)
                .joins(health)
                .queue("page-fetch", String::new()),
            shared: Arc::clone(shared),
            health: Arc::clone(health),
            topic: Arc::clone(&topic),
        };
        let consumer: BaseConsumer<PagesContext> = client::create(&client::pages_consumer(config), context)?;
        consumer.subscribe(&[&topic]).context("cannot subscribe to the page topic")?;
        Ok(Self { consumer, topic, epoch: config.epoch, shared: Arc::clone(shared) })
    }

    /// The next record, waiting for it at most `timeout`.
    ///
    /// # Errors
    /// The consumer cannot go on; what may pass is waited out.
    pub fn poll(&self, timeout: Duration) -> anyhow::Result<Option<Leased<'_>>> {
        match self.consumer.poll(timeout) {
            None => Ok(None),
            Some(Ok(message)) => Ok(self.leased(message)),
            Some(Err(KafkaError::MessageConsumptionFatal(error))) => bail!("cannot read pages: {error}"),
            Some(Err(error)) => {
                tracing::debug!(%error, "waiting for the broker");
                Ok(None)
            }
        }
    }

    fn leased<'a>(&'a self, message: BorrowedMessage<'a>) -> Option<Leased<'a>> {
        let partition = u32::try_from(message.partition()).ok()?;
        let offset = u64::try_from(message.offset()).ok()?;
        let lease = self.shared.lock().session.lease(partition)?;
        let place = Place::Message { topic: Arc::clone(&self.topic), partition, offset, epoch: self.epoch };
        let timestamp_ms = message.timestamp().to_millis().filter(|ms| *ms >= 0);
        Some(Leased { message, place, origin: PageOrigin { lease, partition, offset, timestamp_ms } })
    }

    /// Commits what has been delivered since the last time.
    pub fn commit(&self, mode: CommitMode) {
        let committable = self.shared.lock().session.take_committable();
        commit(&self.consumer, &self.topic, &committable, mode);
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
