//! A saved table, read for one page or one cluster at a time, while another run may use it.
//!
//! No lock is taken and nothing is written: the table is as it was last saved. Each look-up reads
//! it from its beginning, a gigabyte in some seconds, and holds one cluster. Verdicts are those
//! that `serve` keeps beside the table, and those of files that `dedup` wrote.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::ClusterId;
use crate::proto;
use crate::record::timestamp::Timestamp;
use crate::snapshot;

/// Members of a cluster that are shown.
pub const MEMBERS_MAX: usize = 100;
/// Bytes of a line that is a verdict; longer ones are none.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Where tables and verdicts are.
#[derive(Debug, Clone, Default)]
pub struct Saved {
    /// The folder of a table.
    pub table: PathBuf,
    /// Files of verdicts, one a line.
    pub verdicts: Vec<PathBuf>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Wanted<'a> {
    /// A page, by its id or url.
    Page(&'a str),
    /// A cluster.
    Cluster(ClusterId),
}

impl Wanted<'_> {
    /// The cluster of this id, if it is one: 32 hex digits.
    #[must_use]
    pub fn cluster(id: &str) -> Option<Self> {
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(id, 16).ok().filter(|_| is_id)?;
        Some(Self::Cluster(ClusterId::from_bytes(number.to_be_bytes())))
    }
}

/// A cluster of the table, and the page that stands for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Canonical {
    /// The cluster.
    pub cluster_id: String,
    /// The id of the page that stands for it.
    pub page_id: String,
    /// Its url.
    pub url: String,
    /// The id of the page that founded the cluster, where that is another one.
    pub founder: Option<String>,
    /// Their corpus.
    pub corpus: String,
    /// When it came.
    pub founded_at: Option<Timestamp>,
    /// The detector of the fingerprint.
    pub detector: String,
    /// The fingerprint of the page that founded it, which later pages are compared with.
    pub fingerprint: Vec<u8>,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The last verdict on the page.
    pub verdict: Option<Value>,
    /// The cluster of the page, or that was asked for.
    pub cluster_id: Option<String>,
    /// The cluster's canonical page.
    pub canonical: Option<Canonical>,
    /// The verdicts on its duplicates, the youngest first, [`MEMBERS_MAX`] at most.
    pub members: Vec<Value>,
    /// How many there are.
    pub members_known: usize,
    /// Centroids of the table.
    pub centroids: u64,
    /// When the table was saved.
    pub saved_at: Option<Timestamp>,
    /// Bytes of pages that came since.
    pub journal_bytes: u64,
}

/// Of a verdict what says whether it is asked for.
#[derive(Deserialize)]
struct Named {
    page_id: String,
    url: String,
    kind: String,
    cluster_id: Option<String>,
}

impl Saved {
    /// Looks for a page or a cluster.
    ///
    /// # Errors
    /// A file cannot be read, is damaged, or there is no table.
    pub fn look_up(&self, wanted: Wanted<'_>) -> anyhow::Result<Found> {
        let beside = snapshot::beside(&self.table)?;
        let mut found = Found {
            saved_at: beside.saved_at.and_then(|time| {
                let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
                Timestamp::from_ms(i64::try_from(since.as_millis()).ok()?)
            }),
            journal_bytes: beside.journal_bytes,
            ..Found::default()
        };
        match wanted {
            Wanted::Cluster(id) => found.cluster_id = Some(id.to_string()),
            Wanted::Page(page) => self.each_verdict(&beside.verdicts, |named, json| {
                if named.page_id == page || named.url == page {
                    found.cluster_id.clone_from(&named.cluster_id);
                    found.verdict = serde_json::from_slice(json).ok();
                }
            })?,
        }
        self.find_centroid(wanted, &mut found)?;
        let Some(cluster) = found.cluster_id.clone() else { return Ok(found) };
        let mut members = std::collections::VecDeque::new();
        self.each_verdict(&beside.verdicts, |named, json| {
            let is_member = named.cluster_id.as_ref() == Some(&cluster) && named.kind.ends_with("_DUPLICATE");
            if is_member && let Ok(verdict) = serde_json::from_slice::<Value>(json) {
                found.members_known += 1;
                members.push_front(verdict);
                members.truncate(MEMBERS_MAX);
            }
        })?;
        found.members = members.into();
        Ok(found)
    }

    /// The centroid of the cluster; or of the page, if it founded one.
    fn find_centroid(&self, wanted: Wanted<'_>, found: &mut Found) -> anyhow::Result<()> {
        let position = snapshot::inspect(&self.table, |position, centroid| {
            found.centroids += 1;
            let id = cluster_id(position, &centroid).to_string();
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
                "{}: there is no saved table yet; `dedup --table` and `serve` write one",
                self.table.display()
            )
        })?;
        if let Some(canonical) = &found.canonical {
            found.cluster_id = Some(canonical.cluster_id.clone());
        }
        Ok(())
    }

    /// Calls `take` with each verdict, the oldest first.
    fn each_verdict(&self, kept: &[Box<[u8]>], mut take: impl FnMut(&Named, &[u8])) -> anyhow::Result<()> {
        let mut offer = |json: &[u8]| {
            if let Ok(named) = serde_json::from_slice::<Named>(json) {
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

fn cluster_id(position: &proto::Position, centroid: &proto::Centroid) -> ClusterId {
    ClusterId {
        log_generation: position.log_generation,
        log_partition: position.log_partition,
        log_offset: centroid.log_offset,
    }
}

/// The ids and urls of the page that founded a cluster and of the one that stands for it.
fn names(centroid: &proto::Centroid) -> impl Iterator<Item = &str> {
    let stands = [&centroid.canonical_page_id, &centroid.canonical_url];
    let stands = stands.into_iter().filter_map(Option::as_deref);
    [&*centroid.page_id, &*centroid.url].into_iter().chain(stands)
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
