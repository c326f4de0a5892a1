//! Decides how a row group with large values is read: which rows are too large, and how many others fit into memory
//! together.

use std::ops::Range;

use super::costs::{ChunkCosts, RowRun};
use crate::table::BATCH_BYTES;

/// Maximum number of rows in a batch.
pub(super) const BATCH_ROWS_MAX: usize = 1024;
/// Maximum number of ranges of too large rows in a row group. The rows from the next such
/// range on are lost.
const RANGES_MAX: usize = 1 << 16;
/// Numbers of rows that are tried as the size of a batch.
const STEPS: [u64; 6] = [BATCH_ROWS_MAX as u64, 256, 64, 16, 4, 1];

/// The plan for reading a row group.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Batch size: the number of rows that fit into memory together at any position.
    pub(super) step: usize,
    /// Ranges of rows that are too large, each with the size of its largest row in bytes.
    pub(super) too_large: Vec<(Range<u64>, u64)>,
    /// The end of the rows that this plan covers. The rows from there on cannot be read.
    pub(super) end: u64,
    /// The reason why later rows cannot be read. `None` if the plan covers all rows.
    pub(super) problem: Option<String>,
}

impl Plan {
    /// Returns the first range of rows that are too large at or after `row`.
    pub(super) fn next_too_large(&self, row: u64) -> Option<&(Range<u64>, u64)> {
        self.too_large.get(self.too_large.partition_point(|(rows, _)| rows.end <= row))
    }

    /// Returns the number of rows from `row` to the plan's end that are not too large, or a number above `most`. Cost: one
    /// step for each of them at most.
    pub(super) fn rows_left(&self, mut row: u64, most: u64) -> u64 {
        let mut left = 0;
        let first = self.too_large.partition_point(|(rows, _)| rows.end <= row);
        for (rows, _) in &self.too_large[first..] {
            if left > most {
                return left;
            }
            left += rows.start.saturating_sub(row);
            row = rows.end;
        }
        left + self.end.saturating_sub(row)
    }
}

/// Measures the `rows` rows of a row group with these columns. `bytes_max` is the maximum size of one row, and also of
/// all rows of a batch together.
pub(super) fn plan(mut columns: Vec<ChunkCosts>, rows: u64, bytes_max: u64) -> Plan {
    let mut plan = Plan::default();
    let mut windows = STEPS.map(|rows| Window { rows, filled: 0, bytes: 0, fits: true });
    let mut runs = vec![RowRun { rows: 0, cost: 0 }; columns.len()];
    let mut bytes = 0_u64;
    while plan.end < rows {
        for (run, column) in runs.iter_mut().zip(&mut columns).filter(|(run, _)| run.rows == 0) {
            match column.next() {
                Ok(Some(next)) => *run = next,
                Ok(None) => plan.problem = Some("the row group ends before its last row".to_owned()),
                Err(error) => plan.problem = Some(error.to_string()),
            }
        }
        if plan.problem.is_some() {
            break;
        }
        let count = runs.iter().map(|run| run.rows).min().unwrap_or(rows).min(rows - plan.end);
        let cost = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.cost));
        runs.iter_mut().for_each(|run| run.rows -= count);
        let span = plan.end..plan.end + count;
        if cost <= bytes_max {
            windows.iter_mut().for_each(|window| window.add(count, cost, bytes_max));
            bytes = bytes.saturating_add(count.saturating_mul(cost));
        } else {
            let is_full = plan.too_large.len() >= RANGES_MAX;
            match plan.too_large.last_mut() {
                Some((last, largest)) if last.end == span.start => {
                    last.end = span.end;
                    *largest = cost.max(*largest);
                }
                _ if is_full => {
                    plan.problem = Some(format!("rows are too large in more than {RANGES_MAX} places"));
                    break;
                }
                _ => plan.too_large.push((span.clone(), cost)),
            }
        }
        plan.end = span.end;
    }
    let average = BATCH_BYTES.saturating_mul(plan.end.max(1)) / bytes.max(1);
    let fitting = windows.iter().find(|window| window.fits).map_or(1, |window| window.rows);
    plan.step = usize::try_from(fitting.min(average)).unwrap_or(1).max(1);
    plan
}

/// A batch of a certain number of rows that is being filled.
#[derive(Debug, Clone, Copy)]
struct Window {
    rows: u64,
    filled: u64,
    bytes: u64,
    /// False if a batch was too large.
    fits: bool,
}

impl Window {
    fn add(&mut self, mut count: u64, cost: u64, bytes_max: u64) {
        if count >= self.rows && self.rows.saturating_mul(cost) > bytes_max {
            self.fits = false;
        }
        while self.fits && count > 0 {
            let taken = count.min(self.rows - self.filled);
            self.bytes = self.bytes.saturating_add(taken.saturating_mul(cost));
            self.fits = self.bytes <= bytes_max;
            self.filled += taken;
            count -= taken;
            if self.filled == self.rows {
                (self.filled, self.bytes) = (0, 0);
                // Full batches of these rows fit, as was checked above.
                count %= self.rows;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_left_are_those_before_the_end_that_are_not_too_large() {
        let plan = Plan { too_large: vec![(2..4, 9), (6..7, 9)], end: 9, ..Plan::default() };
        let naive = |row| (row..9).filter(|row| ![2, 3, 6].contains(row)).count() as u64;
        assert!((0..9).all(|row| plan.rows_left(row, 99) == naive(row)));
        assert!(plan.rows_left(0, 1) > 1);
    }
}
