//! Handles one HTTP request: checks the client, receives the body, and sends the answer.
//!
//! ```text
//! rate ─► site ─► token ─► path ─► body ─► permit to be processed ─► CPU threads, committer
//! ```
//! Cheap checks come first, and nothing more is read of a request that is refused.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use percent_encoding::percent_decode_str;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::answer::{self, Answer};
use super::body::{self, Limits, Memory, Reserved};
use super::client::Clients;
use super::committer::Submission;
use super::core::{self, Core, LookedUpOrBatch, Prepared};
use super::pool::{Pool, Urgency};
use super::problem::{Problem, ProblemKind};
use super::token::Token;
use crate::config::ApiConfig;
use crate::http::Client;
use crate::http::same_site::SameSite;
use crate::telemetry::metrics;

/// Number of records of a batch that one thread prepares at a time.
const PREPARED_AT_ONCE: usize = 16;
/// Approximate memory for the verdict on a stored page until it is sent.
const VERDICT_BYTES: usize = 4096;

/// State that all connections share.
pub(super) struct Edge {
    pub(super) core: Arc<Core>,
    pub(super) pool: Pool,
    /// Channel for pages to store; `None` if pages are not stored over HTTP.
    pub(super) submissions: Option<mpsc::Sender<Submission>>,
    pub(super) clients: Clients,
    /// The check for requests that web pages of other sites send.
    pub(super) site: SameSite,
    pub(super) token: Option<Token>,
    /// Metrics of this process, if probes and scrapers use this port.
    pub(super) metrics: Option<PrometheusHandle>,
    pub(super) memory: Memory,
    /// Permits for requests that are being processed.
    pub(super) places: Semaphore,
    pub(super) limits: Limits,
}

impl Edge {
    /// Applies the limits in `config`. `queue_bytes` limits the memory for requests in flight. `is_loopback`
    /// is true if only this machine can reach the port.
    pub(super) fn new(
        config: &ApiConfig,
        queue_bytes: usize,
        core: Arc<Core>,
        pool: Pool,
        submissions: Option<mpsc::Sender<Submission>>,
        token: Option<Token>,
        is_loopback: bool,
    ) -> Self {
        let timeout = Duration::from_millis(config.body_timeout_ms);
        Self {
            core,
            pool,
            submissions,
            clients: Clients::new(config.requests_per_second),
            site: SameSite::for_api(is_loopback, &config.hosts),
            token,
            metrics: None,
            memory: Memory::new(queue_bytes),
            places: Semaphore::new(config.requests_max),
            limits: Limits { bytes_max: config.body_bytes_max, timeout },
        }
    }

    /// Answers a request of `client`.
    pub(super) async fn answer(&self, request: Request<Incoming>, client: Client) -> Response<Full<Bytes>> {
        let mut reserved = self.memory.reserved();
        let (parts, incoming) = request.into_parts();
        if let Some(answer) = self.operations(&parts, client.ip) {
            return response(answer, reserved);
        }
        let began = Instant::now();
        let answer = match self.admitted(&parts, client.ip) {
            Ok(()) => self.routed(&parts, incoming, &mut reserved, &client).await,
            Err(problem) => Err(problem),
        };
        let answer = answer.unwrap_or_else(Answer::from);
        metrics::api_request(operation(&parts.method, parts.uri.path()), answer.status, began.elapsed());
        response(answer, reserved)
    }

    /// Answers probes, which need no token, and scrapers. Returns `None` for other requests, and for all
    /// requests if probes and scrapers do not use this port.
    fn operations(&self, parts: &Parts, client: IpAddr) -> Option<Answer> {
        let (metrics, path) = (self.metrics.as_ref()?, parts.uri.path());
        let admitted = match path {
            "/livez" | "/readyz" => self.check_site(parts),
            "/metrics" => self.admitted(parts, client),
            _ => return None,
        };
        if let Err(problem) = admitted {
            return Some(problem.into());
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(Core::not_allowed(path, "GET, HEAD"));
        }
        Some(match (path, self.core.not_ready()) {
            ("/metrics", _) => {
                self.core.measure();
                Answer::text(200, metrics.render())
            }
            ("/readyz", Some(why)) => Answer::text(503, why + "\n"),
            _ => Answer::text(200, "ok\n".to_owned()),
        })
    }

    fn check_site(&self, parts: &Parts) -> Result<(), Problem> {
        let refusal = self.site.refusal(&parts.headers);
        refusal.map_or(Ok(()), |why| Err(Problem::new(ProblemKind::Forbidden, why)))
    }

    fn admitted(&self, parts: &Parts, client: IpAddr) -> Result<(), Problem> {
        if !self.clients.may_ask(client, Instant::now()) {
            let detail = "the client sends more than api.requests_per_second requests per second; retry after a second";
            return Err(Problem::new(ProblemKind::TooManyRequests, detail));
        }
        self.check_site(parts)?;
        let authorization = parts.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        match &self.token {
            Some(token) if !token.is_in(authorization) => {
                let detail = "send the token as `Authorization: Bearer TOKEN`";
                Err(Problem::new(ProblemKind::Unauthorized, detail))
            }
            _ => Ok(()),
        }
    }

    async fn routed(
        &self,
        parts: &Parts,
        incoming: Incoming,
        reserved: &mut Reserved,
        client: &Client,
    ) -> Result<Answer, Problem> {
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let path = parts.uri.path();
        let id_after = |prefix: &str| {
            let rest = path.strip_prefix(prefix)?;
            Some(percent_decode_str(rest).decode_utf8_lossy().into_owned()).filter(|id| !id.is_empty())
        };
        let (is_get, is_post) = (parts.method == Method::GET, parts.method == Method::POST);
        if path == "/v1/lookup" && is_post {
            let request = self.received(parts, incoming, reserved).await?;
            let (_place, _at_work) = (self.place()?, client.at_work());
            return self.look_up(request, reserved).await;
        }
        if path == "/v1/pages" && is_get {
            return self.core.page_of_url(&query);
        }
        if path == "/v1/pages" && is_post {
            self.core.stores()?;
            let request = self.received(parts, incoming, reserved).await?;
            let (_place, _at_work) = (self.place()?, client.at_work());
            return self.store(request, reserved).await;
        }
        if path == "/v1/lookup" || path == "/v1/pages" {
            let allow = match (path, self.core.stores()) {
                ("/v1/lookup", _) => "POST",
                (_, Ok(())) => "GET, POST",
                (_, Err(_)) => "GET",
            };
            return Ok(Core::not_allowed(path, allow));
        }
        let _at_work = client.at_work();
        match (id_after("/v1/pages/"), id_after("/v1/clusters/")) {
            (Some(id), _) if is_get => self.core.stored_page(&id, &query),
            (_, Some(id)) if is_get => {
                let _place = self.place()?;
                let cluster = move |core: &Core, tools: &mut _| core.cluster(&id, &query, tools);
                let answer = self.pool.run(Urgency::LookUp, cluster).await??;
                // The answer may list thousands of members.
                self.memory.reserve(reserved, answer.body.len()).await?;
                Ok(answer)
            }
            (None, None) => Err(self.core.nowhere(path)),
            _ => Ok(Core::not_allowed(path, "GET")),
        }
    }

    /// Returns a permit to process a request.
    fn place(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Problem> {
        self.places.try_acquire().map_err(|_| {
            Problem::new(
                ProblemKind::Overloaded,
                "as many requests as the server allows are being processed; retry this request later",
            )
        })
    }

    /// Receives and decompresses the body of a request.
    async fn received(
        &self,
        parts: &Parts,
        incoming: Incoming,
        reserved: &mut Reserved,
    ) -> Result<core::Request, Problem> {
        let header = |name: HeaderName| parts.headers.get(name);
        let body = body::receive(incoming, self.limits, &self.memory, reserved).await?;
        let codings = header(CONTENT_ENCODING).map(|value| value.as_bytes().to_vec());
        let is_packed = codings.is_some() || body.starts_with(b"\x1f\x8b");
        let body = if is_packed {
            let limit = self.limits.bytes_max;
            self.memory.reserve(reserved, body.capacity() + limit).await?;
            let decompress = move |core: &Core, _: &mut _| core.decompressed(body, codings.as_deref());
            let body = self.pool.run(Urgency::LookUp, decompress).await??;
            Memory::shrink(reserved, body.capacity());
            body
        } else {
            body
        };
        let corpus = self.core.corpus_header().and_then(|name| parts.headers.get(name));
        let content_type = header(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
        Ok(core::Request {
            query: parts.uri.query().unwrap_or_default().to_owned(),
            content_type,
            corpus: corpus.map(|value| value.as_bytes().to_vec()),
            body,
        })
    }

    /// Handles `POST /v1/lookup`: one page, or a batch on all cores.
    async fn look_up(&self, request: core::Request, reserved: &mut Reserved) -> Result<Answer, Problem> {
        let body_bytes = request.body.capacity();
        let looked_up = self.pool.run(Urgency::LookUp, |core, tools| core.look_up(request, tools)).await??;
        let batch = match looked_up {
            LookedUpOrBatch::LookedUp(answer) => return Ok(answer),
            LookedUpOrBatch::Batch(batch) => Arc::new(batch),
        };
        let mut bytes = body_bytes + batch.len() * VERDICT_BYTES;
        self.memory.reserve(reserved, bytes).await?;
        let queue = |start| {
            let some = start..batch.len().min(start + PREPARED_AT_ONCE);
            let batch = Arc::clone(&batch);
            self.pool.run(Urgency::Batch, move |core, tools| core.look_some_up(&batch, some, tools))
        };
        let parts: Vec<_> = (0..batch.len()).step_by(PREPARED_AT_ONCE).map(queue).collect();
        let mut results = Vec::with_capacity(batch.len());
        for part in parts {
            results.extend(part.await?);
        }
        // Memory for the results, and for the answer that is built from them.
        bytes = body_bytes + 2 * results.iter().map(Vec::len).sum::<usize>();
        self.memory.reserve(reserved, bytes).await?;
        Ok(answer::look_up_results(&results))
    }

    /// Handles `POST /v1/pages`: prepares the pages on all cores, and stores them together.
    async fn store(&self, request: core::Request, reserved: &mut Reserved) -> Result<Answer, Problem> {
        let body_bytes = request.body.capacity();
        let batch = self.pool.run(Urgency::Batch, move |core, _| core.batch(request)).await??;
        let batch = Arc::new(batch);
        self.memory.reserve(reserved, body_bytes + batch.len() * VERDICT_BYTES).await?;
        let queue = |start| {
            let some = start..batch.len().min(start + PREPARED_AT_ONCE);
            let batch = Arc::clone(&batch);
            self.pool.run(Urgency::Batch, move |core, tools| core.prepare(&batch, some, tools))
        };
        // All parts are queued before the first one is awaited.
        let parts: Vec<_> = (0..batch.len()).step_by(PREPARED_AT_ONCE).map(queue).collect();
        let (mut pages, mut outcomes) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for part in parts {
            for prepared in part.await? {
                match prepared {
                    Prepared::Page(page) => {
                        pages.push(*page);
                        outcomes.push(None);
                    }
                    Prepared::Problem(problem) => outcomes.push(Some(problem)),
                }
            }
        }
        let verdicts = if pages.is_empty() { Vec::new() } else { self.submitted(pages).await? };
        Ok(Core::stored(&batch, outcomes, verdicts))
    }

    async fn submitted(
        &self,
        pages: Vec<leitong_base::record::FingerprintRecord>,
    ) -> Result<Vec<Box<[u8]>>, Problem> {
        let stopping = || {
            Problem::new(ProblemKind::Stopping, "the server is stopping; no page of this request is stored")
        };
        let (reply, verdicts) = oneshot::channel();
        let submissions = self.submissions.as_ref().ok_or_else(stopping)?;
        submissions.send(Submission { pages, reply }).await.map_err(|_| stopping())?;
        verdicts
            .await
            .map_err(|_| Problem::new(ProblemKind::Internal, "this is a bug in Leitong; please report it"))?
    }
}

/// Returns the operation for the metrics. It has few values, whatever clients send.
fn operation(method: &Method, path: &str) -> &'static str {
    match path {
        "/v1/lookup" => "lookup",
        "/v1/pages" if *method == Method::GET => "page",
        "/v1/pages" => "store",
        path if path.starts_with("/v1/pages/") => "page",
        path if path.starts_with("/v1/clusters/") => "cluster",
        _ => "other",
    }
}

/// Bytes of an answer, which keep their memory reserved until they are sent.
struct Held {
    bytes: Vec<u8>,
    _reserved: Reserved,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

fn response(answer: Answer, reserved: Reserved) -> Response<Full<Bytes>> {
    let Answer { status, body, allow, is_text } = answer;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = match is_text {
        true => "text/plain; version=0.0.4; charset=utf-8",
        false if status.is_success() => "application/json",
        false => "application/problem+json",
    };
    let bytes = Bytes::from_owner(Held { bytes: body, _reserved: reserved });
    let mut response = Response::new(Full::new(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(allow) = allow {
        headers.insert(ALLOW, HeaderValue::from_static(allow));
    }
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // The rest of the body may still be on its way, and will not be read.
        StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE => {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}
