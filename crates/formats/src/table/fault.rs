//! Faults of files with typed columns, as libraries report them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

use crate::source::machine_error::is_machine_error;

/// The reason why a part of a file cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The content of the file is faulty.
    File(String),
    /// The machine or the store fails.
    Machine(io::Error),
}

impl Fault {
    /// Returns the fault of the content, or fails with the error of the machine.
    ///
    /// # Errors
    /// The machine or the store failed.
    pub(crate) fn content_fault(self) -> io::Result<String> {
        match self {
            Self::File(problem) => Ok(problem),
            Self::Machine(error) => Err(error),
        }
    }
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) if is_machine_fault(&error) => Self::Machine(error),
            ArrowError::ParquetError(problem) => Self::File(problem),
            error => Self::File(error.to_string()),
        }
    }
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) if is_machine_fault(&error) => Self::Machine(*error),
                Ok(error) => Self::File(error.to_string()),
                Err(inner) => Self::File(inner.to_string()),
            },
            ParquetError::General(problem) | ParquetError::EOF(problem) => Self::File(problem),
            error => Self::File(error.to_string()),
        }
    }
}

/// Returns true for errors of the machine: errors of the operating system, which have a number, and errors of a
/// store, which are marked. All other errors are faults of the file that the library found.
fn is_machine_fault(error: &io::Error) -> bool {
    error.raw_os_error().is_some() || is_machine_error(error)
}

/// Calls `read`. The library may panic on a malicious file. That counts as a fault of the content; the panic
/// hook has already logged where it happened.
pub(crate) fn guarded<T, E: Into<Fault>>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(Into::into),
        Err(_) => Err(Fault::File("the reader failed on this file".to_owned())),
    }
}
