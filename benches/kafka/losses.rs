//! How long verdicts stay away when one of three brokers is lost,
//! or an instance: settings of brokers and workers as shipped.
//!
//! `LEITONG_BENCH_PROPERTIES` adds properties of librdkafka,
//! `name=value,name=value`, to compare settings.

use std::time::{Duration, Instant};

use crate::broker::crawler::Crawler;
use crate::broker::watch::Watch;
use crate::broker::worker::{Installation, Worker};
use crate::broker::{Brokers, pause, wait_until};
use crate::median;

/// Apache Kafka's own defaults, where the tests set others to be quick.
const BROKER_DEFAULTS: &str = "broker.session.timeout.ms=9000\ngroup.initial.rebalance.delay.ms=3000\n\
                               group.min.session.timeout.ms=6000\n\
                               transaction.abort.timed.out.transaction.cleanup.interval.ms=10000\n";

/// How long a lost broker or instance stays away: longer than anything takes to notice.
const AWAY: Duration = Duration::from_secs(45);

pub(crate) fn losses() {
    let mut brokers = Brokers::start_with(&[Vec::new(), Vec::new(), Vec::new()], BROKER_DEFAULTS);
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
    let mut workers = [installation.worker(&[]), installation.worker(&[])];
    workers.iter().for_each(|worker| worker.wait_until_ready(90));
    let crawler = Crawler::start(&installation, 100);
    wait_until("verdicts", 60, || watch.fewest() > 200);

    let longest = |what: &str, lose: &mut dyn FnMut()| {
        // Some ordinary seconds first, so that nothing of what went before is counted.
        wait_until("verdicts", 60, || watch.fewest() > 0);
        pause(3000);
        watch.begin();
        lose();
        let (began, before) = (Instant::now(), watch.fewest());
        while began.elapsed() < AWAY {
            pause(100);
        }
        wait_until("verdicts", 60, || watch.fewest() > before + 100);
        let longest = watch.longest().as_secs_f64();
        println!("losses: {what}: longest time without a verdict {longest:.1} s");
        longest
    };
    let in_sync = |brokers: &Brokers| {
        let topics = ["pages", "log", "verdicts", "centroids"].map(|name| installation.topic(name));
        let internal = ["__consumer_offsets", "__transaction_state"].map(str::to_owned);
        wait_until("all brokers have everything", 120, || {
            topics.iter().chain(&internal).all(|topic| brokers.in_sync(topic))
        });
        pause(5000);
    };

    let (mut killed, mut silent, mut instances) = (Vec::new(), Vec::new(), Vec::new());
    for broker in 0..3 {
        killed.push(longest(&format!("broker {broker} killed"), &mut || brokers.kill(broker)));
        brokers.restart(broker);
        in_sync(&brokers);
    }
    for broker in 0..3 {
        // As when its machine loses its network: connections stay open, and nobody answers.
        silent.push(longest(&format!("broker {broker} silent"), &mut || brokers.signal(broker, "STOP")));
        brokers.signal(broker, "CONT");
        in_sync(&brokers);
    }
    for _ in 0..5 {
        // The one that commits owns the log, and fingerprints half of the pages as well.
        let owned = "leitong_partitions_owned{half=\"cluster\"} 1";
        let owns = |worker: &Worker| worker.get("/metrics").is_some_and(|(_, text)| text.contains(owned));
        let owner = usize::from(!owns(&workers[0]));
        instances.push(longest("owner killed, with a standby", &mut || workers[owner].kill()));
        workers[owner] = installation.worker(&[]);
        workers[owner].wait_until_ready(90);
    }
    crawler.stop();
    for (what, mut figures) in
        [("broker killed", killed), ("broker silent", silent), ("owner killed", instances)]
    {
        let median = median(&mut figures);
        println!(
            "losses: {what}: {:.1} to {:.1} s, median {median:.1} s",
            figures[0],
            figures[figures.len() - 1]
        );
    }
}
