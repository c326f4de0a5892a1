//! Tests of recrawls with changing owners, deletions and changing settings. The outcomes are compared with a
//! list of all crawls, from which nothing is ever deleted.

use proptest::prelude::*;

use super::tests::{Act, DAY_MS, act, expiry, run_steps};
use super::*;
use crate::tests::apart;
use crate::{ClusterRules, Decision, ExpiryConfig, RecrawlsConfig, WhatIsLeft};
use leitong_base::record::{FingerprintRecord, Outcome, Reason, TextDigest};

/// The same value as in the tested module.
const SUCCESSORS_MAX: usize = 64;

/// A crawl or a withdrawal, and the event after it.
#[derive(Debug, Clone)]
struct Step {
    corpus: u8,
    url: u8,
    /// The text, and its length. `None` withdraws the page.
    text: Option<(u8, u32)>,
    day: i64,
    act: Act,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = prop_oneof![5 => (0..7_u8, 90..93_u32).prop_map(Some), 1 => Just(None)];
    let step = (0..2_u8, 0..9_u8, text, 0..40_i64, act());
    let step = step.prop_map(|(corpus, url, text, day, act)| Step { corpus, url, text, day, act });
    prop::collection::vec(step, 1..150)
}

fn rules(expiry: &ExpiryConfig, pages_max: u64, longest: bool) -> ClusterRules {
    let recrawls = RecrawlsConfig { enabled: true, pages_max };
    ClusterRules { recrawls, ..super::tests::rules(expiry, longest) }
}

fn record(step: &Step) -> FingerprintRecord {
    let url = step.url.to_string();
    let digest = |(text, chars)| TextDigest { digest: u128::from(text) * 1000 + u128::from(chars), chars };
    FingerprintRecord {
        page_id: url.clone(),
        url,
        corpus: step.corpus.to_string(),
        fingerprint_hash: 1,
        log_time: Timestamp::from_ms(step.day * DAY_MS),
        text: step.text.map(|(text, chars)| digest((u32::from(text), chars))),
        outcome: match step.text {
            Some((text, _)) => Outcome::Fingerprint([apart(text)].into()),
            None => Outcome::Undecidable(Reason::Withdrawn),
        },
        ..FingerprintRecord::numbered(0, None)
    }
}

/// The log offset at which the cluster was founded, and its canonical page; and for a known page its change,
/// and the state of the cluster that it has left.
type StepOutcome = (Option<(u64, String)>, Option<(&'static str, Option<(u64, Vacated)>)>);

#[derive(Debug, Clone, PartialEq)]
enum Vacated {
    Remains,
    Successor(String),
    Ended,
}

fn decide(clusterer: &mut Clusterer, step: &Step) -> StepOutcome {
    let cluster = match clusterer.decide(Some(&record(step))).expect("in memory") {
        Decision::Founded(id, _) => Some((id.log_offset, step.url.to_string())),
        Decision::Joined(page) => Some((page.cluster_id.log_offset, page.page_id)),
        Decision::Undecidable => None,
    };
    let recrawl = clusterer.take_recrawls().pop().map(|(_, recrawl)| {
        let left = recrawl.left.map(|left| {
            let what = match left.what {
                WhatIsLeft::Remains => Vacated::Remains,
                WhatIsLeft::Successor(page_id, _) => Vacated::Successor(page_id),
                WhatIsLeft::Ended => Vacated::Ended,
            };
            (left.cluster_id.log_offset, what)
        });
        (recrawl.outcome.as_str(), left)
    });
    (cluster, recrawl)
}

/// Returns the outcomes of a worker whose owners change.
fn run(steps: &[Step], expiry: &ExpiryConfig, (pages_max, longest): (u64, bool)) -> Vec<StepOutcome> {
    run_steps(steps, rules(expiry, pages_max, longest), |step| &step.act, decide)
        .expect("all records that count exist")
        .0
}

/// The reference implementation. Nothing is ever removed from its lists.
#[derive(Default)]
struct Naive {
    longest: bool,
    clusters: Vec<Cluster>,
    crawls: Vec<Crawled>,
    dead_below: usize,
    dead_before: Option<i64>,
    crawls_dead_below: usize,
    day: Option<i64>,
}

struct Cluster {
    log_offset: u64,
    corpus: u8,
    text: u8,
    day: Option<i64>,
    /// The canonical page, and its length.
    canonical: (u8, u32),
    ended: bool,
}

struct Crawled {
    corpus: u8,
    url: u8,
    text: (u8, u32),
    cluster: usize,
    /// True if the page was withdrawn, or its url was crawled again.
    is_over: bool,
}

impl Naive {
    fn raise(&mut self, expiry: &ExpiryConfig, pages_max: u64) {
        self.dead_below =
            self.dead_below.max(self.clusters.len().saturating_sub(expiry.centroids_max as usize));
        let before = expiry.max_age_days.zip(self.day).map(|(days, now)| now - i64::from(days));
        self.dead_before = self.dead_before.max(before);
        self.crawls_dead_below =
            self.crawls_dead_below.max(self.crawls.len().saturating_sub(pages_max as usize));
    }

    fn has_expired(&self, cluster: usize) -> bool {
        cluster < self.dead_below || self.clusters[cluster].day < self.dead_before
    }

    /// Returns the crawls that are known, oldest first.
    fn known(&self) -> impl Iterator<Item = &Crawled> {
        let known = self.crawls.iter().skip(self.crawls_dead_below);
        known.filter(|crawl| !crawl.is_over && !self.has_expired(crawl.cluster))
    }

    fn decide(&mut self, log_offset: u64, step: &Step, expiry: &ExpiryConfig, pages_max: u64) -> StepOutcome {
        self.day = self.day.max(Some(step.day));
        self.raise(expiry, pages_max);
        let is_it = |crawl: &&Crawled| (crawl.corpus, crawl.url) == (step.corpus, step.url);
        let former = self.known().find(is_it).map(|crawl| (crawl.cluster, crawl.text));
        let over = |naive: &mut Self| {
            let crawls = naive.crawls.iter_mut();
            crawls.filter(|crawl| is_it(&&**crawl)).for_each(|crawl| crawl.is_over = true);
        };
        let Some(text) = step.text else {
            // A known former crawl of the url no longer counts.
            let outcome = former.map(|(cluster, _)| {
                over(self);
                ("WITHDRAWN", Some(self.leave(step.url, cluster)))
            });
            return (None, outcome);
        };
        let near = (0..self.clusters.len()).find(|at| {
            let Cluster { corpus, text: theirs, ended, .. } = self.clusters[*at];
            !self.has_expired(*at) && !ended && (corpus, theirs) == (step.corpus, text.0)
        });
        let cluster = near.unwrap_or(self.clusters.len());
        if near.is_none() {
            self.clusters.push(Cluster {
                log_offset,
                corpus: step.corpus,
                text: text.0,
                day: self.day,
                canonical: (step.url, text.1),
                ended: false,
            });
        }
        let joined = &mut self.clusters[cluster];
        if self.longest && text.1 > joined.canonical.1 {
            joined.canonical = (step.url, text.1);
        }
        let (founded, canonical) = (joined.log_offset, joined.canonical.0);
        over(self);
        self.crawls.push(Crawled { corpus: step.corpus, url: step.url, text, cluster, is_over: false });
        self.crawls_dead_below =
            self.crawls_dead_below.max(self.crawls.len().saturating_sub(pages_max as usize));
        let outcome = former.map(|(former, theirs)| {
            let left = (former != cluster).then(|| self.leave(step.url, former));
            let word = match () {
                () if theirs == text => "UNCHANGED",
                () if left.is_some() && canonical != step.url => "COPY",
                () => "CHANGED",
            };
            (word, left)
        });
        self.raise(expiry, pages_max);
        (Some((founded, canonical.to_string())), outcome)
    }

    fn leave(&mut self, url: u8, cluster: usize) -> (u64, Vacated) {
        let founded = self.clusters[cluster].log_offset;
        if self.clusters[cluster].canonical.0 != url {
            return (founded, Vacated::Remains);
        }
        let left: Vec<(u8, u32)> = self
            .known()
            .filter(|crawl| crawl.cluster == cluster)
            .take(SUCCESSORS_MAX)
            .map(|crawl| (crawl.url, crawl.text.1))
            .collect();
        let longest = left.iter().map(|(_, chars)| *chars).max();
        let best = left.iter().find(|(_, chars)| !self.longest || Some(*chars) == longest);
        match best {
            Some(best) => {
                self.clusters[cluster].canonical = *best;
                (founded, Vacated::Successor(best.0.to_string()))
            }
            None => {
                self.clusters[cluster].ended = true;
                (founded, Vacated::Ended)
            }
        }
    }
}

fn naive(
    steps: &[Step],
    mut expiry: ExpiryConfig,
    (mut pages_max, longest): (u64, bool),
) -> Vec<StepOutcome> {
    let mut naive = Naive { longest, ..Naive::default() };
    let mut all = Vec::new();
    for (log_offset, step) in (0..).zip(steps) {
        all.push(naive.decide(log_offset, step, &expiry, pages_max));
        if let Act::Settings(settings) = &step.act {
            expiry = settings.clone();
            pages_max = settings.centroids_max * 2;
            naive.raise(&expiry, pages_max);
        }
    }
    all
}

proptest! {
    #[test]
    fn pages_are_known_whoever_owns_them(
        steps in steps(), expiry in expiry(), pages_max in 1..40_u64, longest in any::<bool>(),
    ) {
        let all = run(&steps, &expiry, (pages_max, longest));
        prop_assert_eq!(all, naive(&steps, expiry, (pages_max, longest)));
    }
}

/// Shows that the test above covers all changes of a page and of a cluster, each of them often.
#[test]
fn all_changes_of_a_page_occur_often() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases = (steps(), expiry());
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..100 {
        let (steps, expiry) = cases.new_tree(&mut runner).expect("a case").current();
        for (_, recrawl) in naive(&steps, expiry, (30, true)) {
            let Some((word, left)) = recrawl else { continue };
            let left = match left {
                None => "",
                Some((_, Vacated::Remains)) => "remains",
                Some((_, Vacated::Successor(_))) => "successor",
                Some((_, Vacated::Ended)) => "ended",
            };
            *counts.entry((word, left)).or_insert(0) += 1;
        }
    }
    let often = counts.values().filter(|count| **count > 10).count();
    assert_eq!(often, 1 + 4 + 3 + 3, "{counts:?}");
}
