//! The [`World`] of a real worker: Kafka and the system clock.

use std::panic::resume_unwind;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::ports::{TableFolder, World};
use super::stop::Stop;
use crate::kafka::error::{ClientError, Result};
use crate::kafka::identity::TopicWatch;
use crate::kafka::log_member::{Generation, LogMember};
use crate::kafka::open_ranges::OutputEnds;
use crate::kafka::partition_reader::PartitionReader;
use crate::kafka::ports::{OpenRange, ReadMode};
use crate::kafka::topics::Topics;
use crate::kafka::transactions::KafkaTransactions;
use leitong_base::error::Context;
use leitong_base::hashed::Seed;
use leitong_base::record::Timestamp;
use leitong_cluster::log::{Replaced, TopicIds};
use leitong_pipeline::config::Config;
use leitong_store::blocks::{Folder, StoreOptions};
use leitong_store::snapshot::SnapshotPlace;

/// Advice for a table on disk that cannot be read.
const DISK_ADVICE: &str =
    "check the disk and start this instance again: it restores the table from the changelog";

/// Kafka, as seen by one member of the cluster stage's group.
pub(super) struct KafkaWorld {
    config: Arc<Config>,
    topics: Arc<TopicWatch>,
    /// The group member, or `None` while this instance is not a member.
    member: Mutex<Option<Weak<LogMember>>>,
}

impl KafkaWorld {
    /// Creates the world without a group member.
    pub(super) fn new(config: Arc<Config>, topics: Arc<TopicWatch>) -> Self {
        Self { config, topics, member: Mutex::default() }
    }

    /// Sets the group member on whose behalf offsets are committed from now on.
    pub(super) fn join(&self, member: &Arc<LogMember>) {
        *self.member.lock() = Some(Arc::downgrade(member));
    }
}

impl World for KafkaWorld {
    type Reader = PartitionReader;
    type Client = KafkaTransactions;
    type Group = Generation;

    fn reader(&self, topic: &str, partition: u32, mode: ReadMode) -> Result<PartitionReader> {
        PartitionReader::new(&self.config.kafka, topic, partition, mode)
    }

    fn outputs(&self, log_partition: u32) -> Result<Vec<(String, u32)>> {
        OutputEnds::new(&self.config.kafka)?.outputs(log_partition)
    }

    fn open_ranges(&self, log_partition: u32) -> Result<Vec<OpenRange>> {
        OutputEnds::new(&self.config.kafka)?.open_ranges(log_partition)
    }

    fn transactions(&self, log_partition: u32) -> Result<KafkaTransactions, ClientError> {
        KafkaTransactions::new(&self.config.kafka, log_partition)
    }

    fn group(&self) -> Option<Generation> {
        let member = self.member.lock();
        member.as_ref()?.upgrade()?.generation()
    }

    fn delete_changelog(&self, log_partition: u32, before: u64) -> Result<()> {
        Topics::new(&self.config.kafka)?.delete_changelog(log_partition, before)
    }

    fn table_folder(&self, log_partition: u32) -> Result<Option<TableFolder>> {
        let Config { kafka, table, expiry, .. } = &*self.config;
        let dir = kafka.snapshots.dir.as_deref().context("kafka.snapshots.dir is not set")?;
        let place = SnapshotPlace::new(dir, &kafka.app, log_partition);
        let folder = place.table_folder();
        let named = || folder.display().to_string();
        let Some(lock) = place.lock().with_context(named)? else { return Ok(None) };
        let files = Folder::open_locked(&folder, lock).with_context(named)?;
        let options = StoreOptions {
            advice: DISK_ADVICE,
            check_bytes_per_second: table.check_bytes_per_second(),
            ..StoreOptions::for_table(table.block_centroids, expiry.centroids_max)
        };
        Ok(Some(TableFolder { files: Arc::new(files), options }))
    }

    fn random(&self) -> u64 {
        Seed::default().place(self.timestamp().as_ms() as u64)
    }

    fn topic_ids(&self) -> TopicIds {
        self.topics.ids()
    }

    fn ask_topic_ids(&self) -> Result<()> {
        self.topics.ask()
    }

    fn verify_table(&self) -> Result<(), Replaced> {
        self.topics.verify_table()
    }

    fn both<A: Send, B>(&self, in_thread: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
        std::thread::scope(|scope| {
            let in_thread = scope.spawn(in_thread);
            let here = here();
            (in_thread.join().unwrap_or_else(|panic| resume_unwind(panic)), here)
        })
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::now()
    }

    fn wait(&self, stop: &Stop, time: Duration) -> bool {
        stop.wait(time)
    }
}
