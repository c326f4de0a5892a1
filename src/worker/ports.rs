//! What an owner asks of the world outside: brokers, its group, the clock. Nothing else of the
//! cluster stage touches them, so that a simulation can stand in for all of it.
//!
//! ```text
//!             ┌ Reader ............ log, changelog, what a transaction in doubt has left
//! owner ─► World ┼ TransactionClient . one producer epoch of a transactional id
//! standby     ├ group ............. the membership that a commit names
//!             ├ TableFolder ....... a table's part on disk
//!             └ now, wait ......... time
//! ```
//! There are two worlds: [`super::kafka_world`], and the one in `tests/simulation`, which
//! runs the same owners, standbys and snapshots over simulated brokers in simulated time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stop::Stop;
use crate::kafka::client::ClientError;
use crate::kafka::open_ranges::OpenRange;
use crate::kafka::ports::{Reader, TransactionClient};
use leitong_base::record::timestamp::Timestamp;
use leitong_cluster::log::identity::{Replaced, TopicIds};
use leitong_store::blocks::{Files, StoreOptions};

/// The folder of a partition's table on disk; the lock on it goes with its files.
pub(crate) struct TableFolder {
    pub(crate) files: Arc<dyn Files>,
    /// How blocks are kept in it.
    pub(crate) options: StoreOptions,
}

/// Everything outside of the process that an owner needs.
pub(crate) trait World: Send + Sync + 'static {
    /// Reads one partition of a topic.
    type Reader: Reader + Sync;
    /// Writes transactions.
    type Client: TransactionClient<Group = Self::Group> + Send;
    /// A generation of the consumer group.
    type Group;

    /// A reader of `partition` of `topic`, to its end. It belongs to no
    /// group: who may read is decided elsewhere.
    ///
    /// # Errors
    /// The client cannot be made.
    fn reader(&self, topic: &str, partition: u32) -> anyhow::Result<Self::Reader>;

    /// The same for whoever goes on reading what is written.
    ///
    /// # Errors
    /// The client cannot be made.
    fn follower(&self, topic: &str, partition: u32) -> anyhow::Result<Self::Reader>;

    /// A reader of what is not committed, too.
    ///
    /// # Errors
    /// The client cannot be made.
    fn uncommitted_reader(&self, topic: &str, partition: u32) -> anyhow::Result<Self::Reader>;

    /// Topic and partition of all that the owner of `log_partition` writes to.
    ///
    /// # Errors
    /// No answer.
    fn outputs(&self, log_partition: u32) -> anyhow::Result<Vec<(String, u32)>>;

    /// Where the outputs of the owner of `log_partition` hold records of open transactions.
    ///
    /// # Errors
    /// No answer.
    fn open_ranges(&self, log_partition: u32) -> anyhow::Result<Vec<OpenRange>>;

    /// A client under the transactional id of `log_partition`, which has not fenced anybody yet.
    ///
    /// # Errors
    /// The client cannot be made.
    fn transactions(&self, log_partition: u32) -> Result<Self::Client, ClientError>;

    /// The group's present generation; none where this instance is no member.
    fn group(&self) -> Option<Self::Group>;

    /// Sees to it that brokers keep the changelog without limits of age and size, and do not
    /// compact it, as they were told to by older versions; whether that had to be changed.
    ///
    /// # Errors
    /// Brokers do not answer, or this is not allowed.
    fn make_queue(&self) -> anyhow::Result<bool>;

    /// Has brokers delete what stands in the changelog of `log_partition` before offset `before`.
    ///
    /// # Errors
    /// Brokers do not answer, or this is not allowed, or they cannot.
    fn delete_changelog(&self, log_partition: u32, before: u64) -> anyhow::Result<()>;

    /// The folder of `log_partition`'s table, where tables are on disk; none while somebody else has it.
    ///
    /// # Errors
    /// It cannot be made or locked.
    fn table_folder(&self, log_partition: u32) -> anyhow::Result<Option<TableFolder>>;

    /// A random number, for names.
    fn random(&self) -> u64;

    /// The ids of the topics that all offsets of this process belong to.
    fn topic_ids(&self) -> TopicIds;

    /// Asks brokers whether they are still the ones.
    ///
    /// # Errors
    /// No answer.
    fn ask_topic_ids(&self) -> anyhow::Result<()>;

    /// Whether log and changelog are still the ones, by the last answer. Never waits.
    ///
    /// # Errors
    /// [`Replaced`].
    fn verify_table(&self) -> Result<(), Replaced>;

    /// Does both at the same time, and gives what came of each.
    fn both<A: Send, B>(&self, beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B);

    /// The time, for durations.
    fn now(&self) -> Instant;

    /// The time of day.
    fn timestamp(&self) -> Timestamp;

    /// Waits until `stop` is raised, at most `time`; whether it is.
    fn wait(&self, stop: &Stop, time: Duration) -> bool;
}
