//! Encodes a [`Verdict`] as a protobuf message.

use prost::Message;

use super::{Relation, Verdict};
use crate::ClusterId;
use crate::log::entry::{MessageOrigin, metadata_message, source_message};
use leitong_base::proto::{self, FORMAT_VERSION};
use leitong_base::record::{Reason, Timestamp};

impl Verdict {
    /// Encodes the verdict as a `leitong.v1.Verdict`.
    #[must_use]
    pub fn to_protobuf(&self) -> Vec<u8> {
        let json = |value: Option<String>| value.filter(|json| json != "null");
        proto::Verdict {
            format_version: FORMAT_VERSION,
            page_id: self.page_id.clone(),
            url: self.url.clone(),
            corpus: self.corpus.clone(),
            kind: self.kind.number(),
            reason: self.reason.map(Reason::number),
            cluster_id: self.cluster_id.map(ClusterId::to_bytes).map(|id| id.to_vec().into()),
            canonical_page_id: self.canonical_page_id.clone(),
            canonical_url: self.canonical_url.clone(),
            same_url: self.same_url,
            detector: self.detector.to_owned(),
            distance: self.distance.map(|number| number.0),
            similarity: self.similarity.map(|number| number.0),
            fingerprint: self.fingerprint.as_deref().map(|hex| from_hex(hex).into()),
            text_digest: self.text_digest.as_deref().map(|hex| from_hex(hex).into()),
            text_chars: self.text_chars,
            source: Some(source_message(&self.source, MessageOrigin::default())),
            log_partition: self.log_partition,
            log_offset: self.log_offset,
            fetched_at_ms: self.fetched_at.map(Timestamp::as_ms),
            decided_at_ms: self.decided_at.as_ms(),
            fingerprint_hash: self.fingerprint_hash,
            cluster_hash: self.cluster_hash,
            relation: self.relation.map(Relation::number),
            share: self.share.map(|number| number.0),
            canonical_share: self.canonical_share.map(|number| number.0),
            related_page_id: self.related_page_id.clone(),
            related_url: self.related_url.clone(),
            replaces_page_id: self.replaces_page_id.clone(),
            replaces_url: self.replaces_url.clone(),
            recrawl: self.recrawl.as_ref().map(|recrawl| recrawl.to_message()),
            metadata: self.metadata.as_deref().cloned().map(metadata_message),
            evidence_json: json(self.evidence.as_ref().and_then(|e| serde_json::to_string(e).ok())),
            passthrough_json: json(self.passthrough.as_ref().map(|json| json.get().to_owned())),
        }
        .encode_to_vec()
    }
}

/// Decodes the hex digits in which verdicts write fingerprints and digests.
fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn decodes_hex_digits() {
        assert_eq!(super::from_hex("00ff7A"), [0, 0xff, 0x7a]);
        assert_eq!(super::from_hex(""), [0_u8; 0]);
    }
}
