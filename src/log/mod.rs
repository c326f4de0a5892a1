//! The fingerprint log: what its records say beside the page, and what makes the visible outcome exactly once.
//!
//! ```text
//! fingerprint half: Session ── Entry ──► log ──► Watermarks :cluster half
//!  gives each record its predecessor      │       takes each source position once, and none after a gap
//!  knows what may be committed            └─ entry: Entry ↔ protobuf
//! ```
//! Pure: no clock, no broker. The simulation in `tests/protocol.rs` drives these very types through crashes,
//! zombies, lost and repeated deliveries.

pub mod entry;
pub mod session;
pub mod watermarks;
