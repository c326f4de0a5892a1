//! Tests of restored tables. Brokers delete expired records, owners change, and settings change. The outcomes
//! are compared with a list of all centroids, from which nothing is ever deleted.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use prost::Message as _;

use super::*;
use crate::tests::{OnALine, apart};
use crate::{CanonicalConfig, ClusterRules, Decision, ExpiryConfig, NewText, Position, Preference, SeenText};
use leitong_base::record::{FingerprintRecord, Outcome, TextDigest};

pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// The identity of the tables in these tests.
pub(crate) const IDENTITY: Identity = Identity {
    log_partition: 0,
    log_partition_count: 1,
    fingerprint_hash: 1,
    cluster_hash: 2,
    corpus_hash: 0,
    app_hash: 0,
    topic_ids: TopicIds { pages: None, log: None, changelog: None },
};

/// A page, and the event after it.
#[derive(Debug, Clone)]
struct Step {
    corpus: u8,
    text: u8,
    /// Digest of the page's text. Pages with the same digest may have different fingerprints, and vice versa.
    digest: u8,
    /// Number of characters of the page's text, which is also the page's id.
    chars: u32,
    day: i64,
    act: Act,
}

#[derive(Debug, Clone)]
pub(super) enum Act {
    Nothing,
    /// Brokers delete records. The number is that of the transactions by which the requesting owner lags.
    Delete(usize),
    /// A new owner restores the table: if true, from the oldest unexpired centroid on, otherwise from all remaining
    /// records.
    Restore(bool),
    /// A new owner with other expiry settings restores the table from the oldest unexpired centroid on.
    Settings(ExpiryConfig),
}

pub(super) fn expiry() -> impl Strategy<Value = ExpiryConfig> {
    (prop::option::of(1..12_u32), 1..20_u64)
        .prop_map(|(max_age_days, centroids_max)| ExpiryConfig { max_age_days, centroids_max })
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Nothing),
        2 => (0..4_usize).prop_map(Act::Delete),
        1 => any::<bool>().prop_map(Act::Restore),
        1 => expiry().prop_map(Act::Settings),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let digest = prop_oneof![0..200_u8, 0..12_u8];
    let step = (0..2_u8, 0..25_u8, digest, 90..100_u32, 0..60_i64, act());
    let step = step.prop_map(|(corpus, text, digest, chars, day, act)| Step {
        corpus,
        text,
        digest,
        chars,
        day,
        act,
    });
    prop::collection::vec(step, 1..150)
}

fn record(step: &Step) -> FingerprintRecord {
    FingerprintRecord {
        page_id: step.chars.to_string(),
        url: "http://a/".to_owned(),
        corpus: step.corpus.to_string(),
        fingerprint_hash: 1,
        log_time: Timestamp::from_ms(step.day * DAY_MS),
        text: Some(TextDigest { digest: step.digest.into(), chars: step.chars }),
        outcome: Outcome::Fingerprint([apart(step.text)].into()),
        ..FingerprintRecord::numbered(0, None)
    }
}

/// The log offset at which the cluster of the page was founded. For a page that joins, also the ids of the
/// cluster's canonical page, and of the former one if this page replaces it.
type Verdict = (u64, Option<String>, Option<String>);

fn outcome(decision: &Decision) -> Verdict {
    match decision {
        Decision::Founded(id, _) => (id.log_offset, None, None),
        Decision::Joined(page) => {
            let replaced = page.replaces.clone().map(|(page_id, _)| page_id);
            (page.cluster_id.log_offset, Some(page.page_id.clone()), replaced)
        }
        Decision::Undecidable => (u64::MAX, None, None),
    }
}

/// Returns rules by which the longest page is canonical, or the founder if `longest` is false.
pub(super) fn rules(expiry: &ExpiryConfig, longest: bool) -> ClusterRules {
    let prefer = if longest { vec![Preference::Longest] } else { Vec::new() };
    let canonical = CanonicalConfig { prefer, hosts: Vec::new() };
    ClusterRules { expiry: expiry.clone(), canonical, ..ClusterRules::default() }
}

/// The reference implementation: a list of all centroids, in order of founding, and two bounds. If `falls` is
/// true, the bounds can fall, which the real ones must not.
struct Naive {
    /// Log offset, corpus, text, day, and canonical page.
    founded: Vec<(u64, u8, u8, i64, u32)>,
    /// The digest of each founder's text.
    digests: Vec<u8>,
    /// For pages that joined with a digest of their own: corpus, digest, and the index of the cluster.
    members: Vec<(u8, u8, usize)>,
    members_dead_below: usize,
    longest: bool,
    dead_below: usize,
    dead_before: i64,
    day: i64,
    falls: bool,
}

impl Naive {
    fn new(longest: bool, falls: bool) -> Self {
        Self {
            founded: Vec::new(),
            digests: Vec::new(),
            members: Vec::new(),
            members_dead_below: 0,
            longest,
            dead_below: 0,
            dead_before: i64::MIN,
            day: i64::MIN,
            falls,
        }
    }

    fn raise(&mut self, expiry: &ExpiryConfig) {
        if self.falls {
            (self.dead_below, self.dead_before, self.members_dead_below) = (0, i64::MIN, 0);
        }
        let surplus = self.founded.len().saturating_sub(expiry.centroids_max as usize);
        self.dead_below = self.dead_below.max(surplus);
        let surplus = self.members.len().saturating_sub(expiry.centroids_max as usize);
        self.members_dead_below = self.members_dead_below.max(surplus);
        if let Some(days) = expiry.max_age_days.filter(|_| self.day > i64::MIN) {
            self.dead_before = self.dead_before.max(self.day - i64::from(days));
        }
    }

    fn decide(&mut self, log_offset: u64, step: &Step, expiry: &ExpiryConfig) -> Verdict {
        self.day = self.day.max(step.day);
        self.raise(expiry);
        let (first, before, founded) = (self.dead_below, self.dead_before, &self.founded);
        let is_alive = |at: &usize| *at >= first && founded[*at].3 >= before;
        let by_founder =
            (0..founded.len()).filter(|at| (founded[*at].1, self.digests[*at]) == (step.corpus, step.digest));
        let is_text =
            |(corpus, digest, _): &&(u8, u8, usize)| (*corpus, *digest) == (step.corpus, step.digest);
        let by_member = self.members[self.members_dead_below..].iter().filter(is_text).map(|(.., at)| *at);
        let known = by_founder.chain(by_member).find(is_alive);
        let near = || {
            let alike = |at: &usize| (founded[*at].1, founded[*at].2) == (step.corpus, step.text);
            (0..founded.len()).filter(is_alive).find(alike)
        };
        if let Some(at) = known.or_else(near) {
            if known.is_none() {
                self.members.push((step.corpus, step.digest, at));
                self.raise(expiry);
            }
            let (founded, .., canonical) = &mut self.founded[at];
            let former = *canonical;
            if self.longest {
                *canonical = former.max(step.chars);
            }
            let replaced = (*canonical != former).then(|| former.to_string());
            return (*founded, Some(canonical.to_string()), replaced);
        }
        self.founded.push((log_offset, step.corpus, step.text, self.day, step.chars));
        self.digests.push(step.digest);
        self.raise(expiry);
        (log_offset, None, None)
    }
}

/// A changelog as brokers keep it: offsets and records.
pub(super) type Kept = Vec<(usize, ChangelogRecord)>;

fn position_of(record: &ChangelogRecord) -> Option<proto::Position> {
    let is_position = record.key == POSITION_KEY;
    is_position.then(|| proto::Position::decode(&*record.value).expect("a position"))
}

fn last_position(kept: &Kept) -> Option<proto::Position> {
    kept.iter().rev().find_map(|(_, record)| position_of(record))
}

/// Returns the index of the first centroid that was founded at or after `log_offset`.
fn place(kept: &Kept, log_offset: u64) -> Option<usize> {
    kept.iter().position(|(_, record)| {
        let id = record.key.as_slice().try_into().map(ClusterId::from_bytes);
        id.is_ok_and(|id| id.log_offset >= log_offset)
    })
}

/// Deletes the records that an owner requests to delete if it lags by this many transactions.
fn delete(kept: &mut Kept, behind: usize) {
    let positions: Vec<(usize, proto::Position)> =
        kept.iter().filter_map(|(at, record)| Some((*at, position_of(record)?))).collect();
    if let Some((offset, known)) = positions.iter().rev().nth(behind) {
        let oldest = known.oldest_log_offset.and_then(|oldest| place(kept, oldest));
        let before = oldest.map_or(*offset, |at| kept[at].0.min(*offset));
        kept.retain(|(offset, _)| *offset >= before);
    }
}

fn restored(kept: &Kept, rules: &ClusterRules, at_place: bool) -> Result<Restored, RestoreError> {
    let last = last_position(kept).filter(|last| last.founded.is_some());
    let mut restoration = Restoration::new(Arc::new(OnALine), rules.clone()).up_to(last.as_ref());
    let oldest = last.and_then(|last| last.oldest_log_offset).filter(|_| at_place);
    let from = oldest.and_then(|oldest| place(kept, oldest)).unwrap_or(0);
    for (_, record) in &kept[from..] {
        restoration.take(Some(&record.key), Some(&record.value))?;
    }
    assert_eq!(restoration.missing(), None, "all was read");
    restoration.finish(&IDENTITY, None)
}

/// Returns the outcomes of a worker whose owners change, and its changelog.
pub(super) fn run_steps<S, V>(
    steps: &[S],
    mut rules: ClusterRules,
    act: impl Fn(&S) -> &Act,
    decide: impl Fn(&mut Clusterer, &S) -> V,
) -> Result<(Vec<V>, Kept), RestoreError> {
    let mut clusterer = Clusterer::new(Arc::new(OnALine), rules.clone(), Position::default());
    clusterer.name_log(9);
    clusterer.keep_journal();
    let (mut kept, mut outcomes, mut next) = (Kept::new(), Vec::new(), 0);
    for step in steps {
        outcomes.push(decide(&mut clusterer, step));
        let position = IDENTITY.position(&clusterer, 0, Some(7), &Watermarks::default()).expect("in memory");
        for record in clusterer.take_changes().records(&position, &OnALine) {
            kept.push((next, record));
            next += 1;
        }
        next += 1; // the transaction marker
        let at_place = match act(step) {
            Act::Nothing => continue,
            Act::Delete(behind) => {
                delete(&mut kept, *behind);
                continue;
            }
            Act::Restore(at_place) => *at_place,
            Act::Settings(settings) => {
                rules.expiry = settings.clone();
                rules.recrawls.pages_max = settings.centroids_max * 2;
                true
            }
        };
        clusterer = restored(&kept, &rules, at_place)?.clusterer;
        clusterer.keep_journal();
    }
    Ok((outcomes, kept))
}

fn run(steps: &[Step], expiry: &ExpiryConfig, longest: bool) -> Result<(Vec<Verdict>, Kept), RestoreError> {
    let decide = |clusterer: &mut Clusterer, step: &Step| {
        outcome(&clusterer.decide(Some(&record(step))).expect("in memory"))
    };
    run_steps(steps, rules(expiry, longest), |step| &step.act, decide)
}

fn naive(steps: &[Step], mut expiry: ExpiryConfig, longest: bool, falls: bool) -> Vec<Verdict> {
    let mut naive = Naive::new(longest, falls);
    let mut outcomes = Vec::new();
    for (offset, step) in (0..).zip(steps) {
        outcomes.push(naive.decide(offset, step, &expiry));
        if let Act::Settings(settings) = &step.act {
            expiry = settings.clone();
            naive.raise(&expiry);
        }
    }
    outcomes
}

proptest! {
    #[test]
    fn deletions_and_new_owners_change_no_outcome(
        steps in steps(), expiry in expiry(), longest in any::<bool>(),
    ) {
        let (outcomes, kept) = run(&steps, &expiry, longest).expect("all records that count exist");
        prop_assert_eq!(outcomes, naive(&steps, expiry, longest, false));
        // Numbers have no gaps, whatever was deleted.
        let numbers = kept.iter().filter(|(_, record)| record.key.len() == 16).map(|(_, record)| {
            let value = &*record.value;
            proto::Centroid::decode(value).expect("a centroid").number.expect("a number")
        });
        let numbers: Vec<u64> = numbers.collect();
        prop_assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{:?}", numbers);
    }

    #[test]
    fn no_unexpired_centroid_goes_missing_unnoticed(
        steps in steps(), expiry in expiry(), lost in any::<prop::sample::Index>(),
    ) {
        let (_, kept) = run(&steps, &expiry, false).expect("all records that count exist");
        let oldest = last_position(&kept).expect("a position").oldest_log_offset;
        let unexpired = oldest.and_then(|oldest| place(&kept, oldest));
        let unexpired: Vec<usize> = (unexpired.unwrap_or(kept.len())..kept.len())
            .filter(|at| kept[*at].1.key.len() == 16)
            .collect();
        prop_assume!(!unexpired.is_empty());
        // Deletes one unexpired centroid, or all records up to it.
        let at = unexpired[lost.index(unexpired.len())];
        let without = |range: std::ops::Range<usize>| {
            let left = kept.iter().enumerate().filter(|(at, _)| !range.contains(at));
            restored(&left.map(|(_, record)| record.clone()).collect(), &ClusterRules::expiry_only(expiry.clone()), true)
        };
        for range in [at..at + 1, 0..at + 1] {
            let refused = without(range).err();
            prop_assert!(matches!(refused, Some(RestoreError::Gap { .. })), "{:?}", refused);
        }
    }
}

proptest! {
    /// If a restore missed texts that count, later pages would wrongly be unique.
    #[test]
    fn no_text_that_counts_goes_missing_unnoticed(
        steps in steps(), expiry in expiry(), lost in any::<prop::sample::Index>(),
    ) {
        let (_, kept) = run(&steps, &expiry, false).expect("all records that count exist");
        let texts: Vec<usize> =
            (0..kept.len()).filter(|at| kept[*at].1.key.ends_with(b"/texts")).collect();
        prop_assume!(!texts.is_empty());
        let lost = texts[lost.index(texts.len())];
        let value = &*kept[lost].1.value;
        let record = proto::Centroid::decode(value).expect("texts").texts.expect("texts");
        let needed_from = last_position(&kept).expect("a position").texts_needed_from;
        let without = kept.iter().enumerate().filter(|(at, _)| *at != lost);
        let without = without.map(|(_, record)| record.clone()).collect();
        let restored = restored(&without, &ClusterRules::expiry_only(expiry), true);
        let is_needed = record.first + record.since.len() as u64 > needed_from;
        prop_assert_eq!(matches!(restored, Err(RestoreError::Damaged(_))), is_needed);
    }
}

proptest! {
    /// A snapshot has the values of the changelog without their keys. If texts of pages that joined were taken for
    /// centroids without a fingerprint, every snapshot with such a text would be set aside as damaged.
    #[test]
    fn a_snapshot_gives_the_table_of_the_changelog(
        (steps, more) in (steps(), steps()), expiry in expiry(), longest in any::<bool>(),
    ) {
        let (_, kept) = run(&steps, &expiry, longest).expect("all records that count exist");
        let settings = steps.iter().rev().find_map(|step| match &step.act {
            Act::Settings(settings) => Some(settings.clone()),
            _ => None,
        });
        let rules = rules(&settings.unwrap_or(expiry), longest);
        let last = last_position(&kept).expect("a position");
        let mut restoration = Restoration::new(Arc::new(OnALine), rules.clone()).up_to(Some(&last));
        let from = last.oldest_log_offset.and_then(|oldest| place(&kept, oldest)).unwrap_or(kept.len());
        for (_, record) in kept[from..].iter().filter(|(_, record)| record.key != POSITION_KEY) {
            let id = ChangelogRecord::cluster_of(&record.key).expect("a key of Leitong");
            let value = &*record.value;
            prop_assert_eq!(restoration.apply_snapshot(&last, id.log_offset, value), Ok(()));
        }
        prop_assert_eq!(restoration.take_position(last), Ok(()));
        let mut tables = [
            restoration.finish(&IDENTITY, None).map_err(|error| error.to_string()),
            restored(&kept, &rules, true).map_err(|error| error.to_string()),
        ];
        let [of_snapshot, of_changelog] = tables.each_mut().map(|table| -> Result<Vec<Verdict>, String> {
            let table = table.as_mut().map_err(|error| error.clone())?;
            let mut decide = |step: &Step| table.clusterer.decide(Some(&record(step))).expect("in memory");
            Ok(more.iter().map(|step| outcome(&decide(step))).collect())
        });
        prop_assert_eq!(&of_snapshot, &of_changelog);
        prop_assert!(of_snapshot.is_ok(), "{:?}", of_snapshot);
    }
}

/// The key of a record says if its value holds texts, so a value of another kind is damaged.
#[test]
fn a_key_with_a_value_of_another_kind_is_damaged() {
    let id = ClusterId { log_generation: 1, log_partition: 0, log_offset: 5 }.to_bytes();
    let value = |texts| {
        let message = proto::Centroid {
            format_version: ChangelogRecord::FORMAT_VERSION_MAX,
            texts,
            ..Default::default()
        };
        message.encode_to_vec()
    };
    for (key, value) in
        [([&id[..], b"/texts"].concat(), value(None)), (id.to_vec(), value(Some(proto::Texts::default())))]
    {
        let rules = ClusterRules::expiry_only(ExpiryConfig::default());
        let taken = Restoration::new(Arc::new(OnALine), rules).take(Some(&key), Some(&value));
        assert!(matches!(taken, Err(RestoreError::Damaged(_))), "{taken:?}");
    }
}

#[test]
fn records_of_other_versions_are_refused() {
    let key = ClusterId { log_generation: 1, log_partition: 0, log_offset: 5 }.to_bytes();
    let taken = |format_version| {
        let value = proto::Centroid { format_version, ..Default::default() }.encode_to_vec();
        let rules = ClusterRules::expiry_only(ExpiryConfig::default());
        Restoration::new(Arc::new(OnALine), rules).take(Some(&key), Some(&value))
    };
    assert!(matches!(taken(1), Err(RestoreError::Damaged(why)) if why.contains("format version 1")));
    let newer = ChangelogRecord::FORMAT_VERSION_MAX + 1;
    assert!(matches!(taken(newer), Err(RestoreError::TooNew { found }) if found == newer));
}

#[test]
fn a_text_takes_some_twenty_bytes() {
    let texts: Vec<NewText> = (0..300)
        .map(|at| NewText {
            log_offset: 9_000_000 + at,
            sequence: 5_000_000 + at,
            text: SeenText { key: u128::MAX / (u128::from(at) + 2), cluster: 4_000_000 - at * 12_345 },
        })
        .collect();
    let position = proto::Position { founded: Some(4_000_001), ..proto::Position::default() };
    let records: Vec<ChangelogRecord> = ChangelogRecord::from_texts(&texts, &position).collect();
    assert_eq!(records.len(), 1);
    let bytes = records[0].key.len() + records[0].value.len();
    assert!((18..22).contains(&(bytes / texts.len())), "{} bytes a text", bytes / texts.len());
    let message = proto::Centroid::decode(&*records[0].value).expect("texts");
    let read = SeenText::from_message(&message.texts.expect("texts")).expect("whole");
    assert!(read.iter().eq(texts.iter().map(|new| &new.text)));
}

/// Shows that `deletions_and_new_owners_change_no_outcome` can fail: if bounds can fall, pages join expired
/// clusters.
#[test]
fn falling_bounds_are_detected() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let cases = (steps(), expiry());
    let differ = (0..200).filter(|_| {
        let (steps, expiry) = cases.new_tree(&mut runner).expect("a case").current();
        naive(&steps, expiry.clone(), false, false) != naive(&steps, expiry, false, true)
    });
    let differ = differ.count();
    assert!(differ > 10, "{differ} of 200");
}
