//! Merges neighbouring runs into one. A look-up then has few filters to check.
//!
//! Only keys are written again; centroids stay where they are. With four runs at a time, a key is written
//! once for its block and once more each time the table has grown fourfold. So for each centroid, its data
//! and texts are written once, and its keys, some ten bytes each, at most 1 + log₄(blocks) times.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BlockError;
use super::files::Files;
use super::keys::Entry;
use super::run::{Run, RunWriter, SecondOf};
use leitong_base::proto::Stretch;

/// Number of entries between two checks of `stop`.
const ENTRIES_AT_ONCE: u64 = 1 << 16;

/// Writes one run with the entries of all `sources`, which are neighbours, oldest first. Entries of centroids
/// before `first` are left out. `table` is the number of centroids in the table. The run begins with the
/// first number of the oldest source, or with `begin` if that is greater: no centroid between these two
/// numbers has a block. Returns `None` if `stop` was set meanwhile.
pub(super) fn merge(
    files: &Arc<dyn Files>,
    table_id: u64,
    sources: &[Arc<Run>],
    (begin, first): (u64, u64),
    table: u64,
    second_of: SecondOf<'_>,
    stop: &AtomicBool,
) -> Result<Option<Run>, BlockError> {
    let (Some(oldest), Some(newest)) = (sources.first(), sources.last()) else { return Ok(None) };
    let numbers = Stretch { first: oldest.numbers().first.max(begin), end: newest.numbers().end };
    let first = first.max(begin);
    let entries = sources.iter().map(|run| run.entries_estimate()).sum();
    let mut writer = RunWriter::create(files, table_id, numbers, entries, table, second_of)?;
    let mut heads = Vec::new();
    for run in sources {
        heads.extend(Head::new(run)?);
    }
    let mut written = 0_u64;
    loop {
        // With few runs, looking at all of them is as quick as a heap. Equal keys are ordered by number.
        let least = (0..heads.len()).min_by_key(|at| (heads[*at].entry.key, heads[*at].entry.number));
        let Some(least) = least else { break };
        let entry = heads[least].entry;
        if !heads[least].advance()? {
            heads.swap_remove(least);
        }
        if entry.number >= first {
            writer.push(Entry { number: entry.number - numbers.first, ..entry })?;
        }
        written += 1;
        if written.is_multiple_of(ENTRIES_AT_ONCE) && stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    writer.finish(&**files, table_id).map(Some)
}

/// The reading position in a run.
struct Head<'a> {
    run: &'a Run,
    /// The first entry that the merge has not taken yet.
    entry: Entry,
    /// The next page to read.
    page: usize,
    /// The entries of the page that was read last.
    entries: Vec<Entry>,
    /// The index after that of `entry` in `entries`.
    at: usize,
}

impl<'a> Head<'a> {
    /// Creates a position at the first entry of this run; `None` if the run has no entries.
    fn new(run: &'a Run) -> Result<Option<Self>, BlockError> {
        let entry = Entry { key: 0, number: 0, second: None };
        let mut head = Self { run, entry, page: 0, entries: Vec::new(), at: 0 };
        Ok(head.advance()?.then_some(head))
    }

    /// Moves to the next entry. Returns false if there is none.
    fn advance(&mut self) -> Result<bool, BlockError> {
        while self.at == self.entries.len() {
            if !self.run.read_page(self.page, &mut self.entries)? {
                return Ok(false);
            }
            (self.page, self.at) = (self.page + 1, 0);
        }
        self.entry = self.entries[self.at];
        self.at += 1;
        Ok(true)
    }
}
