//! Single-Pass compared with its definition, using a detector made for the tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::table::TableBytes;
use super::{
    Bounds, CanonicalConfig, Centroid, ClusterId, ClusterRules, Clusterer, Decision, Merged, Position,
    Preference, PreviewOptions, SavedCentroid, Scratch, SeenText,
};
use crate::ExpiryConfig;
use leitong_base::record::{FingerprintRecord, Outcome, Reason, TextDigest, Timestamp};
use leitong_fingerprint::detectors::simhash::Candidates;
use leitong_fingerprint::detectors::simhash::Confirm;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong_fingerprint::{Comparison, Detector};

/// Fingerprints are numbers of one byte, near if they differ by 3 at most.
pub(crate) struct OnALine;

/// Returns a fingerprint that is near no fingerprint of another number.
pub(crate) fn apart(number: u8) -> u8 {
    4 * number
}

impl Detector for OnALine {
    stub_detector!("on-a-line");

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == 1
    }
    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        // Twice, as a detector may: the index has to cope with it.
        keys.extend([u64::from(fingerprint[0] / 8); 2]);
        keys.extend(self.equal_key(fingerprint));
    }
    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        let here = u64::from(fingerprint[0] / 8);
        keys.extend([here, here + 1, here.wrapping_sub(1)]);
        keys.extend(self.equal_key(fingerprint));
    }
    fn equal_key(&self, fingerprint: &[u8]) -> Option<u64> {
        Some(1_000 + u64::from(fingerprint[0]))
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let distance = u32::from(a[0].abs_diff(b[0]));
        Comparison { distance, near: distance <= 3 }
    }
}

/// A page of the tests: its corpus, its fingerprint (or none), and its day.
#[derive(Debug, Clone)]
struct Event {
    corpus: u8,
    settings: u64,
    fingerprint: Option<u8>,
    /// The page's text. Pages with the same text may have different fingerprints, and vice versa.
    text: u8,
    /// Number of characters of the page's text. This is also the page id.
    chars: u32,
    day: Option<i64>,
}

impl Event {
    fn record(&self) -> FingerprintRecord {
        let log_time = self.day.and_then(|day| Timestamp::from_ms(day * 24 * 60 * 60 * 1000));
        FingerprintRecord {
            page_id: self.chars.to_string(),
            url: "http://a/".to_owned(),
            corpus: self.corpus.to_string(),
            fingerprint_hash: self.settings,
            log_time,
            text: Some(TextDigest { digest: u128::from(self.text), chars: self.chars }),
            outcome: match self.fingerprint {
                Some(fingerprint) => Outcome::Fingerprint([fingerprint].into()),
                None => Outcome::Undecidable(Reason::NoText),
            },
            ..FingerprintRecord::numbered(0, None)
        }
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let fingerprint = prop::option::weighted(0.9, 0..60_u8);
    let text = prop_oneof![0..200_u8, 0..20_u8];
    let day = prop::option::weighted(0.7, 0..40_i64);
    let event = (0..2_u8, 0..2_u64, fingerprint, text, 90..110_u32, day);
    let event = event.prop_map(|(corpus, settings, fingerprint, text, chars, day)| Event {
        corpus,
        settings,
        fingerprint,
        text,
        chars,
        day,
    });
    prop::collection::vec(event, 0..150)
}

/// Decides by the definition: all centroids are in a list, scanned from the oldest.
fn naive(events: &[Event], expiry: &ExpiryConfig) -> Vec<Option<(u64, u32, bool)>> {
    let mut centroids: Vec<(u64, &Event, Option<i64>)> = Vec::new();
    // The pages that joined, each with the place of its centroid in the list.
    let mut members: Vec<(&Event, usize)> = Vec::new();
    let mut log_time = None;
    let mut decisions = Vec::new();
    for (offset, event) in (0..).zip(events) {
        if log_time.is_none() {
            centroids.iter_mut().for_each(|centroid| centroid.2 = event.day);
        }
        log_time = log_time.max(event.day);
        let Some(fingerprint) = event.fingerprint else {
            decisions.push(None);
            continue;
        };
        let first = centroids.len().saturating_sub(expiry.centroids_max as usize);
        let is_alive = |at: &usize| {
            *at >= first
                && match (expiry.max_age_days, centroids[*at].2, log_time) {
                    (Some(days), Some(founded), Some(now)) => now - founded <= i64::from(days),
                    _ => true,
                }
        };
        let is_alike = |other: &Event| (other.corpus, other.settings) == (event.corpus, event.settings);
        let is_text = |other: &Event| is_alike(other) && other.text == event.text;
        let distance = |at: usize| u32::from(centroids[at].1.fingerprint.unwrap_or(0).abs_diff(fingerprint));
        let youngest = members.len().saturating_sub(expiry.centroids_max as usize);
        let by_member = members[youngest..].iter().filter(|(member, _)| is_text(member)).map(|(_, at)| *at);
        let by_founder = (0..centroids.len()).filter(|at| is_text(centroids[*at].1));
        let known = by_founder.chain(by_member).find(is_alive);
        let near = (0..centroids.len()).filter(is_alive).filter(|at| is_alike(centroids[*at].1));
        let nearest = near.map(|at| (distance(at), at)).filter(|(distance, _)| *distance <= 3).min();
        match known.or(nearest.map(|(_, at)| at)) {
            Some(at) => {
                decisions.push(Some((centroids[at].0, distance(at), true)));
                if known.is_none() {
                    members.push((event, at));
                }
            }
            None => {
                centroids.push((offset, event, log_time));
                decisions.push(Some((offset, 0, false)));
            }
        }
    }
    decisions
}

/// Returns the canonical pages by definition: the longest page of each cluster so far.
fn naive_canonicals(events: &[Event], decisions: &[Option<(u64, u32, bool)>]) -> Vec<Option<u32>> {
    let mut longest: BTreeMap<u64, u32> = BTreeMap::new();
    let canonical = |(event, decision): (&Event, &Option<(u64, u32, bool)>)| {
        let best = longest.entry(decision.as_ref()?.0).or_default();
        *best = event.chars.max(*best);
        Some(*best)
    };
    events.iter().zip(decisions).map(canonical).collect()
}

fn clusterer(expiry: &ExpiryConfig) -> Clusterer {
    Clusterer::new(Arc::new(OnALine), longest(expiry), Position::default())
}

/// Returns rules by which the longest page is the canonical one.
fn longest(expiry: &ExpiryConfig) -> ClusterRules {
    let canonical = CanonicalConfig { prefer: vec![Preference::Longest], hosts: Vec::new() };
    ClusterRules { expiry: expiry.clone(), canonical, ..ClusterRules::default() }
}

fn decided(clusterer: &mut Clusterer, events: &[Event]) -> Vec<Option<(u64, u32, bool)>> {
    events.iter().map(|event| outcome(&clusterer.decide(Some(&event.record())).expect("in memory"))).collect()
}

/// Returns the same table, saved and restored.
fn restored(first: &Clusterer, expiry: &ExpiryConfig) -> Clusterer {
    let mut second = Clusterer::new(Arc::new(OnALine), longest(expiry), first.position());
    let start = first.founded() - first.centroid_count() as u64;
    for (number, (corpus, fingerprint_hash, centroid)) in (start..).zip(first.centroids()) {
        second.restore(corpus, fingerprint_hash, &centroid).expect("in memory");
        second.restore_canonical(number - start, first.canonical(number).expect("ranked"));
    }
    let (from, texts) = first.seen_texts(0);
    let here = |text: SeenText| SeenText { cluster: text.cluster.wrapping_sub(start), ..text };
    let texts: Vec<SeenText> = texts.map(here).collect();
    second.restore_texts(from.first, texts.into_iter());
    second.restore_text_bounds(first.text_bounds().expect("in memory"));
    // The bounds of the saved table, except that this table counts from 0.
    let Bounds { dead_below, dead_before } = first.bounds();
    second.restore_bounds(Bounds { dead_below: dead_below.saturating_sub(start), dead_before });
    second
}

/// Returns the centroid, the distance, and true if the page joined.
fn outcome(decision: &Decision) -> Option<(u64, u32, bool)> {
    match decision {
        Decision::Founded(id, _) => Some((id.log_offset, 0, false)),
        Decision::Joined(centroid) => Some((centroid.cluster_id.log_offset, centroid.distance, true)),
        Decision::Undecidable => None,
    }
}

/// Returns the centroids of a table as they are saved, with `start` records before its first one.
fn other_centroids(table: &Clusterer, start: u64) -> Vec<SavedCentroid> {
    let first = table.founded() - table.centroid_count() as u64;
    let saved =
        |(number, (corpus, fingerprint_hash, centroid)): (u64, (&str, u64, Centroid))| SavedCentroid {
            corpus: corpus.into(),
            fingerprint_hash,
            canonical: table.canonical(number).expect("ranked"),
            centroid: Centroid { log_offset: centroid.log_offset + start, ..centroid },
        };
    (first..).zip(table.centroids()).map(saved).collect()
}

/// Returns the number of characters of the canonical page of the cluster founded at log offset `at`. Offsets from
/// `start` on are in the log of `second`, which begins there.
fn canonical_chars(first: &Clusterer, second: &Clusterer, at: u64, start: u64) -> u32 {
    let (table, log_offset) = at.checked_sub(start).map_or((first, at), |at| (second, at));
    let id = ClusterId { log_generation: 0, log_partition: 0, log_offset };
    let mut scratch = Scratch::default();
    let page = table.centroid(id, &mut scratch).expect("in memory").expect("it is there");
    page.page_id.parse().expect("a number")
}

fn expiry() -> impl Strategy<Value = ExpiryConfig> {
    (prop::option::of(1..20_u32), 1..30_u64)
        .prop_map(|(max_age_days, centroids_max)| ExpiryConfig { max_age_days, centroids_max })
}

proptest! {
    #[test]
    fn agrees_with_the_definition(events in events(), expiry in expiry()) {
        let mut clusterer = clusterer(&expiry);
        prop_assert_eq!(decided(&mut clusterer, &events), naive(&events, &expiry));
        prop_assert!(clusterer.centroid_count() as u64 <= expiry.centroids_max);
    }

    /// A preview gives the next decision, whatever has expired.
    #[test]
    fn a_preview_is_what_is_decided(events in events(), expiry in expiry(), cut in 0..150_usize) {
        let mut decider = clusterer(&expiry);
        let mut scratch = Scratch::default();
        for (at, event) in events.iter().enumerate() {
            if at == cut {
                // A restored table, perhaps with another maximum, gives the same.
                let smaller = ExpiryConfig { centroids_max: expiry.centroids_max.div_ceil(2), ..expiry.clone() };
                decider = restored(&decider, &smaller);
                decider.insert_pending().expect("in memory");
            }
            let record = event.record();
            let preview = decider.preview(&record, PreviewOptions { top: 8, max_distance: None }, &mut scratch).expect("in memory");
            let again = decider.preview(&record, PreviewOptions { top: 0, max_distance: Some(0.0) }, &mut scratch).expect("in memory");
            let decision = decider.decide(Some(&record)).expect("in memory");
            prop_assert_eq!(&preview.decision, &decision);
            if let Decision::Joined(page) = &decision
                && page.equal_text
            {
                prop_assert_eq!(&again.decision, &decision);
            } else if let Decision::Joined(page) = &decision {
                let nearest = preview.nearest[0].clone();
                let canonical = page.replaces.clone().unwrap_or((page.page_id.clone(), page.url.clone()));
                prop_assert_eq!((nearest.page_id, nearest.cluster_id), (canonical.0, page.cluster_id));
                prop_assert_eq!((nearest.distance, nearest.related), (page.distance, false));
                let id = page.cluster_id;
                let centroid = decider.centroid(id, &mut scratch).expect("in memory").expect("it is there");
                prop_assert_eq!(centroid.log_offset, id.log_offset);
                prop_assert_eq!(&*centroid.page_id, &page.page_id);
                prop_assert_eq!(page.distance == 0, again.decision == decision);
            }
        }
        let id = |log_offset| ClusterId { log_generation: 0, log_partition: 0, log_offset };
        let found = (0..events.len() as u64).filter(|at| decider.centroid(id(*at), &mut scratch).expect("in memory").is_some());
        prop_assert!(found.count() <= decider.centroid_count());
    }

    /// Batches of any size, on any number of shards, give the same decisions as one record after the other.
    #[test]
    fn batches_decide_the_same(
        events in events(), expiry in expiry(), size in 1..60_usize, shards in prop::sample::select(vec![1_usize, 4]),
    ) {
        let records: Vec<FingerprintRecord> = events.iter().map(Event::record).collect();
        let mut clusterer =
            Clusterer::with_shards(Arc::new(OnALine), longest(&expiry), Position::default(), shards);
        let mut decisions = Vec::new();
        let records: Vec<_> = (0..).zip(records.iter().map(Some)).collect();
        for batch in records.chunks(size) {
            decisions.extend(clusterer.decide_batch(batch).expect("in memory"));
            prop_assert!(clusterer.centroid_count() as u64 <= expiry.centroids_max);
        }
        let outcomes: Vec<_> = decisions.iter().map(outcome).collect();
        prop_assert_eq!(&outcomes, &naive(&events, &expiry));
        let canonicals = naive_canonicals(&events, &outcomes);
        for ((decision, event), canonical) in decisions.iter().zip(&events).zip(canonicals) {
            let Decision::Joined(page) = decision else { continue };
            prop_assert_eq!(page.page_id.parse().ok(), canonical);
            prop_assert!(page.replaces.is_none() || page.page_id == event.chars.to_string());
        }
    }

    /// A merged table has the centroids that the definition gives for the pages of the first table and the
    /// founding pages of the second. If none joins and nothing expires, these are the centroids of one run
    /// over all pages. The longest page is the canonical one of a cluster that was merged.
    #[test]
    fn a_merged_table_is_single_pass_over_centroids(
        events in events(), expiry in expiry(), cut in 0..150_usize, size in 1..40_usize, expires in any::<bool>(),
    ) {
        let never = ExpiryConfig { max_age_days: None, centroids_max: 1_000 };
        let expiry = if expires { expiry } else { never };
        let (first, second) = events.split_at(cut.min(events.len()));
        let start = first.len() as u64;
        let mut table = clusterer(&expiry);
        decided(&mut table, first);
        let mut other = clusterer(&expiry);
        decided(&mut other, second);
        let saved: Vec<SavedCentroid> = other_centroids(&other, start);

        let mut merged = restored(&table, &expiry);
        let became: Vec<Merged> = saved.chunks(size).flat_map(|batch| merged.merge_batch(batch).expect("in memory")).collect();
        merged.merged_up_to(start + second.len() as u64, other.position().log_time);
        prop_assert_eq!(merged.position().next_log_offset, events.len() as u64);

        let founders: Vec<Event> = saved.iter().map(|saved| {
            let log_time = saved.centroid.log_time;
            let event = &second[(saved.centroid.log_offset - start) as usize];
            Event { day: log_time.map(|time| time.as_ms() / (24 * 60 * 60 * 1000)), ..event.clone() }
        }).collect();
        let all: Vec<Event> = first.iter().chain(&founders).cloned().collect();
        let place = |at: u64| match at.checked_sub(start) {
            Some(number) => saved[number as usize].centroid.log_offset,
            None => at,
        };
        let definition = naive(&all, &expiry);
        for (became, defined) in became.iter().zip(&definition[first.len()..]) {
            let (cluster, _, joined) = defined.expect("it has a fingerprint");
            prop_assert_eq!((became.cluster_id.log_offset, became.joined), (place(cluster), joined));
        }

        merged.evict_expired().expect("in memory");
        prop_assert!(merged.centroid_count() as u64 <= expiry.centroids_max);
        if !expires {
            let founded = |decisions: Vec<Option<(u64, u32, bool)>>| -> Vec<u64> {
                decisions.into_iter().flatten().filter(|(_, _, joined)| !joined).map(|(at, ..)| at).collect()
            };
            let is: Vec<u64> = merged.centroids().map(|(_, _, centroid)| centroid.log_offset).collect();
            let defined: Vec<u64> = founded(definition).into_iter().map(place).collect();
            prop_assert_eq!(&is, &defined);
            if became.iter().all(|became| !became.joined) {
                prop_assert_eq!(is, founded(naive(&events, &expiry)));
            }
            for (number, (_, _, centroid)) in (0..).zip(merged.centroids()) {
                let canonical = merged.canonical(number).expect("ranked");
                let own = [(centroid.log_offset, canonical_chars(&table, &other, centroid.log_offset, start))];
                let joined = became.iter().zip(&saved).filter(|(became, _)| {
                    became.joined && became.cluster_id.log_offset == centroid.log_offset
                });
                let joined = joined.map(|(_, saved)| {
                    let at = saved.centroid.log_offset;
                    (at, canonical_chars(&table, &other, at, start))
                });
                let longest = own.into_iter().chain(joined).map(|(_, chars)| chars).max();
                let page_id = canonical.page.map_or(centroid.page_id, |(page_id, _)| page_id);
                prop_assert_eq!(page_id.parse().ok(), longest);
            }
        }
    }

    /// A table that is saved and restored at any point continues as if nothing had happened.
    #[test]
    fn a_restored_table_decides_as_the_saved_one_would(events in events(), expiry in expiry(), cut in 0..150_usize) {
        let (before, after) = events.split_at(cut.min(events.len()));
        let mut first = clusterer(&expiry);
        let mut decisions = decided(&mut first, before);
        let mut second = restored(&first, &expiry);
        let canonical_ids = |table: &Clusterer| -> Vec<_> {
            let ids = (0..before.len() as u64).map(|at| ClusterId { log_generation: 0, log_partition: 0, log_offset: at });
            let mut scratch = Scratch::default();
            ids.map(|id| Some(table.centroid(id, &mut scratch).expect("in memory")?.page_id)).collect()
        };
        prop_assert_eq!(canonical_ids(&second), canonical_ids(&first));
        let centroids: Vec<(String, u64, Centroid)> =
            first.centroids().map(|(corpus, hash, centroid)| (corpus.to_owned(), hash, centroid)).collect();
        prop_assert_eq!(centroids.len(), first.centroid_count());
        prop_assert!(centroids.windows(2).all(|pair| pair[0].2.log_offset < pair[1].2.log_offset));
        decisions.extend(decided(&mut second, after));
        prop_assert_eq!(decisions, naive(&events, &expiry));
    }
}

#[test]
fn an_unreadable_record_takes_an_offset_and_nothing_else() {
    let mut clusterer = clusterer(&ExpiryConfig::default());
    assert_eq!(clusterer.decide(None).expect("in memory"), Decision::Undecidable);
    let event = Event { corpus: 0, settings: 0, fingerprint: Some(9), text: 9, chars: 100, day: None };
    let id = ClusterId { log_generation: 0, log_partition: 0, log_offset: 1 };
    assert_eq!(clusterer.decide(Some(&event.record())).expect("in memory"), Decision::Founded(id, None));
    assert_eq!(id.to_string(), "00000000000000000000000000000001");
}

#[test]
fn memory_of_other_corpora_is_given_back() {
    let mut clusterer = clusterer(&ExpiryConfig { max_age_days: None, centroids_max: 2 });
    let mut seen = BTreeMap::new();
    for corpus in 0..100 {
        let event = Event { corpus, settings: 0, fingerprint: Some(1), text: 1, chars: 100, day: None };
        *seen
            .entry(matches!(
                clusterer.decide(Some(&event.record())).expect("in memory"),
                Decision::Founded(..)
            ))
            .or_insert(0) += 1;
    }
    assert_eq!(seen, BTreeMap::from([(true, 100)]));
    assert_eq!(clusterer.centroids().count(), 2);
    assert_eq!(clusterer.corpus_count(), 2);
}

/// Returns a page whose fingerprint, by the default detector, is near none of the others.
fn founding(number: u64) -> FingerprintRecord {
    let print = Fingerprints::even(1).get(number);
    let event = Event {
        corpus: 0,
        settings: 0,
        fingerprint: Some(0),
        text: 0,
        chars: 100,
        day: Some((number / 1_000) as i64),
    };
    let mut record = event.record();
    record.outcome = Outcome::Fingerprint(print);
    record.text = Some(TextDigest { digest: number.into(), chars: 100 });
    record.page_id = format!("{number:032x}");
    record.url = format!("https://example.com/section/{}/{number}.html", number % 7);
    record
}

/// If ten times as many centroids are inserted as a table may hold, it needs no more memory than when it was
/// first full. When all centroids have expired by age, it frees their memory. This holds for the default and for
/// blocks of SimHashes.
#[test]
fn at_its_cap_memory_stays_the_same() {
    let mut blocks = SimHashConfig::default();
    blocks.near.candidates = Candidates::Blocks;
    blocks.near.confirm = Confirm::None;
    blocks.near.max_distance = 3;
    for config in [SimHashConfig::default(), blocks] {
        let cap = 10_000;
        let expiry = ExpiryConfig { max_age_days: Some(10_000), centroids_max: cap };
        let mut clusterer = Clusterer::with_shards(
            Arc::new(SimHash::new(&config)),
            ClusterRules::expiry_only(expiry),
            Position::default(),
            2,
        );
        let mut full = 0;
        for start in (0..11 * cap).step_by(500) {
            let records: Vec<FingerprintRecord> = (start..start + 500).map(founding).collect();
            let batch: Vec<_> = (start..).zip(records.iter().map(Some)).collect();
            let decisions = clusterer.decide_batch(&batch).expect("in memory");
            assert!(decisions.iter().all(|decision| matches!(decision, Decision::Founded(..))));
            let TableBytes { hot, cold } = clusterer.bytes();
            if start < 3 * cap {
                full = full.max(hot + cold);
            }
            assert!(hot + cold < full + full / 10, "{hot} + {cold} bytes at {start}, {full} when full");
        }
        assert_eq!(clusterer.centroid_count() as u64, cap);
        let last = founding(11 * cap - 1);
        assert!(
            matches!(clusterer.decide(Some(&last)).expect("in memory"), Decision::Joined(_)),
            "the youngest is still there"
        );
        assert!(
            matches!(clusterer.decide(Some(&founding(1))).expect("in memory"), Decision::Founded(..)),
            "an old one is not"
        );

        // The time between this record and the others is longer than the maximum age of a centroid. Each decision
        // removes some centroids.
        let mut late = founding(1);
        late.log_time = Timestamp::from_ms(20_000 * 24 * 60 * 60 * 1000);
        for _ in 0..cap / 16 + 2 {
            clusterer.decide(Some(&late)).expect("in memory");
        }
        assert_eq!(clusterer.centroid_count(), 1);
        let TableBytes { hot, cold } = clusterer.bytes();
        assert!(hot + cold < full / 2, "{hot} + {cold} bytes, {full} when full");
    }
}

/// Texts of pages that joined are bounded as centroids are, and take as many bytes as docs/performance.md
/// says.
#[test]
fn texts_of_members_are_bounded_and_small() {
    let cap = 20_000;
    let mut clusterer = clusterer(&ExpiryConfig { max_age_days: None, centroids_max: cap });
    let page = |text: u64| {
        let event = Event { corpus: 0, settings: 0, fingerprint: Some(9), text: 0, chars: 100, day: None };
        let mut record = event.record();
        record.text = Some(TextDigest { digest: text.into(), chars: 100 });
        record
    };
    let bytes = |clusterer: &Clusterer| clusterer.bytes().hot + clusterer.bytes().cold;
    clusterer.decide(Some(&page(0))).expect("in memory");
    let empty = bytes(&clusterer);
    let mut full = 0;
    for text in 1..=5 * cap {
        clusterer.decide(Some(&page(text))).expect("in memory");
        if text == cap {
            full = bytes(&clusterer);
            let each = (full - empty) / cap as usize;
            assert!((24..40).contains(&each), "{each} bytes a text");
        }
    }
    assert!(bytes(&clusterer) < full + full / 8, "{} bytes, {full} when full", bytes(&clusterer));
    let known = |clusterer: &mut Clusterer, text: u64| match clusterer
        .decide(Some(&page(text)))
        .expect("in memory")
    {
        Decision::Joined(joined) => joined.equal_text,
        _ => false,
    };
    assert!(known(&mut clusterer, 4 * cap + 1) && known(&mut clusterer, 0), "the youngest, and the founder");
    assert!(!known(&mut clusterer, 4 * cap), "what came before them is forgotten");
}
