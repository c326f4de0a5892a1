//! How much a machine carries: time a stage takes, and speed and size of the centroid table.
//!
//! ```text
//! pages ──────────────► stages: µs a page, one core
//! seed, bits ► SimHash fingerprints ► table: look-ups, insertions and bytes at several sizes ┐
//! the machine's memory ─────────────────────────────────────────────────────────────────────┴► pages it holds
//! ```
//! All on one core, so that figures can be multiplied by
//! cores where work is shared out. Medians of many rounds.

pub mod fingerprints;
pub mod machine;
pub mod on_disk;
mod raw_reads;
pub mod report;
pub mod stages;
pub mod table;

/// The middle one of some times or rates; 0 of none.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
