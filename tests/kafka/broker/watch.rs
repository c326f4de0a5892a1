//! Reads verdicts as they arrive. Records when the last one of each log partition was seen, and duplicates.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{ClientConfig, Offset, TopicPartitionList};

use super::HANG_LIMIT;
use super::worker::Installation;

pub(crate) struct Watch {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct Seen {
    /// Time of the last verdict of each log partition.
    last: Vec<Instant>,
    /// The longest time without a verdict since [`Watch::begin`], by log partition.
    longest: Vec<Duration>,
    /// Number of verdicts since [`Watch::begin`], by log partition.
    count: Vec<u64>,
    /// Partition and offset of each page with a verdict.
    places: HashSet<(u32, u64)>,
    /// Partition and offset of each page with two verdicts.
    twice: Vec<(u32, u64)>,
}

impl Watch {
    pub(crate) fn start(installation: &Installation, log_partitions: usize) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", &installation.bootstrap)
            .set("group.id", "leitong-storm-watch")
            .set("isolation.level", "read_committed")
            .set("enable.auto.commit", "false")
            .set("auto.offset.reset", "error")
            // This consumer must not reconnect more slowly than the workers that it watches.
            .set("reconnect.backoff.max.ms", "200")
            .set("topic.metadata.refresh.fast.interval.ms", "50")
            .set("fetch.wait.max.ms", "50")
            .create()
            .expect("a consumer");
        let topic = installation.topic("verdicts");
        let metadata = consumer.fetch_metadata(Some(&topic), *HANG_LIMIT).expect("metadata");
        let mut assignment = TopicPartitionList::new();
        for partition in metadata.topics()[0].partitions() {
            assignment.add_partition_offset(&topic, partition.id(), Offset::Beginning).expect("an offset");
        }
        consumer.assign(&assignment).expect("assigned");
        let seen = Arc::new(Mutex::new(Seen {
            last: vec![Instant::now(); log_partitions],
            longest: vec![Duration::ZERO; log_partitions],
            count: vec![0; log_partitions],
            places: HashSet::new(),
            twice: Vec::new(),
        }));
        let stop = Arc::<AtomicBool>::default();
        let (seeing, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let Some(Ok(message)) = consumer.poll(Duration::from_millis(50)) else { continue };
                let verdict: serde_json::Value =
                    serde_json::from_slice(message.payload().expect("a value")).expect("JSON");
                let number = |value: &serde_json::Value| value.as_u64().expect("a number");
                let source = &verdict["source"];
                let place = (number(&source["partition"]) as u32, number(&source["offset"]));
                lock(&seeing).verdict(number(&verdict["log_partition"]) as usize, place);
            }
        });
        Self { seen, stop, thread: Some(thread) }
    }

    /// Restarts the counts.
    pub(crate) fn begin(&self) {
        let mut seen = lock(&self.seen);
        seen.longest.fill(Duration::ZERO);
        seen.count.fill(0);
    }

    /// Returns the number of verdicts of the log partition with the fewest, since [`Self::begin`].
    pub(crate) fn fewest(&self) -> u64 {
        lock(&self.seen).count.iter().copied().min().unwrap_or(0)
    }

    /// Returns the longest time without a verdict from any log partition, since [`Self::begin`].
    pub(crate) fn longest(&self) -> Duration {
        let seen = lock(&self.seen);
        let silences = seen.last.iter().map(Instant::elapsed);
        silences.chain(seen.longest.iter().copied()).max().unwrap_or_default()
    }

    /// Returns the number of pages with a verdict.
    pub(crate) fn pages(&self) -> usize {
        lock(&self.seen).places.len()
    }

    pub(crate) fn twice(&self) -> Vec<(u32, u64)> {
        lock(&self.seen).twice.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread has already reported its own panic.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Seen {
    fn verdict(&mut self, log_partition: usize, place: (u32, u64)) {
        let last = &mut self.last[log_partition];
        let longest = &mut self.longest[log_partition];
        *longest = (*longest).max(last.elapsed());
        *last = Instant::now();
        self.count[log_partition] += 1;
        if !self.places.insert(place) {
            self.twice.push(place);
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
