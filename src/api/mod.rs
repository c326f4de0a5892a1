//! The HTTP API: ask before a page is stored (`leitong serve`, `leitong run`), and store without a
//! broker (`leitong serve`).
//!
//! ```text
//!  connection ─► http ─► CPU threads: core ─► look-up: read lock ──────────────► answer
//!  limits        head,   page, fingerprint │
//!  token         body                      └► store: committer: journal, fsync ─► decide ─► answer
//! ```
//! [`http`], [`server`] and [`body`] are the edge: sockets, limits, time. [`core`] turns a request
//! into an answer and knows nothing of HTTP but words; it asks [`tables`], a port, behind which are
//! the worker's tables, or the [`store`] of `serve` with its [`committer`], the one thread that
//! changes it.
//!
//! Invariants: a page that was stored and answered is on disk; verdicts are those of `leitong dedup` on the
//! same pages in the order in which they were stored; a look-up changes nothing and waits for
//! nobody but the decision that is being made; memory is bounded by `pipeline.queue_bytes`
//! (requests), `expiry.centroids_max` (table) and `api.recent_bytes_max` (past verdicts).

mod answer;
mod body;
mod client;
pub mod committer;
mod connections;
pub mod core;
mod http;
mod options;
mod pool;
pub mod problem;
pub(crate) mod recent;
mod records;
pub mod server;
pub mod site;
mod socket;
pub mod store;
pub mod tables;
pub mod token;
