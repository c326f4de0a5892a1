//! What a verdict says of a page whose url was crawled before.

use serde::Serialize;

use super::Number;
use crate::cluster::{ClusterId, Left, Recrawl, RecrawlOutcome, WhatIsLeft};
use crate::fingerprint::{Detector, Shares, to_display};
use crate::proto;

/// What has become of a page since it was crawled last, and of the cluster that it was in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecrawlNote {
    /// What has become of the page.
    pub outcome: RecrawlOutcome,
    /// How similar its text is to its former one, 0 to 1; null for a page that is withdrawn, and
    /// where other settings made the former fingerprint.
    pub similarity: Option<Number>,
    /// Share of its text that stands in its former one, 0 to 1; null too where the detector cannot
    /// tell.
    pub share: Option<Number>,
    /// Share of its former text that stands in its present one.
    pub former_share: Option<Number>,
    /// The cluster that the page has left.
    pub left_cluster_id: Option<ClusterId>,
    /// What has become of that.
    pub left_cluster: Option<LeftCluster>,
    /// The page that stands for that cluster from here on, in place of this one.
    pub successor_page_id: Option<String>,
    /// Its url.
    pub successor_url: Option<String>,
}

/// What has become of a cluster that a page has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LeftCluster {
    /// Another page stands for it, as before.
    Remains,
    /// Another page stands for it from here on.
    Successor,
    /// No page that is known is left in it.
    Ended,
}

impl LeftCluster {
    /// All of them, in the order of their numbers on the wire.
    pub const ALL: [Self; 3] = [Self::Remains, Self::Successor, Self::Ended];

    /// The number on the wire, from 1.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32 + 1
    }
}

impl RecrawlNote {
    /// Words `recrawl` of a page with this fingerprint, made by `detector`.
    pub(super) fn new(recrawl: Recrawl, fingerprint: Option<&[u8]>, detector: &dyn Detector) -> Self {
        let Recrawl { outcome, former, left } = recrawl;
        let compared = former.zip(fingerprint).map(|(former, present)| {
            (detector.similarity(present, &former), detector.shares(present, &former))
        });
        let (similarity, shares) = match (outcome, compared) {
            // Equal texts are that whatever a detector makes of them.
            (RecrawlOutcome::Unchanged, _) => (Some(1.0), Some(Shares::ALL)),
            (_, Some((similarity, shares))) => (Some(similarity), shares),
            (_, None) => (None, None),
        };
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
            share: shares.map(|shares| Number(to_display(shares.of_a))),
            former_share: shares.map(|shares| Number(to_display(shares.of_b))),
            left_cluster_id,
            left_cluster,
            successor_page_id,
            successor_url,
        }
    }

    /// As a message.
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
