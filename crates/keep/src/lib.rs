//! Writes what a run keeps: verdicts and dead letters ([`sink`]), and the documents themselves: kept documents in their
//! original format and order, dropped documents with their cluster, and the clusters.
//!
//! [`Options`] say what is written, and [`Keeping`] does it.
//!
//! In: conclusions (verdicts and dead letters) in the order of the inputs ([`KeepSink`](keep_sink::KeepSink)). Out: files of
//! documents ([`copy`]) and of clusters ([`clusters`]). Documents are not held in memory in the meantime. Instead, the
//! inputs are read again ([`SecondReading`](leitong_formats::SecondReading)), and copied record by record.
//!
//! ```text
//!                    first of each cluster                  any other preference
//!  verdicts ──┬──► decisions through a channel ─► copier   decisions into a spool, then
//!             │        during the run                      rank ─► copier, at the end of the run
//!             └──► clusters: members in the spool
//! ```
//!
//! On request, kept documents are written as [texts] instead.
//! With [`verify`], documents wait for the end of the run as well, and each that would be dropped is compared
//! with the kept documents of its cluster first.
//!
//! Documents with [passages] of a benchmark are dropped before the choice; passages that many documents have are
//! listed.
//!
//! In WARC files, a dropped document may be replaced by a [revisit record](revisit). Outputs in object stores are files
//! until a run is done ([`Uploads`]).

pub(crate) mod accounts;
pub(crate) mod annotate;
mod choose;
pub(crate) mod clusters;
pub(crate) mod copy;
mod decimal;
mod error;
pub(crate) mod fields;
pub(crate) mod forms;
#[cfg(test)]
pub(crate) mod growth;
pub(crate) mod guard;
mod keep_sink;
mod keeping;
mod options;
pub(crate) mod output;
pub(crate) mod parts;
pub(crate) mod passages;
pub(crate) mod prefer;
pub(crate) mod report;
pub(crate) mod revisit;
mod shards;
pub mod sink;
pub(crate) mod sizes;
pub(crate) mod spool;
pub(crate) mod table_file;
pub mod texts;
mod uploads;
pub(crate) mod verify;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

use serde::{Deserialize, Serialize};

use leitong_base::record::{Reason, Timestamp};
use leitong_cluster::verdict::{Kind, Verdict};

pub use error::Error;
pub use fields::Field;
pub use keep_sink::PageTexts;
pub use keeping::Keeping;
pub use options::{Checkpoints, Options, PassageOptions, TableOfRun, TextOptions};
pub use prefer::Prefer;
pub use sizes::TableSizes;
pub use uploads::Uploads;
pub use verify::audit::{AuditOutcome, Audited, AuditedNames, Auditor};
pub use verify::{LostMax, TextCompressor};

/// The version of the format in which the texts of kept documents are stored in the folder of a table.
pub const TEXTS_FORMAT_VERSION: u32 = verify::table_texts::TableTexts::FORMAT_VERSION;

/// The part of a verdict that decides if its document is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Decision {
    /// The index of the document's input, from 0.
    pub(crate) input: usize,
    /// The number of the document's record in that input.
    pub(crate) number: u64,
    /// The kind of the verdict.
    pub(crate) kind: Kind,
    /// The reason why the document is undecidable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Reason>,
    /// The share of a duplicate's text that the canonical page has, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) share: Option<f64>,
    /// The language of the text, if languages are detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) language: Option<String>,
    /// The title, if titles are passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// The page's id.
    pub(crate) page_id: String,
    /// The page's url.
    pub(crate) url: String,
    /// The cluster id, as in verdicts. `None` for undecidable pages.
    pub(crate) cluster_id: Option<String>,
    /// The log offset of the cluster's founder. It identifies the cluster within this run.
    pub(crate) founded: u64,
    /// The id of the page that was canonical when the verdict was given.
    pub(crate) canonical_page_id: Option<String>,
    /// The url of the page that was canonical when the verdict was given.
    pub(crate) canonical_url: Option<String>,
    /// Number of characters in the main text, without white space.
    pub(crate) text_chars: u32,
    /// Time of the fetch, in milliseconds since the Unix epoch.
    pub(crate) fetched_at_ms: Option<i64>,
    /// Time of publication that the page states, in milliseconds since the Unix epoch: the earliest one that fits an
    /// inexact statement.
    pub(crate) published_at_ms: Option<i64>,
    /// The place of the document's normalised text, if texts are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<verify::texts::TextPlace>,
    /// The place of the text that is to be written, if texts are written at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) written: Option<verify::texts::TextPlace>,
    /// The result of verification, if the document was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<Box<verify::Check>>,
    /// How the document differs from the first kept one of its cluster, until all documents were verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compared: Option<Box<verify::Compared>>,
    /// The passage of a benchmark that the document contains, if one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) benchmark: Option<Box<passages::benchmark::SharedPassage>>,
}

impl Decision {
    fn new(verdict: &Verdict, input: usize, number: u64) -> Self {
        let published_at = verdict.metadata.as_ref().and_then(|metadata| metadata.published_at);
        Self {
            input,
            number,
            kind: verdict.kind,
            reason: verdict.reason,
            share: verdict.share.filter(|_| verdict.kind != Kind::Unique).map(|share| share.0),
            page_id: verdict.page_id.clone(),
            url: verdict.url.clone(),
            cluster_id: verdict.cluster_id.map(|id| id.to_string()),
            founded: verdict.cluster_id.map_or(0, |id| id.log_offset),
            canonical_page_id: verdict.canonical_page_id.clone(),
            canonical_url: verdict.canonical_url.clone(),
            text_chars: verdict.text_chars.unwrap_or(0),
            fetched_at_ms: verdict.fetched_at.map(Timestamp::as_ms),
            published_at_ms: published_at.map(|time| time.earliest_ms()),
            ..Self::default()
        }
    }

    /// Returns document `number` of the cluster founded by document `founder`, for tests.
    #[cfg(test)]
    fn of_cluster(number: u64, founder: u64) -> Self {
        Self {
            number,
            kind: if number == founder { Kind::Unique } else { Kind::NearDuplicate },
            page_id: number.to_string(),
            url: format!("http://host/{number}"),
            cluster_id: Some(founder.to_string()),
            founded: founder,
            canonical_page_id: Some(founder.to_string()),
            canonical_url: Some("http://founder/".to_owned()),
            ..Self::default()
        }
    }

    /// Returns true if the document is kept only because verification found that something would be lost.
    fn is_kept_by_verify(&self) -> bool {
        self.check.as_deref().is_some_and(verify::Check::keeps)
    }
}
