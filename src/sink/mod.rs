//! Where verdicts and dead letters of `dedup` go: files, standard output and standard error.

pub mod files;
pub mod whole_lines;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Place;
use crate::verdict::Conclusion;

/// Where conclusions go.
pub trait Sink: Send {
    /// Takes conclusions in the order of the source.
    ///
    /// # Errors
    /// They cannot be written; the run ends.
    fn write(&mut self, conclusions: Vec<Conclusion>) -> anyhow::Result<()>;

    /// Nothing more is at hand: brings what was taken to its reader.
    ///
    /// # Errors
    /// It cannot be written; the run ends.
    fn flush(&mut self) -> anyhow::Result<()>;

    /// Brings what was taken to disk, and says how far each output has come.
    ///
    /// # Errors
    /// It cannot be written; the run ends.
    fn extents(&mut self) -> anyhow::Result<Extents>;

    /// All up to here was taken, and may be made to last.
    ///
    /// # Errors
    /// It cannot be written; the run ends.
    fn reached(&mut self, _: &Milestone) -> anyhow::Result<()> {
        Ok(())
    }
}

/// How far an output has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Of a folder, which of its files is being written, from 0.
    pub file: usize,
    /// Bytes of that file, or of its parts.
    pub bytes: u64,
    /// Of a file that is in parts until it is whole, how many.
    #[serde(default)]
    pub parts: u64,
}

/// How far outputs have come, by what they are.
pub type Extents = BTreeMap<String, Extent>;

/// A point of the input up to which all is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestone {
    /// The last record before it.
    pub last: Place,
    /// The number of the table that knows as much.
    pub sequence: u64,
}
