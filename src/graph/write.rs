//! Writes conclusions, and flushes whenever no more are waiting.

use leitong_cluster::verdict::Conclusion;
use leitong_graph::{Permit, Receiver};
use leitong_keep::sink::{Milestone, Sink};

/// The conclusions of a batch.
pub(super) struct Decided {
    pub(super) conclusions: Vec<Conclusion>,
    /// A checkpoint up to which everything is decided now.
    pub(super) milestone: Option<Milestone>,
    /// Released when the conclusions are written.
    pub(super) permit: Permit,
}

/// Writes until no more conclusions come.
pub(super) async fn write(mut decided: Receiver<Decided>, sink: &mut impl Sink) -> anyhow::Result<()> {
    while let Some(Decided { conclusions, milestone, permit }) = decided.recv().await {
        sink.write(conclusions)?;
        if let Some(milestone) = milestone {
            sink.reached(&milestone)?;
        }
        drop(permit);
        if decided.is_empty() {
            sink.flush()?;
        }
    }
    Ok(sink.flush()?)
}
