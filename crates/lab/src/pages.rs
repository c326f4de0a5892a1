//! The pages of an evaluation: documents, with labels if they have any.

use std::collections::HashSet;

use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_128;

use leitong_base::random::Random;
use leitong_text::extract::Document;

/// Maximum number of texts from which text is taken to perturb other texts (paper 002 uses 50).
const OTHER_TEXTS: usize = 50;
/// Minimum length of a main text that is perturbed, in characters. 1 % of it is then at least a few
/// characters.
const TEXT_CHARS_MIN: usize = 300;

/// A page of an evaluation.
#[derive(Debug)]
pub(crate) struct EvalPage {
    /// The page's id.
    pub id: String,
    /// The page's main text.
    pub document: Document,
    /// The page's label, if it has one.
    pub label: Option<Label>,
}

/// The known origin of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// Name of the page's cluster. Pages in one cluster have the same origin.
    pub(crate) cluster: String,
    /// Expected verdict.
    pub(crate) kind: LabelKind,
}

/// The verdict that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LabelKind {
    /// The page is the first one of its cluster.
    New,
    /// The page is a near-duplicate of an earlier page of its cluster.
    Dup,
    /// The page is not scored.
    Ambiguous,
}

impl Label {
    /// Reads the label from the JSON line of a page, from the fields `cluster` and `label`.
    pub(crate) fn from_line(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Fields {
            cluster: String,
            label: LabelKind,
        }
        let Fields { cluster, label } = serde_json::from_slice(line).ok()?;
        Some(Self { cluster, kind: label })
    }
}

/// Returns true if every page has a label.
pub(crate) fn are_labelled(pages: &[EvalPage]) -> bool {
    !pages.is_empty() && pages.iter().all(|page| page.label.is_some())
}

/// Returns the numbers of pages that are unrelated as far as is known: the first page of each cluster, or,
/// without labels, the first page with each text.
pub(crate) fn founders(pages: &[EvalPage]) -> Vec<usize> {
    let (mut clusters, mut texts) = (HashSet::new(), HashSet::new());
    let mut is_first = |page: &EvalPage| match &page.label {
        Some(label) => clusters.insert(label.cluster.clone()),
        None => texts.insert(letters_digest(&page.document.text())),
    };
    (0..pages.len()).filter(|at| is_first(&pages[*at])).collect()
}

/// Returns a digest of the letters and digits of a text.
fn letters_digest(text: &str) -> u128 {
    xxh3_128(text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().as_bytes())
}

/// Returns each near-duplicate with the first page of its cluster.
pub(crate) fn labelled_pairs(pages: &[EvalPage]) -> Vec<(usize, usize)> {
    let mut first = std::collections::HashMap::new();
    let mut pairs = Vec::new();
    for (at, page) in pages.iter().enumerate() {
        let Some(label) = &page.label else { continue };
        let founder = *first.entry(&label.cluster).or_insert(at);
        if label.kind == LabelKind::Dup && founder != at {
            pairs.push((founder, at));
        }
    }
    pairs
}

/// Pages drawn for perturbation.
pub(crate) struct Sample {
    /// Numbers of the pages to be perturbed.
    pub texts: Vec<usize>,
    /// Texts of other pages, from which text is taken.
    pub others: Vec<String>,
}

impl Sample {
    /// Draws at most `texts` of the `unrelated` pages to be perturbed, and other pages to take text from.
    /// These other pages are at most half of the drawn pages.
    pub(crate) fn draw(pages: &[EvalPage], unrelated: &[usize], texts: usize, seed: u64) -> Self {
        let mut order = unrelated.to_vec();
        Random::new(seed, u64::MAX).shuffle(&mut order);
        let is_long = |at: &usize| pages[*at].document.text().chars().count() >= TEXT_CHARS_MIN;
        let mut drawn: Vec<usize> = order.into_iter().filter(is_long).take(texts + OTHER_TEXTS).collect();
        let others = drawn.split_off(drawn.len() - OTHER_TEXTS.min(drawn.len() / 2));
        drawn.truncate(texts);
        Self { texts: drawn, others: others.into_iter().map(|at| pages[at].document.text()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_and_pairs_found() {
        let label = |kind: &str| {
            Label::from_line(format!("{{\"id\":1,\"cluster\":\"c\",\"label\":\"{kind}\"}}").as_bytes())
        };
        assert_eq!(label("dup").map(|label| label.kind), Some(LabelKind::Dup));
        assert_eq!(label("what"), None);
        assert_eq!(Label::from_line(b"{\"id\":1}"), None);
        let page =
            |kind: &str| EvalPage { id: String::new(), document: Document::default(), label: label(kind) };
        let pages = [page("new"), page("dup"), page("ambiguous"), page("dup")];
        assert!(are_labelled(&pages));
        assert_eq!(founders(&pages), [0]);
        assert_eq!(labelled_pairs(&pages), [(0, 1), (0, 3)]);
        let page = |text: &str| EvalPage { document: Document::from_text(None, text), ..page("what") };
        let pages = [page("a text"), page("another"), page("a  text."), page("a text")];
        assert_eq!(founders(&pages), [0, 1], "without labels, copies have the same origin");
    }
}
