//! Everything that an operator sees of a worker: [`metrics`], [`health`], [`tally`], [`traces`] and the
//! [`admin`] port.

pub mod admin;
pub mod config;
pub mod health;
pub mod metrics;
pub mod redact;
pub mod shared_paragraphs;
pub mod tally;
pub mod templates;
pub mod traces;
