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
mod committer;
mod core;
#[cfg(test)]
mod fault_tests;
mod http;
mod options;
mod pool;
mod problem;
mod recent;
mod records;
mod server;
mod shared_stage;
mod store;
mod tables;
mod token;

pub use core::Core;
pub use problem::{Problem, ProblemKind};
#[cfg(feature = "console")]
pub(crate) use recent::NamedFields;
pub use recent::{Named, Recent};
pub use server::ApiPort;
pub use shared_stage::{SharedStage, StageReader};
pub use store::{Found, Store, place};
pub use tables::{AsOf, HeldAs, KnownCluster, LookedUp, Tables};
pub use token::Token;
