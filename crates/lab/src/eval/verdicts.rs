//! Scores the verdicts of any program on labelled pages.
//!
//! In: labels, and one [`GivenVerdict`] for each page. Out: the same [`StreamScore`] as for detectors. Linear in the
//! number of pages; memory: ids, labels and verdicts.

use std::collections::HashMap;

use serde::Deserialize;

use super::report::labelled_streams;
use super::stream::{StreamScore, Tally};
use crate::pages::Label;
use leitong_cluster::verdict::Kind;

/// A verdict as `leitong dedup` writes it, reduced to the fields that scoring needs. Other fields are
/// ignored.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct GivenVerdict {
    /// Id of the judged page.
    pub(crate) page_id: String,
    /// The kind of the verdict.
    pub(crate) kind: Kind,
    /// Id of the page of which a duplicate is a copy.
    pub(crate) canonical_page_id: Option<String>,
}

impl StreamScore {
    /// Scores `verdicts` on `pages`, which are given by id and label. `seed` determines the samples for the
    /// intervals.
    ///
    /// # Errors
    /// A message unless there is exactly one verdict for each page.
    pub(crate) fn from_verdicts(
        pages: &[(String, Label)],
        verdicts: Vec<GivenVerdict>,
        seed: u64,
    ) -> Result<Self, String> {
        let mut clusters = HashMap::new();
        for (id, label) in pages {
            if clusters.insert(id.as_str(), label.cluster.as_str()).is_some() {
                return Err(format!(
                    "two pages have the id {id:?}; ids must be unique for verdicts to be scored"
                ));
            }
        }
        let mut given = HashMap::new();
        for verdict in verdicts {
            if !clusters.contains_key(verdict.page_id.as_str()) {
                let id = verdict.page_id;
                return Err(format!("there is a verdict on page {id:?}, which is not among the pages"));
            }
            if let Some(earlier) = given.insert(verdict.page_id.clone(), verdict) {
                return Err(format!("there are two verdicts on page {:?}", earlier.page_id));
            }
        }
        let mut without = pages.iter().filter(|(id, _)| !given.contains_key(id));
        if let Some((first, _)) = without.next() {
            let (missing, pages) = (1 + without.count(), pages.len());
            return Err(format!("{missing} of {pages} pages have no verdict, {first:?} for example"));
        }
        let mut tally = Tally::default();
        let mut centroids = 0;
        for (id, label) in pages {
            let verdict = &given[id];
            let joined = match verdict.kind {
                Kind::ExactDuplicate | Kind::NearDuplicate => {
                    let canonical = verdict.canonical_page_id.as_deref();
                    Some(canonical.and_then(|id| clusters.get(id).copied()))
                }
                Kind::Unique | Kind::Undecidable => None,
            };
            centroids += usize::from(verdict.kind == Kind::Unique);
            tally.add(label, joined, verdict.kind == Kind::Undecidable);
        }
        Ok(tally.score(centroids, seed))
    }

    /// Formats scores as a Markdown table, each with the name of its file of verdicts.
    pub(crate) fn table<'s>(scores: impl Iterator<Item = (&'s str, &'s Self)>) -> String {
        let mut out = String::new();
        labelled_streams(scores, "verdicts", &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::LabelKind;

    fn page(id: &str, cluster: &str, kind: LabelKind) -> (String, Label) {
        (id.to_owned(), Label { cluster: cluster.to_owned(), kind })
    }

    fn verdict(page: &str, kind: Kind, canonical: &str) -> GivenVerdict {
        GivenVerdict {
            page_id: page.to_owned(),
            kind,
            canonical_page_id: (!canonical.is_empty()).then(|| canonical.to_owned()),
        }
    }

    #[test]
    fn counts_right_wrong_and_missed_verdicts() {
        let pages = [
            page("a", "1", LabelKind::New),
            page("b", "1", LabelKind::Dup),
            page("c", "1", LabelKind::Ambiguous),
            page("d", "2", LabelKind::New),
            page("e", "2", LabelKind::Dup),
            page("f", "3", LabelKind::New),
        ];
        let verdicts = vec![
            verdict("f", Kind::Undecidable, ""),
            verdict("a", Kind::Unique, "a"),
            verdict("b", Kind::NearDuplicate, "a"),
            verdict("c", Kind::NearDuplicate, "f"),
            verdict("d", Kind::ExactDuplicate, "a"),
            verdict("e", Kind::NearDuplicate, "of another run"),
        ];
        let score = StreamScore::from_verdicts(&pages, verdicts, 1).expect("they fit");
        assert_eq!((score.right, score.wrong, score.missed), (1, 2, 1));
        assert_eq!((score.undecidable, score.centroids), (1, 1));
        assert_eq!((score.precision.value, score.recall.value), (1.0 / 3.0, 0.5));
    }

    #[test]
    fn refuses_verdicts_that_do_not_fit_the_pages() {
        let pages = [page("a", "1", LabelKind::New), page("b", "1", LabelKind::Dup)];
        let unique = |id| verdict(id, Kind::Unique, id);
        let refused =
            |verdicts| StreamScore::from_verdicts(&pages, verdicts, 1).expect_err("it does not fit");
        for (verdicts, why) in [
            (vec![unique("a")], "1 of 2 pages have no verdict, \"b\""),
            (vec![unique("a"), unique("a")], "two verdicts on page \"a\""),
            (vec![unique("x")], "page \"x\", which is not among the pages"),
        ] {
            let told = refused(verdicts);
            assert!(told.contains(why), "{told}");
        }
        let twice = [pages[0].clone(), pages[0].clone()];
        let told = StreamScore::from_verdicts(&twice, vec![], 1).expect_err("one id");
        assert!(told.contains("two pages have the id"), "{told}");
    }
}
