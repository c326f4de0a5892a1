//! Runs the program for `leitong` on the command line.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program with these arguments, the first of which is its name; returns its exit status.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| leitong::cli::main_with(arguments))
}
