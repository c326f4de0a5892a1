//! The rules that choose a cluster's canonical page: the settings, and the rank that they give to a page.
//!
//! In: a record of the log. Out: a [`Rank`]; the page with the higher rank is preferred. The rank
//! depends only on the record and the settings, so all readers of the log find the same canonical pages.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use xxhash_rust::xxh3::xxh3_64;

use leitong_base::record::{FingerprintRecord, Metadata, TextDigest};
use leitong_text::page::host;

/// The rules that choose the canonical page of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CanonicalConfig {
    /// Rules by which a later page replaces the canonical one, the most important first. Each rule decides
    /// only between pages that are equal by the rules before it; if all are equal, the earlier page stays.
    /// `hosts`: its host is earlier in `canonical.hosts`. `canonical-link`: its `rel=canonical` names its own
    /// url; pages that name another url come last. `https`: its url begins with `https:`. `published`: its
    /// date of publication is earlier. `longest`: its main text is longer. Empty: the page that founded the
    /// cluster stays (docs/concepts.md).
    pub prefer: Vec<Preference>,
    /// Hosts for the rule `hosts`, the best first: `www.example.com`, or `*.example.com` for all hosts below
    /// a domain.
    pub hosts: Vec<String>,
}

/// A rule by which one page is preferred to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// The host is earlier in a list.
    Hosts,
    /// The page names itself as canonical.
    CanonicalLink,
    /// The url begins with `https:`.
    Https,
    /// The date of publication is earlier.
    Published,
    /// The main text is longer.
    Longest,
}

/// Maximum number of hosts in the list.
const HOSTS_MAX: usize = 255;

/// The rank of a page; 0 if no rank was computed. Otherwise the highest 32 bits identify the settings and are
/// not 0. Below are the points from each rule, the most important rule highest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rank(u128);

/// Number of bits for points.
const POINTS_BITS: u32 = 96;

impl Rank {
    /// Returns true if this page ranks above `other` by the same settings. Ranks by different settings are
    /// not compared, so canonical pages stay when settings change.
    #[must_use]
    pub fn is_preferred_to(self, other: Self) -> bool {
        self.0 >> POINTS_BITS == other.0 >> POINTS_BITS && self.0 > other.0
    }

    /// Returns the rank as 16 bytes, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Decodes a rank.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl CanonicalConfig {
    /// Returns true if the page that founded a cluster always stays canonical.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.prefer.is_empty()
    }

    /// Returns an error message for each invalid setting.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        let Self { prefer, hosts } = self;
        let repeated = prefer.iter().enumerate().find(|(place, rule)| prefer[..*place].contains(rule));
        let repeated = repeated
            .map(|(_, rule)| format!("canonical.prefer: names \"{rule}\" twice; name each rule once"));
        let hosts_rule = prefer.contains(&Preference::Hosts);
        let no_hosts = (hosts_rule && hosts.is_empty()).then(|| {
            "canonical.hosts: is empty, and canonical.prefer has the rule \"hosts\"; list the preferred hosts, \
             the best first"
                .to_owned()
        });
        let no_rule = (!hosts_rule && !hosts.is_empty()).then(|| {
            "canonical.hosts: has no effect without the rule \"hosts\" in canonical.prefer; add the rule or remove the hosts"
                .to_owned()
        });
        let many = (hosts.len() > HOSTS_MAX)
            .then(|| format!("canonical.hosts: has {} hosts; at most {HOSTS_MAX} are allowed", hosts.len()));
        let written = |listed: &&String| {
            let name = listed.strip_prefix("*.").unwrap_or(listed);
            name.is_empty() || host(&format!("http://{name}/")) != name
        };
        let wrong = hosts.iter().find(written).map(|listed| {
            format!(
                "canonical.hosts: {listed:?} is not a host; write it in lower case and ASCII, such as \"www.example.com\" or \
                 \"*.example.com\", without http:// or path"
            )
        });
        repeated.into_iter().chain(no_hosts).chain(no_rule).chain(many).chain(wrong)
    }
}

/// Ranks pages by settings.
#[derive(Debug)]
pub(super) struct Ranking {
    config: CanonicalConfig,
    /// Identifies the settings. Ranks by other settings are not compared.
    id: u32,
}

impl Ranking {
    pub(super) fn new(config: CanonicalConfig) -> Self {
        let settings = serde_json::to_string(&config).expect("settings are JSON");
        Self { config, id: (xxh3_64(settings.as_bytes()) as u32).max(1) }
    }

    /// Returns the rank of a page.
    pub(super) fn rank(&self, record: &FingerprintRecord) -> Rank {
        let points = self.config.prefer.iter().map(|preference| preference.points(record, &self.config));
        let points = points.fold(0, |all, (points, bits)| all << bits | u128::from(points));
        Rank(u128::from(self.id) << POINTS_BITS | points)
    }
}

impl fmt::Display for Preference {
    /// Writes the name in the settings.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hosts => "hosts",
            Self::CanonicalLink => "canonical-link",
            Self::Https => "https",
            Self::Published => "published",
            Self::Longest => "longest",
        })
    }
}

impl Preference {
    /// Returns the page's points by this rule, and the number of bits that they take.
    fn points(self, record: &FingerprintRecord, config: &CanonicalConfig) -> (u64, u32) {
        let metadata = record.metadata.as_deref();
        match self {
            Self::Hosts => (by_host(&record.url, &config.hosts), 8),
            Self::CanonicalLink => (by_canonical_link(&record.url, metadata), 2),
            Self::Https => (u64::from(is_https(&record.url)), 1),
            Self::Published => (by_publication(metadata), 40),
            Self::Longest => (record.text.map_or(0, |TextDigest { chars, .. }| u64::from(chars)), 32),
        }
    }
}

fn by_host(url: &str, hosts: &[String]) -> u64 {
    let found = host(url);
    let is_listed = |listed: &String| match listed.strip_prefix("*.") {
        Some(domain) => found.strip_suffix(domain).is_some_and(|below| below.ends_with('.')),
        None => *listed == found,
    };
    let place = hosts.iter().take(HOSTS_MAX).position(is_listed);
    place.map_or(0, |place| (HOSTS_MAX - place) as u64)
}

fn by_canonical_link(url: &str, metadata: Option<&Metadata>) -> u64 {
    match metadata.and_then(|metadata| metadata.canonical_link.as_deref()) {
        Some(link) if link == url => 2,
        None => 1,
        Some(_) => 0,
    }
}

fn is_https(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// Returns the seconds from the date of publication to a time in the far future, so an earlier page gets
/// more points. 0 if the page has no date.
fn by_publication(metadata: Option<&Metadata>) -> u64 {
    const FAR: i64 = 1 << 39;
    let seconds = metadata.and_then(|metadata| metadata.published_at).map(|at| at.earliest_ms() / 1000);
    seconds.map_or(0, |seconds| (FAR - seconds).clamp(1, 2 * FAR - 1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::record::PublicationTime;

    fn page(url: &str, chars: u32, metadata: Metadata) -> FingerprintRecord {
        FingerprintRecord {
            url: url.into(),
            text: Some(TextDigest { digest: 0, chars }),
            metadata: metadata.boxed(),
            ..FingerprintRecord::numbered(1, None)
        }
    }

    fn linked(url: &str, link: &str) -> FingerprintRecord {
        page(url, 9, Metadata { canonical_link: Some(link.into()), ..Metadata::default() })
    }

    fn dated(date: &str) -> FingerprintRecord {
        let published_at = PublicationTime::from_iso_8601(date);
        assert!(published_at.is_some(), "{date}");
        page("http://b.example/", 9, Metadata { published_at, ..Metadata::default() })
    }

    fn plain(url: &str, chars: u32) -> FingerprintRecord {
        page(url, chars, Metadata::default())
    }

    /// Checks that these pages are ordered from best to worst by one rule.
    #[track_caller]
    fn falls(preference: Preference, pages: &[FingerprintRecord]) {
        let hosts = ["www.a.example", "*.a.example"].map(str::to_owned).to_vec();
        let config = CanonicalConfig { prefer: vec![preference], hosts };
        let ranking = Ranking::new(config);
        let ranks: Vec<_> = pages.iter().map(|page| ranking.rank(page)).collect();
        assert!(ranks.is_sorted_by(|better, worse| better.is_preferred_to(*worse)), "{ranks:x?}");
    }

    #[test]
    fn each_rule_ranks() {
        let [best, listed, other] =
            ["http://WWW.a.example/x", "https://m.a.example/x", "https://a.example/www.a.example/"];
        falls(Preference::Hosts, &[plain(best, 1), plain(listed, 2), plain(other, 3)]);
        falls(Preference::Https, &[plain("HTTPS://a/", 1), plain("http://a/", 2)]);
        falls(Preference::Longest, &[plain("a", u32::MAX), plain("b", 2), plain("c", 0)]);
        let itself = "https://a.example/1";
        falls(
            Preference::CanonicalLink,
            &[linked(itself, itself), plain(itself, 1), linked("https://m.a.example/1", itself)],
        );
        let dates =
            ["1900-01-01", "2024-05-11T08:00+08:00", "2024-05-11T00:00:01Z", "2024-05-13", "2999-12-31"];
        let mut pages = dates.map(dated).to_vec();
        pages.push(plain("http://b.example/", 9));
        falls(Preference::Published, &pages);
    }

    #[test]
    fn the_first_rule_that_distinguishes_two_pages_decides() {
        let rank = |prefer: &[Preference], page: &FingerprintRecord| {
            Ranking::new(CanonicalConfig { prefer: prefer.to_vec(), hosts: Vec::new() }).rank(page)
        };
        let preferred = |prefer: &[Preference], a, b| rank(prefer, a).is_preferred_to(rank(prefer, b));
        let (secure, long) = (&plain("https://a/", 1), &plain("http://a/", u32::MAX));
        let [https, longest] = [Preference::Https, Preference::Longest];
        assert!(preferred(&[https, longest], secure, long) && !preferred(&[https, longest], long, secure));
        assert!(preferred(&[longest, https], long, secure) && !preferred(&[longest, https], secure, long));
        let all = [
            Preference::Longest,
            Preference::Published,
            Preference::Hosts,
            Preference::CanonicalLink,
            Preference::Https,
        ];
        assert!(preferred(&all, long, secure), "all rules fit into one rank");
        assert_eq!(Rank::from_bytes(rank(&all, long).to_bytes()), rank(&all, long));
        // Ranks by other settings are not compared, and neither are unknown ranks.
        let [by_https, by_length] = [&[https], &[longest]].map(|prefer| rank(prefer, long));
        assert!(!by_length.is_preferred_to(by_https) && !by_https.is_preferred_to(by_length));
        assert!(!by_length.is_preferred_to(Rank::default()));
    }
}
