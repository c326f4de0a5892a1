//! The cluster stage over Kafka: a member of the consumer group that assigns the log's partitions, and one
//! owner thread for each assigned partition.
//!
//! The member reads no records. Each owner has a separate reader, which starts at the offset that its table has
//! reached. So polling never waits for a restore or a transaction, and no
//! partition waits for another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::api::LookUpApi;
use super::kafka_world::KafkaWorld;
use super::owner::{self, owned::OwnedPartition};
use super::role::ClusterRole;
use super::stop::Stop;
use super::{Accepted, deletion, snapshots, standby};
use crate::backoff::backoff;
use crate::kafka::error::{Result, refused};
use crate::kafka::identity::TopicWatch;
use crate::kafka::log_member::{Assignee, LogMember};
use leitong_base::error::StepError;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::Config;

/// Timeout for the owner of a revoked partition to end its transaction. It is longer than a transaction may
/// take (`transaction.timeout.ms`, 10 s by default).
const REVOKE_TIMEOUT: Duration = Duration::from_secs(12);

/// The cluster role over Kafka.
type Role = ClusterRole<KafkaWorld>;

/// The owners in this process, one for each assigned partition.
struct Owners {
    role: Arc<Role>,
    running: Mutex<BTreeMap<u32, Running>>,
}

/// A running owner.
struct Running {
    stop: Stop,
    thread: JoinHandle<()>,
}

/// Runs the cluster stage until `stop` is raised.
///
/// # Errors
/// An owner found that no instance with this configuration can serve any partition, or a client cannot be
/// created.
pub(crate) fn run(
    config: &Arc<Config>,
    stage: &Arc<FingerprintStage>,
    log_partitions: u32,
    accepted: Accepted,
    topics: &Arc<TopicWatch>,
    health: &Arc<StageHealth>,
    stop: &Stop,
) -> Result<()> {
    let of_stage = (Arc::clone(stage.detector()), stage.fingerprint_hash());
    let world = KafkaWorld::new(Arc::clone(config), Arc::clone(topics));
    let (config_of_role, health_of_role) = (Arc::clone(config), Arc::clone(health));
    let role =
        Role::new(world, config_of_role, of_stage, log_partitions, accepted, health_of_role, stop.clone());
    let role = Arc::new(role);
    let owners = Arc::new(Owners { role, running: Mutex::default() });
    // Dropped last, so requests are answered while owners end.
    let _api = LookUpApi::start(&owners.role, stage)?;
    let (owners, role) = (&owners, &*owners.role);
    thread::scope(|scope| {
        if config.kafka.standby {
            for partition in 0..log_partitions {
                health.wait_for(partition, "the table of the standby is not restored yet".to_owned());
                scope.spawn(move || standby::follow(role, partition, stop));
            }
        }
        // A table on disk is its own snapshot.
        if config.kafka.snapshots.dir.is_some() && !config.table.on_disk {
            scope.spawn(|| snapshots::run(role, || owners.partitions_at_hand(), stop));
        }
        let interval = Duration::from_secs(config.kafka.changelog.delete_interval_s);
        scope.spawn(move || deletion::run(role, interval, stop));
        let result = members(owners, health, stop);
        // The helper threads end with this stage.
        stop.request();
        result
    })
}

/// Runs one group member after another, until `stop` is raised or an owner refuses the configuration.
fn members(owners: &Arc<Owners>, health: &Arc<StageHealth>, stop: &Stop) -> Result<()> {
    let config = &owners.role.config;
    while !stop.is_requested() {
        let assignee = Arc::clone(owners) as Arc<dyn Assignee>;
        let member = Arc::new(LogMember::join(&config.kafka, health, assignee)?);
        owners.role.world.join(&member);
        let result = poll(&member, health, stop);
        member.leave();
        // Leaves the group after the owners have ended their transactions.
        owners.stop_all();
        drop(member);
        if let Some(error) = owners.role.take_refused() {
            return Err(error);
        }
        if let Err(error) = result {
            tracing::warn!(
                "this instance has no log partitions until it has joined its group again: {}",
                StepError::with_causes(&error)
            );
            stop.wait(Duration::from_secs(1));
        }
    }
    Ok(())
}

fn poll(member: &LogMember, health: &StageHealth, stop: &Stop) -> Result<()> {
    while !stop.is_requested() {
        health.tick();
        metrics::PARTITIONS_OWNED.set_of("cluster", health.partitions() as f64);
        member.poll(Duration::from_millis(200))?;
    }
    Ok(())
}

impl Owners {
    /// Returns the partitions whose tables are in this instance.
    fn partitions_at_hand(&self) -> Vec<u32> {
        match self.role.config.kafka.standby {
            true => (0..self.role.log_partitions).collect(),
            false => self.running.lock().keys().copied().collect(),
        }
    }

    fn start(&self, partitions: &[u32]) {
        let (role, mut owners) = (&self.role, self.running.lock());
        for &partition in partitions {
            let stop = Stop::new();
            role.health.wait_for(partition, "not restored yet".to_owned());
            role.tables.own(partition);
            let owned = OwnedPartition::new(Arc::clone(role), partition, stop.clone());
            let thread = thread::Builder::new()
                .name(format!("leitong-log-{partition}"))
                .spawn(move || owner::run(&owned));
            match thread {
                Ok(thread) => _ = owners.insert(partition, Running { stop, thread }),
                Err(error) => role.refuse(refused!("cannot start a thread: {error}")),
            }
        }
    }

    /// Stops all owners like [`Self::stop`].
    fn stop_all(&self) {
        let partitions: Vec<u32> = self.running.lock().keys().copied().collect();
        self.stop(&partitions, REVOKE_TIMEOUT);
    }

    /// Stops the owners of these partitions, and waits at most for `timeout` until their transactions have ended.
    fn stop(&self, partitions: &[u32], timeout: Duration) {
        let health = &self.role.health;
        let stopped: Vec<(u32, Running)> = {
            let mut owners = self.running.lock();
            partitions.iter().filter_map(|p| owners.remove(p).map(|running| (*p, running))).collect()
        };
        stopped.iter().for_each(|(_, running)| running.stop.request());
        let deadline = Instant::now() + timeout;
        for (partition, running) in stopped {
            while !running.thread.is_finished() && Instant::now() < deadline {
                health.tick();
                backoff(Duration::from_millis(5));
            }
            if running.thread.is_finished() {
                // The runtime has logged an owner's panic. The owner has committed nothing since.
                let _ = running.thread.join();
            } else {
                tracing::info!(
                    partition,
                    "the owner is still ending; nothing is lost or published twice, because the next owner fences \
                     it"
                );
            }
            health.stop_waiting_for(partition);
            metrics::halted(partition, false);
        }
    }
}

impl Assignee for Owners {
    fn assign(&self, partitions: &[u32]) {
        self.start(partitions);
        self.role.health.assigned(partitions.len());
    }

    fn revoke(&self, partitions: &[u32], lost: bool) {
        // A lost partition may have a new owner, which ends the open transaction.
        self.stop(partitions, if lost { Duration::ZERO } else { REVOKE_TIMEOUT });
        self.role.health.revoked(partitions.len());
    }
}
