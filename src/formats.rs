//! The versions of every storage format that this program writes and reads. `leitong doctor` reports them,
//! and a test compares the table in docs/upgrading.md with this one. The numbers are the constants that the
//! writers and readers themselves use.

use std::fmt;
use std::ops::RangeInclusive;

use crate::checkpoint;
use leitong_base::proto::FORMAT_VERSION;
use leitong_cluster::changelog::ChangelogRecord;
use leitong_keep::{TEXTS_FORMAT_VERSION, TableSizes};
use leitong_store::blocks::BlockStore;
use leitong_store::snapshot::{SnapshotPlace, TableDir, TableLine};

/// A format of data that outlives the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Format {
    /// The name of the format, for reports.
    pub name: &'static str,
    /// The versions that this program writes. If there are several, the newer ones are written only if
    /// settings require them.
    pub writes: RangeInclusive<u32>,
    /// The versions that this program reads. All others are refused.
    pub reads: RangeInclusive<u32>,
}

const fn format(name: &'static str, writes: RangeInclusive<u32>, reads: RangeInclusive<u32>) -> Format {
    Format { name, writes, reads }
}

const fn one(version: u32) -> RangeInclusive<u32> {
    version..=version
}

/// All formats.
pub(crate) const FORMATS: [Format; 11] = [
    format("log record", one(FORMAT_VERSION), 1..=FORMAT_VERSION),
    format(
        "changelog",
        ChangelogRecord::FORMAT_VERSION..=ChangelogRecord::FORMAT_VERSION_MAX,
        ChangelogRecord::FORMAT_VERSION..=ChangelogRecord::FORMAT_VERSION_MAX,
    ),
    format("worker's snapshot", one(SnapshotPlace::FORMAT_VERSION), one(SnapshotPlace::FORMAT_VERSION)),
    format("worker's table on disk", one(TableDir::FORMAT_VERSION), one(TableDir::FORMAT_VERSION)),
    format("saved table", one(TableDir::FORMAT_VERSION), one(TableDir::FORMAT_VERSION)),
    format("block", one(BlockStore::FORMAT_VERSION), one(BlockStore::FORMAT_VERSION)),
    format("journal of `serve`", one(FORMAT_VERSION), 1..=FORMAT_VERSION),
    format("checkpoint of `dedup`", one(checkpoint::FORMAT_VERSION), one(checkpoint::FORMAT_VERSION)),
    format("exported table", one(TableLine::FORMAT_VERSION), 1..=TableLine::FORMAT_VERSION),
    format("sizes of clusters", one(TableSizes::FORMAT_VERSION), one(TableSizes::FORMAT_VERSION)),
    format("texts of a table", one(TEXTS_FORMAT_VERSION), one(TEXTS_FORMAT_VERSION)),
];

/// The version of verdicts, in their header and in protobuf. This program writes verdicts but never reads
/// them.
pub(crate) const VERDICT: u32 = FORMAT_VERSION;

/// A range of versions, displayed as `1` or `1 to 3`.
pub(crate) struct Versions<'a>(pub &'a RangeInclusive<u32>);

impl fmt::Display for Versions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        if first == last { write!(f, "{first}") } else { write!(f, "{first} to {last}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of formats in docs/upgrading.md must agree with the program.
    #[test]
    fn the_table_of_formats_agrees_with_the_program() {
        let page = std::fs::read_to_string("docs/upgrading.md").expect("the page");
        let rows: Vec<Vec<&str>> = page
            .lines()
            .skip_while(|line| !line.starts_with("| format |"))
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let expected = FORMATS.map(|format| {
            (
                format.name.to_owned(),
                Versions(&format.writes).to_string(),
                Versions(&format.reads).to_string(),
            )
        });
        let found: Vec<_> =
            rows.iter().map(|row| (row[0].to_owned(), row[2].to_owned(), row[3].to_owned())).collect();
        assert_eq!(found, expected);
        assert!(page.contains(&format!("Verdicts have version {VERDICT}, ")));
    }
}
