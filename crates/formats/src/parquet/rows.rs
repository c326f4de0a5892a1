//! Reads the rows of a Parquet file in order, by row groups and batches, and skips rows that cannot be read.
//!
//! After an error, the batch is read again in smaller steps, which recovers all rows before the broken place.
//! To find the next readable row after it, the reader tries rows at doubling distances, and then bisects. A
//! broken page costs its rows and a few dozen attempts; a broken page header or dictionary costs the rest of
//! its row group. If the values of a batch turn out to take too much memory, the row group is [measured](plan) first: a
//! row that is too large is left out, and batches become smaller. Invariant: each row is in exactly one [`Chunk`], and
//! chunks are in order.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};

use super::costs::ChunkCosts;
use super::file::ParquetFile;
use super::guard::{Budget, Guard};
use super::plan::{BATCH_ROWS_MAX, Plan, plan};
use crate::table::{BATCH_BYTES, Chunk, Chunks, DECODED_BYTES_MAX, Fault, OpenTable, guarded};

/// Number of rows of a long run that is added at the end of a selection, to raise the average length of its runs. If
/// the average is low, the library also decodes the rows between the runs, and these may be too large.
const ROWS_OF_LONG_RUN: usize = 1 << 40;

/// A reader of rows.
pub(crate) struct Rows {
    file: ParquetFile,
    columns: ProjectionMask,
    row_group: usize,
    /// The number of the first row in the row group.
    group_start: u64,
    /// The next row, counted within the row group.
    next: u64,
    /// A reader positioned at the next row. `None` if it must be created.
    reader: Option<ParquetRecordBatchReader>,
    /// Batch size of the next reader, if it must be smaller than usual.
    step: Option<usize>,
    /// The limit for the current reader.
    budget: Arc<Budget>,
    /// The plan for reading the row group, if its values are large.
    plan: Option<Plan>,
    /// Parts that were read and not returned yet.
    ready: VecDeque<Chunk>,
    row_bytes_max: u64,
}

impl Rows {
    /// Creates a reader for the columns with these indexes, or for all columns. A row above [`DECODED_BYTES_MAX`] is
    /// left out, unless `line_bytes_max` is more.
    pub(crate) fn new(file: ParquetFile, columns: Option<&[usize]>, line_bytes_max: usize) -> Self {
        let columns = match columns {
            None => ProjectionMask::all(),
            Some(places) => ProjectionMask::roots(file.parquet_schema(), places.iter().copied()),
        };
        Self {
            file,
            columns,
            row_group: 0,
            group_start: 0,
            next: 0,
            reader: None,
            step: None,
            budget: Arc::new(Budget::None),
            plan: None,
            ready: VecDeque::new(),
            row_bytes_max: DECODED_BYTES_MAX.max(line_bytes_max as u64),
        }
    }

    /// Names the row group, for messages.
    fn part(&self) -> String {
        format!("row group {}", self.row_group)
    }

    /// Adds the rows of a batch, which are the next ones that are not too large. Surplus rows, above the number of rows
    /// in the index, have no numbers of their own. In their place, the last row that has a number is reported as lost.
    fn add(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let end = self.file.rows_of(self.row_group);
        let mut added = 0;
        while added < batch.num_rows() && self.next < end {
            let left = batch.num_rows() - added;
            let room = usize::try_from(end - self.next).unwrap_or(usize::MAX);
            let has_surplus = left > room || (left == room && self.has_another_batch()?);
            let too_large = self.plan.as_ref().and_then(|plan| plan.next_too_large(self.next));
            let until = too_large.map_or(u64::MAX, |(rows, _)| rows.start - self.next);
            let until = usize::try_from(until).unwrap_or(usize::MAX).min(left);
            let count = if has_surplus { until.min(room - 1) } else { until };
            if count > 0 {
                let first = self.group_start + self.next;
                self.ready.push_back(Chunk::Rows { first, batch: batch.slice(added, count) });
                self.next += count as u64;
                added += count;
            }
            if has_surplus && self.next == end - 1 {
                self.lose_last_row();
            } else if added < batch.num_rows() {
                self.pass_too_large();
            }
        }
        Ok(())
    }

    /// Returns true if the pages of the row group have rows after those that were read, even if these cannot be read.
    fn has_another_batch(&mut self) -> io::Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        match guarded(|| reader.next().transpose()) {
            Ok(batch) => Ok(batch.is_some_and(|batch| batch.num_rows() > 0)),
            Err(fault) => fault.or_machine_failure(&self.file.file).content_fault().map(|_| true),
        }
    }

    /// Moves on to the end of the row group, of which only the last row is left.
    fn lose_last_row(&mut self) {
        let end = self.file.rows_of(self.row_group);
        let rows = self.group_start + end - 1..self.group_start + end;
        let problem = format!("the row group has more rows than the {end} in the index");
        self.ready.push_back(Chunk::Lost { rows, part: self.part(), problem });
        self.next = end;
    }

    /// Moves on if the next rows are too large, or cannot be measured.
    fn pass_too_large(&mut self) {
        let Some(plan) = &self.plan else { return };
        let row = |number: u64| self.group_start.saturating_add(number);
        if let Some((rows, _)) = plan.next_too_large(self.next).filter(|(rows, _)| rows.start <= self.next) {
            let next = rows.end;
            self.ready.push_back(Chunk::TooLarge { rows: row(self.next)..row(next) });
            self.next = next;
        } else if self.next >= plan.end
            && let Some(problem) = &plan.problem
        {
            let end = self.file.rows_of(self.row_group);
            let (rows, problem) = (row(self.next)..row(end), problem.clone());
            self.ready.push_back(Chunk::Lost { rows, part: self.part(), problem });
            self.next = end;
        }
    }

    /// Measures the rows of the row group.
    fn measured(&self) -> io::Result<Plan> {
        let guard = self.guard(Budget::None).map_err(Fault::Machine);
        let leaves = 0..self.file.metadata().row_group(self.row_group).num_columns();
        let columns = leaves.filter(|at| self.columns.leaf_included(*at));
        let plan = guard.and_then(|guard| {
            guarded(|| {
                let columns = columns.map(|at| {
                    let pages = guard.pages(at)?;
                    Ok(ChunkCosts::new(pages.column(), Box::new(pages)))
                });
                let columns = columns.collect::<Result<_, parquet::errors::ParquetError>>()?;
                Ok::<_, Fault>(plan(columns, self.file.rows_of(self.row_group), self.row_bytes_max))
            })
        });
        if let Some(failure) = self.file.file.failure() {
            return Err(failure);
        }
        match plan {
            Ok(plan) => Ok(plan),
            Err(fault) => Ok(Plan { problem: Some(fault.content_fault()?), ..Plan::default() }),
        }
    }

    fn guard(&self, budget: Budget) -> io::Result<Guard> {
        Ok(Guard {
            file: self.file.file.try_clone()?,
            metadata: Arc::clone(self.file.index.metadata()),
            schema: Arc::clone(self.file.schema()),
            row_group: self.row_group,
            budget: Arc::new(budget),
        })
    }

    /// Returns the number of the first row after the row group. Saturates, because a broken index may claim
    /// any number.
    fn group_end(&self) -> u64 {
        self.group_start.saturating_add(self.file.rows_of(self.row_group))
    }

    fn begin_next_group(&mut self) {
        self.group_start = self.group_end();
        self.row_group += 1;
        self.next = 0;
        self.reader = None;
        self.step = None;
        self.plan = None;
    }

    /// Reads the next batch of the row group.
    fn next_batch(&mut self) -> Result<RecordBatch, Fault> {
        // A batch does not go on into rows that cannot be measured.
        let rows = self.step.unwrap_or(usize::MAX).min(self.batch_rows());
        let plan = self.plan.as_ref().filter(|plan| plan.problem.is_some());
        let left = plan.map_or(u64::MAX, |plan| plan.rows_left(self.next, rows as u64));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let mut reader = match self.reader.take().filter(|_| rows <= left) {
            Some(reader) => reader,
            None => {
                // A damaged row group is read in many attempts. Each passes over pages again, so the limit is for
                // each page.
                let budget = match (&self.plan, self.step) {
                    (Some(_), _) => Budget::None,
                    (None, None) => Budget::together(self.row_bytes_max.saturating_mul(2)),
                    (None, Some(_)) => Budget::EachPage(self.row_bytes_max),
                };
                let guard = self.guard(budget).map_err(Fault::Machine)?;
                self.budget = Arc::clone(&guard.budget);
                self.reader_at(&guard, self.next, rows.min(left).max(1), None)?
            }
        };
        self.budget.reset();
        let batch = self.first_batch(&mut reader)?;
        self.reader = Some(reader);
        Ok(batch)
    }

    /// Finds the next readable row after the row at `next`, which cannot be read. Returns the rows before it as lost.
    fn skip_broken(&mut self, problem: String) -> io::Result<Chunk> {
        // Rows that cannot be measured are not tried.
        let measured = self.plan.as_ref().map_or(u64::MAX, |plan| plan.end);
        let (mut broken, end) = (self.next, self.file.rows_of(self.row_group).min(measured));
        let mut readable = end;
        let mut step = 1;
        while broken < end - 1 {
            let candidate = broken.saturating_add(step).min(end - 1);
            if self.is_readable(candidate)? {
                readable = candidate;
                break;
            }
            broken = candidate;
            step = step.saturating_mul(2);
        }
        while readable < end && readable - broken > 1 {
            let middle = broken + (readable - broken) / 2;
            if self.is_readable(middle)? { readable = middle } else { broken = middle }
        }
        let row = |number: u64| self.group_start.saturating_add(number);
        let rows = row(self.next)..row(readable);
        self.next = readable;
        self.step = None;
        Ok(Chunk::Lost { rows, part: self.part(), problem })
    }

    fn is_readable(&self, row: u64) -> io::Result<bool> {
        let budget = match self.plan {
            Some(_) => Budget::None,
            None => Budget::EachPage(self.row_bytes_max),
        };
        let guard = self.guard(budget)?;
        let read =
            self.reader_at(&guard, row, 1, Some(1)).and_then(|mut reader| self.first_batch(&mut reader));
        match read {
            Ok(_) => Ok(true),
            Err(fault) => fault.content_fault().map(|_| false),
        }
    }

    /// Creates a reader that starts at `row` of the row group and reads batches of `step` rows, `rows_max`
    /// rows at most. Rows that are too large are left out.
    fn reader_at(
        &self,
        guard: &Guard,
        row: u64,
        step: usize,
        rows_max: Option<usize>,
    ) -> Result<ParquetRecordBatchReader, Fault> {
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        // Rows that could not be measured may have any size.
        let end = self.plan.as_ref().map_or(u64::MAX, |plan| plan.end).min(self.file.rows_of(self.row_group));
        let rest = end.saturating_sub(row);
        let rest = rows_max.map_or(rest, |rows| rest.min(rows as u64));
        let mut selectors = vec![RowSelector::skip(count(row))];
        let mut at = row;
        while at < row + rest {
            let too_large = self.plan.as_ref().and_then(|plan| plan.next_too_large(at));
            let end = too_large.map_or(row + rest, |(rows, _)| rows.start.clamp(at, row + rest));
            selectors.push(RowSelector::select(count(end - at)));
            at = end;
            if let Some((rows, _)) = too_large.filter(|(rows, _)| rows.start <= at) {
                selectors.push(RowSelector::skip(count(rows.end - at)));
                at = rows.end;
            }
        }
        selectors.push(RowSelector::select(ROWS_OF_LONG_RUN));
        let selection =
            (row > 0 || rows_max.is_some() || self.plan.is_some()).then(|| RowSelection::from(selectors));
        let reader = guarded(|| {
            let hint = Some(self.file.schema().fields());
            let levels =
                parquet_to_arrow_field_levels(self.file.parquet_schema(), self.columns.clone(), hint)?;
            ParquetRecordBatchReader::try_new_with_row_groups(&levels, guard, step, selection)
        });
        reader.map_err(|fault| fault.or_machine_failure(&self.file.file))
    }

    fn first_batch(&self, reader: &mut ParquetRecordBatchReader) -> Result<RecordBatch, Fault> {
        match guarded(|| reader.next().transpose())
            .map_err(|fault| fault.or_machine_failure(&self.file.file))?
        {
            Some(batch) if batch.num_rows() > 0 => Ok(batch),
            _ => Err(Fault::File("the row group ends before its last row".to_owned())),
        }
    }

    /// Returns the number of rows that have about [`BATCH_BYTES`].
    fn batch_rows(&self) -> usize {
        if let Some(plan) = &self.plan {
            return plan.step;
        }
        let group = self.file.metadata().row_group(self.row_group);
        let columns = group.columns().iter().enumerate();
        let read = columns.filter(|(at, _)| self.columns.leaf_included(*at)).map(|(_, column)| column);
        let bytes = read.map(|column| u64::try_from(column.uncompressed_size()).unwrap_or(0));
        let bytes = bytes.fold(1, u64::saturating_add);
        let rows = BATCH_BYTES.saturating_mul(self.file.rows_of(self.row_group)) / bytes;
        usize::try_from(rows).unwrap_or(usize::MAX).clamp(1, BATCH_ROWS_MAX)
    }
}

impl Chunks for Rows {
    fn row_bytes_max(&self) -> u64 {
        self.row_bytes_max
    }

    fn stored_bytes_per_row(&self) -> u64 {
        let row_groups = self.file.metadata().row_groups();
        let Some(group) = row_groups.get(self.row_group.min(row_groups.len().saturating_sub(1))) else {
            return 0;
        };
        let rows = u64::try_from(group.num_rows()).unwrap_or(0);
        u64::try_from(group.compressed_size()).unwrap_or(0) / rows.max(1)
    }

    fn skip_towards(&mut self, number: u64) {
        while self.row_group < self.file.metadata().num_row_groups() && self.group_end() <= number {
            self.begin_next_group();
        }
    }

    fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        while self.row_group < self.file.metadata().num_row_groups() {
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(Some(chunk));
            }
            if self.next >= self.file.rows_of(self.row_group) {
                self.begin_next_group();
                continue;
            }
            self.pass_too_large();
            if !self.ready.is_empty() {
                continue;
            }
            match self.next_batch() {
                Ok(batch) => self.add(&batch)?,
                Err(fault) => {
                    let problem = fault.content_fault()?;
                    self.reader = None;
                    if self.budget.is_exceeded() && self.plan.is_none() {
                        self.plan = Some(self.measured()?);
                        continue;
                    }
                    match self.step {
                        None => self.step = Some(BATCH_ROWS_MAX / 16),
                        Some(1) => return self.skip_broken(problem).map(Some),
                        Some(step) => self.step = Some(step.div_ceil(16)),
                    }
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}

#[cfg(test)]
mod tests;
