//! Sorts records on disk: records that do not fit into memory are written in sorted runs, which are merged when they
//! are read.
//!
//! Runs are in one nameless file, which is gone when the process ends, however it ends. Memory: the budget.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;

use crate::error::{Context, Result};

/// Minimum number of records that are sorted or read together.
const TOGETHER_MIN: usize = 64;

/// A record of fixed length.
pub(crate) trait Fixed: Copy + Ord + Send {
    /// Number of bytes of a record on disk.
    const BYTES: usize;

    /// Appends the record to `out`.
    fn write(&self, out: &mut Vec<u8>);

    /// Reads a record from its bytes.
    fn read(bytes: &[u8]) -> Self;
}

/// Implements [`Fixed`] for a struct of numbers, which are written one after the other.
macro_rules! fixed {
    ($Record:ident { $($field:ident: $Number:ty),* }) => {
        impl Fixed for $Record {
            const BYTES: usize = 0 $(+ size_of::<$Number>())*;

            fn write(&self, out: &mut Vec<u8>) {
                $(out.extend_from_slice(&self.$field.to_le_bytes());)*
            }

            fn read(mut bytes: &[u8]) -> Self {
                $(let $field = bytes.split_off(..size_of::<$Number>()).and_then(<[u8]>::first_chunk);)*
                Self { $($field: $field.map_or(0, |bytes| <$Number>::from_le_bytes(*bytes))),* }
            }
        }
    };
}
pub(super) use fixed;

/// Collects records in any order.
pub(crate) struct Sorter<T> {
    folder: PathBuf,
    budget: usize,
    buffer: Vec<T>,
    file: Option<File>,
    /// The end of each run in the file.
    ends: Vec<u64>,
    /// Bytes that are to be written.
    bytes: Vec<u8>,
}

impl<T: Fixed> Sorter<T> {
    /// Creates an empty sorter that takes about `budget` bytes of memory, and writes further records to a file in
    /// `folder`.
    #[must_use]
    pub(crate) fn new(folder: &Path, budget: usize) -> Self {
        let (buffer, ends, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Self { folder: folder.to_owned(), budget, buffer, file: None, ends, bytes }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// A run cannot be written.
    pub(crate) fn push(&mut self, record: T) -> Result<()> {
        if self.buffer.len() >= (self.budget / size_of::<T>()).max(TOGETHER_MIN) {
            self.end_run()?;
        }
        self.buffer.push(record);
        Ok(())
    }

    /// Returns the number of runs on disk.
    #[cfg(test)]
    pub(crate) fn runs(&self) -> usize {
        self.ends.len()
    }

    fn end_run(&mut self) -> Result<()> {
        self.buffer.par_sort_unstable();
        self.write_run().with_context(|| {
            format!(
                "cannot sort passages on disk in {}; free some space there, or write the outputs elsewhere",
                self.folder.display()
            )
        })
    }

    fn write_run(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile_in(&self.folder)?);
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut at = self.ends.last().copied().unwrap_or(0);
        for records in self.buffer.chunks(4_096) {
            self.bytes.clear();
            records.iter().for_each(|record| record.write(&mut self.bytes));
            file.write_all_at(&self.bytes, at)?;
            at += self.bytes.len() as u64;
        }
        self.ends.push(at);
        self.buffer.clear();
        Ok(())
    }

    /// Ends adding. The records can then be read in order.
    ///
    /// # Errors
    /// The last run cannot be written, or the runs cannot be read.
    pub(crate) fn finish(mut self) -> Result<Sorted<T>> {
        if self.file.is_some() && !self.buffer.is_empty() {
            self.end_run()?;
        }
        self.buffer.par_sort_unstable();
        // Records are taken from the end of the buffer.
        self.buffer.reverse();
        let together = (self.budget / self.ends.len().max(1) / size_of::<T>()).max(TOGETHER_MIN);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let runs = starts.zip(&self.ends).map(|(at, end)| Run { at, end: *end, ahead: Vec::new() });
        let runs: Vec<Run<T>> = runs.collect();
        let mut sorted = Sorted {
            file: self.file,
            next: BinaryHeap::with_capacity(runs.len()),
            runs,
            rest: self.buffer,
            together,
        };
        for run in 0..sorted.runs.len() {
            sorted.push_next_of(run)?;
        }
        Ok(sorted)
    }
}

/// A sorted part of the file.
struct Run<T> {
    at: u64,
    end: u64,
    /// The records that were read ahead, the next one last.
    ahead: Vec<T>,
}

/// Reads records in order.
pub(crate) struct Sorted<T> {
    file: Option<File>,
    runs: Vec<Run<T>>,
    /// The next record of each run.
    next: BinaryHeap<Reverse<(T, usize)>>,
    /// The records that were never written, the next one last. Empty if there are runs.
    rest: Vec<T>,
    /// Number of records of a run that are read together.
    together: usize,
}

impl<T: Fixed> Sorted<T> {
    /// Returns the next record, or `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn next_record(&mut self) -> Result<Option<T>> {
        let Some(Reverse((record, run))) = self.next.pop() else { return Ok(self.rest.pop()) };
        self.push_next_of(run)?;
        Ok(Some(record))
    }

    fn push_next_of(&mut self, number: usize) -> Result<()> {
        let (Some(file), Some(run)) = (&self.file, self.runs.get_mut(number)) else { return Ok(()) };
        if run.ahead.is_empty() && run.at < run.end {
            let bytes = (run.end - run.at).min((self.together * T::BYTES) as u64);
            let mut read = vec![0; bytes as usize];
            file.read_exact_at(&mut read, run.at).context("cannot read sorted passages again")?;
            run.at += bytes;
            run.ahead.extend(read.chunks_exact(T::BYTES).rev().map(T::read));
        }
        if let Some(record) = run.ahead.pop() {
            self.next.push(Reverse((record, number)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Pair {
        first: u64,
        second: u32,
    }
    fixed!(Pair { first: u64, second: u32 });

    fn sorted(records: &[Pair], budget: usize) -> (Vec<Pair>, usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut sorter = Sorter::new(folder.path(), budget);
        for record in records {
            sorter.push(*record).expect("room");
        }
        let runs = sorter.runs();
        let mut sorted = sorter.finish().expect("room");
        let found = std::iter::from_fn(|| sorted.next_record().expect("the file")).collect();
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "the file has no name");
        (found, runs)
    }

    proptest! {
        #[test]
        fn records_come_in_order_whether_they_fit_into_memory_or_not(
            records in prop::collection::vec((0_u64..50, 0_u32..9), 0..700),
        ) {
            let records: Vec<_> =
                records.into_iter().map(|(first, second)| Pair { first, second }).collect();
            let mut expected = records.clone();
            expected.sort_unstable();
            prop_assert_eq!(&sorted(&records, 1 << 20), &(expected.clone(), 0));
            let (found, runs) = sorted(&records, 1);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(runs, records.len().saturating_sub(1) / TOGETHER_MIN);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let mut sorter = Sorter::new(Path::new("/no/such/folder"), 1);
        let mut push = |first| sorter.push(Pair { first, second: 0 });
        let results: Vec<_> = (0..=TOGETHER_MIN as u64).map(&mut push).collect();
        let error = results.into_iter().find_map(Result::err).expect("it cannot be written");
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
