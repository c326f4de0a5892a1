//! A folder that stores the table of a `Deduplicator`.

use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::cores;
use crate::deduplicator::Deduplicator;
use crate::pickled;
use crate::process_lock::ProcessLock;

/// Table(folder)
/// --
///
/// A folder that stores the table of a Deduplicator, in the format of `leitong dedup --table`. It is locked
/// until `close()`, or the end of `with`.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Table {
    inner: ProcessLock<Option<leitong::Table>>,
}

#[pymethods]
impl Table {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        let table = leitong::Table::open(&folder).map_err(|error| refused(&error))?;
        Ok(Self { inner: ProcessLock::new("Table", Some(table)) })
    }

    /// Replaces the deduplicator's table by the saved one; returns False if none was saved.
    fn load(&self, py: Python<'_>, deduplicator: &Bound<'_, Deduplicator>) -> PyResult<bool> {
        let deduplicator = deduplicator.get();
        self.opened(py, |table| {
            let mut inner = deduplicator.inner()?;
            let inner = &mut *inner;
            cores::on_all(move || table.load(inner))?.map_err(|error| refused(&error))
        })
    }

    /// Saves the deduplicator's table atomically: a crash leaves the old file or the new one.
    fn save(&self, py: Python<'_>, deduplicator: &Bound<'_, Deduplicator>) -> PyResult<()> {
        let deduplicator = deduplicator.get();
        self.opened(py, |table| {
            let mut inner = deduplicator.inner()?;
            let inner = &mut *inner;
            cores::on_all(move || table.save(inner))?.map_err(|error| refused(&error))
        })
    }

    /// Unlocks the folder.
    fn close(&self) -> PyResult<()> {
        self.inner.lock()?.take();
        Ok(())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(pickled::refused("Table", "it locks its folder for this process; open it there"))
    }

    fn __enter__(table: Py<Self>) -> Py<Self> {
        table
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close()
    }
}

impl Table {
    pub(crate) fn opened<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&leitong::Table) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        // A forked child shares the lock of the folder, so nothing would keep both processes from writing
        // there.
        if !self.inner.is_of_this_process() {
            return Err(PyRuntimeError::new_err(
                "this Table was opened by the process that this one was forked from, which may write to the folder; \
                 close it there before the fork, and open one here",
            ));
        }
        py.detach(|| match &*self.inner.lock()? {
            Some(table) => act(table),
            None => Err(PyValueError::new_err("the table is closed")),
        })
    }
}

/// Converts an error to OSError if the folder or a file is unavailable or damaged, otherwise to ValueError.
pub(crate) fn refused(error: &leitong::SnapshotError) -> PyErr {
    match error {
        leitong::SnapshotError::Io { .. }
        | leitong::SnapshotError::Locked { .. }
        | leitong::SnapshotError::Fault(_) => PyOSError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}
