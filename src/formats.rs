//! What this version writes and reads, format by format: for reports (`leitong doctor`) and for the
//! table of docs/upgrading.md, which a test holds against this one. The versions are those that
//! writers and readers go by.

use std::fmt;
use std::ops::RangeInclusive;

use crate::proto::{CHANGELOG_FORMAT_VERSION, CHANGELOG_FORMAT_VERSION_MAX, FORMAT_VERSION};
use crate::snapshot::lines::LINES_FORMAT_VERSION;
use crate::snapshot::{FORMAT_WITH_BLOCKS, FORMAT_WITH_CRAWLS};
use crate::{blocks, checkpoint};

/// A format that outlives a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// What it is of.
    pub name: &'static str,
    /// What this version writes, the newer ones where settings ask for them.
    pub writes: RangeInclusive<u32>,
    /// What it reads; all else is refused.
    pub reads: RangeInclusive<u32>,
}

const fn format(name: &'static str, writes: RangeInclusive<u32>, reads: RangeInclusive<u32>) -> Format {
    Format { name, writes, reads }
}

const fn one(version: u32) -> RangeInclusive<u32> {
    version..=version
}

/// All of them.
pub const FORMATS: [Format; 9] = [
    format("log record", one(FORMAT_VERSION), 1..=FORMAT_VERSION),
    format(
        "changelog",
        CHANGELOG_FORMAT_VERSION..=CHANGELOG_FORMAT_VERSION_MAX,
        1..=CHANGELOG_FORMAT_VERSION_MAX,
    ),
    format("worker's snapshot", one(CHANGELOG_FORMAT_VERSION), one(CHANGELOG_FORMAT_VERSION)),
    format("worker's table on disk", one(FORMAT_WITH_BLOCKS), 1..=FORMAT_WITH_CRAWLS),
    format("saved table", FORMAT_VERSION..=FORMAT_WITH_CRAWLS, 1..=FORMAT_WITH_CRAWLS),
    format("block", one(blocks::parts::FORMAT_VERSION), one(blocks::parts::FORMAT_VERSION)),
    format("journal of `serve`", one(FORMAT_VERSION), 1..=FORMAT_VERSION),
    format("checkpoint of `dedup`", one(checkpoint::FORMAT_VERSION), one(checkpoint::FORMAT_VERSION)),
    format("exported table", one(LINES_FORMAT_VERSION), 1..=LINES_FORMAT_VERSION),
];

/// The version of verdicts, in their header and in protobuf, which this program only writes.
pub const VERDICT: u32 = FORMAT_VERSION;

/// `1`, or `1 to 3`.
pub struct Versions<'a>(pub &'a RangeInclusive<u32>);

impl fmt::Display for Versions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        if first == last { write!(f, "{first}") } else { write!(f, "{first} to {last}") }
    }
}
