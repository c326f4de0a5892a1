//! Errors of steps: what failed, and why.
//!
//! The error type of a crate has [`StepError`] as a variant, and [`Context`] names the step where it fails.

use std::error::Error;

/// A step that failed, or a thing that is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("{step}")]
pub struct StepError {
    step: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StepError {
    /// Returns an error that `message` explains in full.
    pub fn new(message: impl Into<String>) -> Self {
        Self { step: message.into(), source: None }
    }

    /// Returns the text of any error, followed by its causes.
    #[must_use]
    pub fn with_causes(error: &dyn Error) -> String {
        let (mut text, mut cause) = (error.to_string(), error.source());
        while let Some(error) = cause {
            text.extend([": ", &error.to_string()]);
            cause = error.source();
        }
        text
    }
}

/// Names the step that failed. The error or the missing value is the reason.
pub trait Context<T> {
    /// Names the step, such as `cannot write kept.jsonl`.
    ///
    /// # Errors
    /// The step with its reason.
    fn context(self, step: &str) -> Result<T, StepError>;

    /// Names the step with the result of `step`.
    ///
    /// # Errors
    /// The step with its reason.
    fn with_context(self, step: impl FnOnce() -> String) -> Result<T, StepError>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> Context<T> for Result<T, E> {
    fn context(self, step: &str) -> Result<T, StepError> {
        self.with_context(|| step.to_owned())
    }

    fn with_context(self, step: impl FnOnce() -> String) -> Result<T, StepError> {
        self.map_err(|reason| StepError { step: step(), source: Some(reason.into()) })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, step: &str) -> Result<T, StepError> {
        self.with_context(|| step.to_owned())
    }

    fn with_context(self, step: impl FnOnce() -> String) -> Result<T, StepError> {
        self.ok_or_else(|| StepError { step: step(), source: None })
    }
}
