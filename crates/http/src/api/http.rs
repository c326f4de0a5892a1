//! Handles one HTTP request: checks the client, receives the body, and sends the answer.
//!
//! ```text
//! rate ─► site ─► token ─► path ─► body ─► permit to be processed ─► CPU threads, committer
//! ```
//! Cheap checks come first. A request that is refused is not processed any further.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use percent_encoding::percent_decode_str;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use super::answer::{self, Answer};
use super::body::{self, Limits, Memory, Reserved};
use super::client::Clients;
use super::committer::Submission;
use super::core::{self, Batch, Core, LookedUpOrBatch, Tools};
use super::pool::{Pool, Urgency};
use super::problem::{Problem, ProblemKind};
use super::token::{Token, TokenFault};
use crate::port::same_site::SameSite;
use crate::port::{Client, RequestBody};
use leitong_graph::telemetry::metrics;

/// Number of records of a batch that one thread prepares at a time.
const PREPARED_AT_ONCE: usize = 16;
/// Content codings that are offered to clients.
const OFFERED_CODINGS: &str = "gzip, deflate, br, zstd";
/// Content codings that a body may have.
const CODINGS: [&str; 7] = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity", ""];
/// Minimum number of bytes of a compressed body for which memory is reserved.
const DECOMPRESSED_MIN: usize = 1 << 14;
/// Number of times its size that a compressed body may have before more memory is reserved, again this many times as
/// much.
const DECOMPRESSED_TIMES: usize = 4;
/// Maximum time that a readiness probe waits for the committer, which may be saving the table.
const RETRY_WAIT: Duration = Duration::from_secs(1);
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
    /// Answers a request of `client`.
    pub(super) async fn answer(
        &self,
        request: Request<RequestBody>,
        client: Client,
    ) -> Response<Full<Bytes>> {
        let mut reserved = None;
        let (parts, body) = request.into_parts();
        if let Some(answer) = self.operations(&parts, client.ip).await {
            return response(answer, reserved);
        }
        let began = Instant::now();
        let route = Route::new(&parts.method, parts.uri.path());
        let operation = route.operation();
        let answer = match self.admitted(&parts, client.ip) {
            Ok(()) => {
                let answer = self.routed(route, &parts, body, &mut reserved, &client).await;
                answer.unwrap_or_else(Answer::from)
            }
            Err(answer) => answer,
        };
        metrics::api_request(operation, answer.status, began.elapsed());
        response(answer, reserved)
    }

    /// Answers probes, which need no token, and scrapers. Returns `None` for other requests, and for all
    /// requests if probes and scrapers do not use this port.
    async fn operations(&self, parts: &Parts, client: IpAddr) -> Option<Answer> {
        let (metrics, path) = (self.metrics.as_ref()?, parts.uri.path());
        let admitted = match path {
            "/livez" | "/readyz" => self.check_site(parts).map_err(Answer::from),
            "/metrics" => self.admitted(parts, client),
            _ => return None,
        };
        if let Err(answer) = admitted {
            return Some(answer);
        }
        if !is_get(&parts.method) {
            return Some(Core::not_allowed(path, "GET, HEAD"));
        }
        let not_ready = if path == "/readyz" { self.not_ready().await } else { None };
        Some(match (path, not_ready) {
            ("/metrics", _) => {
                self.core.tables.measure();
                Answer::text(200, metrics.render())
            }
            (_, Some(why)) => Answer::text(503, why + "\n"),
            (_, None) => Answer::text(200, "ok\n".to_owned()),
        })
    }

    /// Returns the reason why the server should get no requests now; `None` if it is ready. If the last store
    /// has failed, no other store may come while the server is not ready. So a probe asks the committer to try
    /// again.
    async fn not_ready(&self) -> Option<String> {
        self.core.tables.not_ready()?;
        let _ = timeout(RETRY_WAIT, self.submitted(Vec::new())).await;
        self.core.tables.not_ready()
    }

    fn check_site(&self, parts: &Parts) -> Result<(), Problem> {
        let refusal = self.site.refusal(parts.version, &parts.headers);
        refusal.map_or(Ok(()), |why| Err(Problem::new(ProblemKind::Forbidden, why)))
    }

    fn admitted(&self, parts: &Parts, client: IpAddr) -> Result<(), Answer> {
        if !self.clients.may_ask(client, Instant::now()) {
            let detail = "the client sends more than api.requests_per_second requests per second; retry after a second";
            return Err(Problem::new(ProblemKind::TooManyRequests, detail).into());
        }
        self.check_site(parts)?;
        let authorization = parts.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        self.token.as_ref().map_or(Ok(()), |token| token.check(authorization)).map_err(unauthorized)
    }

    async fn routed(
        &self,
        route: Route,
        parts: &Parts,
        body: RequestBody,
        reserved: &mut Reserved,
        client: &Client,
    ) -> Result<Answer, Problem> {
        let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
        let (is_get, is_post) = (is_get(&parts.method), parts.method == Method::POST);
        // While its body arrives, a request is not at work.
        let _at_work = (!is_post).then(|| client.at_work());
        match route {
            Route::LookUp if is_post => {
                let request = self.received(parts, body, reserved).await?;
                let (_place, _at_work) = (self.place()?, client.at_work());
                self.look_up(request, reserved).await
            }
            Route::Store if is_post => {
                self.core.stores()?;
                let request = self.received(parts, body, reserved).await?;
                let (_place, _at_work) = (self.place()?, client.at_work());
                self.store(request, reserved).await
            }
            Route::PageOfUrl => self.core.page_of_url(query),
            Route::Page(id) | Route::Cluster(id) if id.is_empty() => Err(self.core.nowhere(path)),
            Route::Page(id) if is_get => self.core.stored_page(&id, query),
            Route::Cluster(id) if is_get => {
                let (_place, query) = (self.place()?, query.to_owned());
                let cluster = move |core: &Core, tools: &mut _| core.cluster(&id, &query, tools);
                let answer = self.pool.run(Urgency::LookUp, cluster).await??;
                // The answer may list thousands of members.
                self.memory.reserve(reserved, answer.body.len()).await?;
                Ok(answer)
            }
            Route::LookUp => Ok(Core::not_allowed(path, "POST")),
            Route::Store if self.core.stores().is_ok() => Ok(Core::not_allowed(path, "GET, HEAD, POST")),
            Route::Store | Route::Page(_) | Route::Cluster(_) => Ok(Core::not_allowed(path, "GET, HEAD")),
            Route::Nowhere => Err(self.core.nowhere(path)),
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
        body: RequestBody,
        reserved: &mut Reserved,
    ) -> Result<core::Request, Problem> {
        let codings = content_codings(&parts.headers)?;
        let body = body::receive(body, self.limits, &self.memory, reserved).await?;
        let is_packed = codings.is_some() || body.starts_with(b"\x1f\x8b");
        let body = if is_packed { self.decompressed(body, codings, reserved).await? } else { body };
        let corpus = self.core.stage.corpus_header().and_then(|name| parts.headers.get(name));
        let content_type =
            parts.headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
        Ok(core::Request {
            query: parts.uri.query().unwrap_or_default().to_owned(),
            content_type,
            corpus: corpus.map(|value| value.as_bytes().to_vec()),
            body,
        })
    }

    /// Decompresses a body. Memory is reserved for a few times its size, and for more only if that is not enough. So a
    /// small body does not keep the memory from others. All attempts together cost at most a third more than the last.
    async fn decompressed(
        &self,
        body: Vec<u8>,
        codings: Option<String>,
        reserved: &mut Reserved,
    ) -> Result<Vec<u8>, Problem> {
        let bytes_max = self.limits.bytes_max;
        let (body, codings) = (Arc::new(body), Arc::new(codings));
        let mut max = body.len().max(DECOMPRESSED_MIN).saturating_mul(DECOMPRESSED_TIMES).min(bytes_max);
        loop {
            self.memory.reserve(reserved, body.capacity() + max).await?;
            let (compressed, codings) = (Arc::clone(&body), Arc::clone(&codings));
            let decompress = move |core: &Core, _: &mut _| {
                core.decompressed(&compressed, codings.as_deref().map(str::as_bytes), max)
            };
            if let Some(decompressed) = self.pool.run(Urgency::LookUp, decompress).await?? {
                Memory::shrink(reserved, decompressed.capacity());
                return Ok(decompressed);
            }
            max = max.saturating_mul(DECOMPRESSED_TIMES).min(bytes_max);
        }
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
        let results = self.in_parts(&batch, Core::look_some_up).await?;
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
        let (mut pages, mut outcomes) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for prepared in self.in_parts(&batch, Core::prepare).await? {
            outcomes.push(prepared.map(|page| pages.push(*page)));
        }
        let verdicts = if pages.is_empty() { Vec::new() } else { self.submitted(pages).await? };
        Ok(Core::stored(&batch, outcomes, verdicts))
    }

    /// Does `work` on all records of a batch, on all cores. Returns the results in order.
    async fn in_parts<T: Send + 'static>(
        &self,
        batch: &Arc<Batch>,
        work: fn(&Core, &Batch, Range<usize>, &mut Tools) -> Vec<T>,
    ) -> Result<Vec<T>, Problem> {
        let queue = |start| {
            let some = start..batch.len().min(start + PREPARED_AT_ONCE);
            let batch = Arc::clone(batch);
            self.pool.run(Urgency::Batch, move |core, tools| work(core, &batch, some, tools))
        };
        // All parts are queued before the first one is awaited.
        let parts: Vec<_> = (0..batch.len()).step_by(PREPARED_AT_ONCE).map(queue).collect();
        let mut results = Vec::with_capacity(batch.len());
        for part in parts {
            results.extend(part.await?);
        }
        Ok(results)
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

/// Returns true for the methods that read. The answer to `HEAD` is sent without its body.
fn is_get(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns the answer to a client without the token, with the challenge of RFC 6750.
fn unauthorized(fault: TokenFault) -> Answer {
    let (detail, challenge) = match fault {
        TokenFault::Missing => {
            ("the request has no token; send it as `Authorization: Bearer TOKEN`", "Bearer")
        }
        TokenFault::Wrong => (
            "the token is wrong; send the one that api.token_file or api.token_env of the server names",
            "Bearer error=\"invalid_token\", error_description=\"the token is wrong\"",
        ),
    };
    let problem = Problem::new(ProblemKind::Unauthorized, detail);
    Answer { header: Some((WWW_AUTHENTICATE, challenge)), ..problem.into() }
}

/// Returns the content codings of a body, which may be in several headers, or `None` if no header has one.
fn content_codings(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let all: Vec<_> = headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes).collect();
    let codings = String::from_utf8_lossy(&all.join(&b","[..])).to_ascii_lowercase();
    match codings.split(',').map(str::trim).find(|coding| !CODINGS.contains(coding)) {
        Some(unknown) => Err(Problem::new(
            ProblemKind::UnsupportedMediaType,
            format!(
                "content-encoding {unknown:?}: not supported; send {OFFERED_CODINGS}, or no content-encoding"
            ),
        )),
        None => Ok((!codings.is_empty()).then_some(codings)),
    }
}

/// The operation that a path stands for. Only `/v1/pages` has two, by the method.
enum Route {
    LookUp,
    Store,
    PageOfUrl,
    Page(String),
    Cluster(String),
    Nowhere,
}

impl Route {
    fn new(method: &Method, path: &str) -> Self {
        let path = path.strip_prefix("/v1/").unwrap_or_default();
        let (kind, id) = path.split_once('/').map_or((path, None), |(kind, id)| (kind, Some(id)));
        match (kind, id.map(|id| percent_decode_str(id).decode_utf8_lossy().into_owned())) {
            ("lookup", None) => Self::LookUp,
            ("pages", None) if is_get(method) => Self::PageOfUrl,
            ("pages", None) => Self::Store,
            ("pages", Some(id)) => Self::Page(id),
            ("clusters", Some(id)) => Self::Cluster(id),
            _ => Self::Nowhere,
        }
    }

    /// Returns the operation for the metrics. It has few values, whatever clients send.
    fn operation(&self) -> &'static str {
        match self {
            Self::LookUp => "lookup",
            Self::Store => "store",
            Self::PageOfUrl | Self::Page(_) => "page",
            Self::Cluster(_) => "cluster",
            Self::Nowhere => "other",
        }
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
    let Answer { status, body, header, is_text } = answer;
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
    if let Some((name, value)) = header {
        headers.insert(name, HeaderValue::from_static(value));
    }
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(OFFERED_CODINGS));
        }
        _ => {}
    }
    response
}
