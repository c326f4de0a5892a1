//! Pickle support: values and settings can be pickled, state cannot.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Returns the error for an object that cannot be sent to another process; `instead` says what to do.
pub(crate) fn refused(class: &str, instead: &str) -> PyErr {
    PyTypeError::new_err(format!("a {class} cannot be pickled or copied: {instead}"))
}

/// Returns the function of the package that restores an object.
pub(crate) fn maker<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("leitong._native")?.getattr(name)
}
