//! The rules by which one document of a cluster is preferred to another: the options [`Prefer`] and [`Rules`], and the
//! [`Choice`] that follows from them.
//!
//! Memory: nothing per cluster if the first document of each is kept; otherwise the best document of each so far.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Decision;
use super::decimal::Decimal;
use super::fields::value_at;
use leitong_base::record::Timestamp;
use leitong_cluster::verdict::Kind;
use leitong_text::page::mapping::first_name;

/// The preferred document of a cluster. Of equally good documents, the first is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefer {
    /// The first document, which founded the cluster.
    First,
    /// The document with the longest main text.
    Longest,
    /// The document that was fetched most recently.
    Newest,
    /// The document that was fetched first.
    Oldest,
    /// The document with the earliest time of publication, according to the pages.
    Published,
    /// The document with the highest number or latest date at this JSON pointer (RFC 6901).
    Highest(String),
    /// The document with the lowest number or earliest date at this JSON pointer.
    Lowest(String),
}

/// The rank of a document in its cluster: the greater, the better. Numbers are compared exactly. A number and a date
/// cannot be compared, so numbers rank higher.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The document lacks the value that is compared.
    None,
    /// A length, or a time in milliseconds, from the verdict.
    Whole(i64),
    /// A date in the document, in nanoseconds since 1970.
    Date(Decimal),
    /// A number in the document.
    Number(Decimal),
}

impl Prefer {
    /// Returns true if a document can be chosen without knowing later ones.
    pub(crate) fn is_known_at_once(&self, rules: Rules) -> bool {
        *self == Self::First && !rules.one_per_value
    }

    /// Returns the top-level field that contains the number to compare.
    pub(crate) fn field(&self) -> Option<String> {
        let (Self::Highest(pointer) | Self::Lowest(pointer)) = self else { return None };
        first_name(pointer)
    }

    /// Returns the rank of a document according to its verdict. `None` if the document itself is needed: then
    /// [`Self::rank_from_content`] returns the rank.
    pub(crate) fn rank_from_verdict(&self, decision: &Decision) -> Option<Rank> {
        let latest = |ms: Option<i64>| ms.map_or(Rank::None, Rank::Whole);
        let earliest = |ms: Option<i64>| latest(ms.map(|ms| -ms));
        match self {
            Self::First => Some(Rank::Whole(0)),
            Self::Longest => Some(Rank::Whole(decision.text_chars.into())),
            Self::Newest => Some(latest(decision.fetched_at_ms)),
            Self::Oldest => Some(earliest(decision.fetched_at_ms)),
            Self::Published => Some(earliest(decision.published_at_ms)),
            Self::Highest(_) | Self::Lowest(_) => None,
        }
    }

    /// Returns the rank of a document according to its content, a JSON object. Numbers may be written as
    /// strings.
    pub(crate) fn rank_from_content(&self, json: &[u8]) -> Rank {
        let (Self::Highest(pointer) | Self::Lowest(pointer)) = self else { return Rank::Whole(0) };
        let is_lowest = matches!(self, Self::Lowest(_));
        let signed = |number: Decimal| if is_lowest { number.negated() } else { number };
        let Some(value) = value_at(json, pointer) else { return Rank::None };
        let text = match value.starts_with('"') {
            true => serde_json::from_str(&value).unwrap_or_default(),
            false => value,
        };
        match (Decimal::parse(text.trim()), Timestamp::ns_from_date(&text)) {
            (Some(number), _) => Rank::Number(signed(number)),
            (None, Some(ns)) => Rank::Date(signed(ns.into())),
            (None, None) => Rank::None,
        }
    }
}

/// The error for text that is not a preference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected first, longest, newest, oldest, published, highest:/POINTER or lowest:/POINTER, with a JSON pointer such as /score"
)]
pub struct NoPreference;

impl FromStr for Prefer {
    type Err = NoPreference;

    fn from_str(word: &str) -> Result<Self, NoPreference> {
        let pointer =
            |pointer: &str| pointer.starts_with('/').then(|| pointer.to_owned()).ok_or(NoPreference);
        match word.split_once(':') {
            None if word == "first" => Ok(Self::First),
            None if word == "longest" => Ok(Self::Longest),
            None if word == "newest" => Ok(Self::Newest),
            None if word == "oldest" => Ok(Self::Oldest),
            None if word == "published" => Ok(Self::Published),
            Some(("highest", at)) => pointer(at).map(Self::Highest),
            Some(("lowest", at)) => pointer(at).map(Self::Lowest),
            _ => Err(NoPreference),
        }
    }
}

impl fmt::Display for Prefer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str("first"),
            Self::Longest => f.write_str("longest"),
            Self::Newest => f.write_str("newest"),
            Self::Oldest => f.write_str("oldest"),
            Self::Published => f.write_str("published"),
            Self::Highest(pointer) => write!(f, "highest:{pointer}"),
            Self::Lowest(pointer) => write!(f, "lowest:{pointer}"),
        }
    }
}

/// Further rules for the choice of documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// True if one document per cluster and value of a field, such as the host, is kept instead of one document per
    /// cluster.
    pub one_per_value: bool,
    /// True if undecidable pages are dropped. By default they are kept, because they are not known to be copies.
    pub drop_undecidable: bool,
    /// The log offset at which this run began. Clusters founded before that belong to earlier runs, which
    /// have kept a document of each.
    pub log_offset: u64,
}

/// Decides for each document if it is kept.
#[derive(Debug)]
pub(crate) struct Choice {
    rules: Rules,
    by: By,
}

#[derive(Debug)]
enum By {
    /// Keeps the founder of each cluster.
    First,
    /// Keeps the best-ranked document of each cluster and, if requested, of each value in each cluster. While documents
    /// are offered, `values` has the rank and the ordinal of the best document of each value; then the ordinals are
    /// moved to `kept`.
    Rank { clusters: HashMap<u64, Best>, values: HashMap<u64, (Rank, u64)>, kept: HashSet<u64> },
}

/// The best document of a group so far.
#[derive(Debug)]
struct Best {
    rank: Rank,
    /// The index of the decision, from 0.
    ordinal: u64,
    page_id: Box<str>,
}

impl Choice {
    /// Creates a choice that keeps the founder of each cluster. To keep one document per value, use [`Self::ranked`].
    pub(crate) fn first(rules: Rules) -> Self {
        Self { rules, by: By::First }
    }

    /// Creates a choice that keeps the best document of each group. Pass all documents to [`Self::offer`] and call
    /// [`Self::end_offers`] before any other method.
    pub(crate) fn ranked(rules: Rules) -> Self {
        Self {
            rules,
            by: By::Rank { clusters: HashMap::new(), values: HashMap::new(), kept: HashSet::new() },
        }
    }

    /// Registers the rank of a document, and its value of the field that groups documents. One document per
    /// group is kept; documents without a value are one group.
    pub(crate) fn offer(&mut self, ordinal: u64, decision: &Decision, rank: Rank, value: Option<&str>) {
        let By::Rank { clusters, values, .. } = &mut self.by else { return };
        // A document that is dropped because of a benchmark must not represent its cluster.
        if decision.cluster_id.is_none() || decision.benchmark.is_some() {
            return;
        }
        if self.rules.one_per_value {
            let group = xxh3_64_with_seed(value.unwrap_or_default().as_bytes(), decision.founded);
            match values.entry(group) {
                Entry::Occupied(best) if best.get().0 >= rank => {}
                entry => _ = entry.insert_entry((rank.clone(), ordinal)),
            }
        }
        match clusters.entry(decision.founded) {
            Entry::Occupied(best) if best.get().rank >= rank => {}
            entry => {
                let page_id = decision.page_id.as_str().into();
                entry.insert_entry(Best { rank, ordinal, page_id });
            }
        }
    }

    /// Ends the offers. The other methods can be called from now on.
    pub(crate) fn end_offers(&mut self) {
        if let By::Rank { values, kept, .. } = &mut self.by {
            kept.extend(std::mem::take(values).into_values().map(|(_, ordinal)| ordinal));
        }
    }

    /// Returns true if the document is kept.
    pub(crate) fn keeps(&self, ordinal: u64, decision: &Decision) -> bool {
        if decision.benchmark.is_some() {
            return false;
        }
        if decision.is_kept_by_verify() {
            return true;
        }
        if decision.kind == Kind::Undecidable {
            return !self.rules.drop_undecidable;
        }
        if decision.founded < self.rules.log_offset {
            return false;
        }
        match &self.by {
            By::First => decision.kind == Kind::Unique,
            By::Rank { kept, .. } if self.rules.one_per_value => kept.contains(&ordinal),
            By::Rank { clusters, .. } => {
                clusters.get(&decision.founded).is_some_and(|best| best.ordinal == ordinal)
            }
        }
    }

    /// Returns true if the document is the canonical one of its cluster, and the cluster was founded in this
    /// run.
    pub(crate) fn is_canonical(&self, ordinal: u64, decision: &Decision) -> bool {
        if decision.cluster_id.is_none() || decision.founded < self.rules.log_offset {
            return false;
        }
        match &self.by {
            By::First => decision.kind == Kind::Unique,
            By::Rank { clusters, .. } => {
                clusters.get(&decision.founded).is_some_and(|best| best.ordinal == ordinal)
            }
        }
    }

    /// Returns the page id of the canonical document of the document's cluster.
    pub(crate) fn canonical<'a>(&'a self, decision: &'a Decision) -> Option<&'a str> {
        let founder = decision.canonical_page_id.as_deref();
        match &self.by {
            By::Rank { clusters, .. } if decision.founded >= self.rules.log_offset && founder.is_some() => {
                clusters.get(&decision.founded).map(|best| &*best.page_id)
            }
            _ => founder,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use leitong_text::page::host;

    /// Creates document `number` of the cluster founded by `founder`, on one of three hosts.
    fn decision(number: u64, founder: u64, text_chars: u32) -> Decision {
        let url = format!("http://host{}.example/{number}", number % 3);
        Decision { url, text_chars, ..Decision::of_cluster(number, founder) }
    }

    proptest! {
        /// Compared with a scan of all documents: the best of each group is kept, and no other.
        #[test]
        fn one_document_of_each_group_is_kept(
            documents in prop::collection::vec((0_u64..6, 0_u32..5), 1..60),
            one_per_value: bool,
            by_length: bool,
        ) {
            let mut founders: HashMap<u64, u64> = HashMap::new();
            let documents: Vec<Decision> = (0..).zip(documents).map(|(number, (cluster, chars))| {
                decision(number, *founders.entry(cluster).or_insert(number), chars)
            }).collect();
            let rules = Rules { one_per_value, ..Rules::default() };
            let at_once = !by_length && !one_per_value;
            let mut choice = if at_once { Choice::first(rules) } else { Choice::ranked(rules) };
            for (ordinal, document) in (0..).zip(&documents) {
                let rank = Rank::Whole(if by_length { document.text_chars.into() } else { 0 });
                choice.offer(ordinal, document, rank, Some(&host(&document.url)));
            }
            choice.end_offers();
            for (ordinal, document) in (0..).zip(&documents) {
                let same = |other: &&Decision| {
                    other.founded == document.founded && (!one_per_value || host(&other.url) == host(&document.url))
                };
                let rank = |other: &Decision| if by_length { other.text_chars } else { 0 };
                let best = documents.iter().filter(same).rev().max_by_key(|other| rank(other));
                prop_assert_eq!(choice.keeps(ordinal, document), best == Some(document));
            }
        }
    }

    #[test]
    fn undecidable_pages_are_kept_but_pages_of_earlier_clusters_are_not() {
        let undecidable = Decision { kind: Kind::Undecidable, cluster_id: None, ..decision(0, 0, 9) };
        let rules = Rules { log_offset: 5, ..Rules::default() };
        for mut choice in [Choice::first(rules), Choice::ranked(rules)] {
            let old = decision(7, 4, 9);
            choice.offer(0, &undecidable, Rank::Whole(1), None);
            choice.offer(1, &old, Rank::Whole(1), None);
            choice.end_offers();
            assert!(choice.keeps(0, &undecidable), "it is not known to be a copy");
            assert!(!choice.keeps(1, &old), "an earlier run has kept one");
            assert_eq!(choice.canonical(&old), Some("4"));
        }
        assert!(!Choice::first(Rules { drop_undecidable: true, ..rules }).keeps(0, &undecidable));
    }

    #[test]
    fn the_earliest_time_ranks_first_and_an_unknown_one_last() {
        let rank = |prefer: Prefer, ms| {
            let decision = Decision { published_at_ms: ms, fetched_at_ms: ms, ..decision(0, 0, 1) };
            prefer.rank_from_verdict(&decision)
        };
        for earliest in [Prefer::Published, Prefer::Oldest] {
            let at = |ms| rank(earliest.clone(), ms);
            assert!(at(Some(-5)) > at(Some(3)) && at(Some(3)) > at(None));
        }
        let at = |ms| rank(Prefer::Newest, ms);
        assert!(at(Some(3)) > at(Some(-5)) && at(Some(-5)) > at(None));
    }

    #[test]
    fn ranks_by_a_field() {
        let json =
            br#"{"a/b": [{"score": 3}, {"score": "4.5"}], "x": {"~": -1}, "t": "no number", "b": true}"#;
        let number = |text: &str| Rank::Number(Decimal::parse(text).expect("a number"));
        for (pointer, expected) in [
            ("/a~1b/0/score", number("3")),
            ("/a~1b/1/score", number("4.5")),
            ("/x/~0", number("-1")),
            ("/t", Rank::None),
            ("/b", Rank::None),
            ("/a~1b", Rank::None),
            ("/a~1b/2/score", Rank::None),
            ("/missing/field", Rank::None),
        ] {
            assert_eq!(Prefer::Highest(pointer.to_owned()).rank_from_content(json), expected, "{pointer}");
        }
        assert_eq!(Prefer::Lowest("/a~1b/0/score".to_owned()).rank_from_content(json), number("-3"));
        assert_eq!(Prefer::Lowest("/t".to_owned()).rank_from_content(json), Rank::None);
    }

    /// Ids of 19 digits were compared as doubles, and the first of two was kept whatever they were. A date was no
    /// value at all.
    #[test]
    fn fields_are_compared_exactly_whatever_they_hold() {
        for ascending in [
            &["\"nothing\"", "1795248000000000001", "1795248000000000002", "18446744073709551615"][..],
            &["\"1795248000000000001\"", "1795248000000000002", "\"99999999999999999999999\""],
            &["null", "\"2026-11-21T07:59:59.999999998Z\"", "\"2026-11-21T08:59:59.999999999+01:00\""],
            &["[1]", "\"2026-11-20\"", "\"2026-11-21 08:00:00\"", "-5", "1e3"],
        ] {
            let rank = |value: &str, prefer: fn(String) -> Prefer| {
                prefer("/v".to_owned()).rank_from_content(format!("{{\"v\":{value}}}").as_bytes())
            };
            for pair in ascending.windows(2) {
                let [low, high] = [pair[0], pair[1]].map(|value| rank(value, Prefer::Highest));
                assert!(low < high, "{pair:?}");
                let [low, high] = [pair[0], pair[1]].map(|value| rank(value, Prefer::Lowest));
                let are_alike = std::mem::discriminant(&low) == std::mem::discriminant(&high);
                assert!(if are_alike { low > high } else { low < high }, "{pair:?}");
            }
        }
    }

    #[test]
    fn preferences_are_written_as_they_are_parsed() {
        for word in ["first", "longest", "newest", "oldest", "published", "highest:/score", "lowest:/a/0"] {
            assert_eq!(word.parse::<Prefer>().map(|prefer| prefer.to_string()), Ok(word.to_owned()));
        }
        for word in ["", "First", "highest", "highest:score", "best:/score", "longest:/a"] {
            assert_eq!(word.parse::<Prefer>(), Err(NoPreference), "{word}");
        }
    }
}
