//! What Leitong says of a page: [`Verdict`], one JSON line or one message on the verdict topic.
//!
//! In: a record of the fingerprint log and the clustering's [`Decision`](crate::cluster::Decision).
//! Out: the verdict, with all fields always present (null where there is nothing to say), so that
//! readers need no special cases. Ids, hashes and fingerprints are strings, since JavaScript loses
//! bits of 64-bit integers.

mod conclusion;
mod judge;
mod message;
mod recrawl;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::cluster::ClusterId;
use crate::record::timestamp::Timestamp;
use crate::record::{Carried, Credits, Place, Reason};

pub use crate::fingerprint::relation::Relation;
pub use conclusion::Conclusion;
pub use judge::Judge;
pub use recrawl::{LeftCluster, RecrawlNote};

/// What a verdict says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Kind {
    /// Founds a cluster.
    Unique,
    /// The text is the centroid's text, but for white space.
    ExactDuplicate,
    /// The detector finds the text near the centroid's text.
    NearDuplicate,
    /// Nothing to compare: see the reason.
    Undecidable,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Unique, Self::ExactDuplicate, Self::NearDuplicate, Self::Undecidable];

    /// The name as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unique => "UNIQUE",
            Self::ExactDuplicate => "EXACT_DUPLICATE",
            Self::NearDuplicate => "NEAR_DUPLICATE",
            Self::Undecidable => "UNDECIDABLE",
        }
    }
}

/// The verdict on one page; see `proto/leitong/v1/verdict.proto` for its binary form.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The page's id.
    pub page_id: String,
    /// The page's url.
    pub url: String,
    /// Pages of different corpora never meet.
    pub corpus: String,
    /// What is said of the page.
    pub kind: Kind,
    /// Why it is undecidable; null for all other kinds.
    pub reason: Option<Reason>,
    /// The cluster that the page founds or joins.
    pub cluster_id: Option<ClusterId>,
    /// The page that stands for the cluster: the page that founded it, unless `canonical.prefer` has
    /// had another one take its place; the page itself for [`Kind::Unique`].
    pub canonical_page_id: Option<String>,
    /// Its url.
    pub canonical_url: Option<String>,
    /// The canonical page has the same page id or url: never delete on such a verdict.
    pub same_url: bool,
    /// The detector that decided.
    pub detector: &'static str,
    /// To the centroid, in the detector's unit; null where there was no centroid to compare with.
    pub distance: Option<Number>,
    /// To the centroid, 0 to 1.
    pub similarity: Option<Number>,
    /// How the page's text relates to the canonical one's, or that of a unique page to the related
    /// one's; null where there is none, or the detector cannot tell.
    pub relation: Option<Relation>,
    /// Share of the page's text that stands in the other one, 0 to 1, as the fingerprints tell.
    pub share: Option<Number>,
    /// Share of the other text that stands in the page, 0 to 1.
    pub canonical_share: Option<Number>,
    /// Of a unique page: the canonical page that it is no duplicate of and yet has passages in
    /// common with, or is a page of the same article with.
    pub related_page_id: Option<String>,
    /// Its url.
    pub related_url: Option<String>,
    /// Of a page that takes the place of the canonical page of its cluster: the page that was
    /// canonical until now. What was said of it as such is said of this page from here on.
    pub replaces_page_id: Option<String>,
    /// Its url.
    pub replaces_url: Option<String>,
    /// What is said of a page whose url was crawled before; null for others, and where pages are
    /// not known again.
    pub recrawl: Option<Box<RecrawlNote>>,
    /// The fingerprint's main part, in hex.
    pub fingerprint: Option<String>,
    /// XXH3-128 of the main text without white space, in hex.
    pub text_digest: Option<String>,
    /// Characters of the main text without white space.
    pub text_chars: Option<u32>,
    /// Where the page was read.
    pub source: Place,
    /// Where its record stands in the fingerprint log.
    pub log_partition: u32,
    /// Where its record stands in the partition.
    pub log_offset: u64,
    /// When the page was fetched.
    pub fetched_at: Option<Timestamp>,
    /// What the page says of its source and of itself; nothing of it is checked.
    pub credits: Option<Box<Credits>>,
    /// When the verdict was reached, by the deciding machine's clock.
    pub decided_at: Timestamp,
    /// Of the settings left of the log.
    #[serde(serialize_with = "hex64")]
    pub fingerprint_hash: u64,
    /// Of the settings right of the log.
    #[serde(serialize_with = "hex64")]
    pub cluster_hash: u64,
    /// What the detector saw in the two pages.
    pub evidence: Option<serde_json::Map<String, serde_json::Value>>,
    /// What the crawler wanted to have back.
    pub passthrough: Option<Box<RawValue>>,
    /// What its message is to have of the page's message; no part of what is said.
    #[serde(skip)]
    pub carried: Option<Box<Carried>>,
}

/// A number that is written as shortly as possible: `7`, not `7.0`.
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

fn hex64<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{value:016x}"))
}
