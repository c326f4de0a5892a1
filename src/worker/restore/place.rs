//! Where a centroid stands in the changelog.
//!
//! In: a reader, and an offset of the log. Out: the offset of the first centroid that was founded
//! there or behind it. Centroids stand in order of founding, so a place is found by bisection: some
//! twenty look-ups where reading all before it would take minutes.

use std::time::Duration;

use anyhow::bail;

use crate::kafka::ports::{Reader, Record, Step};
use leitong_cluster::ClusterId;

/// How long one step of reading waits.
const STEP: Duration = Duration::from_millis(100);
/// Steps without an answer after which this is given up: half a minute.
const STEPS_MAX: u32 = 300;

/// The offset of the first centroid between the `bounds` that was founded at `log_offset` or behind
/// it; none where there is none, or `stop` says that it is enough.
///
/// # Errors
/// No answer; or what is read is deleted meanwhile.
pub(crate) fn first_since(
    reader: &impl Reader,
    bounds: (u64, u64),
    log_offset: u64,
    stop: impl Fn() -> bool,
) -> anyhow::Result<Option<u64>> {
    // All before `low` were founded before; `found` is the first one at `high` or behind it.
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

/// Offset of the first centroid from `offset` on and before `end`, and where it was founded.
fn centroid_since(
    reader: &impl Reader,
    offset: u64,
    end: u64,
    stop: impl Fn() -> bool,
) -> anyhow::Result<Option<(u64, u64)>> {
    reader.begin(offset)?;
    let mut steps = 0;
    while !stop() {
        match reader.next(STEP)? {
            Step::Record(record) => {
                let record: &dyn Record = &record;
                if record.offset() >= end {
                    return Ok(None);
                }
                let id = record.key().and_then(|key| key.try_into().ok()).map(ClusterId::from_bytes);
                if let Some(id) = id.filter(|_| record.value().is_some()) {
                    return Ok(Some((record.offset(), id.log_offset)));
                }
                steps = 0;
            }
            Step::End => return Ok(None),
            Step::Nothing => {
                steps += 1;
                if steps == STEPS_MAX {
                    bail!("no answer about {}", reader.name());
                }
            }
        }
    }
    Ok(None)
}
