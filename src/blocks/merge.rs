//! Some runs in a row become one, so that a look-up asks few filters.
//!
//! Only keys are written anew; centroids stay where they are. With four runs at a time a key is
//! written once for its block and once more each time the table has grown fourfold; so of each
//! centroid some 240 bytes are written once and some 160 bytes 1 + log₄(blocks) times, at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::BlockError;
use super::files::Files;
use super::keys::Entry;
use super::run::{Run, RunWriter, SecondOf};

/// Entries between two looks at whether to go on.
const ENTRIES_AT_ONCE: u64 = 1 << 16;

/// Writes one run with the entries of all `sources`, which are neighbours, oldest first, but for
/// those of centroids before `first`. Its numbers begin with the oldest run's, or with `begin` if that is
/// greater: none of the centroids between has a block. None if `stop` was set on the way.
pub(super) fn merge(
    files: &Arc<dyn Files>,
    table_id: u64,
    sources: &[Arc<Run>],
    (begin, first): (u64, u64),
    second_of: SecondOf<'_>,
    stop: &AtomicBool,
) -> Result<Option<Run>, BlockError> {
    let (Some(oldest), Some(newest)) = (sources.first(), sources.last()) else { return Ok(None) };
    let numbers = (oldest.numbers().0.max(begin), newest.numbers().1);
    let first = first.max(begin);
    let entries = sources.iter().map(|run| run.entries_estimate()).sum();
    let mut writer = RunWriter::create(files, table_id, numbers, entries, second_of)?;
    let mut heads = Vec::new();
    for run in sources {
        let begins = run.numbers().0;
        let of_table = move |entry: Result<Entry, BlockError>| {
            entry.map(|entry| Entry { number: entry.number + begins, ..entry })
        };
        let mut rest = run.iter().map(of_table);
        if let Some(head) = rest.next() {
            heads.push((head?, rest));
        }
    }
    let mut written = 0_u64;
    loop {
        // Few runs: looking at all of them is as quick as anything cleverer. Of equal keys the
        // oldest run's come first, so that numbers ascend.
        let least = (0..heads.len()).min_by_key(|at| (heads[*at].0.key, heads[*at].0.number));
        let Some(least) = least else { break };
        let (head, rest) = &mut heads[least];
        let entry = *head;
        match rest.next() {
            Some(next) => *head = next?,
            None => drop(heads.swap_remove(least)),
        }
        if entry.number >= first {
            writer.push(Entry { number: entry.number - numbers.0, ..entry })?;
        }
        written += 1;
        if written.is_multiple_of(ENTRIES_AT_ONCE) && stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
    writer.finish(&**files, table_id).map(Some)
}
