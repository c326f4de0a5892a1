//! The fingerprint half over Kafka: one producer session after the other, each with a consumer of its own.
//!
//! ```text
//! this thread: poll ─► batches ─► CPU tasks ─► send thread ─► log
//!              commit ◄───────── deliveries ◄──────────────────┘
//! ```
//! Invariants: within a page partition, records go to the log in order; an offset is committed when all before
//! it are delivered; pages and bytes in flight are bounded by `[pipeline]`. A session that breaks is thrown
//! away whole, and the next one begins at the committed offsets.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::CommitMode;

use super::stop::Stop;
use crate::config::Config;
use crate::pipeline::budget::{Budget, Permit};
use crate::pipeline::cpu::{CpuStages, Pending};
use crate::pipeline::fingerprint_half::FingerprintHalf;
use crate::pipeline::kafka::client;
use crate::sink::kafka::log::LogProducer;
use crate::source::kafka::pages::{Leased, PageConsumer, PageOrigin};
use crate::source::kafka::session::Shared;
use crate::telemetry::health::Half;
use crate::telemetry::metrics;

/// Bytes from which on a batch is full.
const BATCH_BYTES: usize = 256 * 1024;
/// How often offsets are committed.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);
/// How long a stop waits for what is in flight.
const DRAIN_PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait before a new session.
const SESSION_PAUSE: Duration = Duration::from_secs(1);

/// A batch on its way through the CPU stages.
struct InFlight {
    results: Pending,
    origins: Vec<PageOrigin>,
    permit: Permit,
}

/// Runs sessions until `stop` is raised.
///
/// # Errors
/// The topic was replaced, or clients cannot be made.
pub fn run(
    config: &Config,
    half: &Arc<FingerprintHalf>,
    log_partitions: u32,
    health: &Arc<Half>,
    stop: &Stop,
) -> anyhow::Result<()> {
    while !stop.is_requested() {
        let shared = Arc::new(Shared::default());
        let producer = LogProducer::new(&config.kafka, log_partitions, half.detector().name(), &shared)?;
        let consumer = PageConsumer::new(&config.kafka, &shared, health)?;
        let mut session = Session {
            config,
            consumer: &consumer,
            shared: Arc::clone(&shared),
            budget: Budget::new(config.pipeline.queue_pages, config.pipeline.queue_bytes),
            health,
            full_since: None,
            paused: false,
        };
        let result = session.run(half, &producer, stop);
        shared.lock().closing = true;
        result?;
        let refused = shared.lock().refused.take();
        if let Some(error) = refused {
            return Err(error);
        }
        if let Some(why) = &shared.lock().broken {
            tracing::warn!(
                "the producer session has ended, pages since the last commit are read again: {why}"
            );
        }
        drop(consumer);
        stop.wait(SESSION_PAUSE);
    }
    Ok(())
}

struct Session<'a> {
    config: &'a Config,
    consumer: &'a PageConsumer,
    shared: Arc<Shared>,
    budget: Budget,
    health: &'a Arc<Half>,
    /// Since when there is no room.
    full_since: Option<Instant>,
    paused: bool,
}

impl<'a> Session<'a> {
    fn run(&mut self, half: &FingerprintHalf, producer: &LogProducer, stop: &Stop) -> anyhow::Result<()> {
        // What is in it is bounded by the budget.
        let (in_flight, in_order) = mpsc::channel();
        thread::scope(|scope| {
            let process = |half: &FingerprintHalf, leased: Leased<'a>, workspace: &mut _| {
                half.process_message(leased.place.clone(), leased.message(), workspace)
            };
            let cpu = CpuStages::start(scope, self.config.pipeline.threads, half, process)?;
            let sending = scope.spawn(|| send_in_order(in_order, producer));
            let result = self.read(&cpu, &in_flight, stop);
            drop(in_flight);
            self.drain(&sending, producer);
            // After a failure nothing more may be sent: what waits is dropped.
            if result.is_err() {
                self.shared.fail("the consumer has failed".to_owned());
            }
            sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            result
        })
    }

    /// Reads until the session ends.
    fn read(
        &mut self,
        cpu: &CpuStages<Leased<'a>>,
        in_flight: &Sender<InFlight>,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let mut batch: Vec<Leased<'a>> = Vec::new();
        let mut committed = Instant::now();
        while !stop.is_requested() && self.shared.lock().broken.is_none() {
            self.health.tick();
            if committed.elapsed() >= COMMIT_INTERVAL {
                self.consumer.commit(CommitMode::Async);
                let (pages, bytes) = self.budget.in_use();
                metrics::queue("page", "", pages as u64, bytes as u64);
                metrics::owned("fingerprint", self.health.partitions());
                committed = Instant::now();
            }
            if batch.is_empty() {
                self.fill(&mut batch)?;
            }
            let bytes = batch.iter().map(Leased::bytes).sum();
            if batch.is_empty() {
                continue;
            }
            let Some(permit) = self.budget.try_acquire(batch.len(), bytes) else {
                self.wait_for_room(&mut batch)?;
                continue;
            };
            self.room_again()?;
            let taken = std::mem::take(&mut batch);
            let origins = taken.iter().map(|leased| leased.origin).collect();
            let results = cpu.submit(taken);
            if in_flight.send(InFlight { results, origins, permit }).is_err() {
                break; // the send thread has ended, and the session says why
            }
        }
        Ok(())
    }

    /// Takes what is at hand, waiting for the first record only.
    fn fill(&self, batch: &mut Vec<Leased<'a>>) -> anyhow::Result<()> {
        let mut bytes = 0;
        let mut patience = Duration::from_millis(100);
        while bytes < BATCH_BYTES {
            let Some(leased) = self.consumer.poll(patience)? else { break };
            bytes += leased.bytes();
            batch.push(leased);
            patience = Duration::ZERO;
        }
        metrics::pages_read(batch.len(), batch.iter().map(Leased::value_bytes).sum());
        Ok(())
    }

    /// Short pressure is waited out; under long pressure the partitions are paused, and polling goes on.
    fn wait_for_room(&mut self, batch: &mut Vec<Leased<'a>>) -> anyhow::Result<()> {
        let full_since = *self.full_since.get_or_insert_with(Instant::now);
        if full_since.elapsed() < Duration::from_millis(self.config.kafka.pages.pause_after_ms) {
            client::before_asking_again(Duration::from_millis(5));
            return Ok(());
        }
        if !self.paused {
            tracing::info!("the queue stays full: pausing the page topic");
            self.paused = true;
            metrics::paused(true);
        }
        // Again and again, since a rebalance may have brought partitions that are not paused.
        self.consumer.pause()?;
        // Hardly ever is there one: fetched before the pause took hold.
        let leased = self.consumer.poll(Duration::from_millis(50))?;
        metrics::pages_read(usize::from(leased.is_some()), leased.as_ref().map_or(0, Leased::value_bytes));
        batch.extend(leased);
        Ok(())
    }

    fn room_again(&mut self) -> anyhow::Result<()> {
        self.full_since = None;
        if self.paused {
            self.consumer.resume()?;
            self.paused = false;
            metrics::paused(false);
        }
        Ok(())
    }

    /// Waits until all that was read is delivered, and commits it.
    fn drain(&self, sending: &thread::ScopedJoinHandle<'_, anyhow::Result<()>>, producer: &LogProducer) {
        let deadline = Instant::now() + DRAIN_PATIENCE;
        let done = || sending.is_finished() && producer.in_flight() == 0;
        while !done() && Instant::now() < deadline && self.shared.lock().broken.is_none() {
            self.health.tick();
            client::before_asking_again(Duration::from_millis(10));
        }
        if !done() {
            // Nothing is lost: what is not committed is read again.
            self.shared.fail("stopped with records in flight".to_owned());
        }
        self.consumer.commit(CommitMode::Sync);
    }
}

/// Sends results in the order in which their batches were read.
fn send_in_order(in_order: Receiver<InFlight>, producer: &LogProducer) -> anyhow::Result<()> {
    for InFlight { results, origins, permit } in in_order {
        for (fingerprinted, origin) in results.wait()?.into_iter().zip(origins) {
            if !producer.send(fingerprinted.record, origin) {
                return Ok(());
            }
        }
        drop(permit);
    }
    Ok(())
}
