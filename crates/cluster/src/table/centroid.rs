//! A centroid, a query for near ones, and the result of comparing both.

use leitong_base::record::Timestamp;
use leitong_fingerprint::{Comparison, Detector};

/// A cluster's centroid.
#[derive(Debug, Clone, PartialEq)]
pub struct Centroid {
    /// Log offset of the page. The older centroid has the smaller offset.
    pub log_offset: u64,
    /// Log time when the cluster was founded.
    pub log_time: Option<Timestamp>,
    /// The fingerprint, in the detector's encoding.
    pub fingerprint: Box<[u8]>,
    /// Digest of the main text.
    pub text_digest: u128,
    /// The page's id.
    pub page_id: Box<str>,
    /// The page's url.
    pub url: Box<str>,
}

/// A centroid that may be near or related. The order is: by query, near before related, by
/// [rank](Detector::rank), oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NearCentroid {
    /// The query's number in its batch.
    pub query: u32,
    /// True if the centroid is related but not near.
    pub related: bool,
    /// The [rank](Detector::rank), which is the distance unless the detector has a better measure. If the centroid is
    /// related, its [rank among these](Detector::related_rank).
    pub rank: u32,
    /// The centroid's number.
    pub number: u64,
    /// Distance in the detector's unit.
    pub distance: u32,
}

impl NearCentroid {
    /// Returns the result of a comparison of the query's fingerprint with the compared part of a centroid that is near
    /// or related.
    #[inline]
    #[must_use]
    pub fn new(
        (query, of): (u32, &Query<'_>),
        (number, compared): (u64, &[u8]),
        Comparison { distance, near }: Comparison,
        detector: &dyn Detector,
    ) -> Self {
        let rank = match near {
            true => detector.rank(of.fingerprint, compared, distance),
            false => detector.related_rank(of.fingerprint, compared),
        };
        Self { query, related: !near, rank, number, distance }
    }

    /// Returns true if no centroid can be nearer. Only centroids with the same [equal key](Detector::equal_key)
    /// can be as near.
    pub(crate) fn is_equal(self) -> bool {
        !self.related && self.distance == 0
    }

    /// Returns true if the whole fingerprints of page and centroid, not only the compared parts, are near, or
    /// related if the centroid is only related.
    #[must_use]
    pub fn is_in_full(self, detector: &dyn Detector, page: &[u8], centroid: &[u8]) -> bool {
        match self.related {
            true => detector.related(page, centroid),
            false => detector.compare(page, centroid).near,
        }
    }
}

/// A fingerprint to look up, with its corpus.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Corpus of the page.
    pub corpus: &'a str,
    /// Hash of the settings that made the fingerprint.
    pub fingerprint_hash: u64,
    /// The fingerprint, in the detector's encoding.
    pub fingerprint: &'a [u8],
}

/// The purpose for which keys of a fingerprint are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The keys under which a centroid is inserted.
    Insert,
    /// The keys under which all centroids that may be near are found.
    Probe,
    /// The key under which all centroids at distance 0 are found.
    ProbeEqual,
}
