//! What `pickle` does with the classes: values and settings travel, state does not.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The error for an object that cannot be sent to another process; `instead` says what to do.
pub(crate) fn refused(class: &str, instead: &str) -> PyErr {
    PyTypeError::new_err(format!("a {class} cannot be pickled or copied: {instead}"))
}

/// The function of the package that makes an object again.
pub(crate) fn maker<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("leitong._native")?.getattr(name)
}
