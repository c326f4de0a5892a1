//! Everything that talks to Kafka, in the order in which a page meets it: creation and reports of clients,
//! requirements on topics, reading of pages, the fingerprint log, and the transactions with verdicts, dead
//! letters, changelog and offset.
//!
//! ```text
//! client ─ events ─ polled      topics ─ topic_id ─ identity        ports: the interface for owners
//! pages ◄ assignments (losses), page_session (session)
//! log_writer ─► log ─► partition_reader ─► owner ─► dead_letter, transactions
//! ```
//! The worker uses these modules; none of them depends on it. No other folder names the client library.

pub(crate) mod assignments;
mod authorities;
pub(crate) mod client;
pub(crate) mod dead_letter;
pub(crate) mod error;
mod events;
mod headers;
pub(crate) mod identity;
pub(crate) mod log_member;
pub(crate) mod log_writer;
mod losses;
pub(crate) mod open_ranges;
pub(crate) mod page_session;
pub(crate) mod pages;
pub(crate) mod partition_reader;
pub(crate) mod polled;
pub(crate) mod ports;
pub(crate) mod received;
mod repeats;
pub(crate) mod rights;
pub(crate) mod session;
pub(crate) mod tail;
pub(crate) mod topic_id;
pub(crate) mod topics;
pub(crate) mod transactions;
