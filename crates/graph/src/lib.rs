//! The graph of the stages, for files and Kafka alike.
//!
//! ```text
//!  source end                                                              sink end
//! ┌──────┐ page-read ┌─────────────┐ page-order (results to come) ┌─────────┐
//! │ read ├──────────►│ fingerprint ├─────────────────────────────►│ deliver │
//! └──────┘  batches  └──────┬──────┘                              └─────────┘
//!     ▲                     │ page-cpu  ┌─────────────────┐ results    │ ▲
//!     │                     └──────────►│ cpu, many times ├────────────┼─┘
//!     │                                 └─────────────────┘            │
//!     └───────────── budget: pages and bytes in flight ◄───────────────┘
//! ```
//! Each stage is an `async fn` between bounded queues (`queue.rs`), in a file of its own. Only the ends differ
//! ([`SourceEnd`], [`SinkEnd`]): `dedup` reads files, decides and writes; a worker reads the
//! page topic and sends to the log (`worker::fingerprint`).
//!
//! A batch is everything that the source can deliver without waiting. So live input is answered at once, and
//! files are read in large steps. Each batch is one task of the CPU threads. Results are awaited in the order
//! in which the batches were read, so they do not depend on the number of threads.
//!
//! **How stages run.** Each stage has a thread of its own that blocks on its future ([`threads`]), because
//! the ends block: librdkafka runs rebalances inside its poll, files are read and written, the log's producer
//! waits while its queue is full, and decisions take CPU time. So no end stops another stage. The threads
//! belong to a scope, so pages may be borrowed from the source. Tests poll all stages on one thread, in an
//! order that a seed decides (`one_thread`).
//!
//! Invariants: pages and bytes between both ends are bounded by the [`Budget`], whichever stage is slow;
//! results are delivered in the order of the source; if a stage fails, all others end, and the run ends with
//! its error.

pub mod telemetry;

mod budget;
mod cpu;
mod deliver;
mod ends;
mod fingerprint;
mod one_thread;
mod queue;
mod read;
#[cfg(test)]
mod tests;
mod threads;

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::telemetry::metrics;
use leitong_pipeline::config::PipelineConfig;

pub use budget::{Budget, Load, Permit};
pub use cpu::{Cpu, Priority, thread_count};
pub use ends::{SinkEnd, SourceEnd};
pub use one_thread::OneThread;
pub use queue::{Fill, Receiver, Sender, queue};
pub use threads::Stages;

/// The reason why a graph ends early, if none of its ends gives it, or why nothing is counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A CPU thread panicked on a page.
    #[error("a CPU stage has failed")]
    Cpu,
    /// The operating system starts no threads.
    #[error("cannot start threads")]
    Threads(#[source] std::io::Error),
    /// The process has a recorder of metrics already.
    #[error(transparent)]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}

/// The budget of a graph, and the fill of its queues.
pub struct Flow {
    /// The pages in flight between both ends.
    pub budget: Budget,
    /// Fill of the queue of batches that were read.
    pub read: Fill,
    /// Fill of the queue of batches that wait for a CPU thread.
    pub cpu: Fill,
    /// Fill of the queue of batches that are being processed, or wait to be delivered in order.
    pub order: Fill,
}

impl Flow {
    /// Creates the budget and queues for these settings.
    #[must_use]
    pub fn new(config: &PipelineConfig) -> Self {
        Self {
            budget: Budget::new(Load { pages: config.queue_pages, bytes: config.queue_bytes }),
            read: Fill::default(),
            cpu: Fill::default(),
            order: Fill::default(),
        }
    }

    /// Exports the number of pages in flight, and in each queue.
    pub fn export(&self) {
        let queues = [
            ("page", self.budget.in_use()),
            ("page-read", self.read.load()),
            ("page-cpu", self.cpu.load()),
            ("page-order", self.order.load()),
        ];
        for (name, Load { pages, bytes }) in queues {
            metrics::queue(name, "", pages as u64, bytes as u64);
        }
    }
}

/// Connects the stages from `source` to `sink`. Further stages can be added after the sink.
pub fn graph<'a, S, N, W, P, R, K>(
    flow: &Flow,
    source: S,
    cpu: &'a Cpu<N, P>,
    sink: K,
) -> Stages<'a, S::Error>
where
    S: SourceEnd + 'a,
    S::Error: From<Error> + 'a,
    N: Fn() -> W + Sync,
    W: Send + 'a,
    P: Fn(S::Page, &mut W) -> R + Sync,
    R: Send + 'a,
    K: SinkEnd<R, Error = S::Error> + 'a,
{
    // No queue is full before the budget is, since no batch is empty.
    let batches_max = flow.budget.max().pages;
    let (to_fingerprint, batches) = queue(batches_max, &flow.read);
    let (to_cpu, jobs) = queue(batches_max, &flow.cpu);
    let (to_deliver, in_order) = queue(batches_max, &flow.order);
    let jobs = Arc::new(Mutex::new(jobs));
    cpu.activity.begin_anew();

    let mut stages = Stages::new();
    stages.add("leitong-read", Priority::Normal, read::read(source, flow.budget.clone(), to_fingerprint));
    let activity = &*cpu.activity;
    let fingerprint = fingerprint::fingerprint(batches, activity, to_cpu, to_deliver);
    stages.add("leitong-order", Priority::Normal, fingerprint);
    for _ in 0..cpu::thread_count(cpu.threads) {
        stages.add("leitong-cpu", cpu.priority, cpu::work(Arc::clone(&jobs), cpu));
    }
    stages.add("leitong-deliver", Priority::Normal, deliver::deliver(in_order, sink));
    stages
}
