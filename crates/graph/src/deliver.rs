//! Awaits the results of batches in the order in which they were read, and delivers them to the sink.

use super::Error;
use super::ends::SinkEnd;
use super::fingerprint::InFlight;
use super::queue::Receiver;

/// Delivers results until no more come, or the sink takes no more.
pub(super) async fn deliver<R: Send, K: SinkEnd<R>>(
    mut in_order: Receiver<InFlight<R>>,
    mut sink: K,
) -> Result<(), K::Error>
where
    K::Error: From<Error>,
{
    while let Some((results, permit)) = in_order.recv().await {
        let results = results.await.map_err(|_| Error::Cpu)?;
        if !sink.take(results, permit).await? {
            break;
        }
    }
    Ok(())
}
