//! The reasons why an owner does not serve its partition. Each says what has to happen next.

use crate::kafka::error::{ClientError, Error, refused};
use crate::kafka::ports::RequestError;
use leitong_base::error::StepError;
use leitong_cluster::TableFault;
use leitong_cluster::log::Replaced;
use thiserror::Error;

/// The reason why an owner does not serve its partition.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    /// A transient error. The owner starts again by taking over.
    #[error("{}", StepError::with_causes(.0))]
    Transient(Error),
    /// Another instance took over the partition, or replaced this instance because it seemed to be dead.
    #[error("{0}")]
    Fenced(String),
    /// The partition is halted until an operator intervenes.
    #[error("{0}")]
    Halted(String),
    /// The partition is halted because files of the table cannot be read, or could not be written for too
    /// long.
    #[error("the table cannot be used, so nothing more is decided: {0}")]
    Table(TableFault),
    /// No instance with this configuration can serve any partition.
    #[error("{0}")]
    Refused(String),
}

impl From<TableFault> for Trouble {
    fn from(fault: TableFault) -> Self {
        Self::Table(fault)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Transient(error)
    }
}

impl From<StepError> for Trouble {
    fn from(error: StepError) -> Self {
        Self::Transient(error.into())
    }
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        match error {
            // Threads may be free again soon.
            ClientError::Thread(_) => Self::Transient(error.into()),
            _ => Self::Refused(error.to_string()),
        }
    }
}

impl From<RequestError> for Trouble {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Fenced(why) => {
                Self::Fenced(format!("fenced: another instance owns this partition of the log ({why})"))
            }
            other => Self::Transient(refused!("{other}")),
        }
    }
}

impl From<Replaced> for Trouble {
    fn from(replaced: Replaced) -> Self {
        Self::Halted(replaced.to_string())
    }
}
