//! The storm: workers of all roles with three brokers, and every fault that they can have, drawn from a seed.
//!
//! ```console
//! $ make storm STORM_FAULTS=1000                     # as many faults; or STORM_SECONDS=3600
//! $ make storm STORM_FAULTS=1000 STORM_SEED=4711     # the same faults in the same order
//! ```
//! A crawler writes all the time. Faults strike one after another, or two at once; after each, verdicts of
//! all log partitions must continue. In the end every page has exactly one verdict, and the verdicts are
//! those of `leitong replay`. The seed fixes the faults, not the scheduling of threads: a failure usually,
//! but not always, recurs with the same seed.

mod faults;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::broker::crawler::Crawler;
use crate::broker::watch::Watch;
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::broker::{HANG_LIMIT, pause, wait_until};
use crate::dice::{Rng, from_environment};
use crate::proxy::{Network, Rule};
use faults::Trouble;

/// The role of each slot. The last two come and go.
const ROLES: [&str; 7] = ["fingerprint", "cluster", "all", "cluster", "fingerprint", "all", "cluster"];
const LOG_PARTITIONS: usize = 2;
const PAGES_PER_SECOND: u64 = 40;
/// The rate while requests of transactions suffer faults: transactions follow each other directly.
const PAGES_PER_SECOND_MOST: u64 = 600;
/// Failures are noticed soon, so many fit into a run; and clients reconnect before requests under way
/// have arrived.
const SETTINGS: &str = "\"transaction.timeout.ms\" = 5000\n\"message.timeout.ms\" = 4000\n\"socket.timeout.ms\" = 3000\n\
                        \"reconnect.backoff.ms\" = 20\n\"reconnect.backoff.max.ms\" = 200\n";

struct Storm {
    network: Network,
    dice: Rng,
    began: Instant,
    slots: Vec<Option<Worker>>,
    /// Faults that must be ended, and when.
    open: Vec<(Instant, Undo)>,
    watch: Watch,
    /// Pages per second.
    rate: Arc<AtomicU64>,
    figures: BTreeMap<String, Figure>,
    /// The events so far, to analyse a failure.
    events: Vec<String>,
    installation: Installation,
}

#[derive(Default)]
struct Figure {
    times: u64,
    longest: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Undo {
    /// The fault ends without an action.
    Nothing,
    Continue(usize),
    Unthrottle(usize),
    StartBroker(usize),
    StartAllBrokers,
    ContinueBroker(usize),
}

#[test]
fn a_storm_of_faults_breaks_no_guarantee() {
    let seed = from_environment("STORM_SEED", u64::from(std::process::id()));
    let seconds = from_environment("STORM_SECONDS", 0);
    let faults = from_environment("STORM_FAULTS", if seconds > 0 { u64::MAX } else { 12 });
    println!("STORM_SEED={seed} STORM_FAULTS={faults} STORM_SECONDS={seconds}");
    let mut storm = Storm::start(seed);
    let rate = Arc::clone(&storm.rate);
    let crawler = Crawler::start_with(&storm.installation, 0, move || rate.load(Ordering::Relaxed));
    wait_until("verdicts", || storm.watch.fewest() > 10);
    let deadline = (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds));
    let mut struck = 0;
    while struck < faults && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let before = struck;
        struck += storm.strike(faults - struck);
        if before / 25 < struck / 25 {
            println!(
                "{struck} faults, {} pages, {:.0} s",
                storm.watch.pages(),
                storm.began.elapsed().as_secs_f64()
            );
        }
    }
    storm.calm();
    let rows = crawler.stop();
    storm.wait_for("an outcome for each page", |storm| storm.watch.pages() >= rows.len());
    for worker in storm.slots.iter_mut().flatten() {
        worker.signal("TERM");
    }
    for worker in storm.slots.iter_mut().flatten() {
        assert_eq!(worker.wait(), 0, "{}", worker.log());
    }
    let tally = storm.installation.tally(&rows);
    println!("{struck} faults, {} pages, {tally}; seed {seed}", rows.len());
    storm.print_figures();
    storm.installation.assert_exactly_once(&rows);
}

impl Storm {
    fn start(seed: u64) -> Self {
        let mut dice = Rng(seed);
        let network = Network::start(3, ROLES.len(), dice.roll(u64::from(u32::MAX)), "");
        let (standby, snapshots) = (dice.roll(2) == 0, dice.roll(2) == 0);
        println!("standby: {standby}, snapshots: {snapshots}");
        let snapshots = if snapshots {
            "[kafka.snapshots]\ndir = \"${LEITONG_SNAPSHOTS:-none}\"\ninterval_s = 2\n"
        } else {
            ""
        };
        let more = format!(
            "[corpus]\nby = \"header\"\n[kafka.create]\npage_partitions = 3\nverdict_partitions = 3\n\
             log_partitions = {LOG_PARTITIONS}\n[expiry]\ncentroids_max = 200\n\
             [kafka.transaction]\nrecords_max = 20\nlinger_ms = 0\n{snapshots}{FAST_FAILURE_DETECTION}{SETTINGS}"
        );
        let direct = network.brokers.bootstrap();
        // Commands of the test itself, such as `replay`, talk to the brokers directly.
        let proxy = format!("${{LEITONG_PROXY:-{direct}}}");
        let installation = Installation::behind(&proxy, &direct, "storm", &more);
        if standby {
            installation.keep_standbys();
        }
        let watch = Watch::start(&installation, LOG_PARTITIONS);
        let slots = ROLES.map(|_| None).into();
        let mut storm = Self {
            network,
            dice,
            began: Instant::now(),
            slots,
            open: Vec::new(),
            watch,
            rate: Arc::new(AtomicU64::new(PAGES_PER_SECOND)),
            figures: BTreeMap::new(),
            events: Vec::new(),
            installation,
        };
        (0..ROLES.len() - 2).for_each(|slot| storm.start_worker(slot));
        storm.slots.iter().flatten().for_each(|worker| worker.wait_until_ready());
        storm
    }

    fn start_worker(&mut self, slot: usize) {
        let snapshots = self.installation.folder.path().join(format!("snapshots{slot}"));
        let environment = [
            ("LEITONG_PROXY", self.network.bootstrap(slot)),
            ("LEITONG_SNAPSHOTS", snapshots.to_str().expect("UTF-8")),
        ];
        self.slots[slot] = Some(self.installation.worker_with(&["--role", ROLES[slot]], &environment));
    }

    /// Starts one fault, or two if `most` allows it; waits until verdicts continue. Returns the number of
    /// faults.
    fn strike(&mut self, most: u64) -> u64 {
        self.watch.begin();
        let (mut kind, struck) = self.begin_one();
        let mut struck = u64::from(struck);
        if most > 1 && struck > 0 && self.dice.roll(4) == 0 {
            pause(self.dice.roll(1500));
            let (second, more) = self.begin_one();
            for kind in [std::mem::replace(&mut kind, "two faults at once".to_owned()), second] {
                self.figures.entry(kind).or_default().times += 1;
            }
            struck += u64::from(more);
        }
        // Late requests arrive among others.
        pause(500);
        self.rate.store(PAGES_PER_SECOND, Ordering::Relaxed);
        while !self.open.is_empty() {
            self.undo_due();
            pause(20);
        }
        // Some of the counted verdicts may have been under way before the fault; new ones must follow.
        let before = self.watch.fewest();
        let more = 20;
        self.wait_for(&format!("verdicts go on after {kind}"), |storm| storm.watch.fewest() >= before + more);
        pause(self.dice.roll(800));
        let longest = self.watch.longest();
        self.events.push(format!("{:9.3} longest time without a verdict: {longest:.1?}", self.seconds()));
        if struck == 0 {
            kind = "(no such request was sent)".to_owned();
        }
        let figure = self.figures.entry(kind).or_default();
        figure.longest = figure.longest.max(longest);
        figure.times += 1;
        struck
    }

    /// Waits for a condition. Fails with all available information if it takes too long, if a verdict comes
    /// twice, or if a partition is halted.
    #[track_caller]
    fn wait_for(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let waiting = Instant::now();
        let mut looked = waiting;
        while !done(self) {
            pause(50);
            if looked.elapsed() < Duration::from_secs(2) {
                continue;
            }
            looked = Instant::now();
            let late = waiting.elapsed() > *HANG_LIMIT;
            let failed = self.start_ended_workers();
            let halted =
                || self.slots.iter().flatten().any(|worker| worker.metric("leitong_partition_halted") > 0.0);
            let twice = self.watch.twice();
            if late || failed.is_some() || halted() || !twice.is_empty() {
                println!("{}", self.events.join("\n"));
                self.print_figures();
                (0..ROLES.len())
                    .for_each(|slot| print!("slot {slot}:\n{}", self.network.rules.events(slot, self.began)));
                panic!(
                    "{what}: too late: {late}; a worker has failed: {failed:?}; halted: {}; twice: {twice:?}",
                    halted()
                );
            }
        }
    }

    /// Restarts workers that found no broker at their start, as an orchestrator does. Returns the output of
    /// one that has ended for another reason.
    fn start_ended_workers(&mut self) -> Option<String> {
        for slot in 0..ROLES.len() {
            let Some(worker) = &mut self.slots[slot] else { continue };
            if worker.is_running() {
                continue;
            }
            let status = worker.wait();
            if status != 1 || worker.plain_log().contains("worker starts") {
                let said = worker.plain_log();
                let last: Vec<&str> = said.lines().rev().take(5).collect();
                return Some(format!("slot {slot} with {status}, its last words backwards: {last:#?}"));
            }
            self.events.push(format!(
                "{:9.3} slot {slot} has found no broker, and is started again",
                self.seconds()
            ));
            self.figures.entry("(a worker that started found no broker)".to_owned()).or_default().times += 1;
            self.start_worker(slot);
        }
        None
    }

    /// Starts one fault; returns its kind, and whether it has struck.
    fn begin_one(&mut self) -> (String, bool) {
        let mut struck = true;
        let trouble = self.possible();
        let kind = trouble.kind();
        let slot = self.any_worker(&trouble);
        let broker = self.dice.roll(3) as usize;
        self.events.push(format!(
            "{:9.3} {trouble:?}: slot {slot} ({}), broker {broker}",
            self.seconds(),
            ROLES[slot]
        ));
        let now = Instant::now();
        match trouble {
            Trouble::KillWorker => self.restart(slot),
            Trouble::TerminateWorker => {
                let mut worker = self.slots[slot].take().expect("it runs");
                let status = worker.terminate();
                // Brokers may be away in the meantime; then the worker gives up.
                assert!(status == 0 || status == 1, "{status}: {}", worker.log());
                self.start_worker(slot);
            }
            Trouble::FreezeWorker(time) => {
                self.slots[slot].as_ref().expect("it runs").signal("STOP");
                self.open.push((now + time, Undo::Continue(slot)));
            }
            Trouble::AddOrRemove => {
                let slot = ROLES.len() - 1 - self.dice.roll(2) as usize;
                match self.slots[slot].take() {
                    Some(worker) => drop(worker),
                    None => self.start_worker(slot),
                }
            }
            Trouble::PartitionWorker(time) => {
                self.network.freeze(Some(slot), None, time);
                self.open.push((now + time, Undo::Nothing));
            }
            Trouble::PartitionLink(time) => {
                self.network.freeze(Some(slot), Some(broker), time);
                self.open.push((now + time, Undo::Nothing));
            }
            Trouble::PartitionBroker(time) => {
                self.network.freeze(None, Some(broker), time);
                self.open.push((now + time, Undo::Nothing));
            }
            Trouble::ResetWorker => self.network.reset(Some(slot), None),
            Trouble::ResetBroker => self.network.reset(None, Some(broker)),
            Trouble::Throttle(rate, time) => {
                self.network.throttle(Some(slot), None, Some(rate));
                self.open.push((now + time, Undo::Unthrottle(slot)));
            }
            Trouble::Request(api, client, fault) => {
                let times = 1 + self.dice.roll(4);
                if client == "-cluster" {
                    self.rate.store(PAGES_PER_SECOND_MOST, Ordering::Relaxed);
                }
                struck = self.request(&[slot], &Rule { api, client, fault, one_in: 2, times });
            }
            Trouble::RequestAtStart(api, client, fault) => {
                let rule = Rule { api, client, fault, one_in: 1, times: 1 };
                // Requests of a killed owner's producer are sent by the new owner.
                let all: Vec<usize> = (0..ROLES.len()).collect();
                let slots =
                    if matches!(client, "-cluster" | "-reader") { &all[..] } else { &all[slot..=slot] };
                slots.iter().for_each(|slot| self.network.rules.set(*slot, vec![rule.clone()]));
                self.restart(slot);
                struck = self.request(slots, &rule);
            }
            Trouble::KillBroker(time) => {
                self.network.brokers.kill(broker);
                self.open.push((now + time, Undo::StartBroker(broker)));
            }
            Trouble::KillAllBrokers(time) => {
                self.network.brokers.kill_all();
                self.open.push((now + time, Undo::StartAllBrokers));
            }
            Trouble::FreezeBroker(time) => {
                self.network.brokers.signal(broker, "STOP");
                self.open.push((now + time, Undo::ContinueBroker(broker)));
            }
        }
        (kind, struck)
    }

    /// Applies a rule in one of these slots; returns false if there was no such request within some seconds.
    fn request(&self, slots: &[usize], rule: &Rule) -> bool {
        let rules = &self.network.rules;
        slots.iter().for_each(|slot| rules.set(*slot, vec![rule.clone()]));
        let deadline = Instant::now() + Duration::from_secs(5);
        let untouched = |slot: &&usize| rules.left(**slot) == rule.times;
        while slots.iter().all(|slot| untouched(&slot)) && Instant::now() < deadline {
            pause(5);
        }
        let struck = !slots.iter().all(|slot| untouched(&slot));
        // A fault in one slot is enough.
        slots.iter().filter(untouched).for_each(|slot| rules.set(*slot, Vec::new()));
        struck
    }

    /// Draws a fault that is possible now. A fault of brokers is possible only while all brokers run and are in sync.
    fn possible(&mut self) -> Trouble {
        loop {
            let trouble = Trouble::draw(&mut self.dice);
            let of_a_broker = matches!(
                trouble,
                Trouble::KillBroker(_)
                    | Trouble::KillAllBrokers(_)
                    | Trouble::FreezeBroker(_)
                    | Trouble::PartitionBroker(_)
            );
            let down = |(_, undo): &(Instant, Undo)| {
                matches!(undo, Undo::StartBroker(_) | Undo::StartAllBrokers | Undo::ContinueBroker(_))
            };
            if !of_a_broker || (!self.open.iter().any(down) && self.in_sync()) {
                return trouble;
            }
        }
    }

    fn in_sync(&self) -> bool {
        let topics = ["pages", "log", "verdicts", "centroids"].map(|name| self.installation.topic(name));
        let internal = ["__consumer_offsets", "__transaction_state"].map(str::to_owned);
        topics.iter().chain(&internal).all(|topic| self.network.brokers.in_sync(topic))
    }

    /// Returns a running worker that is not frozen, in the role that sends such requests; for transactions,
    /// one that owns a partition of the log.
    fn any_worker(&mut self, trouble: &Trouble) -> usize {
        let (other, owner) = match trouble {
            Trouble::Request(_, "-log" | "-pages", _) | Trouble::RequestAtStart(_, "-log" | "-pages", _) => {
                ("cluster", false)
            }
            Trouble::Request(_, client, _) | Trouble::RequestAtStart(_, client, _) => {
                ("fingerprint", *client != "-owner")
            }
            _ => ("", false),
        };
        let frozen = |(_, undo): &(Instant, Undo), slot| matches!(undo, Undo::Continue(at) if *at == slot);
        for attempt in 0.. {
            let slot = self.dice.roll(ROLES.len() as u64) as usize;
            if ROLES[slot] == other || self.open.iter().any(|open| frozen(open, slot)) {
                continue;
            }
            let Some(worker) = &self.slots[slot] else { continue };
            let owned = || worker.get("/metrics").map_or(String::new(), |(_, text)| text);
            if !owner || attempt > 30 || !owned().contains("leitong_partitions_owned{stage=\"cluster\"} 0") {
                return slot;
            }
        }
        unreachable!("some worker runs")
    }

    fn restart(&mut self, slot: usize) {
        self.slots[slot].take().expect("it runs").kill();
        self.start_worker(slot);
    }

    fn undo_due(&mut self) {
        let now = Instant::now();
        let (due, open) = self.open.drain(..).partition(|(at, _)| *at <= now);
        self.open = open;
        let due: Vec<(Instant, Undo)> = due;
        for (_, undo) in due {
            self.events.push(format!("{:9.3} {undo:?}", self.seconds()));
            match undo {
                Undo::Nothing => {}
                // It may have been removed meanwhile.
                Undo::Continue(slot) => self.slots[slot].iter().for_each(|worker| worker.signal("CONT")),
                Undo::Unthrottle(slot) => self.network.throttle(Some(slot), None, None),
                Undo::StartBroker(broker) => self.network.brokers.restart(broker),
                Undo::StartAllBrokers => self.network.brokers.restart_all(),
                Undo::ContinueBroker(broker) => self.network.brokers.signal(broker, "CONT"),
            }
        }
    }

    /// Ends all faults.
    fn calm(&mut self) {
        self.network.heal();
        self.watch.begin();
    }

    fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    fn print_figures(&self) {
        println!("{:>6} {:>16}  fault", "times", "longest silence");
        for (kind, figure) in &self.figures {
            println!("{:>6} {:>14.1} s  {kind}", figure.times, figure.longest.as_secs_f64());
        }
        println!("what proxies did to requests:");
        for (what, times) in self.network.rules.counts() {
            println!("{times:>6} {what}");
        }
    }
}
