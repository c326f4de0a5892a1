//! A member of the consumer group that assigns the partitions of the log.
//!
//! The member reads no records: its partitions stay paused. Assignments are passed on inside [`LogMember::poll`], on
//! the caller's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, ConsumerGroupMetadata, Rebalance};
use rdkafka::error::KafkaError;

use super::assignments::numbers;
use super::client;
use super::events::{ClientEvents, reports_by_events};
use crate::kafka::error::{Result, refused};
use leitong_base::error::Context;
use leitong_graph::telemetry::health::StageHealth;
use leitong_pipeline::config::kafka::KafkaConfig;

/// A generation of the group, as a commit names it.
pub(crate) type Generation = ConsumerGroupMetadata;

/// The receiver of a member's partitions.
pub(crate) trait Assignee: Send + Sync {
    /// Starts the work on these partitions.
    fn assign(&self, partitions: &[u32]);

    /// Ends the work on these partitions. If they are `lost`, they may have another owner by now.
    fn revoke(&self, partitions: &[u32], lost: bool);
}

/// A member of the group.
pub(crate) struct LogMember(BaseConsumer<MemberContext>);

/// The context of the client, which calls it while the member polls.
struct MemberContext {
    events: ClientEvents,
    assignee: Arc<dyn Assignee>,
    /// True while the member is leaving the group. New assignments are then ignored.
    leaving: AtomicBool,
}

impl LogMember {
    /// Joins the group.
    ///
    /// # Errors
    /// Fails if the client cannot be created.
    pub(crate) fn join(
        config: &KafkaConfig,
        health: &Arc<StageHealth>,
        assignee: Arc<dyn Assignee>,
    ) -> Result<Self> {
        let events = ClientEvents::new("cluster").joins(health);
        let context = MemberContext { events, assignee, leaving: AtomicBool::new(false) };
        let member: BaseConsumer<MemberContext> = client::create(&client::log_member(config), context)?;
        member.subscribe(&[&config.topics.fingerprints]).context("cannot subscribe to the log")?;
        Ok(Self(member))
    }

    /// Handles what has happened in the group. Waits for it at most `timeout`.
    ///
    /// # Errors
    /// Fails if the member must join again. Temporary errors are waited out.
    pub(crate) fn poll(&self, timeout: Duration) -> Result<()> {
        match self.0.poll(timeout) {
            // Messages are ignored; the partitions are paused.
            None | Some(Ok(_)) => {}
            Some(Err(KafkaError::MessageConsumptionFatal(error))) => return Err(refused!("{error}")),
            Some(Err(error)) => tracing::debug!(%error, "waiting for the broker"),
        }
        Ok(())
    }

    /// Ignores assignments from now on. The member leaves the group when it is dropped.
    pub(crate) fn leave(&self) {
        self.0.context().leaving.store(true, Ordering::SeqCst);
    }

    /// Returns the present generation of the group, or `None` if there is none.
    pub(crate) fn generation(&self) -> Option<Generation> {
        self.0.group_metadata()
    }
}

reports_by_events!(MemberContext);

impl ConsumerContext for MemberContext {
    fn pre_rebalance(&self, member: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Revoke(partitions) => {
                let (numbers, lost) = (numbers(partitions), member.assignment_lost());
                tracing::info!(partitions = ?numbers, lost, "log: partitions revoked");
                self.assignee.revoke(&numbers, lost);
            }
            Rebalance::Error(error) => {
                tracing::warn!(%error, "log: partitions were not reassigned, because the rebalance of the group failed");
            }
            Rebalance::Assign(_) => {}
        }
    }

    fn post_rebalance(&self, member: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance
            && !self.leaving.load(Ordering::SeqCst)
        {
            if let Err(error) = member.pause(partitions) {
                tracing::warn!(%error, "messages of the log are fetched twice, because the group's consumer cannot be \
                                        paused");
            }
            let numbers = numbers(partitions);
            tracing::info!(partitions = ?numbers, "log: partitions assigned");
            self.assignee.assign(&numbers);
        }
    }
}
