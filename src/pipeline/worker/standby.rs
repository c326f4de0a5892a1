//! Warm standby: a thread that follows the changelog of all partitions that this instance does not own, into tables
//! that are ready to be taken.
//!
//! ```text
//! changelogs of others ─► tables ─► Standby::take ─► owner ─► Standby::release ─► tables …
//! ```
//! Invariants: a partition is followed or owned, never both; tables are handed over, never copied; a table holds
//! committed records only, and knows the offset to go on at. Memory: the tables of all partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{Offset, TopicPartitionList};

use super::cluster::Cluster;
use super::restore::Followed;
use super::stop::Stop;
use crate::pipeline::kafka::client;
use crate::source::kafka::partition::PartitionReader;
use crate::telemetry::kafka::ClientEvents;
use crate::telemetry::metrics;

/// Records taken before somebody else may have a look at the tables.
const RECORDS_AT_ONCE: usize = 100;
/// How long to wait before following a changelog anew that made no sense.
const PAUSE: Duration = Duration::from_secs(30);

/// The tables, by partition of the log.
pub(super) struct Standby {
    slots: Mutex<BTreeMap<u32, Slot>>,
}

/// One partition.
#[derive(Default)]
struct Slot {
    /// Owners of this process: one, or two while the former one comes to its end.
    owners: usize,
    /// None while it is owned, or not begun.
    table: Option<Followed>,
    /// The follower reads on behind `table`.
    reading: bool,
    /// It has been read to the end once.
    ready: bool,
    /// Not before.
    begin_at: Option<Instant>,
}

impl Standby {
    /// No tables yet.
    pub(super) fn new(log_partitions: u32) -> Self {
        Self { slots: Mutex::new((0..log_partitions).map(|p| (p, Slot::default())).collect()) }
    }

    /// An owner begins; from now on the partition is not followed.
    pub(super) fn own(&self, partition: u32) {
        self.lock().entry(partition).or_default().owners += 1;
    }

    /// The table of a partition, for its owner.
    pub(super) fn take(&self, partition: u32) -> Option<Followed> {
        let mut slots = self.lock();
        let slot = slots.get_mut(&partition)?;
        slot.reading = false;
        slot.table.take()
    }

    /// An owner has ended, and leaves its table if that holds committed records only.
    pub(super) fn release(&self, partition: u32, table: Option<Followed>) {
        let mut slots = self.lock();
        let slot = slots.entry(partition).or_default();
        slot.owners = slot.owners.saturating_sub(1);
        (slot.table, slot.reading) = (table.filter(|_| slot.owners == 0), false);
    }

    fn is_owned(&self, partition: u32) -> bool {
        self.lock().get(&partition).is_none_or(|slot| slot.owners > 0)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows until `stop` is raised.
pub(super) fn run(cluster: &Cluster, standby: &Standby, stop: &Stop) {
    while !stop.is_requested() {
        if let Err(error) = follow(cluster, standby, stop) {
            tracing::warn!("standby: trying again: {error:#}");
            // What was read is kept, and read on behind.
            standby.lock().values_mut().for_each(|slot| slot.reading = false);
            stop.wait(Duration::from_secs(1));
        }
    }
}

fn follow(cluster: &Cluster, standby: &Standby, stop: &Stop) -> anyhow::Result<()> {
    let config = &cluster.config.kafka;
    let events = ClientEvents::new("standby").lag_of(&config.topics.centroids);
    let consumer: BaseConsumer<ClientEvents> = client::create(&client::partition_reader(config), events)?;
    let mut follower = Follower { cluster, standby, consumer, assigned: BTreeSet::new() };
    while !stop.is_requested() {
        follower.leave()?;
        follower.begin(stop)?;
        follower.read()?;
    }
    Ok(())
}

struct Follower<'a> {
    cluster: &'a Cluster,
    standby: &'a Standby,
    consumer: BaseConsumer<ClientEvents>,
    assigned: BTreeSet<u32>,
}

impl Follower<'_> {
    /// Stops reading what has an owner now.
    fn leave(&mut self) -> anyhow::Result<()> {
        let gone: Vec<u32> = {
            let slots = self.standby.lock();
            let is_read = |partition: &u32| slots.get(partition).is_some_and(|slot| slot.reading);
            self.assigned.iter().copied().filter(|partition| !is_read(partition)).collect()
        };
        for partition in gone {
            let list = self.list(partition, None)?;
            self.consumer.incremental_unassign(&list).context("cannot leave a changelog")?;
            self.assigned.remove(&partition);
            metrics::lag(&self.cluster.config.kafka.topics.centroids, i32::try_from(partition)?, 0);
            metrics::standby(partition, 0);
        }
        Ok(())
    }

    /// Begins to read one partition that has no owner here, if there is any.
    fn begin(&mut self, stop: &Stop) -> anyhow::Result<()> {
        let now = Instant::now();
        let (partition, table) = {
            let mut slots = self.standby.lock();
            let waits =
                |slot: &Slot| slot.owners == 0 && !slot.reading && slot.begin_at.is_none_or(|at| at <= now);
            let Some((partition, slot)) = slots.iter_mut().find(|(_, slot)| waits(slot)) else {
                return Ok(());
            };
            (*partition, slot.table.take())
        };
        let table = match table {
            Some(table) => table,
            None => self.load(partition, stop)?,
        };
        let list = self.list(partition, Some(table.next_offset))?;
        {
            let mut slots = self.standby.lock();
            let slot = slots.entry(partition).or_default();
            if slot.owners > 0 {
                return Ok(()); // it has got an owner meanwhile, who has read it as well
            }
            (slot.table, slot.reading) = (Some(table), true);
        }
        self.consumer.incremental_assign(&list).context("cannot follow a changelog")?;
        self.assigned.insert(partition);
        Ok(())
    }

    /// Without a table that was handed over: from the snapshot, or from the beginning.
    fn load(&self, partition: u32, stop: &Stop) -> anyhow::Result<Followed> {
        let topic = &self.cluster.config.kafka.topics.centroids;
        let bounds = PartitionReader::new(&self.cluster.config.kafka, topic, partition)?.bounds()?;
        let enough = || stop.is_requested() || self.standby.is_owned(partition);
        let saved = self.cluster.at_snapshot(partition, bounds, enough)?;
        Ok(saved.unwrap_or_else(|| self.cluster.at_beginning(bounds.0)))
    }

    fn list(&self, partition: u32, offset: Option<u64>) -> anyhow::Result<TopicPartitionList> {
        let (topic, partition) = (&self.cluster.config.kafka.topics.centroids, i32::try_from(partition)?);
        let mut list = TopicPartitionList::new();
        match offset {
            None => _ = list.add_partition(topic, partition),
            Some(offset) => {
                list.add_partition_offset(topic, partition, Offset::Offset(i64::try_from(offset)?))?;
            }
        }
        Ok(list)
    }

    /// Takes what is at hand.
    fn read(&self) -> anyhow::Result<()> {
        let Some(first) = self.consumer.poll(Duration::from_millis(100)) else { return Ok(()) };
        let mut slots = self.standby.lock();
        self.dispatch(&mut slots, first)?;
        for _ in 1..RECORDS_AT_ONCE {
            let Some(next) = self.consumer.poll(Duration::ZERO) else { break };
            self.dispatch(&mut slots, next)?;
        }
        Ok(())
    }

    fn dispatch(
        &self,
        slots: &mut BTreeMap<u32, Slot>,
        polled: KafkaResult<BorrowedMessage<'_>>,
    ) -> anyhow::Result<()> {
        match polled {
            Ok(message) => take(slots, &message),
            Err(KafkaError::PartitionEOF(partition)) => self.at_end(slots, u32::try_from(partition)?),
            Err(KafkaError::MessageConsumptionFatal(error)) => bail!("cannot read: {error}"),
            Err(error) => match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange) => {
                    // It does not say which one.
                    slots.values_mut().for_each(Slot::begin_anew);
                    bail!("a changelog is not where it was: {error}");
                }
                _ => tracing::debug!(%error, "waiting for the broker"),
            },
        }
        Ok(())
    }

    fn at_end(&self, slots: &mut BTreeMap<u32, Slot>, partition: u32) {
        let Some(slot) = slots.get_mut(&partition).filter(|slot| slot.reading) else { return };
        let Some(table) = &slot.table else { return };
        let centroids = table.restoration.centroid_count();
        metrics::standby(partition, centroids);
        if !std::mem::replace(&mut slot.ready, true) {
            tracing::info!(
                partition,
                centroids,
                changelog_offset = table.next_offset,
                "standby: table ready"
            );
            self.cluster.health.settled(partition);
        }
    }
}

impl Slot {
    fn begin_anew(&mut self) {
        (self.table, self.reading) = (None, false);
        self.begin_at = Some(Instant::now() + PAUSE);
    }
}

fn take(slots: &mut BTreeMap<u32, Slot>, message: &BorrowedMessage<'_>) {
    let Ok(partition) = u32::try_from(message.partition()) else { return };
    let Some(slot) = slots.get_mut(&partition).filter(|slot| slot.reading) else { return };
    let Some(table) = &mut slot.table else { return };
    if message.offset() < i64::try_from(table.next_offset).unwrap_or(i64::MAX) {
        return; // of an assignment before this one
    }
    if let Err(error) = table.take(message) {
        // Compaction may overtake a reader; who owns the partition looks more closely.
        tracing::warn!(partition, "standby: following the changelog anew in {} s: {error}", PAUSE.as_secs());
        slot.begin_anew();
    }
}
