//! How much is to be said for a page to stand for its cluster: the settings, and a page's rank by
//! them.
//!
//! In: a record of the log. Out: a [`Rank`]; the higher one is preferred. A function of the record
//! alone, so that whoever reads the log comes to the same canonical pages.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use xxhash_rust::xxh3::xxh3_64;

use leitong_base::record::{Credits, FingerprintRecord, TextDigest};
use leitong_text::page::host::host;

/// Which page of a cluster stands for it in verdicts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CanonicalConfig {
    /// Rules by which a later page takes the place of the canonical one, the most important first:
    /// each decides among pages that are alike by those before it, and at last the page stays that
    /// came first. `hosts`: its host stands further up in `canonical.hosts`. `canonical-link`: its
    /// `rel=canonical` names its own url; pages that name another url come last. `https`: its url
    /// begins so. `published`: it says the earlier date of publication. `longest`: its main text is
    /// longer. Empty: the page that founded the cluster (docs/concepts.md).
    pub prefer: Vec<Preference>,
    /// Hosts for the rule `hosts`, the best first: `www.example.com`, or `*.example.com` for all
    /// hosts below a domain.
    pub hosts: Vec<String>,
}

/// A rule by which one page is preferred to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// The host stands further up in a list.
    Hosts,
    /// The page calls itself canonical.
    CanonicalLink,
    /// The url begins with `https:`.
    Https,
    /// It was published earlier.
    Published,
    /// Its main text is longer.
    Longest,
}

/// Hosts that may be listed.
const HOSTS_MAX: usize = 255;

/// How much is to be said for a page: in the highest 32 bits which settings say it, never 0; below,
/// what is said by each rule, the most important one highest. 0 where nobody has asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rank(u128);

/// Bits of what is said.
const SAID_BITS: u32 = 96;

impl Rank {
    /// Whether more is said for this page than for the `other` one, by the same settings. What
    /// other settings say cannot be compared, so that pages stay when settings change.
    #[must_use]
    pub fn is_preferred_to(self, other: Self) -> bool {
        self.0 >> SAID_BITS == other.0 >> SAID_BITS && self.0 > other.0
    }

    /// 16 bytes, big-endian.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// The rank of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

impl CanonicalConfig {
    /// The page that founded a cluster stands for it, whatever comes later.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.prefer.is_empty()
    }

    /// What cannot be followed.
    pub fn faults(&self) -> impl Iterator<Item = String> {
        let Self { prefer, hosts } = self;
        let repeated = prefer.iter().enumerate().find(|(place, rule)| prefer[..*place].contains(rule));
        let repeated = repeated
            .map(|(_, rule)| format!("canonical.prefer: names \"{rule}\" twice; each rule once, in order"));
        let hosts_rule = prefer.contains(&Preference::Hosts);
        let no_hosts = (hosts_rule && hosts.is_empty()).then(|| {
            "canonical.hosts: is empty, and canonical.prefer has the rule \"hosts\"; list the hosts that are preferred, \
             the best first"
                .to_owned()
        });
        let no_rule = (!hosts_rule && !hosts.is_empty()).then(|| {
            "canonical.hosts: does nothing without the rule \"hosts\" in canonical.prefer; add it, or leave the hosts out"
                .to_owned()
        });
        let many = (hosts.len() > HOSTS_MAX).then(|| {
            format!("canonical.hosts: has {} hosts; at most {HOSTS_MAX} can be told apart", hosts.len())
        });
        let written = |listed: &&String| {
            let name = listed.strip_prefix("*.").unwrap_or(listed);
            name.is_empty() || host(&format!("http://{name}/")) != name
        };
        let wrong = hosts.iter().find(written).map(|listed| {
            format!(
                "canonical.hosts: {listed:?} is no host; write one in lower case and ASCII, such as \"www.example.com\" or \
                 \"*.example.com\", without http:// and path"
            )
        });
        repeated.into_iter().chain(no_hosts).chain(no_rule).chain(many).chain(wrong)
    }
}

/// Ranks pages by settings.
#[derive(Debug)]
pub(super) struct Ranking {
    config: CanonicalConfig,
    /// Tells ranks by these settings from those by others.
    id: u32,
}

impl Ranking {
    pub(super) fn new(config: CanonicalConfig) -> Self {
        let settings = serde_json::to_string(&config).expect("settings are JSON");
        Self { config, id: (xxh3_64(settings.as_bytes()) as u32).max(1) }
    }

    /// The rank of a page.
    pub(super) fn rank(&self, record: &FingerprintRecord) -> Rank {
        let said = self.config.prefer.iter().map(|preference| preference.said_for(record, &self.config));
        let said = said.fold(0, |all, (said, bits)| all << bits | u128::from(said));
        Rank(u128::from(self.id) << SAID_BITS | said)
    }
}

impl fmt::Display for Preference {
    /// As settings name it.
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
    /// What is said for a page by this rule, below 2 to the power of the second number.
    fn said_for(self, record: &FingerprintRecord, config: &CanonicalConfig) -> (u64, u32) {
        let credits = record.credits.as_deref();
        match self {
            Self::Hosts => (by_host(&record.url, &config.hosts), 8),
            Self::CanonicalLink => (by_canonical_link(&record.url, credits), 2),
            Self::Https => (u64::from(is_https(&record.url)), 1),
            Self::Published => (by_publication(credits), 40),
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

fn by_canonical_link(url: &str, credits: Option<&Credits>) -> u64 {
    match credits.and_then(|credits| credits.canonical_link.as_deref()) {
        Some(link) if link == url => 2,
        None => 1,
        Some(_) => 0,
    }
}

fn is_https(url: &str) -> bool {
    url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// Seconds back from a far future, so that the earlier page has more; 0 where no date is said.
fn by_publication(credits: Option<&Credits>) -> u64 {
    const FAR: i64 = 1 << 39;
    let seconds = credits.and_then(|credits| credits.published_at).map(|at| at.earliest_ms() / 1000);
    seconds.map_or(0, |seconds| (FAR - seconds).clamp(1, 2 * FAR - 1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::record::PublicationTime;

    fn page(url: &str, chars: u32, credits: Credits) -> FingerprintRecord {
        FingerprintRecord {
            url: url.into(),
            text: Some(TextDigest { digest: 0, chars }),
            credits: credits.boxed(),
            ..FingerprintRecord::numbered(1, None)
        }
    }

    fn linked(url: &str, link: &str) -> FingerprintRecord {
        page(url, 9, Credits { canonical_link: Some(link.into()), ..Credits::default() })
    }

    fn dated(date: &str) -> FingerprintRecord {
        let published_at = PublicationTime::from_iso_8601(date);
        assert!(published_at.is_some(), "{date}");
        page("http://b.example/", 9, Credits { published_at, ..Credits::default() })
    }

    fn plain(url: &str, chars: u32) -> FingerprintRecord {
        page(url, chars, Credits::default())
    }

    /// Pages from the best to the worst by one rule.
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
    fn the_first_rule_that_tells_decides() {
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
        assert!(preferred(&all, long, secure), "all rules have room side by side");
        assert_eq!(Rank::from_bytes(rank(&all, long).to_bytes()), rank(&all, long));
        // Ranks by other settings, and pages of which none is known, are not compared.
        let [by_https, by_length] = [&[https], &[longest]].map(|prefer| rank(prefer, long));
        assert!(!by_length.is_preferred_to(by_https) && !by_https.is_preferred_to(by_length));
        assert!(!by_length.is_preferred_to(Rank::default()));
    }
}
