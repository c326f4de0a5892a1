//! Finds the place of a centroid in the changelog.
//!
//! In: a reader, and a log offset. Out: the changelog offset of the first centroid that was founded at
//! or after that log offset. Centroids are in order of founding, so bisection finds it: about twenty
//! look-ups, while reading everything before it would take minutes.

use std::time::Duration;

use crate::kafka::error::{Result, refused};
use crate::kafka::ports::{Reader, Record, Step};
use leitong_cluster::ClusterId;

/// Timeout of one step of reading.
const STEP: Duration = Duration::from_millis(100);
/// Number of steps without an answer after which the search fails: half a minute.
const STEPS_MAX: u32 = 300;

/// Returns the offset of the first centroid within `bounds` that was founded at or after `log_offset`.
/// Returns `None` if there is none, or if `stop` returns true.
///
/// # Errors
/// The broker does not answer, or records are deleted meanwhile.
pub(crate) fn first_since(
    reader: &impl Reader,
    bounds: (u64, u64),
    log_offset: u64,
    stop: impl Fn() -> bool,
) -> Result<Option<u64>> {
    // All centroids before `low` were founded earlier. `found` is the first one at or after `high`.
    let ((mut low, mut high), mut found) = (bounds, None);
    while low < high && !stop() {
        let middle = low.midpoint(high);
        match centroid_since(reader, middle, high, &stop)? {
            Some((offset, founded)) if founded < log_offset => low = offset + 1,
            Some((offset, _)) => (found, high) = (Some(offset), middle),
            None => high = middle,
        }
    }
    Ok(found.filter(|_| !stop()))
}

/// Returns the offset of the first centroid in `offset..end`, and the log offset at which it was founded.
fn centroid_since(
    reader: &impl Reader,
    offset: u64,
    end: u64,
    stop: impl Fn() -> bool,
) -> Result<Option<(u64, u64)>> {
    reader.begin(offset)?;
    let mut steps = 0;
    while !stop() {
        match reader.next(STEP)? {
            Step::Record(record) => {
                if record.offset() >= end {
                    return Ok(None);
                }
                let id = record.key().and_then(|key| key.try_into().ok()).map(ClusterId::from_bytes);
                if let Some(id) = id {
                    return Ok(Some((record.offset(), id.log_offset)));
                }
                steps = 0;
            }
            Step::End => return Ok(None),
            Step::Nothing => {
                steps += 1;
                if steps == STEPS_MAX {
                    return Err(refused!("no answer about {}", reader.name()));
                }
            }
        }
    }
    Ok(None)
}
