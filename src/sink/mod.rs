//! Where verdicts and dead letters of `dedup` go: files, standard output and standard error.

pub mod files;
pub mod whole_lines;

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
}
