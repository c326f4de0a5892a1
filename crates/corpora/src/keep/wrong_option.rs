//! Errors in options that are found only when inputs are read.

use std::fmt;

/// An error in the options of a run that is found only when its inputs are read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongOption(String);

impl WrongOption {
    /// Returns an error with this message.
    pub(super) fn error(message: impl fmt::Display) -> anyhow::Error {
        anyhow::Error::new(Self(message.to_string()))
    }
}
