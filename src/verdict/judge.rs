//! Record and decision → [`Verdict`].

use serde_json::value::RawValue;

use super::{Kind, Number, RecrawlNote, Relation, Verdict};
use crate::cluster::{Decision, Recrawl};
use crate::fingerprint::{Detector, Shares, to_display};
use crate::page::{id, made_up, passthrough};
use crate::record::timestamp::Timestamp;
use crate::record::{FingerprintRecord, Outcome};

/// Whoever decides on a record, with what the verdict says of them.
pub struct Judge<'a> {
    /// The detector that decided.
    pub detector: &'a dyn Detector,
    /// Of the settings right of the log.
    pub cluster_hash: u64,
    /// Partition of the log.
    pub log_partition: u32,
    /// Where the record stands in it.
    pub log_offset: u64,
    /// The present.
    pub decided_at: Timestamp,
}

/// What a record of the log carries, in shape again: older
/// versions let line feeds and any nesting through.
fn raw_json(json: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(passthrough::parse(json).ok()?.json).ok()
}

/// Says how the texts relate.
fn relate(verdict: &mut Verdict, relation: Option<Relation>, shares: Option<Shares>) {
    verdict.relation = relation;
    verdict.share = shares.map(|shares| Number(to_display(shares.of_a)));
    verdict.canonical_share = shares.map(|shares| Number(to_display(shares.of_b)));
}

/// Returns true if the canonical page is an earlier crawl of the verdict's own page: its id or url is
/// the same. A made-up address says nothing of that, and neither does an id that is made of it.
fn is_same_page(verdict: &Verdict, canonical_id: &str, canonical_url: &str) -> bool {
    if made_up::is_made_up(&verdict.url) {
        return verdict.page_id == canonical_id && verdict.page_id != id::from_url(&verdict.url);
    }
    verdict.page_id == canonical_id || verdict.url == canonical_url
}

impl Judge<'_> {
    /// Words `decision` on `record`, and what is said of an earlier crawl of its url.
    #[must_use]
    pub fn verdict(
        &self,
        record: FingerprintRecord,
        decision: Decision,
        recrawl: Option<Recrawl>,
    ) -> Verdict {
        let (fingerprint, reason) = match &record.outcome {
            Outcome::Fingerprint(fingerprint) => (Some(fingerprint), None),
            Outcome::Undecidable(reason) => (None, Some(*reason)),
        };
        let mut verdict = Verdict {
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
            recrawl: recrawl.map(|recrawl| {
                Box::new(RecrawlNote::new(
                    recrawl,
                    fingerprint.map(|fingerprint| &**fingerprint),
                    self.detector,
                ))
            }),
            fingerprint: fingerprint.map(|fingerprint| self.detector.display(fingerprint)),
            text_digest: record.text.map(|text| format!("{:032x}", text.digest)),
            text_chars: record.text.map(|text| text.chars),
            source: record.source,
            log_partition: self.log_partition,
            log_offset: self.log_offset,
            fetched_at: record.fetched_at,
            credits: record.credits,
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
        match decision {
            Decision::Undecidable => {}
            Decision::Founded(cluster_id, related) => {
                verdict.kind = Kind::Unique;
                verdict.cluster_id = Some(cluster_id);
                verdict.canonical_page_id = Some(verdict.page_id.clone());
                verdict.canonical_url = Some(verdict.url.clone());
                verdict.same_url = true;
                if let (Outcome::Fingerprint(fingerprint), Some(related)) = (&record.outcome, related) {
                    let shares = self.detector.shares(fingerprint, &related.fingerprint);
                    let relation = self.detector.relation(fingerprint, &related.fingerprint, false);
                    relate(&mut verdict, relation, shares);
                    verdict.related_page_id = Some(related.page_id);
                    verdict.related_url = Some(related.url);
                }
            }
            Decision::Joined(centroid) => {
                verdict.kind = if centroid.exact { Kind::ExactDuplicate } else { Kind::NearDuplicate };
                verdict.cluster_id = Some(centroid.cluster_id);
                verdict.same_url = is_same_page(&verdict, &centroid.page_id, &centroid.url);
                verdict.canonical_page_id = Some(centroid.page_id);
                verdict.canonical_url = Some(centroid.url);
                (verdict.replaces_page_id, verdict.replaces_url) = centroid.replaces.unzip();
                verdict.distance = Some(Number(self.detector.distance(centroid.distance)));
                if let Outcome::Fingerprint(fingerprint) = &record.outcome {
                    let similarity = self.detector.similarity(fingerprint, &centroid.fingerprint);
                    verdict.similarity = Some(Number(similarity));
                    let (relation, shares) = match verdict.kind {
                        Kind::ExactDuplicate => (Some(Relation::Same), Some(Shares::ALL)),
                        _ => (
                            self.detector.relation(fingerprint, &centroid.fingerprint, true),
                            self.detector.shares(fingerprint, &centroid.fingerprint),
                        ),
                    };
                    relate(&mut verdict, relation, shares);
                    verdict.evidence = Some(self.detector.evidence(fingerprint, &centroid.fingerprint));
                }
            }
        }
        verdict
    }
}
