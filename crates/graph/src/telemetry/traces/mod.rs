//! Traces of the way of pages through the worker, for an OpenTelemetry collector. Off unless `[traces]`
//! enables them.
//!
//! ```text
//! crawler's span (headers of the page's message)
//! └ receive PAGES ........ from the message's time until it was read
//!   ├ process PAGES ...... decode, extract, segment, fingerprint
//!   └ send LOG ........... until the brokers have it; its context is the log record's header
//!     └ receive LOG ...... from the record's time until its owner read it
//!       ├ process LOG .... look-up and decision
//!       └ send VERDICTS .. until the transaction is committed; its context is the verdict's header
//! ```
//! * [`context`] reads and writes the headers; [`page`] makes the spans of a page; [`spans`] builds a span
//!   for OTLP, whose messages are in [`otlp`]; [`exporter`] owns the queue and sends to the collector;
//!   [`config::traces`](leitong_pipeline::config::traces) reads settings and variables.
//!
//! Invariants: no decision depends on traces, and no verdict or dead letter waits for them. Ids of spans are
//! hashes of trace and place. So a page that is read twice has the same spans twice, and the header of a
//! verdict is a function of the log. Spans of the cluster stage are sent once its transaction is committed.
//! Cost: while traces are off, one load of a pointer per page. The queue holds `traces.queue_spans` spans;
//! further ones are dropped and counted.

pub mod context;
mod exporter;
mod otlp;
pub mod page;
mod spans;

use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::metrics;
use context::TraceContext;
use leitong_pipeline::config::redact;
use leitong_pipeline::config::traces::Settings;
use otlp::Span;

static OF_THIS_PROCESS: OnceLock<Tracer> = OnceLock::new();

/// Maximum time for which a worker that ends waits for the collector.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Maker of spans, which hands them to the exporter.
#[derive(Debug)]
pub struct Tracer {
    /// Bound on trace ids. A trace that begins here is recorded if the last 64 bits of its id, read as a
    /// number and halved, are below the bound.
    below: u64,
    queue: mpsc::Sender<Span>,
    /// Names of topics and groups, for attributes.
    names: Names,
}

/// Names of topics and groups that spans mention.
#[derive(Debug, Clone)]
pub struct Names {
    /// The fingerprint log.
    pub log: String,
    /// The topic of verdicts.
    pub verdicts: String,
    /// The topic of dead letters.
    pub dead_letters: String,
    /// The group that reads pages.
    pub pages_group: String,
    /// The group that reads the log.
    pub log_group: String,
}

/// The running exporter. [`Exporting::end`] makes it send the waiting spans.
#[derive(Debug)]
pub struct Exporting {
    ending: mpsc::Sender<()>,
    task: JoinHandle<()>,
}

/// Starts to trace in this process.
pub fn begin(runtime: &tokio::runtime::Runtime, settings: Settings, names: Names) -> Exporting {
    let (queue, waiting) = mpsc::channel(settings.queue_spans);
    let (ending, ended) = mpsc::channel(1);
    let below = below(settings.sample_ratio);
    tracing::info!(
        endpoint = redact::address(settings.endpoint.as_str()),
        sample_ratio = settings.sample_ratio,
        "traces are sent to the collector"
    );
    let task = runtime.spawn(exporter::run(settings, waiting, ended));
    OF_THIS_PROCESS.get_or_init(|| Tracer { below, queue, names });
    Exporting { ending, task }
}

impl Exporting {
    /// Sends the waiting spans, as far as the collector accepts them at once.
    pub fn end(self, runtime: &tokio::runtime::Runtime) {
        let _ = self.ending.try_send(());
        let _ = runtime.block_on(async { tokio::time::timeout(LAST_WORDS, self.task).await });
    }
}

/// Returns the tracer of this process; `None` if nothing is traced.
pub fn tracer() -> Option<&'static Tracer> {
    OF_THIS_PROCESS.get()
}

/// Converts a ratio to the bound [`Tracer::below`], as OpenTelemetry's samplers do.
fn below(ratio: f64) -> u64 {
    // The bound is exact for the ratios 0 and 1. In between, errors of a few parts in 2⁵³ do not matter.
    if ratio >= 1.0 { 1 << 63 } else { (ratio.max(0.0) * (1_u64 << 63) as f64) as u64 }
}

impl Tracer {
    /// Returns true if a trace that begins here is recorded. All instances with the same ratio agree on it.
    fn samples(&self, trace_id: u128) -> bool {
        (trace_id as u64) >> 1 < self.below
    }

    /// Passes spans to the exporter. Spans that find no room in its queue are dropped and counted.
    fn hand_over(&self, spans: impl IntoIterator<Item = Span>) {
        let mut dropped = 0;
        for span in spans {
            dropped += u64::from(self.queue.try_send(span).is_err());
        }
        if dropped > 0 {
            metrics::TRACE_SPANS.add_as("dropped", dropped);
        }
    }

    /// Returns the trace of a message: that of its headers, or else a new one with this id. `None` for a new
    /// trace that is not recorded.
    fn trace_of(&self, said: Option<TraceContext>, trace_id: u128) -> Option<TraceContext> {
        said.or_else(|| {
            // Span 0 means that the first span has no parent.
            self.samples(trace_id).then(|| TraceContext::sampled(trace_id, 0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn tracer(ratio: f64, room: usize) -> (Tracer, mpsc::Receiver<Span>) {
        let (queue, waiting) = mpsc::channel(room);
        let names = Names {
            log: "log".to_owned(),
            verdicts: "verdicts".to_owned(),
            dead_letters: "dead".to_owned(),
            pages_group: "app-pages".to_owned(),
            log_group: "app-cluster".to_owned(),
        };
        (Tracer { below: below(ratio), queue, names }, waiting)
    }

    #[test]
    fn a_share_of_traces_is_recorded_by_their_ids() {
        let ids = |number: u128| xxhash_rust::xxh3::xxh3_128(&number.to_be_bytes());
        let count = |ratio| (0..10_000).filter(|number| tracer(ratio, 1).0.samples(ids(*number))).count();
        assert_eq!((count(0.0), count(1.0)), (0, 10_000));
        let quarter = count(0.25);
        assert!((2_300..2_700).contains(&quarter), "{quarter}");
        // A higher ratio records everything that a lower one records.
        let (low, high) = (tracer(0.1, 1).0, tracer(0.2, 1).0);
        assert!((0..1_000).map(ids).all(|id| !low.samples(id) || high.samples(id)));
    }

    #[test]
    fn a_full_queue_drops_spans_instead_of_waiting() {
        let (tracer, mut waiting) = tracer(1.0, 3);
        tracer.hand_over((0..10).map(|_| Span::default()));
        let kept = std::iter::from_fn(|| waiting.try_recv().ok()).count();
        assert_eq!(kept, 3);
        drop(waiting);
        tracer.hand_over([Span::default()]);
    }
}
