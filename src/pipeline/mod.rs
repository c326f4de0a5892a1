//! Connects the stages of `leitong dedup` to a bounded graph of threads, from any source to any sink.
//!
//! ```text
//!  source thread          CPU threads, one per core      cluster thread        sink thread
//! ┌─────────────┐ batches ┌───────────────────────┐ in   ┌───────────────┐     ┌──────────────┐
//! │ read, frame ├────────►│ FingerprintStage      ├─────►│ ClusterStage  ├────►│ JSON lines   │
//! └─────────────┘         │ decode … fingerprint  │order │ decide, judge │     │ dead letters │
//!        ▲                └───────────────────────┘      └───────┬───────┘     └──────────────┘
//!        └───────────── budget: pages and bytes in flight ◄──────┘
//! ```
//! A batch is everything that the source can deliver without waiting. So live input is answered at once, and
//! files are read in large steps. Each batch is one task of the CPU threads. The cluster thread takes results
//! in the order in which the batches were read, so results do not depend on the number of threads.
//!
//! Invariants: memory is bounded by the [`Budget`], whichever stage is slow; the order of records is that of
//! the source; if a stage fails, all others stop, and the run ends with its error.

pub mod budget;
pub mod cluster_stage;
pub mod cpu;
pub mod document;
pub mod fingerprint_stage;
pub mod log_partition;
pub mod page_reader;
pub mod shared_stage;
pub mod text_out;

use std::sync::Arc;
use std::{io, thread};

use anyhow::{Context, anyhow};
use tokio::sync::mpsc::{self, Receiver, Sender};

use crate::config::PipelineConfig;
use budget::{Budget, Permit};
use cluster_stage::ClusterStage;
use cpu::{CpuStages, Pending, Priority};
use fingerprint_stage::{FingerprintStage, Fingerprinted};
use leitong_base::record::Place;
use leitong_base::record::timestamp::Timestamp;
use leitong_cluster::verdict::Conclusion;
use leitong_corpora::sink::{Milestone, Sink};
use leitong_corpora::source::{Record, Source};

/// Size in bytes at which a batch is full. It is large enough that the cost of passing on a batch does not
/// matter.
const BATCH_BYTES: usize = 256 * 1024;
/// Maximum number of batches of conclusions that wait for the sink.
const SINK_QUEUE_BATCHES: usize = 16;

/// A batch on its way through the CPU stages.
struct InFlight {
    results: Pending,
    /// Released when the batch has been decided.
    permit: Permit,
}

/// An item for the sink's thread.
enum ToSink {
    Conclusions(Vec<Conclusion>),
    Milestone(Milestone),
}

/// Runs `source` to its end through both stages into `sink`. Returns the cluster stage, the sink and the
/// source.
///
/// `observe` is called with every result of the CPU threads, in order. `milestone` is called after each
/// batch, with the cluster stage and the place of the batch's last record. If it returns a milestone, the
/// sink is informed.
///
/// # Errors
/// The first error of any stage.
pub fn run<S: Sink>(
    config: &PipelineConfig,
    source: Box<dyn Source>,
    fingerprint_stage: &FingerprintStage,
    mut cluster_stage: ClusterStage,
    mut sink: S,
    observe: impl FnMut(&Fingerprinted) + Send,
    milestone: impl FnMut(&ClusterStage, Place) -> anyhow::Result<Option<Milestone>> + Send,
) -> anyhow::Result<(ClusterStage, S, Box<dyn Source>)> {
    let budget = Budget::new(config.queue_pages, config.queue_bytes);
    let (in_flight, in_order) = mpsc::channel::<InFlight>(config.queue_pages);
    let (to_sink, concluded) = mpsc::channel::<ToSink>(SINK_QUEUE_BATCHES);

    thread::scope(|scope| {
        let cpu = CpuStages::start(
            scope,
            config.threads,
            Priority::Normal,
            fingerprint_stage,
            &Arc::default(),
            FingerprintStage::process,
        )?;
        let reading = scope.spawn(move || read(source, &budget, &cpu, &in_flight));
        // Both channel ends are moved into this thread. When it ends they close, and the neighbouring stages
        // stop as well.
        let clustering = scope.spawn(move || {
            decide_in_order(in_order, &to_sink, &mut cluster_stage, observe, milestone)
                .map(|()| cluster_stage)
        });
        let writing = scope.spawn(move || write(concluded, &mut sink).map(|()| sink));
        let (reading, clustering, writing) = (join(reading), join(clustering), join(writing));
        // A stage ends without an error if its neighbour has ended, so the first error found is the cause.
        let sink = writing?;
        let cluster_stage = clustering?;
        let source = reading.context("cannot read on")?;
        Ok((cluster_stage, sink, source))
    })
}

/// Reads batches, and passes each to the CPU threads. Returns the source.
fn read(
    mut source: Box<dyn Source>,
    budget: &Budget,
    cpu: &CpuStages<Record>,
    in_flight: &Sender<InFlight>,
) -> io::Result<Box<dyn Source>> {
    loop {
        let mut batch = Vec::new();
        let more = source.read_batch(&mut batch, BATCH_BYTES)?;
        if !batch.is_empty() {
            let bytes = batch.iter().map(Record::bytes).sum();
            let permit = budget.acquire(batch.len(), bytes);
            let results = cpu.submit(batch);
            if in_flight.blocking_send(InFlight { results, permit }).is_err() {
                break; // the cluster thread has stopped, and says why
            }
        }
        if !more {
            break;
        }
    }
    Ok(source)
}

/// Decides on batches in the order in which they were read.
fn decide_in_order(
    mut in_order: Receiver<InFlight>,
    to_sink: &Sender<ToSink>,
    cluster_stage: &mut ClusterStage,
    mut observe: impl FnMut(&Fingerprinted),
    mut milestone: impl FnMut(&ClusterStage, Place) -> anyhow::Result<Option<Milestone>>,
) -> anyhow::Result<()> {
    while let Some(InFlight { results, permit }) = in_order.blocking_recv() {
        let results = results.wait()?;
        let now = Timestamp::now();
        results.iter().for_each(&mut observe);
        let records = results.into_iter().filter_map(|fingerprinted| fingerprinted.record.ok()).collect();
        let conclusions =
            cluster_stage.conclude_batch(records, now).map_err(|fault| anyhow!("cannot decide: {fault}"))?;
        drop(permit);
        let last = conclusions.last().map(|conclusion| conclusion.source().clone());
        let reached = last.map(|last| milestone(cluster_stage, last)).transpose()?.flatten();
        let steps = [Some(ToSink::Conclusions(conclusions)), reached.map(ToSink::Milestone)];
        if steps.into_iter().flatten().any(|step| to_sink.blocking_send(step).is_err()) {
            break; // the sink thread has stopped, and says why
        }
    }
    Ok(())
}

/// Writes conclusions, and flushes whenever no more are waiting.
fn write(mut concluded: Receiver<ToSink>, sink: &mut impl Sink) -> anyhow::Result<()> {
    while let Some(step) = concluded.blocking_recv() {
        match step {
            ToSink::Conclusions(conclusions) => sink.write(conclusions)?,
            ToSink::Milestone(milestone) => sink.reached(&milestone)?,
        }
        if concluded.is_empty() {
            sink.flush()?;
        }
    }
    sink.flush()?;
    Ok(())
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
