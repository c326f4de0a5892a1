//! A look at what passes by: messages of the verdict and the dead-letter topic → lines for people,
//! or JSON for programs.
//!
//! ```text
//! message ─► Tapped (JSON and protobuf alike) ─► Filter ─► one line, or one JSON object
//! ```
//! Pure: topics are read in [`crate::kafka::tail`], lines are written in `leitong tap`.
//! Invariants: no control character of a page reaches the output, and a line for people has a
//! bounded length, whatever pages and crawlers write.

mod choice;
mod line;
mod message;

pub use choice::{Choice, Filter, SampleError};
pub use line::line;
pub use message::{DEAD_LETTER, Format, Tapped, UNREADABLE};
