//! Turns a record and the decision on it into a [`Verdict`]. Pure.

use serde_json::value::RawValue;

use super::{Kind, Number, RecrawlNote, Relation, Verdict, to_numbers};
use crate::{CanonicalPage, ClusterId, Decision, Recrawl};
use leitong_base::record::{FingerprintRecord, Outcome, Timestamp};
use leitong_fingerprint::{Detector, Shares};
use leitong_text::page::{Page, parse_passthrough};

/// The context of a decision, which becomes part of each verdict.
pub struct Judge<'a> {
    /// The detector that decides.
    pub detector: &'a dyn Detector,
    /// Hash of the settings that apply after the log.
    pub cluster_hash: u64,
    /// The partition of the log.
    pub log_partition: u32,
    /// The offset of the record in the partition.
    pub log_offset: u64,
    /// The current time.
    pub decided_at: Timestamp,
}

/// Reads the passthrough JSON of a log record again, and normalises it: older versions wrote line feeds and
/// unlimited nesting to the log.
fn raw_json(json: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(parse_passthrough(json).ok()?.json).ok()
}

impl CanonicalPage {
    /// Returns how the text with this fingerprint relates to the canonical page's text, the share of it that also
    /// occurs there, and the share of the canonical page's text that also occurs in it.
    pub fn relation_of(
        &self,
        fingerprint: &[u8],
        detector: &dyn Detector,
    ) -> (Option<Relation>, Option<Number>, Option<Number>) {
        let (relation, shares) = match self.exact {
            true => (Some(Relation::Same), Some(Shares::ALL)),
            false => (
                detector.relation(fingerprint, &self.fingerprint, !self.related),
                detector.shares(fingerprint, &self.fingerprint),
            ),
        };
        let (share, canonical_share) = to_numbers(shares);
        (relation, share, canonical_share)
    }
}

/// Returns true if the canonical page is an earlier crawl of the same page: it has the same id or url.
/// Generated addresses, and ids derived from them, are ignored.
fn is_same_page(verdict: &Verdict, canonical_id: &str, canonical_url: &str) -> bool {
    if Page::is_made_up_url(&verdict.url) {
        return verdict.page_id == canonical_id && verdict.page_id != Page::id_for_url(&verdict.url);
    }
    verdict.page_id == canonical_id || verdict.url == canonical_url
}

impl Judge<'_> {
    /// Turns `decision` on `record` into a verdict, with a note if the url was crawled before.
    #[must_use]
    pub fn verdict(
        &self,
        record: FingerprintRecord,
        decision: Decision,
        recrawl: Option<Recrawl>,
    ) -> Verdict {
        let (mut verdict, outcome) = self.undecidable(record, recrawl);
        let fingerprint = outcome.fingerprint();
        match decision {
            Decision::Undecidable => {}
            Decision::Founded(cluster_id, related) => {
                self.set_founded(&mut verdict, fingerprint, cluster_id, related);
            }
            Decision::Joined(centroid) => self.set_joined(&mut verdict, fingerprint, centroid),
        }
        verdict
    }

    /// Returns the verdict on `record` without a cluster, and the outcome of its fingerprint stage.
    fn undecidable(&self, record: FingerprintRecord, recrawl: Option<Recrawl>) -> (Verdict, Outcome) {
        let fingerprint = record.outcome.fingerprint();
        let reason = match record.outcome {
            Outcome::Fingerprint(_) => None,
            Outcome::Undecidable(reason) => Some(reason),
        };
        let note = |recrawl| Box::new(RecrawlNote::new(recrawl, fingerprint, self.detector));
        let verdict = Verdict {
            kind: Kind::Undecidable,
            reason,
            cluster_id: None,
            canonical_page_id: None,
            canonical_url: None,
            same_url: false,
            detector: self.detector.name(),
            distance: None,
            similarity: None,
            relation: None,
            share: None,
            canonical_share: None,
            related_page_id: None,
            related_url: None,
            replaces_page_id: None,
            replaces_url: None,
            recrawl: recrawl.map(note),
            fingerprint: fingerprint.map(|fingerprint| self.detector.display(fingerprint)),
            text_digest: record.text.map(|text| format!("{:032x}", text.digest)),
            text_chars: record.text.map(|text| text.chars),
            source: record.source,
            log_partition: self.log_partition,
            log_offset: self.log_offset,
            fetched_at: record.fetched_at,
            metadata: record.metadata,
            decided_at: self.decided_at,
            fingerprint_hash: record.fingerprint_hash,
            cluster_hash: self.cluster_hash,
            evidence: None,
            passthrough: record.passthrough.as_deref().and_then(raw_json),
            carried: record.carried,
            page_id: record.page_id,
            url: record.url,
            corpus: record.corpus,
        };
        (verdict, record.outcome)
    }

    /// Sets the fields of a page that founds a cluster.
    fn set_founded(
        &self,
        verdict: &mut Verdict,
        fingerprint: Option<&[u8]>,
        cluster_id: ClusterId,
        related: Option<CanonicalPage>,
    ) {
        verdict.kind = Kind::Unique;
        verdict.cluster_id = Some(cluster_id);
        verdict.canonical_page_id = Some(verdict.page_id.clone());
        verdict.canonical_url = Some(verdict.url.clone());
        verdict.same_url = true;
        if let (Some(fingerprint), Some(related)) = (fingerprint, related) {
            (verdict.relation, verdict.share, verdict.canonical_share) =
                related.relation_of(fingerprint, self.detector);
            verdict.related_page_id = Some(related.page_id);
            verdict.related_url = Some(related.url);
        }
    }

    /// Sets the fields of a page that joins the cluster of a centroid.
    fn set_joined(&self, verdict: &mut Verdict, fingerprint: Option<&[u8]>, centroid: CanonicalPage) {
        verdict.kind = if centroid.exact { Kind::ExactDuplicate } else { Kind::NearDuplicate };
        verdict.cluster_id = Some(centroid.cluster_id);
        verdict.same_url = is_same_page(verdict, &centroid.page_id, &centroid.url);
        verdict.distance = Some(Number(self.detector.distance(centroid.distance)));
        if let Some(fingerprint) = fingerprint {
            verdict.similarity = Some(Number(self.detector.similarity(fingerprint, &centroid.fingerprint)));
            (verdict.relation, verdict.share, verdict.canonical_share) =
                centroid.relation_of(fingerprint, self.detector);
            let mut evidence = self.detector.evidence(fingerprint, &centroid.fingerprint);
            if centroid.equal_text && !centroid.exact {
                evidence.insert("equal_text".to_owned(), true.into());
            }
            verdict.evidence = Some(evidence);
        }
        verdict.canonical_page_id = Some(centroid.page_id);
        verdict.canonical_url = Some(centroid.url);
        (verdict.replaces_page_id, verdict.replaces_url) = centroid.replaces.unzip();
    }
}
