//! The outputs of `dedup` and `replay`: verdicts and dead letters to files, standard output and standard error.

pub(crate) mod copied;
pub(crate) mod counts;
pub(crate) mod files;
pub(crate) mod part;
pub(crate) mod summed;
pub(crate) mod whole_lines;

pub use counts::{Counts, Language};
pub use files::{DeadLetters, FileSink};
pub use whole_lines::WholeLines;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use leitong_base::record::Place;
use leitong_cluster::verdict::Conclusion;

use copied::Copied;

/// A destination of verdicts and dead letters.
pub trait Sink: Send {
    /// Writes conclusions. They come in the order of the source.
    ///
    /// # Errors
    /// The conclusions cannot be written. The run ends.
    fn write(&mut self, conclusions: Vec<Conclusion>) -> Result<()>;

    /// Flushes buffered data to the reader. Called when the run has to wait for input.
    ///
    /// # Errors
    /// The data cannot be written. The run ends.
    fn flush(&mut self) -> Result<()>;

    /// Syncs everything to disk, and returns the length of each output.
    ///
    /// # Errors
    /// The data cannot be written. The run ends.
    fn extents(&mut self) -> Result<Extents>;

    /// Called when everything up to the milestone was written. The sink may then make that state durable.
    ///
    /// # Errors
    /// The state cannot be written. The run ends.
    fn reached(&mut self, _: &Milestone) -> Result<()> {
        Ok(())
    }
}

/// The length of an output so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// For an output that is a folder, the index of the file being written, from 0.
    pub file: usize,
    /// Number of bytes written to the file, or to its parts.
    pub bytes: u64,
    /// For a file that is written in parts and joined at the end, the number of parts.
    #[serde(default)]
    pub parts: u64,
    /// XXH3-64 of the written bytes, or of the hashes of the parts. Earlier versions did not write it for all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<u64>,
    /// Counts of the documents that were copied so far; set in an entry of its own, [`COPIED`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) copied: Option<Copied>,
}

/// Name of the entry with the counts of copied documents.
pub(crate) const COPIED: &str = "copied";

/// The length of each output so far, by its name.
pub type Extents = BTreeMap<String, Extent>;

/// A point in the input up to which everything is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestone {
    /// The last record before the milestone.
    pub last: Place,
    /// The number of the saved table that includes everything up to this point.
    pub sequence: u64,
}
