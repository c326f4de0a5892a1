//! The fingerprint stage over Kafka. It runs one producer session after another, each with its own consumer.
//!
//! ```text
//! this thread: poll ─► batches ─► CPU tasks ─► send thread ─► log
//!              commit ◄───────── deliveries ◄──────────────────┘
//! ```
//! Invariants: records of a page partition go to the log in order; an offset is committed when all records
//! before it are delivered; `[pipeline]` bounds the pages and bytes in flight. A session with an error is
//! discarded as a whole, and the next one begins at the committed offsets.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::CommitMode;

use super::positions;
use super::stop::Stop;
use crate::backoff::backoff;
use crate::config::Config;
use crate::kafka::identity::TopicWatch;
use crate::kafka::log_writer::LogProducer;
use crate::kafka::page_session::Shared;
use crate::kafka::pages::{Assigned, PageConsumer, PageOrigin};
use crate::pipeline::budget::{Budget, Permit};
use crate::pipeline::cpu::{CpuStages, Pending, Priority};
use crate::pipeline::fingerprint_stage::{FingerprintStage, Workspace};
use crate::telemetry::health::StageHealth;
use crate::telemetry::traces::page::Seen;
use crate::telemetry::{metrics, templates, traces};
use leitong_cluster::log::identity::{Replaced, Which};

/// Number of bytes from which a batch is full.
const BATCH_BYTES: usize = 256 * 1024;
/// Interval between commits of offsets.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for records in flight at a stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause before a new session.
const SESSION_PAUSE: Duration = Duration::from_secs(1);

/// A batch that is being processed by the CPU stages.
struct InFlight {
    results: Pending,
    origins: Vec<PageOrigin>,
    permit: Permit,
}

/// Runs sessions until `stop` is raised. If a topic was replaced by another one of its name, no more sessions
/// begin, and the stage halts and reports it.
///
/// # Errors
/// Clients cannot be created.
pub fn run(
    config: &Config,
    stage: &Arc<FingerprintStage>,
    log_partitions: u32,
    topics: &Arc<TopicWatch>,
    health: &Arc<StageHealth>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let known = positions::known_ids(config, log_partitions)?.of_pages();
    let refused = match known.verify(&topics.ids()) {
        Ok(()) => sessions(config, stage, log_partitions, topics, health, stop)?,
        Err(replaced) => Some(replaced.into()),
    };
    if let Some(why) = refused {
        metrics::pages_halted(true);
        health.refuse(format!("{why:#}"));
        while !stop.is_requested() {
            tracing::error!("pages are not read: {why:#}");
            health.tick();
            stop.wait(Duration::from_secs(60));
        }
    }
    Ok(())
}

/// Runs one session after another. Returns the reason why no more may begin, or `None` if `stop` was raised.
fn sessions(
    config: &Config,
    stage: &Arc<FingerprintStage>,
    log_partitions: u32,
    topics: &Arc<TopicWatch>,
    health: &Arc<StageHealth>,
    stop: &Stop,
) -> anyhow::Result<Option<anyhow::Error>> {
    while !stop.is_requested() {
        let shared = Arc::new(Shared::default());
        let producer = LogProducer::new(&config.kafka, log_partitions, stage.detector().name(), &shared)?;
        let consumer = PageConsumer::new(&config.kafka, &shared, topics, health)?;
        let mut session = Session {
            config,
            consumer: &consumer,
            topics,
            shared: Arc::clone(&shared),
            budget: Budget::new(config.pipeline.queue_pages, config.pipeline.queue_bytes),
            health,
            full_since: None,
            paused: false,
        };
        let result = session.run(stage, &producer, stop);
        shared.lock().closing = true;
        result?;
        let refused = shared.lock().refused.take();
        if refused.is_some() {
            return Ok(refused);
        }
        if let Some(why) = &shared.lock().broken {
            tracing::warn!(
                "the producer session has ended; pages since the last commit are read again: {why}"
            );
        }
        drop(consumer);
        stop.wait(SESSION_PAUSE);
    }
    Ok(None)
}

struct Session<'a> {
    config: &'a Config,
    consumer: &'a PageConsumer,
    topics: &'a TopicWatch,
    shared: Arc<Shared>,
    budget: Budget,
    health: &'a Arc<StageHealth>,
    /// The time since which there has been no room.
    full_since: Option<Instant>,
    paused: bool,
}

impl<'a> Session<'a> {
    fn run(&mut self, stage: &FingerprintStage, producer: &LogProducer, stop: &Stop) -> anyhow::Result<()> {
        metrics::paused(false);
        // The budget bounds the contents of this channel.
        let (in_flight, in_order) = mpsc::channel();
        thread::scope(|scope| {
            let process = |stage: &FingerprintStage, leased: Assigned<'a>, workspace: &mut Workspace| {
                let tracer = traces::tracer();
                let began_at = tracer.map_or(0, |_| traces::now());
                let mut done = stage.process_message(&leased.place, || leased.message(), workspace);
                if let Ok(record) = &done.record {
                    templates::read(record, workspace.terms());
                }
                if let Some(tracer) = tracer {
                    done.trace = tracer.seen(&Seen {
                        place: &leased.place,
                        timestamp_ms: leased.origin.timestamp_ms,
                        said: leased.trace_context(),
                        read_at: leased.read_at,
                        began_at,
                        marks: workspace.marks(),
                        record: done.record.as_ref().map_err(|why| *why),
                    });
                }
                done
            };
            // A crawler waits for each look-up, but not for pages of the topic.
            let priority = match self.config.api.address.is_empty() {
                true => Priority::Normal,
                false => Priority::Background,
            };
            let cpu = CpuStages::start(
                scope,
                self.config.pipeline.threads,
                priority,
                stage,
                self.health.activity(),
                process,
            )?;
            let sending = scope.spawn(|| send_in_order(in_order, producer));
            let result = self.read(&cpu, &in_flight, stop);
            drop(in_flight);
            self.drain(&sending, producer);
            // After a failure nothing more may be sent. Waiting batches are dropped.
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
        cpu: &CpuStages<Assigned<'a>>,
        in_flight: &Sender<InFlight>,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let mut batch: Vec<Assigned<'a>> = Vec::new();
        let mut committed = Instant::now();
        while !stop.is_requested() && self.continues(&batch) {
            self.health.tick();
            if committed.elapsed() >= COMMIT_INTERVAL {
                if let Err(replaced) = self.topics.verify_pages() {
                    self.refuse(replaced);
                    break;
                }
                self.consumer.commit(CommitMode::Async);
                let (pages, bytes) = self.budget.in_use();
                metrics::queue("page", "", pages as u64, bytes as u64);
                metrics::stalled(self.health.activity().still_for());
                metrics::owned("fingerprint", self.health.partitions());
                committed = Instant::now();
            }
            if batch.is_empty() {
                self.fill(&mut batch)?;
            }
            let bytes = batch.iter().map(Assigned::bytes).sum();
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
                break; // the send thread has ended; the session has the reason
            }
        }
        Ok(())
    }

    /// Returns true while the session can continue. After retention has deleted unread pages, it continues
    /// until the pages in `batch` are sent, because they cannot be read again.
    fn continues(&self, batch: &[Assigned<'a>]) -> bool {
        let state = self.shared.lock();
        state.broken.is_none() && !(state.overtaken && batch.is_empty())
    }

    /// Ends the session, and prevents others. Pages of a deleted topic still get verdicts; a deleted log
    /// accepts nothing.
    fn refuse(&self, replaced: Replaced) {
        self.shared.lock().refused = Some(replaced.into());
        if replaced.which == Which::Log {
            self.shared.fail(replaced.to_string());
        }
    }

    /// Takes the records that are available, and waits only for the first one.
    fn fill(&self, batch: &mut Vec<Assigned<'a>>) -> anyhow::Result<()> {
        let mut bytes = 0;
        let mut timeout = Duration::from_millis(100);
        while bytes < BATCH_BYTES {
            let Some(leased) = self.consumer.poll(timeout)? else { break };
            bytes += leased.bytes();
            batch.push(leased);
            timeout = Duration::ZERO;
        }
        metrics::pages_read(batch.len(), batch.iter().map(Assigned::value_bytes).sum());
        Ok(())
    }

    /// Waits until there is room. If that takes long, pauses the partitions and continues polling.
    fn wait_for_room(&mut self, batch: &mut Vec<Assigned<'a>>) -> anyhow::Result<()> {
        let full_since = *self.full_since.get_or_insert_with(Instant::now);
        if full_since.elapsed() < Duration::from_millis(self.config.kafka.pages.pause_after_ms) {
            backoff(Duration::from_millis(5));
            return Ok(());
        }
        if !self.paused {
            tracing::info!("the queue stays full: pausing the page topic");
            self.paused = true;
            metrics::paused(true);
        }
        // Repeated, because a rebalance may have brought partitions that are not paused.
        self.consumer.pause()?;
        // There is rarely a record: one that was fetched before the pause took effect.
        let leased = self.consumer.poll(Duration::from_millis(50))?;
        metrics::pages_read(usize::from(leased.is_some()), leased.as_ref().map_or(0, Assigned::value_bytes));
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

    /// Waits until everything that was read is delivered, and commits it.
    fn drain(&self, sending: &thread::ScopedJoinHandle<'_, anyhow::Result<()>>, producer: &LogProducer) {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        let done = || sending.is_finished() && producer.in_flight() == 0;
        while !done() && Instant::now() < deadline && self.shared.lock().broken.is_none() {
            self.health.tick();
            backoff(Duration::from_millis(10));
        }
        if !done() {
            // Nothing is lost: uncommitted messages are read again.
            self.shared.fail("stopped with records in flight".to_owned());
        }
        self.consumer.commit(CommitMode::Sync);
    }
}

/// Sends results in the order in which their batches were read.
fn send_in_order(in_order: Receiver<InFlight>, producer: &LogProducer) -> anyhow::Result<()> {
    for InFlight { results, origins, permit } in in_order {
        for (fingerprinted, origin) in results.wait()?.into_iter().zip(origins) {
            match fingerprinted.record {
                Ok(record) => {
                    if !producer.send(record, origin, fingerprinted.trace) {
                        return Ok(());
                    }
                }
                Err(why) => {
                    metrics::skipped(why);
                    producer.pass_over(origin);
                }
            }
        }
        drop(permit);
    }
    Ok(())
}
