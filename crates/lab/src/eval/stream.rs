//! Clusters labelled pages in their order, and counts the right verdicts.
//!
//! A duplicate verdict is right if its centroid is in the page's own cluster. Precision = right ÷ all
//! duplicate verdicts on scored pages. Recall = right verdicts on `dup` pages ÷ number of `dup` pages. The
//! samples for the intervals consist of whole clusters, because the results of pages in a cluster depend on
//! each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::interval::{Estimate, estimate, f1, ratio};
use crate::pages::{EvalPage, Label, LabelKind};
use leitong_base::record::FingerprintRecord;
use leitong_cluster::{ClusterRules, Clusterer, Decision, ExpiryConfig, Position};
use leitong_fingerprint::Detector;

/// The scores of a stream.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct StreamScore {
    /// Share of the duplicate verdicts that are right.
    pub(crate) precision: Estimate,
    /// Share of the duplicates that were found.
    pub(crate) recall: Estimate,
    /// Harmonic mean of precision and recall.
    pub(crate) f1: Estimate,
    /// Number of right duplicate verdicts.
    pub(crate) right: u32,
    /// Number of wrong duplicate verdicts.
    pub(crate) wrong: u32,
    /// Number of duplicates without a right verdict.
    pub(crate) missed: u32,
    /// Number of undecidable pages.
    pub(crate) undecidable: u32,
    /// Number of clusters at the end.
    pub(crate) centroids: usize,
}

/// Counts right, wrong and missed verdicts by gold cluster, which is the cluster in a page's label.
#[derive(Default)]
pub(super) struct Tally<'l> {
    /// For each gold cluster, the number of right, wrong and missed verdicts.
    clusters: BTreeMap<&'l str, [u32; 3]>,
    undecidable: u32,
}

impl<'l> Tally<'l> {
    /// Adds the verdict on a page. `joined` is `None` if the verdict is not a duplicate. Otherwise it is the
    /// gold cluster of the canonical page, if that page has one.
    pub(super) fn add(&mut self, label: &'l Label, joined: Option<Option<&str>>, undecidable: bool) {
        if label.kind == LabelKind::Ambiguous {
            return;
        }
        let right = joined.flatten() == Some(label.cluster.as_str());
        let counts = self.clusters.entry(&label.cluster).or_default();
        counts[0] += u32::from(right);
        counts[1] += u32::from(joined.is_some() && !right);
        counts[2] += u32::from(label.kind == LabelKind::Dup && !right);
        self.undecidable += u32::from(undecidable);
    }

    /// Computes the scores. `seed` determines the samples for the intervals.
    pub(super) fn score(self, centroids: usize, seed: u64) -> StreamScore {
        let counts: Vec<[u32; 3]> = self.clusters.into_values().collect();
        let [precision, recall, f1] = estimate(&counts, seed, |[right, wrong, missed]| {
            let (precision, recall) = (ratio(*right, right + wrong), ratio(*right, right + missed));
            [precision, recall, f1(precision, recall)]
        });
        let sum = |at: usize| counts.iter().map(|counts| counts[at]).sum();
        StreamScore {
            precision,
            recall,
            f1,
            right: sum(0),
            wrong: sum(1),
            missed: sum(2),
            undecidable: self.undecidable,
            centroids,
        }
    }
}

/// Scores one detector's fingerprints of labelled pages.
pub(crate) fn score(
    pages: &[EvalPage],
    prints: &[Option<Box<[u8]>>],
    detector: &Arc<dyn Detector>,
    seed: u64,
) -> StreamScore {
    let expiry = ExpiryConfig { max_age_days: None, centroids_max: u64::from(u32::MAX) };
    let mut clusterer =
        Clusterer::new(Arc::clone(detector), ClusterRules::expiry_only(expiry), Position::default());
    let mut tally = Tally::default();
    for (number, (page, print)) in pages.iter().zip(prints).enumerate() {
        let record = FingerprintRecord::numbered(number, print.clone());
        let decision = clusterer.decide(Some(&record)).expect("a table in memory does not fail");
        let Some(label) = &page.label else { continue };
        let joined = match &decision {
            Decision::Joined(centroid) => {
                let founder = centroid.page_id.parse::<usize>().ok().and_then(|at| pages[at].label.as_ref());
                Some(founder.map(|label| label.cluster.as_str()))
            }
            _ => None,
        };
        tally.add(label, joined, decision == Decision::Undecidable);
    }
    tally.score(clusterer.centroid_count(), seed)
}
