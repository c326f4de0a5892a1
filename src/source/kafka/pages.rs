//! The page topic as one member of the group reads it.
//!
//! ```text
//! assigned: committed offset, compared with what is there ─► Session::assign ─► messages ─► records
//! revoked:  no more is sent ─► wait for what is in flight ─► commit ─► Session::revoke
//! ```
//! Invariants: a lease begins at the committed offset; only what is delivered is committed; a partition that is
//! lost is dropped without a commit. Rebalances run inside [`PageConsumer::poll`], on the caller's thread.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::message::{BorrowedHeaders, BorrowedMessage, Headers, Message as _};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use crate::config::KafkaConfig;
use crate::fingerprint::record::{Place, Received};
use crate::log::session::{LeaseId, Session};
use crate::page::message::Message;
use crate::page::timestamp::Timestamp;
use crate::pipeline::kafka::client::{self, CALL_TIMEOUT};
use crate::source::{Payload, Record};
use crate::telemetry::health::Half;
use crate::telemetry::kafka::{ClientEvents, reports_by_events};
use crate::telemetry::metrics;

/// How long a revoked partition waits for its records in flight; what is late is sent again by the next owner.
const REVOKE_PATIENCE: Duration = Duration::from_secs(5);
/// How long an assignment waits for brokers to say where its partitions begin.
const ASSIGN_PATIENCE: Duration = Duration::from_secs(30);

/// What consumer and producer of one session share.
#[derive(Default)]
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// A session, and whether it goes on.
#[derive(Default)]
pub struct State {
    /// Leases and records in flight.
    pub session: Session,
    /// Why the session has ended.
    pub broken: Option<String>,
    /// The consumer is being closed: what is assigned to it still, it does not begin.
    pub closing: bool,
    /// Why there must be no other.
    pub refused: Option<anyhow::Error>,
}

impl Shared {
    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that deliveries have come in, or that the session is broken.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Ends the session.
    pub fn fail(&self, why: String) {
        self.lock().broken.get_or_insert(why);
        self.notify();
    }

    /// Waits until `done`, at most `patience`; whether it came to that.
    pub fn wait(&self, patience: Duration, done: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            if done(&state) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || state.broken.is_some() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, left.min(Duration::from_millis(100)))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// A record that was read under a lease.
pub struct Leased {
    /// The message.
    pub record: Record,
    /// Where it stands.
    pub origin: PageOrigin,
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

/// What happens between polls.
struct PagesContext {
    events: ClientEvents,
    shared: Arc<Shared>,
    health: Arc<Half>,
    topic: Arc<str>,
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
    pub fn poll(&self, timeout: Duration) -> anyhow::Result<Option<Leased>> {
        match self.consumer.poll(timeout) {
            None => Ok(None),
            Some(Ok(message)) => Ok(self.leased(&message)),
            Some(Err(KafkaError::MessageConsumptionFatal(error))) => bail!("cannot read pages: {error}"),
            Some(Err(error)) => {
                tracing::debug!(%error, "waiting for the broker");
                Ok(None)
            }
        }
    }

    fn leased(&self, message: &BorrowedMessage<'_>) -> Option<Leased> {
        let partition = u32::try_from(message.partition()).ok()?;
        let offset = u64::try_from(message.offset()).ok()?;
        let lease = self.shared.lock().session.lease(partition)?;
        let place = Place::Message { topic: Arc::clone(&self.topic), partition, offset, epoch: self.epoch };
        let record = Record { place, payload: Payload::Message(Box::new(owned(message))) };
        metrics::page_read(message.payload_len());
        let timestamp_ms = message.timestamp().to_millis().filter(|ms| *ms >= 0);
        Some(Leased { record, origin: PageOrigin { lease, partition, offset, timestamp_ms } })
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

fn owned(message: &BorrowedMessage<'_>) -> Message {
    let headers = message.headers().map_or_else(Vec::new, |headers| {
        (0..headers.count()).filter_map(|at| readable_header(headers, at)).collect()
    });
    // A record without a time counts as read now; a repetition may say otherwise, and the first one in the log
    // decides.
    let now = Timestamp::now();
    let time = message.timestamp().to_millis().filter(|ms| *ms >= 0).and_then(Timestamp::from_ms);
    let received = Received {
        key: message.key().map(<[u8]>::to_vec),
        headers,
        log_time: Some(time.map_or(now, |time| time.min(now))),
    };
    Message { value: message.payload().map(<[u8]>::to_vec), received: Box::new(received) }
}

/// A header; none where its name is not UTF-8, on which rdkafka panics.
fn readable_header(headers: &BorrowedHeaders, at: usize) -> Option<(String, Option<Vec<u8>>)> {
    let header = catch_unwind(AssertUnwindSafe(|| headers.get(at))).ok()?;
    Some((header.key.to_owned(), header.value.map(<[u8]>::to_vec)))
}

fn commit(consumer: &BaseConsumer<PagesContext>, topic: &str, offsets: &[(u32, u64)], mode: CommitMode) {
    if offsets.is_empty() {
        return;
    }
    let mut list = TopicPartitionList::new();
    for (partition, offset) in offsets {
        let (Ok(partition), Ok(offset)) = (i32::try_from(*partition), i64::try_from(*offset)) else {
            continue;
        };
        // An offset is refused only if it is negative.
        let _ = list.add_partition_offset(topic, partition, Offset::Offset(offset));
    }
    if let Err(error) = consumer.commit(&list, mode) {
        // Whoever reads next sends these pages again, and they count once.
        tracing::warn!(%error, "page offsets were not committed");
    }
}

reports_by_events!(PagesContext);

impl ConsumerContext for PagesContext {
    fn rebalance(
        &self,
        consumer: &BaseConsumer<Self>,
        event: RDKafkaRespErr,
        partitions: &mut TopicPartitionList,
    ) {
        let result = match event {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => self.assigned(consumer, partitions),
            _ => self.revoked(consumer, partitions),
        };
        if let Err(error) = result {
            self.shared.fail(format!("{error:#}"));
            if error.is::<TopicReplaced>() {
                self.shared.lock().refused = Some(error);
            }
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Err(error) = result {
            tracing::warn!(%error, "page offsets were not committed; these pages may be read again");
        }
    }
}

impl PagesContext {
    fn assigned(&self, consumer: &BaseConsumer<Self>, partitions: &TopicPartitionList) -> anyhow::Result<()> {
        let numbers = numbers(partitions);
        self.health.tick();
        let mut from = TopicPartitionList::new();
        // A consumer that is closing gets no answer to its questions, and would wait for one.
        if !numbers.is_empty() && !self.shared.lock().closing {
            let starts = self.starts(consumer, &numbers)?;
            for (partition, start) in &starts {
                let offset = Offset::Offset(i64::try_from(*start)?);
                from.add_partition_offset(&self.topic, i32::try_from(*partition)?, offset)?;
            }
            let mut state = self.shared.lock();
            for partition in starts.keys() {
                state.session.assign(*partition);
            }
        }
        consumer.incremental_assign(&from).context("cannot take partitions")?;
        tracing::info!(partitions = ?numbers, "pages: partitions assigned");
        self.health.assigned(numbers.len());
        Ok(())
    }

    /// Where each partition goes on: at its committed offset, or at its beginning.
    fn starts(
        &self,
        consumer: &BaseConsumer<Self>,
        partitions: &[u32],
    ) -> anyhow::Result<BTreeMap<u32, u64>> {
        let deadline = Instant::now() + ASSIGN_PATIENCE;
        loop {
            match self.try_starts(consumer, partitions) {
                Ok(starts) => return Ok(starts),
                // Only an answer that cannot change is final.
                Err(error) if error.is::<TopicReplaced>() || Instant::now() > deadline => return Err(error),
                Err(error) => {
                    tracing::info!("asking again: {error:#}");
                    self.health.tick();
                    client::before_asking_again(Duration::from_millis(500));
                }
            }
        }
    }

    fn try_starts(
        &self,
        consumer: &BaseConsumer<Self>,
        partitions: &[u32],
    ) -> anyhow::Result<BTreeMap<u32, u64>> {
        let mut wanted = TopicPartitionList::new();
        for partition in partitions {
            wanted.add_partition(&self.topic, i32::try_from(*partition)?);
        }
        let committed = consumer.committed_offsets(wanted, CALL_TIMEOUT).context("no committed offsets")?;
        let mut starts = BTreeMap::new();
        for element in committed.elements() {
            element.error().context("no committed offset")?;
            let (low, high) = consumer
                .fetch_watermarks(&self.topic, element.partition(), CALL_TIMEOUT)
                .context("no answer about where the page topic begins and ends")?;
            let partition = u32::try_from(element.partition())?;
            let start = match element.offset() {
                Offset::Offset(committed) if committed > high => {
                    let topic = self.topic.to_string();
                    return Err(TopicReplaced { topic, partition, committed, high }.into());
                }
                Offset::Offset(committed) if committed < low => {
                    tracing::error!(
                        topic = &*self.topic,
                        partition,
                        "pages {committed} to {low} were deleted by retention before they were read: {} pages \
                         have no verdict",
                        low - committed
                    );
                    metrics::pages_lost(low - committed);
                    low
                }
                Offset::Offset(committed) => committed,
                _ => low,
            };
            starts.insert(partition, u64::try_from(start)?);
        }
        Ok(starts)
    }

    fn revoked(&self, consumer: &BaseConsumer<Self>, partitions: &TopicPartitionList) -> anyhow::Result<()> {
        let numbers = numbers(partitions);
        let lost = consumer.assignment_lost();
        if !lost {
            {
                let mut state = self.shared.lock();
                numbers.iter().for_each(|partition| state.session.close(*partition));
            }
            let delivered = |state: &State| {
                numbers.iter().all(|partition| state.session.in_flight(Some(*partition)) == 0)
            };
            if !self.shared.wait(REVOKE_PATIENCE, delivered) {
                tracing::info!("some records in flight are late: the next owner sends them again");
            }
            let committable = self.shared.lock().session.take_committable();
            commit(consumer, &self.topic, &committable, CommitMode::Sync);
        }
        {
            let mut state = self.shared.lock();
            numbers.iter().for_each(|partition| state.session.revoke(*partition));
        }
        self.shared.notify();
        partitions.elements().iter().for_each(|element| metrics::lag(&self.topic, element.partition(), 0));
        tracing::info!(partitions = ?numbers, lost, "pages: partitions revoked");
        self.health.revoked(numbers.len());
        consumer.incremental_unassign(partitions).context("cannot give partitions back")
    }
}

/// The group has read further than the topic goes.
#[derive(Debug, thiserror::Error)]
#[error(
    "topic {topic}, partition {partition}: the group has committed offset {committed}, and the topic ends at {high}: \
     it was deleted and created anew, or cut. Its new pages would count as read already; raise kafka.epoch to have \
     all pages of the topic processed"
)]
pub struct TopicReplaced {
    topic: String,
    partition: u32,
    committed: i64,
    high: i64,
}

fn numbers(partitions: &TopicPartitionList) -> Vec<u32> {
    partitions.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
}
