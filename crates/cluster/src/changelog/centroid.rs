//! [`Centroid`] ↔ its protobuf message.

use crate::{Canonical, Centroid, Rank};
use leitong_base::proto::{self, FORMAT_VERSION};
use leitong_base::record::timestamp::Timestamp;
use leitong_fingerprint::Detector;

/// The message for a centroid.
pub fn to_message(
    corpus: &str,
    fingerprint_hash: u64,
    centroid: &Centroid,
    detector: &dyn Detector,
) -> proto::Centroid {
    message_of(corpus, fingerprint_hash, centroid, detector.name())
}

/// The message for a centroid whose fingerprint is of the detector of this name.
pub fn message_of(
    corpus: &str,
    fingerprint_hash: u64,
    centroid: &Centroid,
    detector: &str,
) -> proto::Centroid {
    proto::Centroid {
        format_version: FORMAT_VERSION,
        log_offset: centroid.log_offset,
        log_time_ms: centroid.log_time.map(Timestamp::as_ms),
        corpus: corpus.to_owned(),
        fingerprint_hash,
        fingerprint: Some(proto::Fingerprint {
            detector: detector.to_owned(),
            data: centroid.fingerprint.to_vec().into(),
        }),
        text_digest: centroid.text_digest.to_be_bytes().to_vec().into(),
        page_id: centroid.page_id.to_string(),
        url: centroid.url.to_string(),
        number: None,
        rank: None,
        canonical_page_id: None,
        canonical_url: None,
        crawl: None,
        withdrawn_key: None,
        ended: None,
        texts: None,
    }
}

/// Has the message say what stands for the centroid's cluster.
pub fn set_canonical(message: &mut proto::Centroid, canonical: Option<Canonical>) {
    let Some(Canonical { rank, page }) = canonical else { return };
    message.rank = Some(rank.to_bytes().to_vec().into());
    (message.canonical_page_id, message.canonical_url) =
        page.map(|(page_id, url)| (page_id.into(), url.into())).unzip();
}

/// What a message says of who stands for the centroid's cluster, or what is wrong with it.
pub fn canonical_of(message: &proto::Centroid) -> Result<Canonical, String> {
    let proto::Centroid { rank, canonical_page_id, canonical_url, .. } = message;
    let rank = rank.as_ref().map(|rank| rank.as_ref().try_into().map(Rank::from_bytes)).transpose();
    let rank =
        rank.map_err(|_| format!("centroid {} has a rank of other than 16 bytes", message.log_offset))?;
    let page = canonical_page_id.as_deref().zip(canonical_url.as_deref());
    let page = page.map(|(page_id, url)| (page_id.into(), url.into()));
    Ok(Canonical { rank: rank.unwrap_or_default(), page })
}

/// The centroid of a message, or what is wrong with it. Takes its
/// texts out of it, since tables of millions of centroids are read.
pub fn from_message(message: &mut proto::Centroid, detector: &dyn Detector) -> Result<Centroid, String> {
    let at = message.log_offset;
    let fingerprint =
        message.fingerprint.as_ref().ok_or_else(|| format!("centroid {at} has no fingerprint"))?;
    if fingerprint.detector != detector.name() || !detector.is_fingerprint(&fingerprint.data) {
        return Err(format!(
            "centroid {at} has no fingerprint of the detector {} (versions whose fingerprints have another length need \
             topics of their own, see docs/upgrading.md)",
            detector.name()
        ));
    }
    let text_digest = message.text_digest.as_ref().try_into().map(u128::from_be_bytes);
    let log_time = message
        .log_time_ms
        .map(|ms| Timestamp::from_ms(ms).ok_or_else(|| format!("centroid {at} has no time")));
    Ok(Centroid {
        log_offset: message.log_offset,
        log_time: log_time.transpose()?,
        fingerprint: Box::from(&*fingerprint.data),
        text_digest: text_digest
            .map_err(|_| format!("centroid {at} has a text digest of other than 16 bytes"))?,
        page_id: std::mem::take(&mut message.page_id).into(),
        url: std::mem::take(&mut message.url).into(),
    })
}
