//! The Python package `leitong`: the library's façade, and the program itself.
//!
//! Input: Python texts, bytes, dicts. Output: documents, fingerprints, verdicts, the same as the program's
//! (`python/tests`). Slow work runs without the interpreter's lock.

mod clustering;
mod command;
mod cores;
mod deduplicator;
mod document;
mod fingerprinter;
mod log_source;
mod page;
mod pickled;
mod process_lock;
mod settings;
mod table;
mod verdict;

use pyo3::prelude::*;

/// The items that `leitong/__init__.py` re-exports.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::clustering::{Clustering, InOrder, Lists};
    #[pymodule_export]
    use super::command::run;
    #[pymodule_export]
    use super::deduplicator::Deduplicator;
    #[pymodule_export]
    use super::document::{Document, extract, restore_document};
    #[pymodule_export]
    use super::fingerprinter::{Fingerprinter, restore_fingerprinter};
    #[pymodule_export]
    use super::log_source::LogSource;
    #[pymodule_export]
    use super::page::items;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::verdict::{Verdict, restore_verdict};

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::cores::imported();
        Ok(())
    }
}
