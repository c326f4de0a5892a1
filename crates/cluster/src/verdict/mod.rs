//! The [`Verdict`]: what Leitong decides about a page, as one JSON line or one message on the verdict topic.
//!
//! In: a record of the fingerprint log and the clustering's [`Decision`](crate::Decision). Out: the
//! verdict. All fields are always present, and null if they do not apply; readers need no special cases. Ids,
//! hashes and fingerprints are strings, because JavaScript loses bits of 64-bit integers.

mod conclusion;
mod judge;
mod message;
mod recrawl;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::ClusterId;
use leitong_base::record::{Carried, Metadata, Place, Reason, Timestamp};

pub use conclusion::Conclusion;
pub use judge::Judge;
use leitong_fingerprint::relation::Relation;
use leitong_fingerprint::{Shares, to_display};
pub use recrawl::LeftCluster;
use recrawl::RecrawlNote;

leitong_base::named! {
    /// The classification of a page.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum Kind {
        /// The page founds a new cluster.
        #[default]
        Unique = "UNIQUE",
        /// The text equals the centroid's text, apart from white space and the width of characters.
        ExactDuplicate = "EXACT_DUPLICATE",
        /// The detector considers the text near to the centroid's text, or the text equals that of another page of
        /// the cluster.
        NearDuplicate = "NEAR_DUPLICATE",
        /// There is nothing to compare; see [`Verdict::reason`].
        Undecidable = "UNDECIDABLE",
    }
}

/// The verdict on one page. `proto/leitong/v1/verdict.proto` describes its binary form.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The id of the page.
    pub page_id: String,
    /// The url of the page.
    pub url: String,
    /// The corpus of the page. Pages from different corpora are never compared.
    pub corpus: String,
    /// The classification of the page.
    pub kind: Kind,
    /// The reason why the page is undecidable. Null for all other kinds.
    pub reason: Option<Reason>,
    /// The cluster that the page founds or joins. Null if it is undecidable.
    pub cluster_id: Option<ClusterId>,
    /// The page id of the cluster's canonical page. That is the page that founded the cluster, unless another
    /// page replaced it because of `canonical.prefer`. For [`Kind::Unique`], it is the page itself.
    pub canonical_page_id: Option<String>,
    /// The url of the canonical page.
    pub canonical_url: Option<String>,
    /// True if the canonical page has the same page id or url. Never delete a page because of such a verdict.
    pub same_url: bool,
    /// The detector that decided.
    pub detector: &'static str,
    /// Distance to the centroid, in the detector's unit. Null if there was no centroid to compare with.
    pub distance: Option<Number>,
    /// Similarity to the centroid, 0 to 1. Null if there was no centroid to compare with.
    pub similarity: Option<Number>,
    /// Relation of the page's text to the text of the canonical page or, for a unique page, of the related
    /// page. Null if there is no such page, or the detector cannot tell.
    pub relation: Option<Relation>,
    /// Share of the page's text that also occurs in the other page, 0 to 1, estimated from the fingerprints.
    pub share: Option<Number>,
    /// Share of the other page's text that also occurs in this page, 0 to 1.
    pub canonical_share: Option<Number>,
    /// Page id of the related page. Only for a unique page: a canonical page that shares passages with it, or
    /// is another page of the same article, but is not its duplicate.
    pub related_page_id: Option<String>,
    /// The url of the related page.
    pub related_url: Option<String>,
    /// Page id of the canonical page that this page replaces. Null if it replaces none. From now on, this
    /// page is the canonical page of the cluster.
    pub replaces_page_id: Option<String>,
    /// The url of the replaced page.
    pub replaces_url: Option<String>,
    /// Changes since the last crawl. Null if the url was not crawled before, or if earlier crawls are not
    /// recognised.
    pub recrawl: Option<Box<RecrawlNote>>,
    /// The main part of the fingerprint, in hex.
    pub fingerprint: Option<String>,
    /// Digest of the main text without white space and with characters in their usual width, in hex.
    pub text_digest: Option<String>,
    /// Number of characters in the main text, without white space.
    pub text_chars: Option<u32>,
    /// The place where the page was read.
    pub source: Place,
    /// The partition of the fingerprint log.
    pub log_partition: u32,
    /// The offset of the record in the partition.
    pub log_offset: u64,
    /// The time at which the page was fetched.
    pub fetched_at: Option<Timestamp>,
    /// Publisher, authors, date and so on as the page states them, unverified.
    pub metadata: Option<Box<Metadata>>,
    /// The time of the decision, by the clock of the deciding machine.
    pub decided_at: Timestamp,
    /// Hash of the settings that apply before the log.
    #[serde(serialize_with = "hex64")]
    pub fingerprint_hash: u64,
    /// Hash of the settings that apply after the log.
    #[serde(serialize_with = "hex64")]
    pub cluster_hash: u64,
    /// Details of the comparison, depending on the detector.
    pub evidence: Option<serde_json::Map<String, serde_json::Value>>,
    /// The crawler's own JSON, returned unchanged.
    pub passthrough: Option<Box<RawValue>>,
    /// Key and headers that the verdict's message takes over from the page's message. They are not part of the
    /// verdict.
    #[serde(skip)]
    pub carried: Option<Box<Carried>>,
}

/// A number that is written in its shortest form: `7`, not `7.0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            #[expect(clippy::cast_possible_truncation, reason = "whole and small")]
            return serializer.serialize_i64(self.0 as i64);
        }
        serializer.serialize_f64(self.0)
    }
}

/// Returns both shares as verdicts show them.
fn to_numbers(shares: Option<Shares>) -> (Option<Number>, Option<Number>) {
    shares.map(|Shares { of_a, of_b }| (Number(to_display(of_a)), Number(to_display(of_b)))).unzip()
}

fn hex64<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:016x}"))
}
