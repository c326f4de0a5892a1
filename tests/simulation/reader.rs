//! A `read_committed` consumer of one partition.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prost::Message as _;

use super::brokers::{Status, Stored, Topic};
use super::world::SimWorld;
use super::{MS, Mistake, Time};
use crate::kafka::error::{Result, refused};
use crate::kafka::ports::{HeadersRead, OpenRange, ReadMode, Reader, Record, Step};
use leitong_base::proto;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_pipeline::verdict_message::log_origin::LOG_ORIGIN;

/// Returns the topic with this name in the default configuration.
pub(crate) fn topic_of(name: &str) -> Topic {
    match name {
        "leitong.fingerprints" => Topic::Log,
        "leitong.centroids" => Topic::Centroids,
        "leitong.verdicts" => Topic::Verdicts,
        _ => Topic::DeadLetters,
    }
}

/// Returns the name of a topic.
fn name_of(topic: Topic) -> &'static str {
    match topic {
        Topic::Log => "leitong.fingerprints",
        Topic::Centroids => "leitong.centroids",
        Topic::Verdicts => "leitong.verdicts",
        Topic::DeadLetters => "leitong.dead-letters",
    }
}

/// Returns topic and partition of everything that an owner writes to.
pub(crate) fn outputs(world: &SimWorld, log_partition: u32) -> Vec<(String, u32)> {
    let shared = world.lock();
    let all = shared.brokers.partitions.keys();
    let written = all.filter(|(topic, partition)| match topic {
        Topic::Log => false,
        Topic::Centroids => *partition == log_partition,
        Topic::Verdicts | Topic::DeadLetters => true,
    });
    written.map(|(topic, partition)| (name_of(*topic).to_owned(), *partition)).collect()
}

/// Returns the ranges in these partitions that hold records of open transactions.
pub(crate) fn open_ranges(world: &SimWorld, log_partition: u32) -> Result<Vec<OpenRange>> {
    let mut ranges = Vec::new();
    if world.mistake == Some(Mistake::OverlooksOpenRecords) {
        return Ok(ranges);
    }
    for (topic, partition) in outputs(world, log_partition) {
        let to = SimReader::new(world, &topic, partition, ReadMode::Uncommitted).known_end()?;
        let from = SimReader::new(world, &topic, partition, ReadMode::ToEnd).known_end()?;
        if from < to {
            ranges.push(OpenRange { topic, partition, from, to });
        }
    }
    Ok(ranges)
}

const NO_END: u64 = u64::MAX;

/// A reader of one process.
pub(crate) struct SimReader {
    world: SimWorld,
    topic: Topic,
    name: String,
    partition: u32,
    next: AtomicU64,
    /// The last end that was reported; [`NO_END`] if none was.
    reported_end: AtomicU64,
    /// Number of records since it began.
    read: AtomicU64,
    /// True if uncommitted records are visible as well.
    uncommitted: bool,
}

impl SimReader {
    pub(crate) fn new(world: &SimWorld, topic: &str, partition: u32, mode: ReadMode) -> Self {
        Self {
            world: world.clone(),
            topic: topic_of(topic),
            name: format!("{topic}[{partition}]"),
            partition,
            next: AtomicU64::new(0),
            reported_end: AtomicU64::new(NO_END),
            read: AtomicU64::new(0),
            uncommitted: mode == ReadMode::Uncommitted,
        }
    }

    fn reads_uncommitted(&self) -> bool {
        match self.world.mistake {
            _ if self.uncommitted => true,
            Some(Mistake::StandbyAheadOfCommits) => self.topic == Topic::Centroids,
            Some(Mistake::DoubtReadsUncommitted) => self.topic == Topic::Verdicts,
            _ => false,
        }
    }

    /// Contacts a broker, which may be unavailable for a while.
    fn ask(&self) -> Result<()> {
        if !self.world.sleep(self.world.latency()) {
            return Err(refused!("this process is dead"));
        }
        let fault = {
            let shared = &mut *self.world.lock();
            shared.faults.one_in > 0 && shared.rng.once_in(shared.faults.one_in * 4)
        };
        if fault {
            self.world.sleep(200 * MS);
            return Err(refused!("no answer about {}", self.name));
        }
        Ok(())
    }

    /// Returns the partition's end. A leader that does not know it yet says so (KIP-207).
    fn known_end(&self) -> Result<u64> {
        self.ask()?;
        let shared = &mut *self.world.lock();
        let now = shared.now;
        let uncommitted = self.reads_uncommitted();
        let partition = shared.brokers.partition(self.topic, self.partition);
        if partition.is_stale(now) {
            return Err(refused!("the leader of {} does not know yet where it ends", self.name));
        }
        Ok(partition.end(now, !uncommitted))
    }

    /// Returns the next record, if any, and the end of what may be read.
    fn take(&self) -> Result<(Option<Stored>, u64)> {
        let shared = &mut *self.world.lock();
        let now = shared.now;
        let mistake = self.world.mistake;
        let uncommitted = self.reads_uncommitted();
        let partition = shared.brokers.partition(self.topic, self.partition);
        if self.next.load(Relaxed) < partition.start {
            return Err(refused!("offset {} of {} is out of range", self.next.load(Relaxed), self.name));
        }
        let mut end = partition.end(now, !uncommitted);
        if mistake == Some(Mistake::RestoreEndsEarly) && self.topic == Topic::Centroids {
            end = end.saturating_sub(3);
        }
        let mut at = partition.find(self.next.load(Relaxed));
        while let Some(record) = partition.records.get(at).filter(|record| record.offset < end) {
            let seen = record.status == Status::Committed || uncommitted;
            let is_centroid = |record: &Stored| record.key.as_ref().is_some_and(|key| key.len() == 16);
            let mut behind = partition.records[at + 1..].iter().take_while(|record| record.offset < end);
            let is_last_centroid = mistake == Some(Mistake::RestoreEndsBeforeFounded)
                && self.topic == Topic::Centroids
                && is_centroid(record)
                && !behind.any(is_centroid);
            let seen = seen && !is_last_centroid;
            self.next.store(record.offset + 1, Relaxed);
            if seen && !self.sees_nothing() {
                let value = record.value.clone().map(|value| self.mistaken(record.key.as_deref(), value));
                return Ok((Some(Stored { value, ..record.clone() }), end));
            }
            at += 1;
        }
        self.next.fetch_max(end, Relaxed);
        Ok((None, end))
    }

    /// Returns true if a mistake hides the topics of outcomes, which only an owner in doubt reads.
    fn sees_nothing(&self) -> bool {
        let blind = [Mistake::OffsetBeforeDeliveries, Mistake::SameProducerAfterRepetition].map(Some);
        blind.contains(&self.world.mistake) && matches!(self.topic, Topic::Verdicts | Topic::DeadLetters)
    }

    /// Changes a position record if a mistake requires it.
    fn mistaken(&self, key: Option<&[u8]>, value: Vec<u8>) -> Vec<u8> {
        let mistake = self.world.mistake;
        if self.topic != Topic::Centroids || key != Some(POSITION_KEY) {
            return value;
        }
        let mut position = proto::Position::decode(&*value).expect("a position");
        match mistake {
            Some(Mistake::ForgetsWatermarks) => position.watermarks.clear(),
            Some(Mistake::ForgetsLogTime) => position.log_time_ms = None,
            Some(Mistake::LosesCentroid) => {
                position.centroid_count = position.centroid_count.saturating_sub(self.lost());
            }
            _ => return value,
        }
        position.encode_to_vec()
    }

    fn lost(&self) -> u64 {
        u64::from(self.read.load(Relaxed) > 3)
    }

    /// Returns true for a record of the changelog whose key has this suffix.
    fn ends_with(&self, record: &Stored, suffix: &[u8]) -> bool {
        self.topic == Topic::Centroids && record.key.as_ref().is_some_and(|key| key.ends_with(suffix))
    }

    fn skips(&self, record: &Stored) -> bool {
        match self.world.mistake {
            Some(Mistake::ReaderSkipsRecord) => self.topic == Topic::Log && self.read.load(Relaxed) == 2,
            Some(Mistake::LosesCentroid) => self.topic == Topic::Centroids && self.read.load(Relaxed) == 3,
            Some(Mistake::ForgetsCanonicalPages) => self.ends_with(record, b"/canonical"),
            Some(Mistake::ForgetsCrawls) => self.ends_with(record, b"/crawl"),
            _ => false,
        }
    }
}

impl Record for Stored {
    fn offset(&self) -> u64 {
        self.offset
    }

    fn timestamp_ms(&self) -> Option<i64> {
        Some(self.timestamp_ms)
    }

    fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }

    fn headers(&self) -> HeadersRead<'_> {
        Box::new(self.origin.iter().map(|origin| (LOG_ORIGIN.into(), Some(origin.as_bytes()))))
    }
}

impl Reader for SimReader {
    fn begin(&self, offset: u64) -> Result<()> {
        self.next.store(offset, Relaxed);
        self.reported_end.store(NO_END, Relaxed);
        self.read.store(0, Relaxed);
        Ok(())
    }

    fn next(&self, timeout: Duration) -> Result<Step<impl Record>> {
        let deadline = self.world.lock().now + timeout.as_micros() as Time;
        loop {
            let (message, end) = self.take()?;
            if let Some(message) = message {
                self.read.fetch_add(1, Relaxed);
                if self.skips(&message) {
                    continue;
                }
                self.reported_end.store(NO_END, Relaxed);
                return Ok(Step::Record(message));
            }
            // Records from a broker take some time.
            if !self.world.sleep(self.world.latency()) {
                return Err(refused!("this process is dead"));
            }
            if self.reported_end.load(Relaxed) != end {
                self.reported_end.store(end, Relaxed);
                return Ok(Step::End);
            }
            let now = self.world.lock().now;
            if now >= deadline {
                return Ok(Step::Nothing);
            }
            self.world.sleep((deadline - now).min(20 * MS));
        }
    }

    fn bounds(&self) -> Result<(u64, u64)> {
        self.ask()?;
        let shared = &mut *self.world.lock();
        let now = shared.now;
        let uncommitted = self.reads_uncommitted();
        let partition = shared.brokers.partition(self.topic, self.partition);
        Ok((partition.start, partition.end(now, !uncommitted)))
    }

    fn committed(&self) -> Result<Option<u64>> {
        self.ask()?;
        let committed = self.world.lock().brokers.committed(self.partition as usize);
        committed.ok_or_else(|| refused!("the committed offset of {} is not known", self.name))
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}
