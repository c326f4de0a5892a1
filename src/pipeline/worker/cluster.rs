//! The cluster half over Kafka: a member of the group that shares out the log's partitions, and an owner thread
//! for each partition that falls to it.
//!
//! The member itself reads nothing: its partitions stay paused, and each owner has a reader of its own, from the
//! offset that its table is at. So polling never waits for a restore or a transaction, and no partition waits
//! for another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, ConsumerGroupMetadata, Rebalance};
use rdkafka::error::KafkaError;

use super::owner::{self, Owner};
use super::standby::{self, Standby};
use super::stop::Stop;
use super::{Accepted, snapshots};
use crate::config::Config;
use crate::pipeline::fingerprint_half::FingerprintHalf;
use crate::pipeline::kafka::client;
use crate::telemetry::health::Half;
use crate::telemetry::kafka::{ClientEvents, reports_by_events};
use crate::telemetry::metrics;

/// How long a revoked partition's owner may take to end its transaction: as long as a transaction may take.
const REVOKE_PATIENCE: Duration = Duration::from_secs(12);

/// Owners and member of one process.
pub(super) struct Cluster {
    pub(super) config: Arc<Config>,
    pub(super) half: Arc<FingerprintHalf>,
    pub(super) log_partitions: u32,
    pub(super) accepted: Accepted,
    pub(super) health: Arc<Half>,
    /// Ends the whole worker.
    stop: Stop,
    pub(super) standby: Standby,
    owners: Mutex<BTreeMap<u32, Running>>,
    /// The member is leaving: what is assigned to it still gets no owner.
    leaving: AtomicBool,
    /// For commits, once there is a member.
    member: Mutex<Option<std::sync::Weak<BaseConsumer<Member>>>>,
    /// What was refused; ends the worker.
    refused: Mutex<Option<anyhow::Error>>,
}

/// An owner at work.
struct Running {
    stop: Stop,
    thread: JoinHandle<()>,
}

/// What happens to the member between polls.
struct Member {
    events: ClientEvents,
    cluster: Arc<Cluster>,
}

/// Runs until `stop` is raised.
///
/// # Errors
/// What is refused for all partitions, and clients that cannot be made.
pub fn run(
    config: &Arc<Config>,
    half: &Arc<FingerprintHalf>,
    log_partitions: u32,
    accepted: Accepted,
    health: &Arc<Half>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let cluster = Arc::new(Cluster {
        config: Arc::clone(config),
        half: Arc::clone(half),
        log_partitions,
        accepted,
        health: Arc::clone(health),
        stop: stop.clone(),
        standby: Standby::new(log_partitions),
        owners: Mutex::default(),
        leaving: AtomicBool::new(false),
        member: Mutex::default(),
        refused: Mutex::default(),
    });
    let cluster = &cluster;
    thread::scope(|scope| {
        if config.kafka.standby {
            (0..log_partitions).for_each(|p| health.wait_for(p, "standby: not restored yet".to_owned()));
            scope.spawn(|| standby::run(cluster, &cluster.standby, stop));
        }
        if config.kafka.snapshots.dir.is_some() {
            scope.spawn(|| snapshots::run(cluster, stop));
        }
        let result = members(cluster, health, stop);
        // The helpers end with it.
        stop.request();
        result
    })
}

/// One member of the group after the other.
fn members(cluster: &Arc<Cluster>, health: &Arc<Half>, stop: &Stop) -> anyhow::Result<()> {
    let config = &cluster.config;
    while !stop.is_requested() {
        let context =
            Member { events: ClientEvents::new("cluster").joins(health), cluster: Arc::clone(cluster) };
        let member: BaseConsumer<Member> = client::create(&client::log_member(&config.kafka), context)?;
        let member = Arc::new(member);
        *lock(&cluster.member) = Some(Arc::downgrade(&member));
        member.subscribe(&[&config.kafka.topics.fingerprints]).context("cannot subscribe to the log")?;
        let result = poll(&member, health, stop);
        cluster.leaving.store(true, Ordering::SeqCst);
        // Leaves the group; owners end their transactions before.
        cluster.stop_owners(None, false);
        drop(member);
        cluster.leaving.store(false, Ordering::SeqCst);
        if let Some(error) = lock(&cluster.refused).take() {
            return Err(error);
        }
        if let Err(error) = result {
            tracing::warn!("joining the group again: {error:#}");
            stop.wait(Duration::from_secs(1));
        }
    }
    Ok(())
}

fn poll(member: &BaseConsumer<Member>, health: &Half, stop: &Stop) -> anyhow::Result<()> {
    while !stop.is_requested() {
        health.tick();
        metrics::owned("cluster", health.partitions());
        match member.poll(Duration::from_millis(200)) {
            // Messages are none of its business: it is paused.
            None | Some(Ok(_)) => {}
            Some(Err(KafkaError::MessageConsumptionFatal(error))) => bail!("{error}"),
            Some(Err(error)) => tracing::debug!(%error, "waiting for the broker"),
        }
    }
    Ok(())
}

impl Cluster {
    /// The group's present generation, for a commit.
    pub(super) fn group(&self) -> Option<ConsumerGroupMetadata> {
        let member = lock(&self.member).as_ref()?.upgrade()?;
        member.group_metadata()
    }

    /// Ends the worker with `error`.
    pub(super) fn refuse(&self, error: anyhow::Error) {
        lock(&self.refused).get_or_insert(error);
        self.stop.request();
    }

    /// Partitions of which this instance keeps the table.
    pub(super) fn partitions_at_hand(&self) -> Vec<u32> {
        match self.config.kafka.standby {
            true => (0..self.log_partitions).collect(),
            false => lock(&self.owners).keys().copied().collect(),
        }
    }

    fn start_owners(self: &Arc<Self>, partitions: &[u32]) {
        let mut owners = lock(&self.owners);
        for &partition in partitions {
            let stop = Stop::new();
            self.health.wait_for(partition, "not restored yet".to_owned());
            self.standby.own(partition);
            let owner = Owner::new(Arc::clone(self), partition, stop.clone());
            let thread = thread::Builder::new()
                .name(format!("leitong-log-{partition}"))
                .spawn(move || owner::run(&owner));
            match thread {
                Ok(thread) => _ = owners.insert(partition, Running { stop, thread }),
                Err(error) => self.refuse(anyhow::anyhow!("cannot start a thread: {error}")),
            }
        }
    }

    /// Stops some owners or all, and waits until they have ended their transactions; of partitions that are
    /// `lost`, nobody waits for anything.
    fn stop_owners(&self, partitions: Option<&[u32]>, lost: bool) {
        let stopped: Vec<(u32, Running)> = {
            let mut owners = lock(&self.owners);
            let chosen: Vec<u32> = match partitions {
                Some(partitions) => partitions.to_vec(),
                None => owners.keys().copied().collect(),
            };
            chosen.into_iter().filter_map(|p| owners.remove(&p).map(|running| (p, running))).collect()
        };
        stopped.iter().for_each(|(_, running)| running.stop.request());
        let deadline = Instant::now() + REVOKE_PATIENCE;
        for (partition, running) in stopped {
            while !lost && !running.thread.is_finished() && Instant::now() < deadline {
                self.health.tick();
                client::before_asking_again(Duration::from_millis(5));
            }
            if running.thread.is_finished() {
                // An owner's panic has been logged by the runtime, and it has committed nothing since.
                let _ = running.thread.join();
            } else {
                tracing::info!(partition, "its owner is left behind; the next one fences it");
            }
            self.health.settled(partition);
            metrics::halted(partition, false);
        }
    }
}

reports_by_events!(Member);

impl ConsumerContext for Member {
    fn pre_rebalance(&self, member: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Revoke(partitions) => {
                let (numbers, lost) = (numbers(partitions), member.assignment_lost());
                tracing::info!(partitions = ?numbers, lost, "log: partitions revoked");
                self.cluster.stop_owners(Some(&numbers), lost);
                self.cluster.health.revoked(numbers.len());
            }
            Rebalance::Error(error) => tracing::warn!(%error, "rebalance"),
            Rebalance::Assign(_) => {}
        }
    }

    fn post_rebalance(&self, member: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance
            && !self.cluster.leaving.load(Ordering::SeqCst)
        {
            if let Err(error) = member.pause(partitions) {
                tracing::warn!(%error, "cannot pause partitions: they are fetched for nothing");
            }
            let numbers = numbers(partitions);
            tracing::info!(partitions = ?numbers, "log: partitions assigned");
            self.cluster.start_owners(&numbers);
            self.cluster.health.assigned(numbers.len());
        }
    }
}

fn numbers(partitions: &TopicPartitionList) -> Vec<u32> {
    partitions.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
