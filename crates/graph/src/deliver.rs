//! Awaits the results of batches in the order in which they were read, and delivers them to the sink.

use anyhow::anyhow;

use super::batch::InFlight;
use super::ends::SinkEnd;
use super::queue::Receiver;

/// Delivers results until no more come, or the sink takes no more.
pub(super) async fn deliver<R: Send>(
    mut in_order: Receiver<InFlight<R>>,
    mut sink: impl SinkEnd<R>,
) -> anyhow::Result<()> {
    while let Some(InFlight { results, permit }) = in_order.recv().await {
        let results = results.await.map_err(|_| anyhow!("a CPU stage has failed"))?;
        if !sink.take(results, permit).await? {
            break;
        }
    }
    Ok(())
}
