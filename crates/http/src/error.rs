//! The errors that end a server, or a look at a saved table.

use leitong_base::error::StepError;
use leitong_store::snapshot::SnapshotError;

/// The reason why a server ends, or a saved table cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A table cannot be read or saved.
    #[error(transparent)]
    Table(#[from] SnapshotError),
}
