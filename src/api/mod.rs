//! The HTTP API: look up a page before storing it (`leitong serve`, `leitong run`), and store pages without a
//! broker (`leitong serve`).
//!
//! ```text
//!  connection ─► http ─► CPU threads: core ─► look-up: read lock ──────────────► answer
//!  limits        head,   page, fingerprint │
//!  token         body                      └► store: committer: journal, fsync ─► decide ─► answer
//! ```
//! [`http`], [`server`] and [`body`] handle sockets, limits and time. [`core`] turns a request into an answer
//! and knows nothing of HTTP connections. It uses [`tables`], an interface to the worker's tables or to the
//! [`store`] of `serve`. The [`committer`] is the only thread that changes that store.
//!
//! Invariants: a page that was stored and answered is on disk; verdicts are those of `leitong dedup` on the
//! same pages in the order in which they were stored; a look-up changes nothing, and waits only for a
//! decision in progress; memory is bounded by `pipeline.queue_bytes` (requests), `expiry.centroids_max`
//! (table) and `api.recent_bytes_max` (past verdicts).

mod answer;
mod body;
mod client;
pub(crate) mod committer;
pub(crate) mod core;
#[cfg(test)]
mod fault_tests;
mod http;
mod options;
mod pool;
pub(crate) mod problem;
pub(crate) mod recent;
mod records;
pub(crate) mod server;
pub(crate) mod shared_stage;
pub(crate) mod store;
pub(crate) mod tables;
pub(crate) mod token;
