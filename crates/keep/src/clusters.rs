//! Writes the clusters of a run, one JSON line each.

use serde::Serialize;

use super::prefer::Choice;
use super::spool::Spooled;
use crate::error::{Context, Result};
use crate::sink::whole_lines::WholeLines;
use leitong_base::record::Timestamp;
use leitong_cluster::verdict::Kind;
use leitong_text::page::host;

/// Context of errors in writing.
const CANNOT_WRITE: &str = "cannot write clusters";

/// The start of a cluster's line. The members follow.
#[derive(Debug, Serialize)]
struct Cluster<'a> {
    cluster_id: &'a str,
    /// The page id of the cluster's canonical document.
    canonical_page_id: Option<&'a str>,
    /// Number of the cluster's pages in this run.
    size: usize,
}

#[derive(Debug, Serialize)]
struct Member<'a> {
    page_id: &'a str,
    url: &'a str,
    host: String,
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'a str>,
    fetched_at: Option<String>,
    /// The time of publication that the page states.
    published_at: Option<String>,
    kind: Kind,
    /// The share of a duplicate's text that the canonical page has.
    share: Option<f64>,
    kept: bool,
    /// Present and true if the page is kept only because of `--verify`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    kept_by_verify: bool,
}

/// Formats a time.
fn time(ms: Option<i64>) -> Option<String> {
    ms.and_then(Timestamp::from_ms).map(|time| time.to_string())
}

impl Choice {
    /// Writes the clusters of the decisions in `spooled`, in the order in which they were founded. Each line
    /// lists the pages of a cluster in their order. Returns the number of clusters. Memory: 24 bytes per
    /// page, and one decision.
    ///
    /// # Errors
    /// The decisions cannot be read, or the clusters cannot be written.
    pub(crate) fn write_clusters(&self, spooled: &mut Spooled, lines: &mut WholeLines) -> Result<u64> {
        let mut members: Vec<(u64, u64, u64)> = Vec::new();
        let mut ordinal = 0;
        spooled.each(|at, decision| {
            if decision.cluster_id.is_some() {
                members.push((decision.founded, ordinal, at));
            }
            ordinal += 1;
            Ok(())
        })?;
        members.sort_unstable();
        let mut clusters = 0;
        for cluster in members.chunk_by(|a, b| a.0 == b.0) {
            for (number, (_, ordinal, at)) in cluster.iter().enumerate() {
                let decision = spooled.at(*at).context("cannot read decisions again")?;
                if number == 0 {
                    let head = Cluster {
                        cluster_id: decision.cluster_id.as_deref().unwrap_or_default(),
                        canonical_page_id: self.canonical(&decision),
                        size: cluster.len(),
                    };
                    let head = serde_json::to_string(&head)?;
                    lines.push_text(head.trim_end_matches('}')).context(CANNOT_WRITE)?;
                    lines.push_text(",\"members\":[").context(CANNOT_WRITE)?;
                }
                let member = Member {
                    page_id: &decision.page_id,
                    url: &decision.url,
                    host: host(&decision.url),
                    title: decision.title.as_deref(),
                    language: decision.language.as_deref(),
                    fetched_at: time(decision.fetched_at_ms),
                    published_at: time(decision.published_at_ms),
                    kind: decision.kind,
                    share: decision.share,
                    kept: self.keeps(*ordinal, &decision),
                    kept_by_verify: decision.is_kept_by_verify(),
                };
                lines.push_text(if number == 0 { "" } else { "," }).context(CANNOT_WRITE)?;
                lines.push_text(&serde_json::to_string(&member)?).context(CANNOT_WRITE)?;
            }
            lines.push_text("]}\n").context(CANNOT_WRITE)?;
            clusters += 1;
        }
        lines.flush().context(CANNOT_WRITE)?;
        Ok(clusters)
    }
}
