//! Reads a saved table for one page or one cluster at a time, while another process may use the table.
//!
//! It takes no lock and writes nothing: it sees the table as it was last saved. Each look-up reads the table from its
//! start (a gigabyte takes some seconds), and holds one cluster in memory, 16 bytes a page. Verdicts come from those
//! that `serve` keeps next to the table, and from files that `dedup` wrote.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::api::NamedFields;
use crate::error::Error;
use leitong_base::error::{Context, StepError};
use leitong_base::proto;
use leitong_base::record::Timestamp;
use leitong_cluster::ClusterId;
use leitong_store::snapshot::TableDir;

/// Limit on the members of a cluster that are shown.
pub(crate) const MEMBERS_MAX: usize = 100;
/// Limit on the bytes of a verdict's line. Longer lines are ignored.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// The places of a table and of verdicts.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// Folder of the table.
    pub table: PathBuf,
    /// Files of verdicts, one per line.
    pub verdicts: Vec<PathBuf>,
}

/// The target of a look-up.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// A page, by its id or url.
    Page(&'a str),
    /// A cluster.
    Cluster(ClusterId),
}

impl Wanted<'_> {
    /// Returns the cluster of this id, if the id is valid: 32 hexadecimal digits.
    #[must_use]
    pub fn cluster(id: &str) -> Option<Self> {
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(id, 16).ok().filter(|_| is_id)?;
        Some(Self::Cluster(ClusterId::from_bytes(number.to_be_bytes())))
    }
}

/// A cluster of the table, and its canonical page.
#[derive(Debug, Clone, PartialEq)]
pub struct Canonical {
    /// Id of the cluster.
    pub cluster_id: String,
    /// Id of the canonical page.
    pub page_id: String,
    /// Url of the canonical page.
    pub url: String,
    /// Id of the page that founded the cluster, if it is not the canonical page.
    pub founder: Option<String>,
    /// Corpus of the cluster.
    pub corpus: String,
    /// Time of the founding.
    pub founded_at: Option<Timestamp>,
    /// The detector of the fingerprint.
    pub detector: String,
    /// Fingerprint of the page that founded the cluster. Later pages are compared with it.
    pub fingerprint: Vec<u8>,
}

/// The result of a look-up.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The last verdict on the page.
    pub verdict: Option<Value>,
    /// Id of the page's cluster, or of the cluster that was looked up.
    pub cluster_id: Option<String>,
    /// The cluster's canonical page.
    pub canonical: Option<Canonical>,
    /// Verdicts on the cluster's duplicates, the youngest first, at most [`MEMBERS_MAX`].
    pub members: Vec<Value>,
    /// Number of the cluster's known duplicates.
    pub members_known: usize,
    /// Number of centroids in the table.
    pub centroids: u64,
    /// Time when the table was saved.
    pub saved_at: Option<Timestamp>,
    /// Bytes of the journal, with pages that are newer than the saved table.
    pub journal_bytes: u64,
}

/// The duplicates in a cluster, from the verdicts on all pages in order: each page once, without those that have left.
struct Members {
    cluster: String,
    /// Number of the last verdict on each duplicate, by the hash of its url.
    by_url: HashMap<u64, u64>,
    /// The youngest verdicts, by number, at most [`MEMBERS_MAX`].
    youngest: BTreeMap<u64, Value>,
    verdicts: u64,
}

impl Members {
    fn new(cluster: String) -> Self {
        Self { cluster, by_url: HashMap::new(), youngest: BTreeMap::new(), verdicts: 0 }
    }

    /// Takes the next verdict.
    fn take(&mut self, named: &NamedFields, json: &[u8]) {
        self.verdicts += 1;
        let is_here = |cluster: &Option<String>| cluster.as_ref() == Some(&self.cluster);
        let joins = is_here(&named.cluster_id) && named.kind.ends_with("_DUPLICATE");
        let leaves = named.recrawl.as_ref().is_some_and(|recrawl| is_here(&recrawl.left_cluster_id));
        if !joins && !leaves {
            return;
        }
        let url = xxh3_64(named.url.as_bytes());
        if let Some(former) = self.by_url.remove(&url) {
            self.youngest.remove(&former);
        }
        if joins && let Ok(verdict) = serde_json::from_slice(json) {
            self.by_url.insert(url, self.verdicts);
            self.youngest.insert(self.verdicts, verdict);
            if self.youngest.len() > MEMBERS_MAX {
                self.youngest.pop_first();
            }
        }
    }
}

impl Saved {
    /// Looks up a page or a cluster.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is damaged, or if there is no table.
    pub fn look_up(&self, wanted: Wanted<'_>) -> Result<Found, Error> {
        let companions = TableDir::companion_files(&self.table)?;
        let mut found = Found {
            saved_at: companions.saved_at.and_then(|time| {
                let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
                Timestamp::from_ms(i64::try_from(since.as_millis()).ok()?)
            }),
            journal_bytes: companions.journal_bytes,
            ..Found::default()
        };
        match wanted {
            Wanted::Cluster(id) => found.cluster_id = Some(id.to_string()),
            Wanted::Page(page) => self.each_verdict(&companions.verdicts, |named, json| {
                if &*named.page_id == page || named.url == page {
                    found.cluster_id.clone_from(&named.cluster_id);
                    found.verdict = serde_json::from_slice(json).ok();
                }
            })?,
        }
        self.find_centroid(wanted, &mut found)?;
        let Some(cluster) = found.cluster_id.clone() else { return Ok(found) };
        let mut members = Members::new(cluster);
        self.each_verdict(&companions.verdicts, |named, json| members.take(named, json))?;
        found.members_known = members.by_url.len();
        found.members = members.youngest.into_values().rev().collect();
        Ok(found)
    }

    /// Finds the centroid of the cluster, or of the page if it founded one.
    fn find_centroid(&self, wanted: Wanted<'_>, found: &mut Found) -> Result<(), Error> {
        let position = TableDir::inspect(&self.table, |position, centroid| {
            found.centroids += 1;
            let id = ClusterId::in_table(position, centroid.log_offset).to_string();
            let is_it = match (&found.cluster_id, wanted) {
                (Some(cluster), _) => *cluster == id,
                (None, Wanted::Page(page)) => names(&centroid).any(|name| name == page),
                (None, Wanted::Cluster(_)) => false,
            };
            if is_it {
                found.canonical = Some(canonical(id, &centroid));
            }
        })?;
        position.with_context(|| {
            format!(
                "{}: no table was saved yet; `leitong dedup --table` and `leitong serve` create one",
                self.table.display()
            )
        })?;
        if let Some(canonical) = &found.canonical {
            found.cluster_id = Some(canonical.cluster_id.clone());
        }
        Ok(())
    }

    /// Calls `take` with each verdict, the oldest first.
    fn each_verdict(
        &self,
        kept: &[Box<[u8]>],
        mut take: impl FnMut(&NamedFields, &[u8]),
    ) -> Result<(), StepError> {
        let mut offer = |json: &[u8]| {
            if let Ok(named) = serde_json::from_slice::<NamedFields>(json) {
                take(&named, json);
            }
        };
        for path in &self.verdicts {
            let read = || format!("cannot read {}", path.display());
            let mut reader = BufReader::with_capacity(1 << 18, File::open(path).with_context(read)?);
            let mut line = Vec::new();
            loop {
                line.clear();
                let bytes =
                    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).with_context(read)?;
                if bytes == 0 {
                    break;
                }
                offer(&line);
            }
        }
        kept.iter().for_each(|json| offer(json));
        Ok(())
    }
}

/// Returns the ids and urls of the page that founded a cluster and of its canonical page.
fn names(centroid: &proto::Centroid) -> impl Iterator<Item = &str> {
    let canonical = [&centroid.canonical_page_id, &centroid.canonical_url];
    let canonical = canonical.into_iter().filter_map(Option::as_deref);
    [&*centroid.page_id, &*centroid.url].into_iter().chain(canonical)
}

fn canonical(cluster_id: String, centroid: &proto::Centroid) -> Canonical {
    let fingerprint = centroid.fingerprint.clone().unwrap_or_default();
    let (founder, url) = (&centroid.page_id, &centroid.url);
    let page_id = centroid.canonical_page_id.as_ref().unwrap_or(founder);
    Canonical {
        cluster_id,
        page_id: page_id.clone(),
        url: centroid.canonical_url.as_ref().unwrap_or(url).clone(),
        founder: Some(founder.clone()).filter(|founder| founder != page_id),
        corpus: centroid.corpus.clone(),
        founded_at: centroid.log_time_ms.and_then(Timestamp::from_ms),
        detector: fingerprint.detector,
        fingerprint: fingerprint.data.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A page that was withdrawn, or whose new text is elsewhere, stayed a member, and one crawled twice was two.
    #[test]
    fn members_are_pages_that_have_not_left() {
        let mut members = Members::new("c".to_owned());
        let mut take = |page: &str, kind: &str, cluster: &str, left: Option<&str>| {
            let verdict = json!({"page_id": page, "url": page, "kind": kind, "cluster_id": cluster,
                "recrawl": left.map(|left| json!({"left_cluster_id": left}))});
            let bytes = serde_json::to_vec(&verdict).expect("JSON");
            members.take(&serde_json::from_slice(&bytes).expect("a verdict"), &bytes);
        };
        take("founder", "UNIQUE", "c", None);
        for page in ["withdrawn", "moved", "twice", "back", "twice"] {
            take(page, "NEAR_DUPLICATE", "c", None);
        }
        take("elsewhere", "NEAR_DUPLICATE", "d", None);
        take("withdrawn", "UNDECIDABLE", "", Some("c"));
        take("moved", "EXACT_DUPLICATE", "d", Some("c"));
        take("back", "UNIQUE", "e", Some("c"));
        take("back", "NEAR_DUPLICATE", "c", Some("e"));
        let pages: Vec<&Value> = members.youngest.values().map(|verdict| &verdict["page_id"]).collect();
        assert_eq!(pages, ["twice", "back"]);
        assert_eq!(members.by_url.len(), 2);
    }
}
