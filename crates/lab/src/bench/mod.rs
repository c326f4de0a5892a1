//! Measures what a machine can handle: the time of each stage, and speed and size of the centroid table.
//!
//! ```text
//! pages ──────────────► stages: µs a page, one core
//! seed, bits ► SimHash fingerprints ► table: look-ups, insertions and bytes at several sizes ┐
//! the machine's memory ─────────────────────────────────────────────────────────────────────┴► pages it holds
//! ```
//! The stages and the table run on one core, so their figures can be multiplied by the number of
//! cores for parallel work. Rates of look-ups and duplicates are medians of several batches.

mod machine;
mod report;
mod stages;
mod table;

pub(crate) use self::report::Report;
pub(crate) use self::stages::StageFigures;
pub(crate) use self::table::Plan;

/// Returns the median of times or rates; 0 if there are none.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
