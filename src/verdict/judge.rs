//! Record and decision → [`Verdict`].

use serde_json::value::RawValue;

use super::{Kind, Number, Verdict};
use crate::cluster::Decision;
use crate::fingerprint::Detector;
use crate::fingerprint::record::{FingerprintRecord, Outcome};
use crate::page::timestamp::Timestamp;

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

impl Judge<'_> {
    /// Words `decision` on `record`.
    #[must_use]
    pub fn verdict(&self, record: FingerprintRecord, decision: Decision) -> Verdict {
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
            fingerprint: fingerprint.map(|fingerprint| self.detector.display(fingerprint)),
            text_digest: record.text.map(|text| format!("{:032x}", text.digest)),
            source: record.source,
            log_partition: self.log_partition,
            log_offset: self.log_offset,
            fetched_at: record.fetched_at,
            decided_at: self.decided_at,
            fingerprint_hash: record.fingerprint_hash,
            cluster_hash: self.cluster_hash,
            evidence: None,
            // It was cut out of a JSON text as it stands, so it is one.
            passthrough: record.passthrough.and_then(|json| RawValue::from_string(json).ok()),
            page_id: record.page_id,
            url: record.url,
            corpus: record.corpus,
        };
        match decision {
            Decision::Undecidable => {}
            Decision::Founded(cluster_id) => {
                verdict.kind = Kind::Unique;
                verdict.cluster_id = Some(cluster_id);
                verdict.canonical_page_id = Some(verdict.page_id.clone());
                verdict.canonical_url = Some(verdict.url.clone());
                verdict.same_url = true;
            }
            Decision::Joined(centre) => {
                verdict.kind = if centre.exact { Kind::ExactDuplicate } else { Kind::NearDuplicate };
                verdict.cluster_id = Some(centre.cluster_id);
                verdict.same_url = centre.page_id == verdict.page_id || centre.url == verdict.url;
                verdict.canonical_page_id = Some(centre.page_id);
                verdict.canonical_url = Some(centre.url);
                verdict.distance = Some(Number(self.detector.distance(centre.distance)));
                if let Outcome::Fingerprint(fingerprint) = &record.outcome {
                    let similarity = self.detector.similarity(fingerprint, &centre.fingerprint);
                    verdict.similarity = Some(Number(similarity));
                    verdict.evidence = Some(self.detector.evidence(fingerprint, &centre.fingerprint));
                }
            }
        }
        verdict
    }
}
