//! Converts a [`Centroid`] to and from its protobuf message.

use crate::{Canonical, Centroid, Rank};
use leitong_base::proto::{self, FORMAT_VERSION};
use leitong_base::record::Timestamp;
use leitong_fingerprint::Detector;

impl Centroid {
    /// Returns the message of the centroid, whose fingerprint was made by the named detector.
    #[must_use]
    pub fn to_message(&self, corpus: &str, fingerprint_hash: u64, detector: &str) -> proto::Centroid {
        proto::Centroid {
            format_version: FORMAT_VERSION,
            log_offset: self.log_offset,
            log_time_ms: self.log_time.map(Timestamp::as_ms),
            corpus: corpus.to_owned(),
            fingerprint_hash,
            fingerprint: Some(proto::Fingerprint {
                detector: detector.to_owned(),
                data: self.fingerprint.to_vec().into(),
            }),
            text_digest: self.text_digest.to_be_bytes().to_vec().into(),
            page_id: self.page_id.to_string(),
            url: self.url.to_string(),
            ..proto::Centroid::default()
        }
    }

    /// Decodes a centroid. Moves strings out of the message to save time, because tables have millions of centroids.
    ///
    /// # Errors
    /// A description of what is invalid.
    pub fn from_message(message: &mut proto::Centroid, detector: &dyn Detector) -> Result<Self, String> {
        let at = message.log_offset;
        let fingerprint =
            message.fingerprint.as_ref().ok_or_else(|| format!("centroid {at} has no fingerprint"))?;
        if fingerprint.detector != detector.name() || !detector.is_fingerprint(&fingerprint.data) {
            return Err(format!(
                "centroid {at} has no fingerprint of the detector {} (a version whose fingerprints have another length needs \
             separate topics, see docs/upgrading.md)",
                detector.name()
            ));
        }
        let text_digest = message.text_digest.as_ref().try_into().map(u128::from_be_bytes);
        let log_time = message
            .log_time_ms
            .map(|ms| Timestamp::from_ms(ms).ok_or_else(|| format!("centroid {at} has an invalid time")));
        Ok(Self {
            log_offset: message.log_offset,
            log_time: log_time.transpose()?,
            fingerprint: Box::from(&*fingerprint.data),
            text_digest: text_digest
                .map_err(|_| format!("centroid {at} has a text digest that is not 16 bytes long"))?,
            page_id: std::mem::take(&mut message.page_id).into(),
            url: std::mem::take(&mut message.url).into(),
        })
    }
}

impl Canonical {
    /// Decodes the canonical page of the centroid's cluster.
    ///
    /// # Errors
    /// A description of what is invalid.
    pub fn from_message(message: &proto::Centroid) -> Result<Self, String> {
        let proto::Centroid { rank, canonical_page_id, canonical_url, .. } = message;
        let rank = rank.as_ref().map(|rank| rank.as_ref().try_into().map(Rank::from_bytes)).transpose();
        let rank = rank
            .map_err(|_| format!("centroid {} has a rank that is not 16 bytes long", message.log_offset))?;
        let page = canonical_page_id.as_deref().zip(canonical_url.as_deref());
        let page = page.map(|(page_id, url)| (page_id.into(), url.into()));
        Ok(Self { rank: rank.unwrap_or_default(), page })
    }

    /// Adds the canonical page of the centroid's cluster to the message.
    pub fn add_to(self, message: &mut proto::Centroid) {
        message.rank = Some(self.rank.to_bytes().to_vec().into());
        (message.canonical_page_id, message.canonical_url) =
            self.page.map(|(page_id, url)| (page_id.into(), url.into())).unzip();
    }
}
