//! Everything that talks to Kafka, in the order in which a page meets it: creation and reports of clients,
//! requirements on topics, reading of pages, the fingerprint log, and the transactions with verdicts, dead
//! letters, changelog and offset.
//!
//! ```text
//! client ─ events ─ polled      topics ─ topic_id ─ identity        ports: the interface for owners
//! pages ◄ assignments, page_session, page_message
//! log_writer ─► log ─► partition_reader ─► owner ─► dead_letter, transactions
//! ```
//! The worker uses these modules; none of them depends on it. Without the feature `kafka`, only settings and
//! message formats are built, which need no client.

#[cfg(feature = "kafka")]
pub mod assignments;
#[cfg(feature = "kafka")]
mod authorities;
#[cfg(feature = "kafka")]
mod changelog_topic;
#[cfg(feature = "kafka")]
pub mod client;
pub mod cloud_events;
pub mod config;
#[cfg(feature = "kafka")]
pub mod dead_letter;
#[cfg(feature = "kafka")]
pub mod events;
#[cfg(feature = "kafka")]
pub mod headers;
#[cfg(feature = "kafka")]
pub mod identity;
pub(crate) mod log_origin;
#[cfg(feature = "kafka")]
pub mod log_source;
#[cfg(feature = "kafka")]
pub mod log_writer;
#[cfg(feature = "kafka")]
pub(crate) mod open_ranges;
pub mod page_message;
#[cfg(feature = "kafka")]
pub mod page_session;
#[cfg(feature = "kafka")]
pub mod pages;
#[cfg(feature = "kafka")]
pub mod partition_reader;
#[cfg(feature = "kafka")]
pub mod polled;
#[cfg(feature = "kafka")]
pub(crate) mod ports;
#[cfg(feature = "kafka")]
pub mod received;
#[cfg(feature = "kafka")]
pub mod sample;
#[cfg(feature = "kafka")]
pub mod tail;
#[cfg(feature = "kafka")]
pub mod topic_id;
#[cfg(feature = "kafka")]
pub mod topics;
#[cfg(feature = "kafka")]
pub mod transactions;
pub mod verdict_headers;
