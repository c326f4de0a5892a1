//! Reads settings from a file or a text.

use std::path::PathBuf;

use leitong::Config;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Reads the settings from a file or from a text, of which only one may be given. Without either, returns the
/// defaults.
pub(crate) fn settings(config: Option<PathBuf>, toml: Option<&str>) -> PyResult<Config> {
    let read = match (config, toml) {
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err("give config (a file) or toml (its text), not both"));
        }
        (Some(path), None) => Config::from_file(path),
        (None, Some(text)) => Config::from_toml(text),
        (None, None) => return Ok(Config::default()),
    };
    read.map_err(value_error)
}

/// Converts an error of the library to a ValueError.
pub(crate) fn value_error(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
