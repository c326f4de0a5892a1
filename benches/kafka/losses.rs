//! Measures how long verdicts stop when one of three brokers is lost, or an instance. Brokers and workers have the
//! settings that are shipped.
//!
//! `LEITONG_BENCH_PROPERTIES` adds properties of librdkafka, `name=value,name=value`, to compare settings.

use std::time::{Duration, Instant};

use crate::broker::crawler::Crawler;
use crate::broker::watch::Watch;
use crate::broker::worker::{Installation, Worker};
use crate::broker::{Brokers, pause, wait_until};
use crate::median;

/// Apache Kafka's own defaults, which the tests replace by faster ones.
const BROKER_DEFAULTS: &str = "broker.session.timeout.ms=9000\ngroup.initial.rebalance.delay.ms=3000\n\
                               group.min.session.timeout.ms=6000\n\
                               transaction.abort.timed.out.transaction.cleanup.interval.ms=10000\n";

/// Time for which a lost broker or instance stays away, longer than any detection takes.
const AWAY: Duration = Duration::from_secs(45);

/// Two workers with three brokers, a crawler, and a reader of the verdicts.
struct Cluster {
    brokers: Brokers,
    installation: Installation,
    watch: Watch,
    workers: [Worker; 2],
    crawler: Crawler,
}

impl Cluster {
    fn start() -> Self {
        let brokers = Brokers::start_with(&[Vec::new(), Vec::new(), Vec::new()], BROKER_DEFAULTS);
        let properties: String = std::env::var("LEITONG_BENCH_PROPERTIES")
            .unwrap_or_default()
            .split_terminator(',')
            .filter_map(|property| property.split_once('='))
            .map(|(name, value)| format!("\"{name}\" = \"{value}\"\n"))
            .collect();
        let more = format!("[kafka.properties]\n{properties}");
        let installation = Installation::new(&brokers.bootstrap(), "losses", &more);
        installation.keep_standbys();
        let watch = Watch::start(&installation, 1);
        let workers = [installation.worker(&[]), installation.worker(&[])];
        workers.iter().for_each(|worker| worker.wait_until_ready());
        let crawler = Crawler::start(&installation, 100);
        wait_until("verdicts", || watch.fewest() > 200);
        Self { brokers, installation, watch, workers, crawler }
    }

    /// Returns the longest time without a verdict, in seconds, when `lose` takes something away.
    fn longest(&mut self, what: &str, lose: impl FnOnce(&mut Self)) -> f64 {
        // Some ordinary seconds first, so nothing from before is counted.
        wait_until("verdicts", || self.watch.fewest() > 0);
        pause(3000);
        self.watch.begin();
        lose(self);
        let (began, before) = (Instant::now(), self.watch.fewest());
        while began.elapsed() < AWAY {
            pause(100);
        }
        wait_until("verdicts", || self.watch.fewest() > before + 100);
        let longest = self.watch.longest().as_secs_f64();
        println!("{what}: longest time without a verdict {longest:.1} s");
        longest
    }

    fn wait_until_in_sync(&self) {
        let topics = ["pages", "log", "verdicts", "centroids"].map(|name| self.installation.topic(name));
        let internal = ["__consumer_offsets", "__transaction_state"].map(str::to_owned);
        wait_until("all brokers have everything", || {
            topics.iter().chain(&internal).all(|topic| self.brokers.in_sync(topic))
        });
        pause(5000);
    }
}

fn say(what: &str, mut figures: Vec<f64>) {
    let median = median(&mut figures);
    println!("{what}: {:.1} to {:.1} s, median {median:.1} s\n", figures[0], figures[figures.len() - 1]);
}

/// Measures how long verdicts stop when a broker is killed, and when a broker is silent while its connections stay
/// open, as when its machine loses its network.
pub(crate) fn losses() {
    let mut cluster = Cluster::start();
    let (mut killed, mut silent) = (Vec::new(), Vec::new());
    for broker in 0..3 {
        killed.push(cluster.longest("losses: broker killed", |cluster| cluster.brokers.kill(broker)));
        cluster.brokers.restart(broker);
        cluster.wait_until_in_sync();
    }
    for broker in 0..3 {
        silent
            .push(cluster.longest("losses: broker silent", |cluster| cluster.brokers.signal(broker, "STOP")));
        cluster.brokers.signal(broker, "CONT");
        cluster.wait_until_in_sync();
    }
    cluster.crawler.stop();
    say("losses: broker killed", killed);
    say("losses: broker silent", silent);
}

/// Measures how long verdicts stop when an owner is killed and another instance already has its table.
pub(crate) fn standby() {
    let mut cluster = Cluster::start();
    let mut figures = Vec::new();
    for _ in 0..5 {
        // The instance that commits owns the log, and also fingerprints half of the pages.
        let owned = "leitong_partitions_owned{stage=\"cluster\"} 1";
        let owns = |worker: &Worker| worker.get("/metrics").is_some_and(|(_, text)| text.contains(owned));
        let owner = usize::from(!owns(&cluster.workers[0]));
        figures.push(cluster.longest("standby: owner killed", |cluster| cluster.workers[owner].kill()));
        cluster.workers[owner] = cluster.installation.worker(&[]);
        cluster.workers[owner].wait_until_ready();
    }
    cluster.crawler.stop();
    say("standby: owner killed", figures);
}
