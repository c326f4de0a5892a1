//! Hands batches to the CPU threads, and their pending results to the next stage, in order. The queue of
//! pending results is what keeps the order (`docs/adr/0002-batches-as-tasks.md`).

use tokio::sync::oneshot;

use super::queue::{Receiver, Sender};
use super::read::Batch;
use crate::budget::Permit;
use crate::cpu::Job;
use crate::telemetry::health::Activity;

/// A batch that was handed to the CPU threads: one result for each page, in order, or an error if a thread has failed. If
/// this is dropped, the batch is not processed.
pub(super) type InFlight<R> = (oneshot::Receiver<Vec<R>>, Permit);

/// Hands on batches until no more are read, or the sink has ended.
pub(super) async fn fingerprint<T: Send, R: Send, E>(
    mut batches: Receiver<Batch<T>>,
    activity: &Activity,
    to_cpu: Sender<Job<T, R>>,
    to_deliver: Sender<InFlight<R>>,
) -> Result<(), E> {
    while let Some((pages, permit)) = batches.recv().await {
        let (done, results) = oneshot::channel();
        let load = permit.load();
        activity.begins(pages.len());
        // If no thread is left, the results never come, and the next stage says so.
        let _ = to_cpu.send(Job { batch: pages, done }, load).await;
        if to_deliver.send((results, permit), load).await.is_err() {
            break; // the sink has ended, and says why
        }
    }
    Ok(())
}
