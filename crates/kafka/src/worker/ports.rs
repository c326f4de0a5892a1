//! The interfaces through which owners, standbys and snapshots reach brokers, their group, and the clock. They use
//! no client of Kafka directly, so a simulation can run them. The checks at the start (`check.rs`, `startup.rs`,
//! `positions.rs`) and `replay.rs` do, and so does `cluster.rs`, which joins the group.
//!
//! ```text
//!                  ┌ Reader ............ log, changelog, what a transaction in doubt has left
//! owner   ─► World ┼ TransactionClient . one producer epoch of a transactional id
//! standby          ├ group ............. the membership that a commit names
//!                  ├ TableFolder ....... a table's part on disk
//!                  └ now, wait ......... time
//! ```
//! There are two implementations: [`super::kafka_world`], and the one in `tests/simulation`, which runs the
//! same owners, standbys and snapshots with simulated brokers and time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stop::Stop;
use crate::kafka::error::{ClientError, Result};
use crate::kafka::ports::{OpenRange, ReadMode, Reader, TransactionClient};
use leitong_base::record::Timestamp;
use leitong_cluster::log::{Replaced, TopicIds};
use leitong_store::blocks::{Files, StoreOptions};

/// The folder of a partition's table on disk. The lock on the folder is released when `files` is dropped.
pub(crate) struct TableFolder {
    pub files: Arc<dyn Files>,
    /// The options for the blocks in the folder.
    pub options: StoreOptions,
}

/// Everything outside of the process that an owner needs.
pub(crate) trait World: Send + Sync + 'static {
    /// A reader of one partition of a topic.
    type Reader: Reader + Sync;
    /// The client that writes transactions.
    type Client: TransactionClient<Group = Self::Group> + Send;
    /// A generation of the consumer group.
    type Group;

    /// Creates a reader of `partition` of `topic`. The reader does not join a group, so nothing keeps several
    /// instances from reading the same partition.
    ///
    /// # Errors
    /// The client cannot be created.
    fn reader(&self, topic: &str, partition: u32, mode: ReadMode) -> Result<Self::Reader>;

    /// Returns topic and partition of everything that the owner of `log_partition` writes to.
    ///
    /// # Errors
    /// The broker does not answer.
    fn outputs(&self, log_partition: u32) -> Result<Vec<(String, u32)>>;

    /// Returns the ranges of open transactions in the outputs of the owner of `log_partition`.
    ///
    /// # Errors
    /// The broker does not answer.
    fn open_ranges(&self, log_partition: u32) -> Result<Vec<OpenRange>>;

    /// Creates a client with the transactional id of `log_partition`. The client has not fenced other clients
    /// yet.
    ///
    /// # Errors
    /// The client cannot be created.
    fn transactions(&self, log_partition: u32) -> Result<Self::Client, ClientError>;

    /// Returns the present generation of the group, or `None` if this instance is not a member.
    fn group(&self) -> Option<Self::Group>;

    /// Lets brokers delete the changelog of `log_partition` before offset `before`.
    ///
    /// # Errors
    /// Brokers do not answer, do not allow the deletion, or cannot do it.
    fn delete_changelog(&self, log_partition: u32, before: u64) -> Result<()>;

    /// Returns the folder of `log_partition`'s table on disk, or `None` while another table uses it.
    ///
    /// # Errors
    /// The folder cannot be created or locked.
    fn table_folder(&self, log_partition: u32) -> Result<Option<TableFolder>>;

    /// Returns a random number, for names.
    fn random(&self) -> u64;

    /// Returns the ids of the topics that all offsets of this process belong to.
    fn topic_ids(&self) -> TopicIds;

    /// Asks the brokers again for the ids of the topics.
    ///
    /// # Errors
    /// The broker does not answer.
    fn ask_topic_ids(&self) -> Result<()>;

    /// Checks that log and changelog still have their ids, using the ids that brokers last reported. Never
    /// waits.
    ///
    /// # Errors
    /// [`Replaced`] if an id has changed.
    fn verify_table(&self) -> Result<(), Replaced>;

    /// Runs both functions at the same time, and returns both results.
    fn both<A: Send, B>(&self, in_thread: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B);

    /// Returns the current time, for measuring durations.
    fn now(&self) -> Instant;

    /// Returns the time of day.
    fn timestamp(&self) -> Timestamp;

    /// Waits until `stop` is raised, for at most `time`. Returns true if it is raised.
    fn wait(&self, stop: &Stop, time: Duration) -> bool;
}
