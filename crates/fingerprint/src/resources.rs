//! Inputs that the settings of detectors refer to: contents of files, and the secret.

use thiserror::Error;

use super::secret::Secret;

/// Contents of files; empty if the configuration names no file. `src/config/load.rs` reads them, so detectors
/// stay free of I/O.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// An IDF table that replaces the built-in one ([`super::idf`]).
    pub idf: String,
    /// Common paragraphs (detector `paragraph`).
    pub boilerplate: String,
    /// Synonyms (detector `concept-network`).
    pub concepts: Vec<ConceptFile>,
    /// The secret that keys the fingerprints' hashes. If there is none, anybody can compute fingerprints.
    pub secret: Option<Secret>,
}

/// A file of a concept lexicon.
#[derive(Debug, Clone)]
pub struct ConceptFile {
    /// Name without folders; it identifies the format.
    pub name: String,
    /// Contents, unchanged.
    pub contents: Vec<u8>,
}

/// Reasons why a file's contents cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ResourceError {
    /// The first line is not the expected one.
    #[error("{setting}: line 1: {found:?}; the file must begin with {expected:?}")]
    WrongHeader {
        /// The setting that names the file.
        setting: &'static str,
        /// The expected first line.
        expected: &'static str,
        /// The actual first line.
        found: String,
    },
    /// A line cannot be read.
    #[error("{setting}: line {line}: {found:?}; write {expected}")]
    WrongLine {
        /// The setting that names the file.
        setting: &'static str,
        /// Line number, from 1.
        line: usize,
        /// The line, shortened.
        found: String,
        /// The expected form of a line.
        expected: &'static str,
    },
}

/// Returns the beginning of a line, for a message.
pub(crate) fn shortened(line: &str) -> String {
    line.chars().take(80).collect()
}
