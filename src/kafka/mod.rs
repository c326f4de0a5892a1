//! All that talks to Kafka, in the order of the flow: how clients are made and
//! what they report, what topics must be like, then pages in, the fingerprint log,
//! and in one transaction verdicts, dead letters, the changelog and the offset.
//!
//! ```text
//! client ─ events ─ polled      topics ─ topic_id ─ identity        ports: what owners ask for
//! pages ◄ assignments, page_session, page_message
//! log_writer ─► log ─► partition_reader ─► owner ─► dead_letter, transactions
//! ```
//! The worker puts these to use; nothing here knows of it.

pub mod assignments;
mod authorities;
mod changelog_topic;
pub mod client;
pub mod cloud_events;
pub mod config;
pub mod dead_letter;
pub mod events;
pub mod headers;
pub mod identity;
pub(crate) mod log_origin;
pub mod log_source;
pub mod log_writer;
pub(crate) mod open_ranges;
pub mod page_message;
pub mod page_session;
pub mod pages;
pub mod partition_reader;
pub mod polled;
pub(crate) mod ports;
pub mod received;
pub mod sample;
pub mod tail;
pub mod topic_id;
pub mod topics;
pub mod transactions;
pub mod verdict_headers;
