//! The graph of `leitong dedup`: from files through both stages into files.
//!
//! ```text
//!  Files ─► read ─► fingerprint ─► deliver ─► Decide ─────────► write ─► sink
//!           └────────── the graph ────────┘   cluster stage    JSON lines, dead letters
//! ```
//! A page is in flight from the time when it was read until its conclusion is written.

mod decide;
mod read;
mod write;

use std::sync::Arc;

use decide::Decide;
use leitong_base::record::Place;
use leitong_formats::source::Source;
use leitong_graph::{Cpu, Fill, Flow, Priority, graph, queue};
use leitong_keep::sink::{Milestone, Sink};
use leitong_pipeline::ClusterStage;
use leitong_pipeline::config::PipelineConfig;
use leitong_pipeline::{FingerprintStage, Fingerprinted};
use read::Files;

/// Maximum number of batches of conclusions that wait to be written.
const WRITE_QUEUE_BATCHES: usize = 16;

/// Runs `source` to its end through both stages into `sink`.
///
/// `observe` is called with every result of the CPU threads, in order. `milestone` is called after each
/// batch, with the cluster stage and the place of the batch's last record. If it returns a milestone, the
/// sink is informed.
///
/// # Errors
/// The error that ended the stages.
pub(crate) fn run<'a>(
    config: &PipelineConfig,
    source: &'a mut dyn Source,
    fingerprint_stage: &'a FingerprintStage,
    cluster_stage: &'a mut ClusterStage,
    sink: &'a mut impl Sink,
    observe: impl FnMut(&Fingerprinted) + Send + 'a,
    milestone: impl FnMut(&ClusterStage, Place) -> anyhow::Result<Option<Milestone>> + Send + 'a,
) -> anyhow::Result<()> {
    let flow = Flow::new(config);
    let cpu = Cpu {
        threads: config.threads,
        priority: Priority::Normal,
        activity: Arc::default(),
        workspace: || fingerprint_stage.workspace(),
        process: |record, workspace: &mut _| fingerprint_stage.process(record, workspace),
    };
    let (to_write, decided) = queue(WRITE_QUEUE_BATCHES, &Fill::default());
    let decide = Decide { cluster_stage, observe, milestone, to_write };
    let mut stages = graph(&flow, Files::new(source), &cpu, decide);
    stages.add("leitong-write", Priority::Normal, write::write(decided, sink));
    stages.run()
}
