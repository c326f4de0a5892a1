//! Rebalances of the page topic's group: partitions are assigned to a member, or revoked from it, while it
//! polls.
//!
//! ```text
//! assigned: compare the committed offset and its topics' ids with the brokers' ─► Session::assign
//! revoked:  stop sending ─► wait for records in flight ─► commit ─► Session::revoke
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::TopicPartitionListElem;
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use super::losses::Losses;
use super::page_session::{SessionState, Shared};
use crate::backoff::backoff;
use crate::kafka::client::CALL_TIMEOUT;
use crate::kafka::error::{Error, Result};
use crate::kafka::events::{ClientEvents, reports_by_events};
use crate::kafka::identity::TopicWatch;
use leitong_base::error::{Context, StepError};
use leitong_cluster::log::TopicIds;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::metrics;

/// Longest wait for the records in flight of a revoked partition. The next owner repeats those that are not
/// delivered by then.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time for which an assignment asks brokers where its partitions begin.
const ASSIGN_TIMEOUT: Duration = Duration::from_secs(30);

/// Context of the consumer, whose callbacks run while it polls.
pub(super) struct PagesContext {
    pub(super) events: ClientEvents,
    pub(super) shared: Arc<Shared>,
    pub(super) health: Arc<StageHealth>,
    pub(super) topic: Arc<str>,
    pub(super) topics: Arc<TopicWatch>,
}

/// Commits the offsets after the delivered records, with the ids of the topics that they belong to.
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
    if let Err(error) = consumer.commit(&list_offsets(topic, ids, committable), mode) {
        // The next reader sends these pages again, and they count once.
        tracing::warn!(%error, "pages may be read again (they count once): their offsets were not committed");
    }
}

/// Builds the list of offsets to commit, with the topics' ids as metadata.
fn list_offsets(topic: &str, ids: &TopicIds, offsets: &[(u32, u64)]) -> TopicPartitionList {
    let metadata = ids.to_metadata();
    let mut list = TopicPartitionList::new();
    for (partition, offset) in offsets {
        let (Ok(partition), Ok(offset)) = (i32::try_from(*partition), i64::try_from(*offset)) else {
            continue;
        };
        let mut element = list.add_partition(topic, partition);
        // This fails only for negative offsets.
        let _ = element.set_offset(Offset::Offset(offset));
        if !metadata.is_empty() {
            element.set_metadata(&metadata);
        }
    }
    list
}

/// Returns the metadata of a committed offset; empty if it is not UTF-8, on which rdkafka panics.
fn metadata(element: &TopicPartitionListElem<'_>) -> String {
    catch_unwind(AssertUnwindSafe(|| element.metadata().to_owned())).unwrap_or_default()
}

fn is_final(error: &Error) -> bool {
    matches!(error, Error::CommittedPastEnd { .. } | Error::Replaced(_))
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
            self.shared.fail(StepError::with_causes(&error));
            if is_final(&error) {
                self.shared.lock().refused = Some(error);
            }
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Err(error) = result {
            tracing::warn!(%error, "pages may be read again (they count once): their offsets were not committed");
        }
    }
}

impl PagesContext {
    fn assigned(&self, consumer: &BaseConsumer<Self>, partitions: &TopicPartitionList) -> Result<()> {
        let numbers = numbers(partitions);
        self.health.tick();
        let mut from = TopicPartitionList::new();
        // A consumer that is closing would wait in vain for answers.
        if !numbers.is_empty() && !self.shared.lock().closing {
            let starts = self.find_starts(consumer, &numbers)?;
            for (partition, start) in &starts {
                let offset = Offset::Offset(i64::try_from(*start)?);
                from.add_partition_offset(&self.topic, i32::try_from(*partition)?, offset)?;
            }
            let mut state = self.shared.lock();
            for partition in starts.keys() {
                state.session.assign(*partition);
            }
        }
        consumer.incremental_assign(&from).context("cannot start to read the assigned partitions")?;
        tracing::info!(partitions = ?numbers, "page topic partitions assigned to this instance; reading them");
        self.health.assigned(numbers.len());
        Ok(())
    }

    /// Returns the offset from which to read each partition: the committed one, or the beginning. Pages that
    /// retention has deleted since the committed offset are counted here. The offset after them is committed,
    /// so they are counted once.
    fn find_starts(&self, consumer: &BaseConsumer<Self>, partitions: &[u32]) -> Result<BTreeMap<u32, u64>> {
        let deadline = Instant::now() + ASSIGN_TIMEOUT;
        // Collected over all attempts, since a commit may succeed though its answer is lost.
        let mut losses = Losses::default();
        loop {
            match self.try_find_starts(consumer, partitions, &mut losses) {
                Ok(starts) => {
                    losses.0.into_iter().for_each(|(partition, lost)| self.report(partition, lost));
                    return Ok(starts);
                }
                // Only an answer that cannot change is final. Otherwise the brokers are asked again.
                Err(error) if is_final(&error) || Instant::now() > deadline => return Err(error),
                Err(error) => {
                    tracing::info!(
                        "assigned partitions are not read yet; asking the brokers again: {}",
                        StepError::with_causes(&error)
                    );
                    self.health.tick();
                    backoff(Duration::from_millis(500));
                }
            }
        }
    }

    fn try_find_starts(
        &self,
        consumer: &BaseConsumer<Self>,
        partitions: &[u32],
        losses: &mut Losses,
    ) -> Result<BTreeMap<u32, u64>> {
        let mut wanted = TopicPartitionList::new();
        for partition in partitions {
            wanted.add_partition(&self.topic, i32::try_from(*partition)?);
        }
        let committed = consumer
            .committed_offsets(wanted, CALL_TIMEOUT)
            .context("brokers gave no committed offsets of the page topic")?;
        let mut starts = BTreeMap::new();
        let mut moved = Vec::new();
        for element in committed.elements() {
            element.error().context("brokers gave no committed offset of a partition of the page topic")?;
            TopicIds::from_metadata(&metadata(&element)).verify(&self.topics.ids())?;
            let (low, high) = consumer
                .fetch_watermarks(&self.topic, element.partition(), CALL_TIMEOUT)
                .context("brokers did not report the first and last offsets of the page topic")?;
            let (partition, low) = (u32::try_from(element.partition())?, u64::try_from(low)?);
            let start = match element.offset() {
                Offset::Offset(committed) if committed > high => {
                    let topic = self.topic.to_string();
                    return Err(Error::CommittedPastEnd { topic, partition, committed, high });
                }
                Offset::Offset(committed) => {
                    let committed = u64::try_from(committed)?;
                    losses.compare(partition, committed, low);
                    committed.max(low)
                }
                // The number of pages that were deleted before a group's first offset is not known.
                _ => low,
            };
            if element.offset() != Offset::Offset(i64::try_from(start)?) {
                moved.push((partition, start));
            }
            starts.insert(partition, start);
        }
        // The topic's identity is verified after all answers: they are used only if they belong to the topic
        // that this process started with.
        self.topics.ask()?;
        self.topics.verify_pages()?;
        // Committed even if no page is read, so the next owner knows where reading began.
        if !moved.is_empty() {
            let list = list_offsets(&self.topic, &self.topics.ids(), &moved);
            consumer
                .commit(&list, CommitMode::Sync)
                .context("cannot commit the offset where reading begins")?;
        }
        Ok(starts)
    }

    fn report(&self, partition: u32, Range { start: from, end: to }: Range<u64>) {
        tracing::error!(
            topic = &*self.topic,
            partition,
            from,
            to,
            "{} pages get no verdict: retention deleted offsets {from} to {to} before they were read; see \
             docs/operations.md#leitongpageslost",
            to - from
        );
        metrics::PAGES_LOST.add(to - from);
    }

    fn revoked(&self, consumer: &BaseConsumer<Self>, partitions: &TopicPartitionList) -> Result<()> {
        let numbers = numbers(partitions);
        let lost = consumer.assignment_lost();
        if !lost {
            {
                let mut state = self.shared.lock();
                numbers.iter().for_each(|partition| state.session.close(*partition));
            }
            let delivered = |state: &SessionState| {
                numbers.iter().all(|partition| state.session.in_flight(*partition) == 0)
            };
            if !self.shared.wait(REVOKE_TIMEOUT, delivered) {
                tracing::info!(
                    "records in flight were not delivered in time; the next owner sends them again"
                );
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
        tracing::info!(partitions = ?numbers, lost, "page topic partitions revoked from this instance; reading of them has stopped");
        self.health.revoked(numbers.len());
        Ok(consumer.incremental_unassign(partitions).context("cannot release revoked partitions")?)
    }
}

/// Returns the numbers of the partitions in a list.
pub(super) fn numbers(partitions: &TopicPartitionList) -> Vec<u32> {
    partitions.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
}
