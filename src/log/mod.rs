//! The fingerprint log: what its records say beside the
//! page, and what makes the visible outcome exactly once.
//!
//! ```text
//! fingerprint stage: Session ── Entry ──► log ──► Watermarks :cluster stage
//!  gives each record its predecessor      │       takes each source position once, and none after a gap
//!  knows what may be committed            └─ entry: Entry ↔ protobuf
//! ```
//! Pure: no clock, no broker. The simulation in `tests/simulation` drives
//! these very types through crashes, zombies, lost and repeated deliveries.

pub mod entry;
pub mod identity;
pub mod losses;
pub mod session;
pub mod unplaced;
pub mod watermarks;

/// Where a record of the log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// Its offset.
    pub offset: u64,
    /// When it was written, in milliseconds, by its Kafka timestamp.
    pub timestamp_ms: Option<i64>,
}
