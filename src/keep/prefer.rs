//! Which documents of a cluster stay.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Decision;
use crate::page::host::host;
use crate::verdict::Kind;

/// Which document of a cluster is to stay. Among equal ones the first stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefer {
    /// The one that came first, which founded the cluster.
    First,
    /// The one with the longest main text.
    Longest,
    /// The one that was fetched last.
    Newest,
    /// The one that says it was published first.
    Published,
    /// The one with the highest number at this JSON pointer (RFC 6901).
    Highest(String),
    /// The one with the lowest number there.
    Lowest(String),
}

impl Prefer {
    /// Whether it is known as soon as a document comes, without those that follow.
    #[must_use]
    pub fn is_known_at_once(&self, rules: Rules) -> bool {
        *self == Self::First && !rules.one_per_host
    }

    /// The field at the top of a document in which the number stands that decides.
    #[must_use]
    pub fn field(&self) -> Option<String> {
        let (Self::Highest(pointer) | Self::Lowest(pointer)) = self else { return None };
        pointer.split('/').nth(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
    }

    /// How much is to be said for a document, if that can be told from its verdict; else
    /// [`of_record`](Self::of_record) tells it. What says nothing is below all that says something.
    #[must_use]
    pub fn of_decision(&self, decision: &Decision) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "dates of the next 200,000 years are exact")]
        match self {
            Self::First => Some(0.0),
            Self::Longest => Some(f64::from(decision.text_chars)),
            Self::Newest => Some(decision.fetched_at_ms.map_or(f64::NEG_INFINITY, |ms| ms as f64)),
            Self::Published => Some(decision.published_at_ms.map_or(f64::NEG_INFINITY, |ms| -(ms as f64))),
            Self::Highest(_) | Self::Lowest(_) => None,
        }
    }

    /// The same by the document itself, a JSON object. Numbers may be written as strings.
    #[must_use]
    pub fn of_record(&self, json: &[u8]) -> f64 {
        let (pointer, sign) = match self {
            Self::Highest(pointer) => (pointer, 1.0),
            Self::Lowest(pointer) => (pointer, -1.0),
            _ => return 0.0,
        };
        let number = number_at(json, pointer).filter(|number| !number.is_nan());
        number.map_or(f64::NEG_INFINITY, |number| sign * number)
    }
}

/// The number at `pointer`. Only the objects and arrays on the way there are made sense of.
fn number_at(json: &[u8], pointer: &str) -> Option<f64> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let mut value: Box<RawValue> = serde_json::from_slice(json).ok()?;
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        value = if value.get().starts_with('[') {
            let mut items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
            let index = token.parse::<usize>().ok().filter(|index| *index < items.len())?;
            items.swap_remove(index)
        } else {
            let mut fields: HashMap<String, Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
            fields.remove(&token)?
        };
    }
    match serde_json::from_str(value.get()).ok()? {
        serde_json::Value::Number(number) => number.as_f64(),
        serde_json::Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A word that names no preference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected first, longest, newest, published, highest:/POINTER or lowest:/POINTER, with a JSON pointer such as /score"
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
            Self::Published => f.write_str("published"),
            Self::Highest(pointer) => write!(f, "highest:{pointer}"),
            Self::Lowest(pointer) => write!(f, "lowest:{pointer}"),
        }
    }
}

/// What is asked for beside the preference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// One document of each host stays in a cluster, in place of one in all.
    pub one_per_host: bool,
    /// Undecidable pages go; else they stay, as nothing says that they are copies.
    pub drop_undecidable: bool,
    /// Clusters that were founded before this place in the log belong to earlier
    /// runs, which have kept a document of each.
    pub log_offset: u64,
}

/// Says of one document after the other whether it stays.
#[derive(Debug)]
pub struct Choice {
    rules: Rules,
    by: By,
}

#[derive(Debug)]
enum By {
    /// The founder of each cluster.
    First,
    /// By rank: the best of each cluster and, if wanted, of each host in each cluster.
    Rank { clusters: HashMap<u64, Best>, hosts: HashMap<u64, Best> },
}

/// The best document of a group so far.
#[derive(Debug)]
struct Best {
    rank: f64,
    /// Which of the decisions, from 0.
    ordinal: u64,
    page_id: Box<str>,
}

impl Choice {
    /// The founder of each cluster stays; one for each host has to be [ranked](Self::ranked).
    #[must_use]
    pub fn first(rules: Rules) -> Self {
        Self { rules, by: By::First }
    }

    /// The best of each group stays, of those that are [offered](Self::offer) before any is asked about.
    #[must_use]
    pub fn ranked(rules: Rules) -> Self {
        Self { rules, by: By::Rank { clusters: HashMap::new(), hosts: HashMap::new() } }
    }

    /// Takes note of the rank of a document.
    pub fn offer(&mut self, ordinal: u64, decision: &Decision, rank: f64) {
        let By::Rank { clusters, hosts } = &mut self.by else { return };
        if decision.cluster_id.is_none() {
            return;
        }
        let offer = |groups: &mut HashMap<u64, Best>, group| match groups.entry(group) {
            Entry::Occupied(best) if best.get().rank >= rank => {}
            Entry::Occupied(mut best) => {
                best.insert(Best { rank, ordinal, page_id: decision.page_id.as_str().into() });
            }
            Entry::Vacant(none) => {
                none.insert(Best { rank, ordinal, page_id: decision.page_id.as_str().into() });
            }
        };
        offer(clusters, decision.founded);
        if self.rules.one_per_host {
            offer(hosts, group(decision));
        }
    }

    /// Whether the document stays.
    pub fn stays(&self, ordinal: u64, decision: &Decision) -> bool {
        if decision.kind == Kind::Undecidable {
            return !self.rules.drop_undecidable;
        }
        if decision.founded < self.rules.log_offset {
            return false;
        }
        match &self.by {
            By::First => decision.kind == Kind::Unique,
            By::Rank { hosts, .. } if self.rules.one_per_host => {
                hosts.get(&group(decision)).is_some_and(|best| best.ordinal == ordinal)
            }
            By::Rank { clusters, .. } => {
                clusters.get(&decision.founded).is_some_and(|best| best.ordinal == ordinal)
            }
        }
    }

    /// Whether the document stands for its cluster, of those that were founded in this run.
    pub fn stands(&self, ordinal: u64, decision: &Decision) -> bool {
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

    /// The page id of the document that stands for the document's cluster.
    #[must_use]
    pub fn canonical<'a>(&'a self, decision: &'a Decision) -> Option<&'a str> {
        let founder = decision.canonical_page_id.as_deref();
        match &self.by {
            By::Rank { clusters, .. } if decision.founded >= self.rules.log_offset && founder.is_some() => {
                clusters.get(&decision.founded).map(|best| &*best.page_id)
            }
            _ => founder,
        }
    }
}

/// The host in its cluster. A page without a host shares that of other such pages.
fn group(decision: &Decision) -> u64 {
    xxh3_64_with_seed(host(&decision.url).as_bytes(), decision.founded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The document `number` of the cluster that `founder` founded, on one of three hosts.
    fn decision(number: u64, founder: u64, text_chars: u32) -> Decision {
        Decision {
            input: 0,
            number,
            kind: if number == founder { Kind::Unique } else { Kind::NearDuplicate },
            page_id: number.to_string(),
            url: format!("http://host{}.example/{number}", number % 3),
            cluster_id: Some(founder.to_string()),
            founded: founder,
            canonical_page_id: Some(founder.to_string()),
            canonical_url: None,
            text_chars,
            fetched_at_ms: None,
            published_at_ms: None,
        }
    }

    proptest! {
        /// Against a scan of all documents: the best of each group stays, and no other.
        #[test]
        fn one_of_each_group_stays(
            documents in prop::collection::vec((0_u64..6, 0_u32..5), 1..60),
            one_per_host: bool,
            by_length: bool,
        ) {
            let mut founders: HashMap<u64, u64> = HashMap::new();
            let documents: Vec<Decision> = (0..).zip(documents).map(|(number, (cluster, chars))| {
                decision(number, *founders.entry(cluster).or_insert(number), chars)
            }).collect();
            let rules = Rules { one_per_host, ..Rules::default() };
            let at_once = !by_length && !one_per_host;
            let mut choice = if at_once { Choice::first(rules) } else { Choice::ranked(rules) };
            for (ordinal, document) in (0..).zip(&documents) {
                choice.offer(ordinal, document, if by_length { f64::from(document.text_chars) } else { 0.0 });
            }
            for (ordinal, document) in (0..).zip(&documents) {
                let same = |other: &&Decision| {
                    other.founded == document.founded && (!one_per_host || host(&other.url) == host(&document.url))
                };
                let rank = |other: &Decision| if by_length { other.text_chars } else { 0 };
                let best = documents.iter().filter(same).rev().max_by_key(|other| rank(other));
                prop_assert_eq!(choice.stays(ordinal, document), best == Some(document));
            }
        }
    }

    #[test]
    fn undecidable_pages_and_clusters_of_earlier_runs() {
        let undecidable = Decision { kind: Kind::Undecidable, cluster_id: None, ..decision(0, 0, 9) };
        let rules = Rules { log_offset: 5, ..Rules::default() };
        for mut choice in [Choice::first(rules), Choice::ranked(rules)] {
            let old = decision(7, 4, 9);
            choice.offer(0, &undecidable, 1.0);
            choice.offer(1, &old, 1.0);
            assert!(choice.stays(0, &undecidable), "nothing says that it is a copy");
            assert!(!choice.stays(1, &old), "an earlier run has kept one");
            assert_eq!(choice.canonical(&old), Some("4"));
        }
        assert!(!Choice::first(Rules { drop_undecidable: true, ..rules }).stays(0, &undecidable));
    }

    #[test]
    fn who_published_first_is_before_who_says_nothing() {
        let at = |ms| Prefer::Published.of_decision(&Decision { published_at_ms: ms, ..decision(0, 0, 1) });
        assert!(at(Some(-5)) > at(Some(3)) && at(Some(3)) > at(None));
    }

    #[test]
    fn ranks_by_a_field() {
        let json = br#"{"a/b": [{"score": 3}, {"score": "4.5"}], "x": {"~": -1}, "t": "no number"}"#;
        for (pointer, expected) in [
            ("/a~1b/0/score", 3.0),
            ("/a~1b/1/score", 4.5),
            ("/x/~0", -1.0),
            ("/t", f64::NEG_INFINITY),
            ("/a~1b/2/score", f64::NEG_INFINITY),
            ("/missing/field", f64::NEG_INFINITY),
        ] {
            assert_eq!(Prefer::Highest(pointer.to_owned()).of_record(json), expected, "{pointer}");
        }
        assert_eq!(Prefer::Lowest("/a~1b/0/score".to_owned()).of_record(json), -3.0);
        assert_eq!(Prefer::Lowest("/t".to_owned()).of_record(json), f64::NEG_INFINITY);
    }

    #[test]
    fn words_and_preferences_are_one_to_one() {
        for word in ["first", "longest", "newest", "published", "highest:/score", "lowest:/a/0"] {
            assert_eq!(word.parse::<Prefer>().map(|prefer| prefer.to_string()), Ok(word.to_owned()));
        }
        for word in ["", "First", "highest", "highest:score", "best:/score", "longest:/a"] {
            assert_eq!(word.parse::<Prefer>(), Err(NoPreference), "{word}");
        }
    }
}
