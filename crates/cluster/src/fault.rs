//! The error of a table that cannot be relied on any more.

use std::sync::Arc;

use thiserror::Error;

/// Error of a table with centroids that cannot be read, or can no longer be written.
///
/// A decision that compared a page with only some of the centroids may be wrong, so a table that has
/// returned this error makes no further decisions: every later call returns the same error. The message
/// names the file, the problem and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct TableFault {
    message: Arc<str>,
    is_unreadable: bool,
}

impl TableFault {
    /// Creates the error for files that cannot be read or are damaged. Opening them again does not help.
    #[must_use]
    pub fn unreadable(message: impl Into<Arc<str>>) -> Self {
        Self { message: message.into(), is_unreadable: true }
    }

    /// Creates the error for centroids that cannot be written, as on a full disk. The files that are
    /// there are intact.
    #[must_use]
    pub fn unwritable(message: impl Into<Arc<str>>) -> Self {
        Self { message: message.into(), is_unreadable: false }
    }

    /// Returns true if files cannot be read or are damaged. Opening them again does not help.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.is_unreadable
    }
}
