//! The errors that end a run.

use std::error::Error as StdError;
use std::io;

use crate::passages::benchmark::TooLarge;
use leitong_formats::{SecondReadingError, WriteError};

/// The result of a step of a run.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that ends a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option does not fit the inputs, which is found only when they are read.
    #[error("{0}")]
    WrongOption(String),
    /// A limit is exceeded, or an input or a stored file is not as it should be.
    #[error("{0}")]
    Refused(String),
    /// A step of the run failed, for the reason that the source gives.
    #[error("{step}")]
    Step {
        /// The step, such as `cannot write kept.jsonl`.
        step: String,
        /// The reason.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// An input cannot be read a second time.
    #[error(transparent)]
    SecondReading(#[from] SecondReadingError),
    /// A table cannot be written.
    #[error(transparent)]
    Table(#[from] WriteError),
    /// The machine failed.
    #[error(transparent)]
    Machine(#[from] io::Error),
    /// A sink outside of this crate failed.
    #[error(transparent)]
    Sink(Box<dyn StdError + Send + Sync>),
}

impl Error {
    #[expect(clippy::needless_pass_by_value, reason = "what `format_args` returns cannot be named")]
    pub(crate) fn wrong_option(message: impl ToString) -> Self {
        Self::WrongOption(message.to_string())
    }

    #[expect(clippy::needless_pass_by_value, reason = "what `format_args` returns cannot be named")]
    pub(crate) fn refused(message: impl ToString) -> Self {
        Self::Refused(message.to_string())
    }

    /// Returns the error of the machine, if this is one that no step names.
    #[must_use]
    pub fn machine_error(&self) -> Option<&io::Error> {
        match self {
            Self::Machine(error) | Self::Table(WriteError::Machine(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns the reason in the type in which it occurred, so that callers find it among the sources of an error.
    fn into_source(self) -> Box<dyn StdError + Send + Sync> {
        match self {
            Self::Machine(error) | Self::Table(WriteError::Machine(error)) => error.into(),
            Self::Table(error) => error.into(),
            Self::SecondReading(error) => error.into(),
            Self::Sink(error) => error,
            error => error.into(),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Machine(error.into())
    }
}

impl From<TooLarge> for Error {
    fn from(error: TooLarge) -> Self {
        Self::refused(error)
    }
}

impl From<arrow_schema::ArrowError> for Error {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Table(error.into())
    }
}

/// Names the step of a run that failed.
pub(crate) trait Context<T> {
    /// Names the step.
    fn context(self, step: &str) -> Result<T>;

    /// Names the step with the result of `step`.
    fn with_context(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, step: &str) -> Result<T> {
        self.with_context(|| step.to_owned())
    }

    fn with_context(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::Step { step: step(), source: error.into().into_source() })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, step: &str) -> Result<T> {
        self.ok_or_else(|| Error::refused(step))
    }

    fn with_context(self, step: impl FnOnce() -> String) -> Result<T> {
        self.ok_or_else(|| Error::Refused(step()))
    }
}
