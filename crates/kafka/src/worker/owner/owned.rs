//! A partition of the log and the instance that owns it: the state that all parts of an owner share.

use std::sync::Arc;

use super::outputs::Outputs;
use crate::worker::log_partition::LogPartition;
use crate::worker::role::ClusterRole;
use crate::worker::stop::Stop;
use leitong_pipeline::config::Config;

/// A partition that this instance owns.
pub(crate) struct OwnedPartition<W> {
    /// State that the owners of all partitions share.
    pub(in crate::worker) role: Arc<ClusterRole<W>>,
    /// Number of the partition.
    pub(in crate::worker) partition: u32,
    /// True once the partition must be left.
    pub(in crate::worker) stop: Stop,
}

impl<W> OwnedPartition<W> {
    pub(crate) fn new(role: Arc<ClusterRole<W>>, partition: u32, stop: Stop) -> Self {
        Self { role, partition, stop }
    }

    /// Returns the brokers, the clock and the threads that the owner works with.
    pub(in crate::worker) fn world(&self) -> &W {
        &self.role.world
    }

    pub(in crate::worker) fn config(&self) -> &Config {
        &self.role.config
    }

    /// Returns empty outputs for the records from `first_log_offset` up to the next log offset of the table.
    pub(in crate::worker) fn outputs(&self, state: &LogPartition, first_log_offset: u64) -> Outputs {
        Outputs { first_log_offset, next_log_offset: state.next_offset(), ..Outputs::default() }
    }
}
