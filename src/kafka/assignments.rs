//! What happens to a member of the page topic's group between polls: partitions come and go.
//!
//! ```text
//! assigned: committed offset and its topics' ids, compared with what is there ─► Session::assign
//! revoked:  no more is sent ─► wait for what is in flight ─► commit ─► Session::revoke
//! ```

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use super::page_session::{Shared, State};
use crate::backoff::backoff;
use crate::kafka::client::CALL_TIMEOUT;
use crate::kafka::events::{ClientEvents, reports_by_events};
use crate::kafka::identity::TopicWatch;
use crate::log::identity::{Replaced, TopicIds};
use crate::log::losses::{Losses, Lost};
use crate::telemetry::health::StageHealth;
use crate::telemetry::metrics;

/// How long a revoked partition waits for its records in
/// flight; what is late is sent again by the next owner.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an assignment waits for brokers to say where its partitions begin.
const ASSIGN_TIMEOUT: Duration = Duration::from_secs(30);

/// What happens between polls.
pub(super) struct PagesContext {
    pub(super) events: ClientEvents,
    pub(super) shared: Arc<Shared>,
    pub(super) health: Arc<StageHealth>,
    pub(super) topic: Arc<str>,
    pub(super) topics: Arc<TopicWatch>,
}

/// Commits the offsets behind what is delivered, with the ids of the topics that they belong to.
pub(super) fn commit(
    consumer: &BaseConsumer<PagesContext>,
    topic: &str,
    ids: &TopicIds,
    committable: &[(u32, u64)],
    mode: CommitMode,
) {
    if committable.is_empty() {
        return;
    }
    if let Err(error) = consumer.commit(&offsets(topic, ids, committable), mode) {
        // Whoever reads next sends these pages again, and they count once.
        tracing::warn!(%error, "page offsets were not committed");
    }
}

/// These offsets as they are committed.
fn offsets(topic: &str, ids: &TopicIds, offsets: &[(u32, u64)]) -> TopicPartitionList {
    let metadata = ids.to_metadata();
    let mut list = TopicPartitionList::new();
    for (partition, offset) in offsets {
        let (Ok(partition), Ok(offset)) = (i32::try_from(*partition), i64::try_from(*offset)) else {
            continue;
        };
        let mut element = list.add_partition(topic, partition);
        // An offset is refused only if it is negative.
        let _ = element.set_offset(Offset::Offset(offset));
        if !metadata.is_empty() {
            element.set_metadata(&metadata);
        }
    }
    list
}

/// What was committed with an offset; nothing where it is not UTF-8, on which rdkafka panics.
fn metadata(element: &TopicPartitionListElem<'_>) -> String {
    catch_unwind(AssertUnwindSafe(|| element.metadata().to_owned())).unwrap_or_default()
}

fn is_final(error: &anyhow::Error) -> bool {
    error.is::<TopicReplaced>() || error.is::<Replaced>()
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
            if is_final(&error) {
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

    /// Where each partition goes on: at its committed offset, or at its
    /// beginning. What retention has deleted since the committed offset
    /// is counted here, once: the offset behind it is committed with it.
    fn starts(
        &self,
        consumer: &BaseConsumer<Self>,
        partitions: &[u32],
    ) -> anyhow::Result<BTreeMap<u32, u64>> {
        let deadline = Instant::now() + ASSIGN_TIMEOUT;
        // Of all attempts, since one may be committed though its answer was lost.
        let mut losses = Losses::default();
        loop {
            match self.try_starts(consumer, partitions, &mut losses) {
                Ok(starts) => {
                    losses.iter().for_each(|lost| self.report(lost));
                    return Ok(starts);
                }
                // Only an answer that cannot change is final.
                Err(error) if is_final(&error) || Instant::now() > deadline => return Err(error),
                Err(error) => {
                    tracing::info!("asking again: {error:#}");
                    self.health.tick();
                    backoff(Duration::from_millis(500));
                }
            }
        }
    }

    fn try_starts(
        &self,
        consumer: &BaseConsumer<Self>,
        partitions: &[u32],
        losses: &mut Losses,
    ) -> anyhow::Result<BTreeMap<u32, u64>> {
        let mut wanted = TopicPartitionList::new();
        for partition in partitions {
            wanted.add_partition(&self.topic, i32::try_from(*partition)?);
        }
        let committed = consumer.committed_offsets(wanted, CALL_TIMEOUT).context("no committed offsets")?;
        let mut starts = BTreeMap::new();
        let mut moved = Vec::new();
        for element in committed.elements() {
            element.error().context("no committed offset")?;
            TopicIds::from_metadata(&metadata(&element)).verify(&self.topics.ids())?;
            let (low, high) = consumer
                .fetch_watermarks(&self.topic, element.partition(), CALL_TIMEOUT)
                .context("no answer about where the page topic begins and ends")?;
            let (partition, low) = (u32::try_from(element.partition())?, u64::try_from(low)?);
            let start = match element.offset() {
                Offset::Offset(committed) if committed > high => {
                    let topic = self.topic.to_string();
                    return Err(TopicReplaced { topic, partition, committed, high }.into());
                }
                Offset::Offset(committed) => {
                    let committed = u64::try_from(committed)?;
                    losses.compare(partition, committed, low);
                    committed.max(low)
                }
                // Of what is deleted before a group's first offset nobody knows how much there was.
                _ => low,
            };
            if element.offset() != Offset::Offset(i64::try_from(start)?) {
                moved.push((partition, start));
            }
            starts.insert(partition, start);
        }
        // After all was read: what was read belongs to the topic
        // that this process has begun with, or it is not used.
        self.topics.ask()?;
        self.topics.verify_pages()?;
        // So that the next one to ask knows from where on
        // pages are read, also if this one never commits any.
        if !moved.is_empty() {
            let list = offsets(&self.topic, &self.topics.ids(), &moved);
            consumer.commit(&list, CommitMode::Sync).context("the beginning was not committed")?;
        }
        Ok(starts)
    }

    fn report(&self, lost: &Lost) {
        let Lost { partition, from, to } = *lost;
        tracing::error!(
            topic = &*self.topic,
            partition,
            from,
            to,
            "pages {from} to {to} were deleted by retention before they were read: {} pages have no verdict",
            lost.count()
        );
        metrics::pages_lost(lost.count());
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
            if !self.shared.wait(REVOKE_TIMEOUT, delivered) {
                tracing::info!("some records in flight are late: the next owner sends them again");
            }
            let committable = self.shared.lock().session.take_committable();
            commit(consumer, &self.topic, &self.topics.ids(), &committable, CommitMode::Sync);
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
pub(super) struct TopicReplaced {
    topic: String,
    partition: u32,
    committed: i64,
    high: i64,
}

fn numbers(partitions: &TopicPartitionList) -> Vec<u32> {
    partitions.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
}
