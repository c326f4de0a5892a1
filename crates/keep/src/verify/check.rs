//! The result of verifying a document, and counts of results.

use serde::{Deserialize, Serialize};

use super::words::SplitText;
use leitong_base::terminal;

/// Maximum number of characters of a passage that is reported.
const SHOWN_CHARS_MAX: usize = 300;

/// The outcome for a document that would be dropped: it is dropped, or kept for a reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finding {
    /// The document is dropped: a kept document contains it.
    Contained,
    /// The document is kept: too much of its text would be lost.
    TextLost,
    /// The document is kept: its facts, such as numbers or names, differ from those of the kept documents.
    FactsDiffer,
    /// The document is kept: its text or the text of the kept document is not available.
    #[default]
    NotVerified,
}

impl Finding {
    /// Returns the name of the finding, as in JSON.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Contained => "contained",
            Self::TextLost => "text_lost",
            Self::FactsDiffer => "facts_differ",
            Self::NotVerified => "not_verified",
        }
    }
}

/// The result of verifying a document. By default, the document could not be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Check {
    /// The finding.
    pub finding: Finding,
    /// The share of the text in passages that the kept document lacks.
    pub lost_share: f64,
    /// The number of letters in the longest passage that is not in the kept document.
    pub lost_letters: u32,
    /// The longest passage that is not in the kept document, normalised; cut if it is long.
    pub lost_passage: String,
    /// The fact of the document and that of the kept document, if facts differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// The url of the kept document that was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_url: Option<String>,
}

impl Check {
    /// Returns the check of a document with the same text as this kept one.
    pub(super) fn contained(kept: &SplitText) -> Self {
        Self { finding: Finding::Contained, kept_url: kept.known_url(), ..Self::default() }
    }

    /// Returns true if the document is kept because of this check.
    #[must_use]
    pub(crate) fn keeps(&self) -> bool {
        self.finding != Finding::Contained
    }
}

/// Returns the text on one line, and cut if it is long.
pub(crate) fn shortened(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(SHOWN_CHARS_MAX) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Counts of verified documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Number of documents that were compared before they were dropped.
    pub dropped: u64,
    /// Number of documents that are kept because text would be lost.
    pub text_lost: u64,
    /// Number of documents that are kept because facts differ.
    pub facts_differ: u64,
    /// Number of documents that are kept because they could not be verified.
    pub not_verified: u64,
}

impl Counts {
    /// Counts a finding.
    pub(crate) fn count(&mut self, finding: Finding) {
        *match finding {
            Finding::Contained => &mut self.dropped,
            Finding::TextLost => &mut self.text_lost,
            Finding::FactsDiffer => &mut self.facts_differ,
            Finding::NotVerified => &mut self.not_verified,
        } += 1;
    }

    /// Reports the counts. The stored texts took `stored` bytes.
    pub(crate) fn note(&self, stored: u64) {
        let Self { dropped, text_lost, facts_differ, not_verified } = self;
        terminal::note(format_args!(
            "verified: {dropped} documents are dropped and {} kept: {text_lost} because text would be lost, \
             {facts_differ} because facts differ, {not_verified} because they could not be compared (texts took \
             {:.1} MB on disk)",
            text_lost + facts_differ + not_verified,
            stored as f64 / 1e6
        ));
        if *not_verified > 0 {
            terminal::note(
                "documents cannot be compared if a run without --verify stored the kept document of their \
                 cluster",
            );
        }
    }
}
