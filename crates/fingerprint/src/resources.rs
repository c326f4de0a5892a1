//! What the settings of detectors name and do not hold,
//! files and the secret, and what can be wrong with it.

use thiserror::Error;

use super::secret::Secret;

/// File contents; empty where the configuration names no file. Reading is done at the edge
/// (`config/load.rs`), so that detectors stay pure.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    /// An IDF table in place of the one that ships ([`super::idf`]).
    pub idf: String,
    /// Common paragraphs (detector `paragraph`).
    pub boilerplate: String,
    /// Which words mean the same (detector `concept-network`).
    pub concepts: Vec<ConceptFile>,
    /// What keys the fingerprints' hashes; none: anybody can compute them.
    pub secret: Option<Secret>,
}

/// A file of a concept lexicon.
#[derive(Debug, Clone)]
pub struct ConceptFile {
    /// Without folders; tells its format.
    pub name: String,
    /// As it is.
    pub contents: Vec<u8>,
}

/// Why a file's contents cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ResourceError {
    /// The first line does not say what it should.
    #[error("{setting}: line 1: {found:?}; the file must begin with {expected:?}")]
    WrongHeader {
        /// The setting that names the file.
        setting: &'static str,
        /// What the first line should be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A line cannot be read.
    #[error("{setting}: line {line}: {found:?}; write {expected}")]
    WrongLine {
        /// The setting that names the file.
        setting: &'static str,
        /// From 1.
        line: usize,
        /// The line, shortened.
        found: String,
        /// What a line should be.
        expected: &'static str,
    },
}

/// The beginning of a line, for a message.
pub(crate) fn shortened(line: &str) -> String {
    line.chars().take(80).collect()
}
