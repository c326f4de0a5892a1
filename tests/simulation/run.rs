//! One run: actors and [events] in simulated time, a period of faults, then quiet and the checks.

mod events;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use generator::{Generator, Gn};
use prost::Message as _;

use super::brokers::{Brokers, Forgotten, Status, Stored, Topic};
use super::client::VERDICT_PARTITIONS;
use super::faults::Faults;
use super::fingerprint::{Pages, Worker};
use super::look_ups::LookUps;
use super::world::{LateDeletion, Process, Shared, SimWorld};
use super::{MS, Mistake, Rng, SECOND, Time, checks};
use crate::worker::Accepted;
use crate::worker::owner::{self, owned::OwnedPartition};
use crate::worker::role::ClusterRole;
use crate::worker::stop::Stop;
use crate::worker::{deletion, snapshots, standby};
use leitong_base::proto;
use leitong_cluster::ClusterRules;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_graph::telemetry::health::Health;
use leitong_http::api::HeldAs;
use leitong_pipeline::config::Config;

const SOURCE_PARTITIONS: usize = 3;
const LOG_PARTITIONS: u32 = 2;
/// Words of an actor's stack: a megabyte, little of which is ever touched.
const STACK_WORDS: usize = 0x2_0000;
/// Kafka's `transaction.timeout.ms`.
const TRANSACTION_TIMEOUT: Time = 10 * SECOND;
/// Interval at which a process checks for expired records of the changelog.
const DELETE_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of processes at a time.
const PROCESSES_MAX: usize = 3;
/// Maximum wait for a revoked partition.
const REVOKE_TIMEOUT: Time = 12 * SECOND;
/// Maximum time of the drain without further faults.
const DRAIN_MAX: Time = 400 * SECOND;

/// The product's code on a stack of its own.
struct Actor {
    code: Generator<'static, (), Time>,
    wake: Time,
}

/// A process of the cluster role.
struct Instance {
    role: Arc<ClusterRole<SimWorld>>,
    health: Arc<Health>,
    stop: Stop,
    /// The owners by log partition, with the number of the actor.
    owners: BTreeMap<u32, (Stop, u64)>,
    /// The stop flags of all owners so far.
    stops: Vec<Stop>,
}

/// A partition on its way from one process to another.
struct Move {
    partition: u32,
    actor: Option<u64>,
    at_latest: Time,
}

/// The state of one run.
pub(crate) struct Run {
    shared: Arc<Mutex<Shared>>,
    start: Instant,
    rng: Rng,
    mistake: Option<Mistake>,
    standby: bool,
    snapshots: bool,
    /// True if old centroids are on disk.
    on_disk: bool,
    records_max: usize,
    folder: tempfile::TempDir,
    actors: BTreeMap<u64, Actor>,
    next_actor: u64,
    instances: BTreeMap<usize, Instance>,
    moves: Vec<Move>,
    /// Owners that will learn that their partition is lost, and when.
    informed: Vec<(Time, Stop)>,
    pages: Pages,
    workers: Vec<Worker>,
    source_owners: Vec<Option<usize>>,
    leftovers: Vec<Vec<VecDeque<Vec<u8>>>>,
    look_ups: LookUps,
    next_event: Time,
}

/// The result of a run.
pub(crate) struct Outcome {
    pub(crate) result: Result<(), String>,
    pub(crate) steps: u64,
    pub(crate) trace: Vec<String>,
    /// Look-ups answered by owners, answered by standbys, and refused.
    pub(crate) look_ups: [usize; 3],
}

/// Runs the seed for `seconds` of simulated faults.
pub(crate) fn run(seed: u64, seconds: u64, mistake: Option<Mistake>, traced: bool) -> Outcome {
    let mut run = Run::new(seed, mistake, traced);
    let result = run.finish_after(seconds * SECOND);
    for instance in run.instances.keys().copied().collect::<Vec<_>>() {
        run.kill(instance);
    }
    let shared = run.lock();
    let asked = &run.look_ups;
    let look_ups = [asked.answered(HeldAs::Owner), asked.answered(HeldAs::Standby), asked.refused];
    Outcome { result, steps: shared.steps, trace: shared.trace.clone(), look_ups }
}

/// Runs the seed until all processes have snapshots. Then a newer version writes to the changelog, and a process of
/// this version starts with the snapshots of a former one. Returns the reasons for which it serves no partition, and
/// for each partition whether its snapshot is still in place.
pub(crate) fn run_older_after_newer(seed: u64) -> (Vec<String>, Vec<bool>) {
    let mut run = Run::new(seed, None, false);
    (run.standby, run.snapshots, run.on_disk) = (false, true, false);
    run.finish_after(10 * SECOND).expect("a run without mistakes");
    run.go_on(30 * SECOND);
    let former = *run.instances.keys().next_back().expect("a process");
    for process in run.instances.keys().copied().collect::<Vec<_>>() {
        run.kill(process);
    }
    for partition in 0..LOG_PARTITIONS {
        run.write_as_newer_version(partition);
    }
    loop {
        run.start_process();
        let process = *run.instances.keys().next_back().expect("just started");
        if process % PROCESSES_MAX == former % PROCESSES_MAX {
            break;
        }
        run.kill(process);
    }
    (0..LOG_PARTITIONS).for_each(|partition| run.revoke(partition, true));
    // No snapshot is written before the first interval has passed.
    run.go_on(3 * SECOND);
    let instance = run.instances.values().next().expect("a process");
    let snapshot = |partition| instance.role.snapshot_place(partition).expect("snapshots are configured");
    let in_place = (0..LOG_PARTITIONS).map(|partition| snapshot(partition).path().exists()).collect();
    let why = instance.health.not_ready();
    for process in run.instances.keys().copied().collect::<Vec<_>>() {
        run.kill(process);
    }
    (why, in_place)
}

impl Run {
    /// Continues without further events.
    fn go_on(&mut self, time: Time) {
        let end = self.now() + time;
        while self.now() < end {
            self.step();
        }
    }

    /// Writes what a newer version would write after its transaction: a position record of a later format.
    fn write_as_newer_version(&mut self, partition: u32) {
        let mut shared = self.lock();
        let changelog = shared.brokers.partition(Topic::Centroids, partition);
        let is_position = |record: &&Stored| {
            record.status == Status::Committed && record.key.as_deref() == Some(POSITION_KEY)
        };
        let last = changelog.records.iter().rfind(is_position).expect("a position record").clone();
        let mut position = proto::Position::decode(last.value.as_deref().unwrap_or_default()).expect("valid");
        position.format_version = u32::MAX;
        changelog.append(Stored { value: Some(position.encode_to_vec()), ..last });
    }

    fn new(seed: u64, mistake: Option<Mistake>, traced: bool) -> Self {
        let mut rng = Rng::new(seed);
        // Not drawn, so a seed's run does not depend on tables on disk.
        let on_disk = seed % 4 == 3;
        let faults = Faults { one_in: [0, 15, 40, 100][rng.index(4)] };
        let shared = Shared {
            now: 0,
            rng: Rng::new(seed ^ 0x5eed),
            steps: 0,
            brokers: Brokers::new(LOG_PARTITIONS, VERDICT_PARTITIONS, mistake),
            processes: Vec::new(),
            late: Vec::new(),
            late_deletions: Vec::new(),
            faults,
            disks: BTreeMap::new(),
            trace: Vec::new(),
            traced,
        };
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self {
            shared: Arc::new(Mutex::new(shared)),
            start: Instant::now(),
            mistake,
            standby: rng.once_in(2),
            snapshots: rng.once_in(3),
            on_disk,
            records_max: 1 + rng.index(60),
            rng,
            folder: folder.expect("a folder"),
            actors: BTreeMap::new(),
            next_actor: 0,
            instances: BTreeMap::new(),
            moves: Vec::new(),
            informed: Vec::new(),
            pages: Pages {
                pages: vec![Vec::new(); SOURCE_PARTITIONS],
                texts: if on_disk { 97 } else { 23 },
                committed: BTreeMap::new(),
            },
            workers: Vec::new(),
            source_owners: vec![None; SOURCE_PARTITIONS],
            leftovers: Vec::new(),
            look_ups: LookUps::new(seed),
            next_event: 0,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().expect("nothing panics while it has it")
    }

    fn now(&self) -> Time {
        self.lock().now
    }

    fn finish_after(&mut self, faults: Time) -> Result<(), String> {
        self.start_process();
        self.start_process();
        while self.now() < faults {
            self.step();
            if self.now() >= self.next_event {
                self.event();
                if self.on_disk && self.rng.once_in(200) {
                    self.restart_halted();
                }
                self.next_event = self.now() + self.rng.below(12 * MS);
            }
        }
        self.heal();
        let end = self.now() + DRAIN_MAX;
        let mut kills_left = 12;
        while !self.is_drained() {
            if self.now() > end {
                let reasons: Vec<_> =
                    self.instances.values().flat_map(|instance| instance.health.not_ready()).collect();
                let brokers = &self.lock().brokers;
                let (committed, assigned) = (&brokers.committed, &brokers.assigned);
                return Err(format!(
                    "the log is not drained: committed {committed:?}, assigned to {assigned:?}; {reasons:?}"
                ));
            }
            self.step();
            if self.on_disk && self.rng.once_in(200) {
                self.restart_halted();
                // If nothing else goes wrong, blocks fill, and the next process takes them over.
                if kills_left > 0 && self.rng.once_in(3) {
                    kills_left -= 1;
                    self.kill_any();
                    self.start_process();
                }
            }
        }
        let rules = checks::rules(self.on_disk);
        let brokers = &mut self.lock().brokers;
        checks::check(brokers, LOG_PARTITIONS, &self.pages.pages, &rules)?;
        self.look_ups.check(brokers, LOG_PARTITIONS, &rules)
    }

    /// Lets the next actor continue, or advances time to the next event.
    fn step(&mut self) {
        let next = self.actors.iter().min_by_key(|(number, actor)| (actor.wake, **number));
        let (number, wake) = next.map_or((None, Time::MAX), |(number, actor)| (Some(*number), actor.wake));
        let until = wake.min(self.next_event.max(self.now())).min(self.now() + 50 * MS);
        self.advance(until);
        self.finish_moves();
        self.look_up();
        let Some(number) = number.filter(|_| wake <= until) else { return };
        let now = self.now();
        let actor = self.actors.get_mut(&number).expect("chosen above");
        match actor.code.resume() {
            Some(wake) if !actor.code.is_done() => actor.wake = wake.max(now),
            _ => _ = self.actors.remove(&number),
        }
    }

    /// Sends a look-up to one of the processes, between any two steps of its owners.
    fn look_up(&mut self) {
        let roles: Vec<_> = self.instances.values().map(|instance| Arc::clone(&instance.role)).collect();
        let chosen = self.look_ups.choose(
            roles.len(),
            LOG_PARTITIONS,
            &mut self.shared.lock().expect("nothing panics while it has it").brokers,
        );
        if let Some((process, partition, page)) = chosen {
            self.look_ups.ask(&roles[process], partition, page);
        }
    }

    /// Advances time for the brokers.
    fn advance(&mut self, until: Time) {
        let shared = &mut *self.lock();
        shared.now = shared.now.max(until);
        let now = shared.now;
        shared.brokers.write_markers(now);
        let (due, later) = std::mem::take(&mut shared.late).into_iter().partition(|late| late.at <= now);
        shared.late = later;
        let due: Vec<super::world::Late> = due;
        for late in due {
            shared.trace(|| format!("late: log {} epoch {}: {:?}", late.id, late.epoch, late.request));
            let rng = &mut shared.rng;
            shared.brokers.serve(late.id, late.epoch, &late.request, now, &mut || rng.below(30 * MS));
        }
        let (due, later) =
            std::mem::take(&mut shared.late_deletions).into_iter().partition(|late| late.at <= now);
        shared.late_deletions = later;
        let due: Vec<LateDeletion> = due;
        for LateDeletion { log_partition, before, .. } in due {
            shared.trace(|| format!("late: changelog {log_partition}: delete before {before}"));
            // The requester gets no answer.
            let _ = shared.brokers.delete_changelog(log_partition, before, now);
        }
        let rng = &mut shared.rng;
        shared.brokers.expire(now, TRANSACTION_TIMEOUT, &mut || rng.below(30 * MS));
    }

    fn spawn(&mut self, code: impl FnOnce() + Send + 'static) -> u64 {
        let number = self.next_actor;
        self.next_actor += 1;
        let code = Gn::<()>::new_opt(STACK_WORDS, move || {
            code();
            0
        });
        let wake = self.now();
        self.actors.insert(number, Actor { code, wake });
        number
    }

    fn start_process(&mut self) {
        let process = {
            let mut shared = self.lock();
            shared.processes.push(Process { alive: true, frozen_until: 0 });
            shared.processes.len() - 1
        };
        let ClusterRules { expiry, canonical, recrawls } = checks::rules(self.on_disk);
        let mut config = Config::default();
        (config.expiry, config.canonical, config.recrawls) = (expiry, canonical, recrawls);
        config.table.on_disk = self.on_disk;
        config.kafka.standby = self.standby;
        config.api.address = "asked by the run itself".to_owned();
        config.kafka.transaction.records_max = self.records_max;
        config.kafka.transaction.linger_ms = 5;
        if self.snapshots {
            let folder = process % PROCESSES_MAX;
            config.kafka.snapshots.dir = Some(self.folder.path().join(folder.to_string()));
            config.kafka.snapshots.interval_s = 5;
        }
        let taken: Vec<usize> = self.instances.values().map(|instance| instance.role.world.machine).collect();
        let machine = (0..).find(|machine| !taken.contains(machine)).expect("there are enough machines");
        let world = SimWorld {
            shared: Arc::clone(&self.shared),
            process,
            machine,
            start: self.start,
            mistake: self.mistake,
        };
        let health = Arc::new(Health::default());
        let stop = Stop::new();
        let (config, of_stage, accepted) = (Arc::new(config), (checks::detector(), 1), Accepted::default());
        let of_role = health.add("cluster");
        let role = ClusterRole::new(world, config, of_stage, LOG_PARTITIONS, accepted, of_role, stop.clone());
        let role = Arc::new(role);
        if self.standby {
            for partition in 0..LOG_PARTITIONS {
                let (role, stop) = (Arc::clone(&role), stop.clone());
                self.spawn(move || standby::follow(&role, partition, &stop));
            }
        }
        if self.snapshots && !self.on_disk {
            let (role, stop) = (Arc::clone(&role), stop.clone());
            self.spawn(move || snapshots::run(&*role, || (0..LOG_PARTITIONS).collect(), &stop));
        }
        {
            let (role, stop) = (Arc::clone(&role), stop.clone());
            self.spawn(move || deletion::run(&*role, DELETE_INTERVAL, &stop));
        }
        let instance = Instance { role, health, stop, owners: BTreeMap::new(), stops: Vec::new() };
        self.instances.insert(process, instance);
    }

    /// Kills one of the processes, if there is one.
    fn kill_any(&mut self) {
        let alive: Vec<usize> = self.instances.keys().copied().collect();
        if let Some(&process) = alive.get(self.rng.index(alive.len())) {
            self.kill(process);
        }
    }

    /// `kill -9`.
    fn kill(&mut self, process: usize) {
        self.lock().processes[process].alive = false;
        self.lock().trace(|| format!("process {process} is killed"));
        let Some(instance) = self.instances.remove(&process) else { return };
        self.leave_disks(instance.role.world.machine);
        // The code of the killed process ends; nothing that it still does has any effect.
        instance.stop.request();
        instance.stops.iter().for_each(Stop::request);
        let shared = &mut *self.lock();
        for assigned in &mut shared.brokers.assigned {
            if *assigned == Some(process) {
                *assigned = None;
            }
        }
    }

    /// Decides what a killed process leaves on its machine's disk: everything that it has written, or what a
    /// loss of power leaves of that, occasionally with a flipped bit.
    fn leave_disks(&mut self, machine: usize) {
        let mut disks: Vec<_> = {
            let shared = self.lock();
            shared
                .disks
                .iter()
                .filter(|(of, _)| of.0 == machine)
                .map(|(of, disk)| (*of, disk.clone()))
                .collect()
        };
        for (_, disk) in &mut disks {
            let power_is_lost = self.rng.once_in(2);
            let after_power_loss = disk.after_power_loss(self.rng.below(u64::MAX));
            let left = disk.after_kill();
            *disk = if power_is_lost { after_power_loss } else { left };
            let names = disk.all_names();
            if self.rng.once_in(5) && !names.is_empty() {
                let name = &names[self.rng.index(names.len())];
                let mut bytes = disk.bytes(name);
                if !bytes.is_empty() {
                    let at = self.rng.index(bytes.len());
                    bytes[at] ^= 1 << self.rng.index(8);
                    *disk = disk.with(name, bytes);
                }
            }
        }
        self.lock().disks.extend(disks);
    }

    /// Restarts processes whose tables on disk cannot be read, as an operator would.
    fn restart_halted(&mut self) {
        let is_halted = |instance: &Instance| {
            instance.health.not_ready().iter().any(|why| why.contains("so nothing more is decided"))
        };
        let halted = self.instances.iter().filter(|(_, instance)| is_halted(instance));
        for process in halted.map(|(process, _)| *process).collect::<Vec<_>>() {
            self.kill(process);
            self.start_process();
        }
        for partition in 0..LOG_PARTITIONS {
            if self.lock().brokers.assigned[partition as usize].is_none() {
                self.revoke(partition, true);
            }
        }
    }

    /// Assigns a partition to a process.
    fn assign(&mut self, partition: u32, process: usize) {
        self.lock().brokers.assigned[partition as usize] = Some(process);
        self.lock().trace(|| format!("log {partition} is assigned to process {process}"));
        let Some(instance) = self.instances.get_mut(&process) else { return };
        instance.role.tables.own(partition);
        let (role, stop) = (Arc::clone(&instance.role), Stop::new());
        let owned = OwnedPartition::new(role, partition, stop.clone());
        let actor = self.spawn(move || owner::run(&owned));
        if let Some(instance) = self.instances.get_mut(&process) {
            instance.stops.push(stop.clone());
            instance.owners.insert(partition, (stop, actor));
        }
    }

    /// Revokes a partition from its process: normally, or because the process seems dead.
    fn revoke(&mut self, partition: u32, in_peace: bool) {
        if self.moves.iter().any(|moving| moving.partition == partition) {
            return;
        }
        let process = self.lock().brokers.assigned[partition as usize];
        let owner = process.and_then(|process| self.instances.get_mut(&process)?.owners.remove(&partition));
        let now = self.now();
        match owner {
            Some((stop, actor)) if in_peace => {
                stop.request();
                self.moves.push(Move { partition, actor: Some(actor), at_latest: now + REVOKE_TIMEOUT });
            }
            Some((stop, _)) => {
                self.lock().brokers.assigned[partition as usize] = None;
                // The owner continues as a zombie until it learns of the loss.
                self.informed.push((now + self.rng.below(8 * SECOND), stop));
                let at_latest = now + self.rng.below(2 * SECOND);
                self.moves.push(Move { partition, actor: None, at_latest });
            }
            None => self.moves.push(Move { partition, actor: None, at_latest: now }),
        }
    }

    fn finish_moves(&mut self) {
        let now = self.now();
        for moving in std::mem::take(&mut self.moves) {
            let ended = moving.actor.is_some_and(|actor| !self.actors.contains_key(&actor));
            let alive: Vec<usize> = self.instances.keys().copied().collect();
            if (ended || now >= moving.at_latest) && !alive.is_empty() {
                let process = alive[self.rng.index(alive.len())];
                self.assign(moving.partition, process);
            } else {
                self.moves.push(moving);
            }
        }
        let (due, later) = std::mem::take(&mut self.informed).into_iter().partition(|(at, _)| *at <= now);
        self.informed = later;
        let due: Vec<(Time, Stop)> = due;
        due.iter().for_each(|(_, stop)| stop.request());
    }

    /// Ends all faults: everything on its way arrives, and one worker and one process finish the work.
    fn heal(&mut self) {
        let now = self.now();
        self.next_event = Time::MAX;
        self.lock().brokers.forgotten = Forgotten::None;
        if self.rng.once_in(3) {
            // One last time, everything breaks down at once.
            self.instances
                .keys()
                .copied()
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|process| self.kill(process));
            let shared = &mut *self.shared.lock().expect("nothing panics while it has it");
            let rng = &mut shared.rng;
            shared.brokers.break_down(now, &mut || rng.below(30 * MS));
        }
        {
            let mut shared = self.lock();
            shared.faults = Faults::NONE;
            shared.processes.iter_mut().for_each(|process| process.frozen_until = 0);
        }
        while !self.leftovers.is_empty() {
            self.leftover_event(now);
        }
        for worker in std::mem::take(&mut self.workers) {
            self.leftovers.push(worker.leftovers());
        }
        while !self.leftovers.is_empty() {
            self.leftover_event(now);
        }
        let mut worker = Worker::new(LOG_PARTITIONS as usize);
        (0..SOURCE_PARTITIONS).for_each(|partition| worker.assign(partition, &self.pages));
        let count: usize = self.pages.pages.iter().map(Vec::len).sum();
        for _ in 0..20 * count + 1000 {
            let shared = &mut *self.shared.lock().expect("nothing panics while it has it");
            worker.read(&mut self.pages, &mut self.rng, None);
            worker.append(&mut shared.brokers, &mut self.rng, now);
            worker.answer();
            worker.commit(&mut self.pages);
        }
        if self.instances.is_empty() {
            self.start_process();
        }
        for partition in 0..LOG_PARTITIONS {
            if self.lock().brokers.assigned[partition as usize].is_none() {
                self.revoke(partition, true);
            }
        }
    }

    fn is_drained(&self) -> bool {
        let shared = &mut *self.lock();
        shared.brokers.markers.is_empty()
            && (0..LOG_PARTITIONS).all(|partition| {
                let committed = shared.brokers.committed[partition as usize];
                let log = &shared.brokers.partition(Topic::Log, partition).records;
                log.last().is_none_or(|last| committed == Some(last.offset + 1))
            })
    }
}
