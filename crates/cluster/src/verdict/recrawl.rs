//! The part of a verdict about a page whose url was crawled before.

use serde::Serialize;

use super::{Number, to_numbers};
use crate::{ClusterId, Left, Recrawl, RecrawlOutcome, WhatIsLeft};
use leitong_base::proto;
use leitong_fingerprint::{Detector, Shares};

/// The changes of a page since its last crawl, and the state of its former cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecrawlNote {
    /// The kind of change.
    pub outcome: RecrawlOutcome,
    /// Similarity of the text to its former version, 0 to 1. Null if the page is withdrawn, or if the former
    /// fingerprint was made with other settings.
    pub similarity: Option<Number>,
    /// Share of the text that also occurs in the former version, 0 to 1. Null in the same cases, and if the
    /// detector cannot tell.
    pub share: Option<Number>,
    /// Share of the former text that also occurs in the new one.
    pub former_share: Option<Number>,
    /// The cluster that the page has left.
    pub left_cluster_id: Option<ClusterId>,
    /// The state of that cluster.
    pub left_cluster: Option<LeftCluster>,
    /// Page id of the new canonical page of that cluster, if this page was canonical before.
    pub successor_page_id: Option<String>,
    /// The url of that cluster's new canonical page, if this page was canonical before.
    pub successor_url: Option<String>,
}

leitong_base::named! {
    /// The state of a cluster that a page has left.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum LeftCluster {
        /// Another page was canonical before, and still is.
        Remains = "REMAINS",
        /// Another page is canonical from now on.
        Successor = "SUCCESSOR",
        /// No known page is left in the cluster.
        Ended = "ENDED",
    }
}

impl RecrawlNote {
    /// Creates the note about a page with this `fingerprint`, made by `detector`.
    pub(super) fn new(recrawl: Recrawl, fingerprint: Option<&[u8]>, detector: &dyn Detector) -> Self {
        let Recrawl { outcome, former, left } = recrawl;
        let compared = former.zip(fingerprint).map(|(former, present)| {
            (detector.similarity(present, &former), detector.shares(present, &former))
        });
        let (similarity, shares) = match (outcome, compared) {
            // Equal texts are fully similar, whatever the detector computes.
            (RecrawlOutcome::Unchanged, _) => (Some(1.0), Some(Shares::ALL)),
            (_, Some((similarity, shares))) => (Some(similarity), shares),
            (_, None) => (None, None),
        };
        let (share, former_share) = to_numbers(shares);
        let (left_cluster_id, what) = left.map(|Left { cluster_id, what }| (cluster_id, what)).unzip();
        let left_cluster = what.as_ref().map(|what| match what {
            WhatIsLeft::Remains => LeftCluster::Remains,
            WhatIsLeft::Successor(..) => LeftCluster::Successor,
            WhatIsLeft::Ended => LeftCluster::Ended,
        });
        let successor = match what {
            Some(WhatIsLeft::Successor(page_id, url)) => Some((page_id, url)),
            _ => None,
        };
        let (successor_page_id, successor_url) = successor.unzip();
        Self {
            outcome,
            similarity: similarity.map(Number),
            share,
            former_share,
            left_cluster_id,
            left_cluster,
            successor_page_id,
            successor_url,
        }
    }

    /// Encodes the note as a protobuf message.
    pub(super) fn to_message(&self) -> proto::Recrawl {
        proto::Recrawl {
            outcome: self.outcome.number(),
            similarity: self.similarity.map(|number| number.0),
            share: self.share.map(|number| number.0),
            former_share: self.former_share.map(|number| number.0),
            left_cluster_id: self.left_cluster_id.map(|id| id.to_bytes().to_vec().into()),
            left_cluster: self.left_cluster.map(LeftCluster::number),
            successor_page_id: self.successor_page_id.clone(),
            successor_url: self.successor_url.clone(),
        }
    }
}
