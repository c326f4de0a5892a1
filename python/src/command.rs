//! Runs the program for `leitong` on the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Runs the program with these arguments, the first of which is its name; returns its exit status.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let status = py.detach(|| leitong::main(arguments));
    // The standard library does not tell the number of an exit code.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == status).unwrap_or(1)
}
