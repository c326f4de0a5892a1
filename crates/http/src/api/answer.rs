//! Builds the answers to requests, from verdicts that are already JSON.

use std::borrow::Cow;
use std::io::Write;

use hyper::header::HeaderName;
use serde::Serialize;
use serde_json::{Map, Value};

use super::problem::Problem;
use super::tables::{AsOf, KnownCluster};
use leitong_base::record::Timestamp;
use leitong_cluster::verdict::{Number, Verdict};
use leitong_cluster::{CanonicalPage, Centroid, ClusterId};
use leitong_fingerprint::Detector;
use leitong_fingerprint::relation::Relation;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Body in JSON; for an error, [problem details](Problem).
    pub body: Vec<u8>,
    /// A header that the status asks for.
    pub header: Option<(HeaderName, &'static str)>,
    /// True if the body is text instead of JSON.
    pub is_text: bool,
}

impl Answer {
    /// Returns an answer with status 200.
    pub(super) fn json(body: &impl Serialize) -> Self {
        Self::raw(serde_json::to_vec(body).expect("maps have texts for keys"))
    }

    /// Returns an answer with status 200 whose body is already JSON.
    pub(super) fn raw(body: Vec<u8>) -> Self {
        Self { status: 200, body, header: None, is_text: false }
    }

    /// Returns a plain text answer, for probes and scrapers.
    pub(super) fn text(status: u16, text: String) -> Self {
        Self { status, body: text.into_bytes(), header: None, is_text: true }
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        Self { status: problem.kind.status(), body: problem.to_json(), header: None, is_text: false }
    }
}

/// The answer to a look-up.
#[derive(Serialize)]
pub(super) struct LookUp {
    pub(super) verdict: Verdict,
    pub(super) nearest: Vec<NearPage>,
    pub(super) as_of: AsOf,
}

/// One of the nearest canonical pages.
#[derive(Serialize)]
pub(super) struct NearPage {
    cluster_id: ClusterId,
    page_id: String,
    url: String,
    /// True if the page is near, false if it is only related.
    near: bool,
    exact: bool,
    distance: Number,
    similarity: Number,
    relation: Option<Relation>,
    share: Option<Number>,
    canonical_share: Option<Number>,
    evidence: Map<String, Value>,
}

impl NearPage {
    /// Describes `canonical` to the page with this fingerprint.
    pub(super) fn new(canonical: CanonicalPage, fingerprint: &[u8], detector: &dyn Detector) -> Self {
        let (relation, share, canonical_share) = canonical.relation_of(fingerprint, detector);
        Self {
            cluster_id: canonical.cluster_id,
            near: !canonical.related,
            exact: canonical.exact,
            distance: Number(detector.distance(canonical.distance)),
            similarity: Number(detector.similarity(fingerprint, &canonical.fingerprint)),
            relation,
            share,
            canonical_share,
            evidence: detector.evidence(fingerprint, &canonical.fingerprint),
            page_id: canonical.page_id,
            url: canonical.url,
        }
    }
}

/// The canonical page of a cluster.
#[derive(Serialize)]
struct Canonical {
    page_id: Box<str>,
    url: Box<str>,
    fingerprint: String,
    text_digest: String,
    founded_at: Option<Timestamp>,
}

impl Canonical {
    fn new(centroid: Centroid, detector: &dyn Detector) -> Self {
        Self {
            fingerprint: detector.display(&centroid.fingerprint),
            text_digest: format!("{:032x}", centroid.text_digest),
            founded_at: centroid.log_time,
            page_id: centroid.page_id,
            url: centroid.url,
        }
    }
}

/// The outcome for one record of a batch: the verdict on the record's page as JSON, or the problem of a record that is
/// not a page, or that the settings skip.
pub(super) type Outcome = Result<Box<[u8]>, Problem>;

/// Returns `{"verdict":…}`, for the only page of a request.
pub(super) fn single_result(verdict: &[u8]) -> Answer {
    Answer::raw([b"{\"verdict\":", verdict, b"}"].concat())
}

/// Returns `{"stored":…,"results":[…]}`, for a batch.
pub(super) fn batch_results(outcomes: &[Outcome]) -> Answer {
    let stored = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let mut body = format!("{{\"stored\":{stored},\"results\":[").into_bytes();
    for (number, outcome) in outcomes.iter().enumerate() {
        let (name, json): (_, Cow<'_, [u8]>) = match outcome {
            Ok(verdict) => ("verdict", verdict[..].into()),
            Err(problem) => ("problem", problem.to_json().into()),
        };
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(body, "{comma}{{\"{name}\":");
        body.extend_from_slice(&json);
        body.push(b'}');
    }
    body.extend_from_slice(b"]}");
    Answer::raw(body)
}

/// Returns one look-up of a batch as JSON: the look-up itself, or `{"problem":…}`.
pub(super) fn look_up_result(found: Result<Answer, Problem>) -> Vec<u8> {
    match found {
        Ok(answer) => answer.body,
        Err(problem) => [b"{\"problem\":", &problem.to_json()[..], b"}"].concat(),
    }
}

/// Returns `{"results":[…]}`, for a batch of look-ups.
pub(super) fn look_up_results(results: &[Vec<u8>]) -> Answer {
    Answer::raw([&b"{\"results\":["[..], &results.join(&b','), b"]}"].concat())
}

/// Returns `{"cluster_id":…,"canonical":…,"members_kept":…,"members":[…]}`.
pub(super) fn cluster_answer(id: ClusterId, known: KnownCluster, detector: &dyn Detector) -> Answer {
    let KnownCluster { centroid, members_kept, members } = known;
    let canonical = centroid.map(|centroid| Canonical::new(centroid, detector));
    let canonical = serde_json::to_string(&canonical).expect("texts and a date");
    let head = format!(
        "{{\"cluster_id\":\"{id}\",\"canonical\":{canonical},\"members_kept\":{members_kept},\"members\":["
    );
    Answer::raw([head.as_bytes(), &members.join(&b','), b"]}"].concat())
}
