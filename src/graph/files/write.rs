//! Writes conclusions, and flushes whenever no more are waiting.

use crate::graph::budget::Permit;
use crate::graph::queue::Receiver;
use leitong_cluster::verdict::Conclusion;
use leitong_corpora::sink::{Milestone, Sink};

/// The conclusions of a batch.
pub(super) struct Concluded {
    pub(super) conclusions: Vec<Conclusion>,
    /// A checkpoint up to which everything is decided now.
    pub(super) milestone: Option<Milestone>,
    /// Released when the conclusions are written.
    pub(super) permit: Permit,
}

/// Writes until no more conclusions come.
pub(super) async fn write(mut concluded: Receiver<Concluded>, sink: &mut impl Sink) -> anyhow::Result<()> {
    while let Some(Concluded { conclusions, milestone, permit }) = concluded.recv().await {
        sink.write(conclusions)?;
        if let Some(milestone) = milestone {
            sink.reached(&milestone)?;
        }
        drop(permit);
        if concluded.is_empty() {
            sink.flush()?;
        }
    }
    sink.flush()
}
