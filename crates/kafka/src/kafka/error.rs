//! The errors that end a stage, a look at a topic, or a request to brokers.
//!
//! Unless a variant says otherwise, an owner tries again (`worker/owner/trouble.rs`), and a fingerprint stage ends, so its
//! process does: after its restart, the pages since the last commit are read again.

use std::error::Error as StdError;
use std::io;
use std::num::TryFromIntError;

use prost::DecodeError;
use rdkafka::error::KafkaError;
use thiserror::Error;

use leitong_base::error::StepError;
use leitong_cluster::TableFault;
use leitong_cluster::changelog::RestoreError;
use leitong_cluster::log::Replaced;
use leitong_pipeline::config::load::ConfigError;
use leitong_store::snapshot::Unusable;

/// The result of a step of the worker, or of a request.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a stage ends, or a request fails.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A step failed, as its text says; repeating it may help.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The client library or a broker reports an error.
    #[error(transparent)]
    Broker(#[from] KafkaError),
    /// The configuration cannot be used: exit status 2.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A topic was replaced by another one of its name. Partitions halt until an operator acts.
    #[error(transparent)]
    Replaced(#[from] Replaced),
    /// A committed offset is after the end of the page topic. Its partitions halt until an operator acts.
    #[error(
        "topic {topic}, partition {partition}: the group has committed offset {committed}, but the topic ends at \
         {high}: it was deleted and created again, or truncated, and its new pages would count as already read; \
         raise kafka.epoch to process all pages of the topic"
    )]
    CommittedPastEnd {
        /// Name of the topic.
        topic: String,
        /// The partition.
        partition: u32,
        /// The committed offset.
        committed: i64,
        /// The offset after the last record.
        high: i64,
    },
    /// A changelog does not fit, or is damaged. An owner halts or reads it again; a standby discards its table.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The changelog no longer has the records that a table needs next. The table is discarded.
    #[error(
        "the changelog begins at offset {start}, but only the records before offset {next_offset} were read"
    )]
    RecordsGone {
        /// The offset of the first record of the changelog.
        start: u64,
        /// The offset of the next record to read.
        next_offset: u64,
    },
    /// Another failure: of a client that cannot be created, a file, another part of the program.
    #[error(transparent)]
    Part(Box<dyn StdError + Send + Sync>),
}

/// Reason why a client cannot be created.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The client library rejects a property.
    #[error("kafka.properties.{property}: {problem}")]
    Property {
        /// Name of the property.
        property: String,
        /// The message of the library, without the value.
        problem: String,
    },
    /// The client library cannot start.
    #[error("kafka.properties: librdkafka cannot create a client with these properties: {0}")]
    Start(String),
    /// The machine has no thread for the client.
    #[error("cannot start a thread for the client: {0}")]
    Thread(io::Error),
}

macro_rules! parts {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::Part(error.into())
            }
        })*
    };
}
parts!(
    ClientError,
    TryFromIntError,
    io::Error,
    DecodeError,
    serde_json::Error,
    leitong_graph::Error,
    TableFault,
    Unusable
);

/// Builds the error that a message explains.
macro_rules! refused {
    ($($message:tt)*) => {
        $crate::kafka::error::Error::Step(leitong_base::error::StepError::new(format!($($message)*)))
    };
}
pub(crate) use refused;
