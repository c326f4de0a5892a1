//! A partition of the log and the instance that owns it: the state that all parts of an owner share.

use std::sync::Arc;

use super::outputs::Outputs;
use super::role::ClusterRole;
use super::stop::Stop;
use crate::config::Config;
use crate::worker::log_partition::LogPartition;

/// A partition that this instance owns.
pub(crate) struct OwnedPartition<W> {
    /// State that the owners of all partitions share.
    pub(super) role: Arc<ClusterRole<W>>,
    /// Number of the partition.
    pub(super) partition: u32,
    /// True once the partition must be left.
    pub(super) stop: Stop,
}

impl<W> OwnedPartition<W> {
    pub(super) fn config(&self) -> &Config {
        &self.role.config
    }

    /// Returns empty outputs for the records from `first_log_offset` up to the next log offset of the table.
    pub(super) fn outputs(&self, state: &LogPartition, first_log_offset: u64) -> Outputs {
        Outputs { first_log_offset, next_log_offset: state.next_offset(), ..Outputs::default() }
    }
}
