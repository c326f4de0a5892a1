//! Errors of the machine or of a store, as opposed to faults in the content of an input.

use std::fmt;
use std::io;

/// An error of the operating system or a store, in contrast to one of a decompressor.
#[derive(Debug)]
pub(crate) struct MachineError(io::Error);

impl MachineError {
    /// Marks the error of a store as coming from the machine: the content is not at fault.
    pub(crate) fn new(error: io::Error) -> Self {
        Self(error)
    }
}

/// Returns true if the error is marked as a [`MachineError`]. An error of the operating system that is not marked
/// returns false.
pub(crate) fn is_machine_error(error: &io::Error) -> bool {
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<MachineError>)
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for MachineError {}
