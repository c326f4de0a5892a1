//! The documents themselves, beside the verdicts on them: those that stay, in the form in which
//! they came and in their order, those that go with the cluster they belong to, and the clusters.
//!
//! In: conclusions in the order of the source ([`KeepSink`]). Out: files of documents ([`Copier`])
//! and of clusters ([`clusters`]). Nothing of a document is held meanwhile: its input is read once
//! more ([`Originals`](crate::source::originals)), and copied record by record.
//!
//! ```text
//!                    first of each cluster                  any other preference
//!  verdicts ──┬──► decisions through a channel ─► copier   decisions into a spool, then
//!             │        while the run goes on               rank ─► copier, when it is over
//!             └──► clusters: members in the spool
//! ```
//!
//! In WARC files a document that goes may leave a [revisit record](revisit).

pub mod annotate;
pub mod clusters;
pub mod copy;
pub mod forms;
pub mod output;
pub mod parts;
pub mod prefer;
pub mod referents;
pub mod report;
pub mod revisit;
pub mod sink;
pub mod spool;
pub mod table_file;

use serde::{Deserialize, Serialize};

use crate::record::timestamp::Timestamp;
use crate::verdict::{Kind, Verdict};

pub use copy::{Copied, Copier};
pub use prefer::Prefer;
pub use sink::KeepSink;

/// What of a verdict decides whether its document stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Which of the inputs holds the document, from 0.
    pub input: usize,
    /// The number of its record there.
    pub number: u64,
    /// The verdict.
    pub kind: Kind,
    /// The page's id.
    pub page_id: String,
    /// The page's url.
    pub url: String,
    /// The cluster's name, as in verdicts; none for undecidable pages.
    pub cluster_id: Option<String>,
    /// Where the cluster's founder stands in the log, which tells this run's clusters apart.
    pub founded: u64,
    /// The page that founded the cluster.
    pub canonical_page_id: Option<String>,
    /// Its url.
    pub canonical_url: Option<String>,
    /// Characters of the main text without white space.
    pub text_chars: u32,
    /// When the page was fetched, in milliseconds of the Unix epoch.
    pub fetched_at_ms: Option<i64>,
    /// When the page says it was published: the first moment that this may mean.
    pub published_at_ms: Option<i64>,
}

impl Decision {
    fn of(verdict: &Verdict, input: usize, number: u64) -> Self {
        let published_at = verdict.credits.as_ref().and_then(|credits| credits.published_at);
        Self {
            input,
            number,
            kind: verdict.kind,
            page_id: verdict.page_id.clone(),
            url: verdict.url.clone(),
            cluster_id: verdict.cluster_id.map(|id| id.to_string()),
            founded: verdict.cluster_id.map_or(0, |id| id.log_offset),
            canonical_page_id: verdict.canonical_page_id.clone(),
            canonical_url: verdict.canonical_url.clone(),
            text_chars: verdict.text_chars.unwrap_or(0),
            fetched_at_ms: verdict.fetched_at.map(Timestamp::as_ms),
            published_at_ms: published_at.map(|time| time.earliest_ms()),
        }
    }
}
