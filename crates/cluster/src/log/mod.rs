//! The fingerprint log: its records, and the bookkeeping by which each page counts exactly once.
//!
//! ```text
//! fingerprint stage ── Entry ──► log ──► Watermarks :cluster stage
//!  each record names its          │       accepts each source position once, and none after a gap
//!  predecessor                    └─ entry: Entry ↔ protobuf
//! ```
//! Pure: no clock, no broker. The simulation in `tests/simulation` runs these types through crashes, zombie
//! processes, and lost and repeated deliveries.

pub(crate) mod entry;
pub(crate) mod identity;
pub(crate) mod unplaced;
pub(crate) mod watermarks;

pub use entry::{Entry, EntryError, MessageOrigin};
pub use identity::{Replaced, TopicId, TopicIds, Which};
pub use unplaced::Unplaced;
pub use watermarks::{Admission, Origin, Watermark, Watermarks};

/// The place of a record in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// The offset of the record.
    pub offset: u64,
    /// The Kafka timestamp of the record, in milliseconds.
    pub timestamp_ms: Option<i64>,
}
