//! The headers of a verdict's message, by which consumers can filter without parsing values.
//!
//! `docs/asyncapi.yaml` describes them, and a test compares it with this module. Values are UTF-8.

use super::log_origin::{LOG_ORIGIN, LogOrigin};
use leitong_base::proto::FORMAT_VERSION;
use leitong_cluster::verdict::Verdict;

/// `application/json` or `application/protobuf`.
pub const CONTENT_TYPE: &str = "content-type";
/// The verdict's kind.
pub const KIND: &str = "leitong.kind";
/// Tells whether the canonical page is the page itself or an earlier crawl of it: `true` or `false`.
pub(crate) const SAME_URL: &str = "leitong.same.url";
/// Tells whether the page replaces the canonical page of its cluster: `true` or `false`.
pub(crate) const REPLACES: &str = "leitong.replaces";
/// Outcome for a page whose url was crawled before, as `recrawl.outcome` in the value; empty for other pages.
pub(crate) const RECRAWL: &str = "leitong.recrawl";
/// Corpus of the page.
pub(crate) const CORPUS: &str = "leitong.corpus";
/// Page id.
pub(crate) const PAGE_ID: &str = "leitong.page.id";
/// Version of the verdict format. It is raised by changes that an older reader cannot understand.
pub(crate) const VERSION: &str = "leitong.format.version";

/// All names, in the order in which they are written. Headers of a page's message with one of these names are
/// not copied.
pub const NAMES: [&str; 9] =
    [CONTENT_TYPE, KIND, SAME_URL, REPLACES, RECRAWL, CORPUS, PAGE_ID, VERSION, LOG_ORIGIN];

/// Returns the values for a verdict, in the order of [`NAMES`].
#[must_use]
pub fn values(verdict: &Verdict, content_type: &str) -> [String; 9] {
    let origin = LogOrigin { partition: verdict.log_partition, offset: verdict.log_offset };
    [
        content_type.to_owned(),
        verdict.kind.as_str().to_owned(),
        verdict.same_url.to_string(),
        verdict.replaces_page_id.is_some().to_string(),
        verdict.recrawl.as_ref().map_or("", |recrawl| recrawl.outcome.as_str()).to_owned(),
        verdict.corpus.clone(),
        verdict.page_id.clone(),
        FORMAT_VERSION.to_string(),
        origin.to_string(),
    ]
}
