//! Settings: a file, or the text of one.

use std::path::{Path, PathBuf};

use leitong::Config;
use leitong::config::load;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The settings in a file or in a text, of which there is one at most; neither: the defaults.
pub(crate) fn settings(config: Option<PathBuf>, toml: Option<&str>) -> PyResult<Config> {
    let read = match (config, toml) {
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err("give config (a file) or toml (its text), not both"));
        }
        (Some(path), None) => load::load(&path),
        (None, Some(text)) => load::parse(text, Path::new("toml"), |name| std::env::var(name).ok()),
        (None, None) => return Ok(Config::default()),
    };
    read.map_err(value_error)
}

/// What the library complains of, as Python says it.
pub(crate) fn value_error(error: impl std::error::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}
