//! The fingerprint log: its records, and the bookkeeping that makes outcomes exactly once.
//!
//! ```text
//! fingerprint stage: Session ── Entry ──► log ──► Watermarks :cluster stage
//!  gives each record its predecessor      │       accepts each source position once, and none after a gap
//!  knows what may be committed            └─ entry: Entry ↔ protobuf
//! ```
//! Pure: no clock, no broker. The simulation in `tests/simulation` runs these types through crashes, zombie
//! processes, and lost and repeated deliveries.

pub mod entry;
pub mod identity;
pub mod losses;
pub mod session;
pub mod unplaced;
pub mod watermarks;

/// The place of a record in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// The offset of the record.
    pub offset: u64,
    /// The Kafka timestamp of the record, in milliseconds.
    pub timestamp_ms: Option<i64>,
}
