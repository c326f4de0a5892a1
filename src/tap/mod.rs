//! Reads messages of the verdict and dead-letter topics, and formats them as lines for people or as JSON for
//! programs.
//!
//! ```text
//! message ─► Tapped (JSON and protobuf alike) ─► one line, or one JSON object
//! ```
//! Pure: topics are read in [`leitong_kafka::Tail`], and lines are written by `leitong tap`. Invariants: no
//! control character from a page reaches the output, and a line for people has a bounded length, whatever
//! pages and crawlers write.

mod line;
mod message;

pub(crate) use line::format_line;
pub(crate) use message::{Tapped, UNREADABLE};
