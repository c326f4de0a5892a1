//! A batch of pages on its way through the graph.

use tokio::sync::oneshot;

use crate::budget::Permit;

/// Pages that were read together.
pub(super) struct Batch<T> {
    pub(super) pages: Vec<T>,
    pub(super) permit: Permit,
}

/// A batch that was handed to the CPU threads. If this is dropped, the batch is not processed.
pub(super) struct InFlight<R> {
    /// One result for each page, in order. An error if a thread has failed.
    pub(super) results: oneshot::Receiver<Vec<R>>,
    pub(super) permit: Permit,
}
