//! The template alarm: finds clusters and sites whose duplicates look like one form that is filled in again
//! and again.
//!
//! True copies are spread over sites, and on one site most of them are exact. So the verdicts of a worker are
//! searched for two things:
//! * a **cluster** of at least [`CLUSTER_PAGES_MIN`] pages, all of one site, nine in ten of which differ a
//!   little from the first one;
//! * a **site** whose share of duplicates jumps: among its last [`WINDOW_PAGES`] pages it is at least
//!   [`LEAP`] percentage points higher than it was until then.
//!
//! The cause is often that extraction took text of the site itself for the article. Pages that were crawled
//! again are not counted. Each alarm is raised once: in the log and in a metric.
//!
//! The alarm names the [`command`] that finds the paragraphs that pages of the site share.
//!
//! In: committed verdicts. Out: [`Alarm`]s. No decision depends on this module. Memory is bounded: [`SETS`] ×
//! [`WAYS`] sites and as many clusters, with names of [`NAME_BYTES_MAX`] bytes. If a set is full, the count
//! of its rarest entry is reduced by one, and an entry that reaches zero is replaced. So frequent entries
//! stay (Misra and Gries 1982), in a bounded number of steps per page.

use std::sync::{Mutex, OnceLock, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use leitong_cluster::ClusterId;
use leitong_cluster::verdict::{Conclusion, Kind};
use metrics::counter;

/// Minimum number of pages of a cluster that may be a template, as in the report of `leitong dedup`.
const CLUSTER_PAGES_MIN: u32 = 10;
/// Number of pages of a site over which its duplicates are counted. The standard error of a share over so
/// many pages is at most 0.05, so a leap is at least six standard errors.
const WINDOW_PAGES: u32 = 100;
/// Number of windows of a site after which a further window can count as a leap.
const WINDOWS_BEFORE: u32 = 2;
/// Rise of the share of duplicates that counts as a leap, in percentage points.
const LEAP: u32 = 30;
/// Number of sets of entries.
const SETS: usize = 512;
/// Number of entries in a set.
const WAYS: usize = 8;
/// Maximum length of a name, in bytes. Longer names are cut off.
const NAME_BYTES_MAX: usize = 512;

/// The values of one verdict that the alarm uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noticed {
    /// Hash of the page's site.
    site: u64,
    /// The cluster that a duplicate joined.
    joined: Option<Joined>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Joined {
    url: Box<str>,
    page_id: Box<str>,
    cluster_id: [u8; 16],
    canonical_url: Box<str>,
    canonical_page_id: Box<str>,
    is_near: bool,
}

impl Noticed {
    /// Returns the values of `conclusion`; `None` unless [`begin`] was called. Pages without a site or text,
    /// and pages that were crawled again, give `None` as well.
    #[must_use]
    pub fn from_conclusion(conclusion: &Conclusion) -> Option<Self> {
        OF_THIS_PROCESS.get()?;
        let Conclusion::Verdict(verdict) = conclusion else { return None };
        let is_duplicate = matches!(verdict.kind, Kind::ExactDuplicate | Kind::NearDuplicate);
        if verdict.kind == Kind::Undecidable || (is_duplicate && verdict.same_url) {
            return None;
        }
        let site = site(&verdict.url)?;
        let text = |text: Option<&String>| Box::from(short(text.map_or("", String::as_str)));
        Some(Self {
            site: hash(site),
            joined: verdict.cluster_id.filter(|_| is_duplicate).map(|id| Joined {
                url: text(Some(&verdict.url)),
                page_id: text(Some(&verdict.page_id)),
                cluster_id: id.to_bytes(),
                canonical_url: text(verdict.canonical_url.as_ref()),
                canonical_page_id: text(verdict.canonical_page_id.as_ref()),
                is_near: verdict.kind == Kind::NearDuplicate,
            }),
        })
    }
}

/// Returns the host exactly as it is spelled in the url, without user and port. It is not normalised: parsing
/// by the URL Standard would take ten times as long, and a site spells its own name the same way everywhere.
fn site(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = if host.starts_with('[') { host } else { host.split(':').next()? };
    (!host.is_empty()).then_some(host)
}

/// Returns true if a page belongs to the site `name`, as an [`Alarm`] names it.
#[must_use]
pub fn is_of_site(url: &str, name: &str) -> bool {
    site(url).is_some_and(|site| site.eq_ignore_ascii_case(name))
}

/// Returns the command that finds the paragraphs that pages of a site share. Pages choose the names of sites,
/// so anything that a shell could interpret is quoted.
fn command(site: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let site = match site.starts_with(|c: char| c.is_ascii_alphanumeric()) && site.chars().all(is_plain) {
        true => site.to_owned(),
        false => format!("-- '{}'", site.replace('\'', r"'\''")),
    };
    format!("leitong boilerplate site --config FILE {site}")
}

fn hash(site: &str) -> u64 {
    match site.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => xxh3_64(site.to_ascii_lowercase().as_bytes()),
        false => xxh3_64(site.as_bytes()),
    }
}

fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES_MAX)]
}

/// A cluster or site that looks like a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Alarm {
    /// A cluster that looks like a template.
    Cluster {
        /// Site of the cluster.
        site: String,
        /// Number of the cluster's pages so far, without those crawled again.
        pages: u32,
        /// The cluster, and its last page.
        last: Joined,
    },
    /// A site whose share of duplicates jumped.
    Site {
        /// Name of the site.
        site: String,
        /// Percentage of duplicates among its last pages.
        percent: u32,
        /// Percentage of duplicates among the pages before.
        percent_before: u32,
        /// The id of the last duplicate.
        page_id: String,
        /// The url of the last duplicate.
        url: String,
    },
}

impl Alarm {
    /// Logs and counts the alarm.
    fn raise(&self) {
        let what = match self {
            Self::Cluster { site, pages, last } => {
                tracing::warn!(
                    site,
                    cluster_id = ClusterId::from_bytes(last.cluster_id).to_string(),
                    pages,
                    canonical_page_id = &*last.canonical_page_id,
                    canonical_url = &*last.canonical_url,
                    page_id = &*last.page_id,
                    url = &*last.url,
                    command = command(site),
                    "duplicates of this site may be wrong: a cluster looks like a template, with slightly \
                     different pages of one site; see docs/operations.md#leitongtemplate"
                );
                "cluster"
            }
            Self::Site { site, percent, percent_before, page_id, url } => {
                tracing::warn!(
                    site,
                    percent,
                    percent_before,
                    page_id,
                    url,
                    command = command(site),
                    "duplicates of this site may be wrong: their share has jumped; see docs/operations.md#leitongtemplate"
                );
                "site"
            }
        };
        counter!("leitong_templates_total", "what" => what).increment(1);
    }
}

/// The most frequent entries, by key.
#[derive(Debug)]
struct Frequent<K, V> {
    sets: Vec<Vec<(K, u32, V)>>,
}

impl<K, V> Default for Frequent<K, V> {
    fn default() -> Self {
        Self { sets: (0..SETS).map(|_| Vec::new()).collect() }
    }
}

impl<K: Eq, V: Default> Frequent<K, V> {
    /// Counts one more page for `key` and returns its entry; `None` if all other entries of its set are more
    /// frequent.
    fn entry(&mut self, key: K, hash: u64) -> Option<&mut V> {
        let set = &mut self.sets[hash as usize % SETS];
        if let Some(at) = set.iter().position(|(known, ..)| *known == key) {
            set[at].1 = set[at].1.saturating_add(1);
            return Some(&mut set[at].2);
        }
        if set.len() >= WAYS {
            let least = (0..set.len()).min_by_key(|at| set[*at].1)?;
            set[least].1 -= 1;
            if set[least].1 > 0 {
                return None;
            }
            set.swap_remove(least);
        }
        set.push((key, 1, V::default()));
        set.last_mut().map(|(.., value)| value)
    }
}

#[derive(Debug, Default)]
struct Cluster {
    /// Number of pages without the canonical page.
    pages: u32,
    near: u32,
    /// True if a page of another site is in it.
    is_spread: bool,
    alarmed: bool,
}

#[derive(Debug, Default)]
struct Site {
    /// Pages in the current window.
    pages: u32,
    duplicates: u32,
    /// Number of full windows so far.
    windows: u32,
    /// Share of duplicates in the windows so far, in basis points: a moving average in which the last window
    /// has a weight of a quarter.
    before: u32,
    /// Page id and url of the last duplicate.
    last: (Box<str>, Box<str>),
    /// True if the last window was a leap. Further leaps in a row raise no alarm.
    alarmed: bool,
}

/// State of the alarm.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    clusters: Frequent<[u8; 16], Cluster>,
    sites: Frequent<u64, Site>,
}

impl Templates {
    /// Adds one verdict. Returns the alarms that it raises.
    fn notice(&mut self, noticed: &Noticed) -> Vec<Alarm> {
        [self.in_cluster(noticed), self.on_site(noticed)].into_iter().flatten().collect()
    }

    fn in_cluster(&mut self, noticed: &Noticed) -> Option<Alarm> {
        let joined = noticed.joined.as_ref()?;
        let cluster = self.clusters.entry(joined.cluster_id, xxh3_64(&joined.cluster_id))?;
        cluster.pages += 1;
        cluster.near += u32::from(joined.is_near);
        cluster.is_spread |= site(&joined.canonical_url).map(hash) != Some(noticed.site);
        let is_template = !cluster.is_spread
            && cluster.pages + 1 >= CLUSTER_PAGES_MIN
            && u64::from(cluster.near) * 10 >= u64::from(cluster.pages) * 9;
        if !is_template || cluster.alarmed {
            return None;
        }
        cluster.alarmed = true;
        Some(Alarm::Cluster {
            site: site(&joined.url)?.to_owned(),
            pages: cluster.pages + 1,
            last: joined.clone(),
        })
    }

    fn on_site(&mut self, noticed: &Noticed) -> Option<Alarm> {
        let of_site = self.sites.entry(noticed.site, noticed.site)?;
        of_site.pages += 1;
        if let Some(joined) = &noticed.joined {
            of_site.duplicates += 1;
            of_site.last = (joined.page_id.clone(), joined.url.clone());
        }
        if of_site.pages < WINDOW_PAGES {
            return None;
        }
        let now = of_site.duplicates * 10_000 / of_site.pages;
        (of_site.pages, of_site.duplicates) = (0, 0);
        of_site.windows = of_site.windows.saturating_add(1);
        let before = of_site.before;
        let leaps = of_site.windows > WINDOWS_BEFORE && now >= before + LEAP * 100;
        let raises = leaps && !of_site.alarmed;
        of_site.alarmed = leaps;
        of_site.before = if of_site.windows == 1 { now } else { (before * 3 + now) / 4 };
        let (page_id, url) = &of_site.last;
        raises.then(|| Alarm::Site {
            site: site(url).unwrap_or_default().to_owned(),
            percent: now / 100,
            percent_before: before / 100,
            page_id: page_id.to_string(),
            url: url.to_string(),
        })
    }
}

static OF_THIS_PROCESS: OnceLock<Mutex<Templates>> = OnceLock::new();

/// Starts the alarm in this process.
pub fn begin() {
    OF_THIS_PROCESS.get_or_init(Mutex::default);
}

/// Adds committed verdicts, and logs the alarms that they raise.
pub fn committed(noticed: &[Noticed]) {
    let Some(templates) = OF_THIS_PROCESS.get() else { return };
    let mut templates = templates.lock().unwrap_or_else(PoisonError::into_inner);
    noticed.iter().flat_map(|noticed| templates.notice(noticed)).for_each(|alarm| alarm.raise());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(host: &str, number: u32, joined: Option<(&str, bool)>) -> Noticed {
        Noticed {
            site: hash(host),
            joined: joined.map(|(canonical, is_near)| Joined {
                url: format!("https://{host}/{number}").into(),
                page_id: number.to_string().into(),
                cluster_id: [7; 16],
                canonical_url: canonical.into(),
                canonical_page_id: "first".into(),
                is_near,
            }),
        }
    }

    fn alarms(pages: impl IntoIterator<Item = Noticed>) -> Vec<Alarm> {
        let mut templates = Templates::default();
        pages.into_iter().flat_map(|page| templates.notice(&page)).collect()
    }

    #[test]
    fn a_cluster_of_one_site_whose_pages_differ_a_little_is_named_once() {
        let form = |number| page("a.example", number, Some(("https://A.example/0", true)));
        let named = alarms((0..500).map(form));
        let [Alarm::Cluster { site, pages, last }] = &named[..] else { panic!("{named:?}") };
        assert_eq!(
            (site.as_str(), *pages, &*last.canonical_page_id),
            ("a.example", CLUSTER_PAGES_MIN, "first")
        );
        assert_eq!((last.cluster_id, &*last.page_id), ([7; 16], "8"));
    }

    #[test]
    fn copies_raise_no_alarm() {
        let exact = |number| page("a.example", number, Some(("https://a.example/0", false)));
        assert_eq!(alarms((0..90).map(exact)), []);
        let elsewhere = |number| {
            let host = if number == 3 { "b.example" } else { "a.example" };
            page(host, number, Some(("https://a.example/0", true)))
        };
        assert_eq!(alarms((0..90).map(elsewhere)), []);
        let few = |number| page("a.example", number, Some(("https://a.example/0", true)));
        assert_eq!(alarms((0..CLUSTER_PAGES_MIN - 2).map(few)), []);
    }

    #[test]
    fn a_leap_raises_an_alarm_and_a_constant_share_does_not() {
        // `duplicates` in each hundred pages, all copies of pages elsewhere.
        let site = |duplicates: &[u32]| {
            let pages = duplicates.iter().flat_map(|duplicates| {
                (0..100).map(move |number| {
                    page("a.example", number, (number < *duplicates).then_some(("https://b.example/", false)))
                })
            });
            alarms(pages)
        };
        assert_eq!(site(&[50; 20]), []);
        assert_eq!(site(&[0, 5, 10, 15, 20, 25, 30, 35]), [], "a slow rise is not a leap");
        assert_eq!(site(&[0, 90]), [], "there are too few windows before");
        let named = site(&[10, 10, 10, 90, 90, 90]);
        let [Alarm::Site { site: name, percent, percent_before, page_id, .. }] = &named[..] else {
            panic!("{named:?}")
        };
        assert_eq!((name.as_str(), *percent, *percent_before), ("a.example", 90, 10));
        assert_eq!(page_id, "89", "the last duplicate, not the last page");
        assert_eq!(site(&[0, 0, 0, 90, 0, 0, 0, 0, 0, 90]).len(), 2, "a second leap raises a second alarm");
    }

    #[test]
    fn memory_is_bounded_and_frequent_entries_stay() {
        let mut templates = Templates::default();
        let mut named = 0;
        for number in 0..200_000_u32 {
            // Every tenth page is of one form; all others are of sites and clusters that come once.
            let mut noticed = page(&format!("s{number}.example"), number, Some(("https://b.example/", true)));
            if let Some(joined) = &mut noticed.joined {
                joined.cluster_id[..4].copy_from_slice(&number.to_le_bytes());
            }
            named += templates.notice(&noticed).len();
            if number % 10 == 0 {
                let form = page("often.example", number, Some(("https://often.example/", true)));
                named += templates.notice(&form).len();
            }
        }
        assert_eq!(named, 1, "the form and nothing else");
        assert!(templates.sites.sets.iter().all(|set| set.len() <= WAYS));
        assert!(templates.clusters.sets.iter().all(|set| set.len() <= WAYS));
    }

    #[test]
    fn the_command_is_safe_to_paste() {
        assert_eq!(command("a-1.example"), "leitong boilerplate site --config FILE a-1.example");
        for name in ["$(x)", "a;b", "-x", "it's", "例子.测试", "[::1]", "a b\n"] {
            let command = command(name);
            let quoted = command.strip_prefix("leitong boilerplate site --config FILE -- ").expect("quoted");
            let output =
                std::process::Command::new("sh").args(["-c", &format!("printf %s {quoted}")]).output();
            assert_eq!(output.expect("sh starts").stdout, name.as_bytes(), "{command}");
        }
        assert!(is_of_site("http://A.example:80/x", "a.EXAMPLE") && !is_of_site("urn:x", "x"));
    }

    #[test]
    fn the_site_is_the_host_without_user_and_port() {
        for (url, expected) in [
            ("https://a.example/1?x#y", Some("a.example")),
            ("http://u:p@A.example:80", Some("A.example")),
            ("http://[::1]:80/", Some("[::1]:80")),
            ("urn:isbn:1", None),
            ("http:///x", None),
        ] {
            assert_eq!(site(url), expected, "{url}");
        }
        assert_eq!(hash("A.example"), hash("a.example"));
    }
}
