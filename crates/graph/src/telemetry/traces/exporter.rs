//! Exporter of spans to a collector: OTLP over HTTP/1.1, protobuf.
//!
//! ```text
//! queue ─► batch (full, or waited for `delay`) ─► POST ─► 200: exported, except rejected spans
//!                                                  ├ 429, 502, 503, 504, no connection: retried later
//!                                                  └ everything else: the batch is lost
//! ```
//! Invariants: nothing waits for the exporter. If the collector is unavailable, spans that find no room in
//! the queue are lost, and so are the spans of a batch that was tried [`ATTEMPTS`] times. Each lost span is
//! counted, and the log reports losses at most once a minute.

use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout, timeout_at};
use url::Position;

use super::otlp::{ExportRequest, ExportResponse, Resource, ResourceSpans, Scope, ScopeSpans, Span};
use super::spans::{SCHEMA_URL, text};
use crate::telemetry::metrics;
use leitong_pipeline::config::redact;
use leitong_pipeline::config::traces::Settings;

/// Number of attempts to send a batch.
const ATTEMPTS: u32 = 5;
/// Pause after the first attempt. It doubles after each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Maximum length of the pause that a collector can request.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Minimum time between two log messages about lost spans.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// Limit on the bytes that are read of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Reason why the collector did not accept a batch.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// The batch may be accepted later, perhaps after this time.
    ForNow(String, Option<Duration>),
    /// The batch will never be accepted.
    ForGood(String),
}

/// Sends spans until `ended` receives a message. Then sends the waiting spans, each batch once.
pub(super) async fn run(settings: Settings, mut queue: mpsc::Receiver<Span>, mut ended: mpsc::Receiver<()>) {
    let mut exporter = Exporter { resource: resource(&settings), settings, warned: None, lost: 0 };
    let mut batch = Vec::new();
    while exporter.fill(&mut batch, &mut queue, &mut ended).await {
        let spans = std::mem::take(&mut batch);
        tokio::select! {
            _ = exporter.send(&spans, ATTEMPTS) => {}
            _ = ended.recv() => {
                batch = spans;
                break;
            }
        }
    }
    loop {
        while batch.len() < exporter.settings.batch_spans
            && let Ok(span) = queue.try_recv()
        {
            batch.push(span);
        }
        if batch.is_empty() || !exporter.send(&std::mem::take(&mut batch), 1).await {
            return;
        }
    }
}

struct Exporter {
    settings: Settings,
    resource: Resource,
    warned: Option<Instant>,
    /// Number of spans lost since the last warning.
    lost: u64,
}

impl Exporter {
    /// Waits for a span and then, for a short time, for more. Returns false if no more can come, or if
    /// `ended` receives a message.
    async fn fill(
        &self,
        batch: &mut Vec<Span>,
        queue: &mut mpsc::Receiver<Span>,
        ended: &mut mpsc::Receiver<()>,
    ) -> bool {
        let max = self.settings.batch_spans;
        let fill = async {
            let Some(first) = queue.recv().await else { return false };
            batch.push(first);
            let deadline = tokio::time::Instant::now() + self.settings.delay;
            while batch.len() < max {
                match timeout_at(deadline, queue.recv_many(batch, max - batch.len())).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
            true
        };
        tokio::select! {
            filled = fill => filled,
            _ = ended.recv() => false,
        }
    }

    /// Sends a batch, up to `attempts` times if the collector is unavailable. Returns true if it accepts the batch.
    async fn send(&mut self, spans: &[Span], attempts: u32) -> bool {
        let (body, count) = (self.body(spans), spans.len() as u64);
        let mut pause = FIRST_PAUSE;
        for left in (0..attempts).rev() {
            match self.post(body.clone()).await {
                Ok((rejected, why)) => {
                    let rejected = rejected.min(count);
                    metrics::TRACE_SPANS.add_as("exported", count - rejected);
                    if rejected > 0 {
                        self.lose(rejected, &format!("the collector rejects them: {why}"));
                    }
                    return true;
                }
                Err(Failure::ForNow(why, retry_after)) if left > 0 => {
                    tracing::debug!("retrying to send traces to the collector: {why}");
                    sleep(retry_after.unwrap_or(pause).min(PAUSE_MAX)).await;
                    pause *= 2;
                }
                Err(Failure::ForNow(why, _) | Failure::ForGood(why)) => {
                    self.lose(count, &why);
                    break;
                }
            }
        }
        false
    }

    fn lose(&mut self, spans: u64, why: &str) {
        metrics::TRACE_SPANS.add_as("failed", spans);
        self.lost += spans;
        if self.warned.is_none_or(|warned| warned.elapsed() >= WARNING_INTERVAL) {
            let endpoint = redact::address(self.settings.endpoint.as_str());
            tracing::warn!(
                endpoint,
                spans = self.lost,
                "trace spans are lost; pages and verdicts are not affected: {why}"
            );
            (self.warned, self.lost) = (Some(Instant::now()), 0);
        }
    }

    fn body(&self, spans: &[Span]) -> Bytes {
        let scope = Scope { name: "leitong".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let request = ExportRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(self.resource.clone()),
                scope_spans: vec![ScopeSpans { scope: Some(scope), spans: spans.to_vec() }],
                schema_url: SCHEMA_URL.to_owned(),
            }],
        };
        request.encode_to_vec().into()
    }

    /// Sends a request. Returns the number of rejected spans, and the reason.
    async fn post(&self, body: Bytes) -> Result<(u64, String), Failure> {
        let within = self.settings.timeout;
        let no_answer = |_| Err(Failure::ForNow(format!("no answer within {within:?}"), None));
        timeout(within, self.try_post(body)).await.unwrap_or_else(no_answer)
    }

    async fn try_post(&self, body: Bytes) -> Result<(u64, String), Failure> {
        let url = &self.settings.endpoint;
        let for_now = |error: &dyn std::fmt::Display| Failure::ForNow(error.to_string(), None);
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(80);
        let stream = TcpStream::connect((host, port)).await.map_err(|error| for_now(&error))?;
        let (mut client, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| for_now(&error))?;
        // The task ends with the client.
        tokio::spawn(connection);
        let request = self.request(body).map_err(|error| Failure::ForGood(error.to_string()))?;
        let answer = client.send_request(request).await.map_err(|error| for_now(&error))?;
        let status = answer.status();
        let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        if !status.is_success() {
            return Err(failure(status, &body, seconds.map(Duration::from_secs)));
        }
        // An answer that is not a valid message is taken to reject no spans.
        let partial = ExportResponse::decode(body).ok().and_then(|answer| answer.partial_success);
        let partial = partial.unwrap_or_default();
        Ok((u64::try_from(partial.rejected_spans).unwrap_or(0), partial.error_message))
    }

    fn request(&self, body: Bytes) -> hyper::http::Result<Request<Full<Bytes>>> {
        let url = &self.settings.endpoint;
        let mut request = Request::post(&url[Position::BeforePath..Position::AfterQuery])
            .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header(USER_AGENT, concat!("leitong/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(body))?;
        for (name, value) in &self.settings.headers {
            request.headers_mut().insert(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        }
        Ok(request)
    }
}

fn failure(status: StatusCode, body: &[u8], retry_after: Option<Duration>) -> Failure {
    let said = String::from_utf8_lossy(&body[..body.len().min(200)]).replace(char::is_control, " ");
    let why = format!("the collector answered {status}: {}", said.trim());
    match status.as_u16() {
        429 | 502 | 503 | 504 => Failure::ForNow(why, retry_after),
        _ => Failure::ForGood(why),
    }
}

/// Returns the resource that describes this process in each request.
fn resource(settings: &Settings) -> Resource {
    let mut attributes = vec![
        text("service.version", env!("CARGO_PKG_VERSION")),
        text("telemetry.sdk.name", "leitong"),
        text("telemetry.sdk.language", "rust"),
        text("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        text("process.pid", &std::process::id().to_string()),
    ];
    let own = |key: &str| settings.resource.iter().any(|(known, _)| known == key);
    attributes.retain(|attribute| !own(&attribute.key));
    attributes.extend(settings.resource.iter().map(|(key, value)| text(key, value)));
    Resource { attributes }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use hyper::Response;
    use hyper::server::conn::http1 as server;
    use hyper::service::service_fn;
    use tokio::net::TcpListener;

    use super::super::otlp::PartialSuccess;
    use super::*;
    use leitong_pipeline::config::traces::TracesConfig;

    /// Starts a collector that gives these answers one after the other, and keeps the requests.
    async fn collector(answers: Vec<(u16, Vec<u8>)>) -> (String, Arc<Mutex<Vec<ExportRequest>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let kept: Arc<Mutex<Vec<ExportRequest>>> = Arc::default();
        let (taken, answers) = (Arc::clone(&kept), Arc::new(Mutex::new(answers.into_iter())));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (taken, answers) = (Arc::clone(&taken), Arc::clone(&answers));
                let answer = service_fn(move |request: Request<hyper::body::Incoming>| {
                    let (taken, answers) = (Arc::clone(&taken), Arc::clone(&answers));
                    async move {
                        assert_eq!(request.uri().path(), "/v1/traces");
                        assert_eq!(request.headers()["x-key"], "a b");
                        let body = request.into_body().collect().await.expect("a body").to_bytes();
                        let message = ExportRequest::decode(body).expect("a request");
                        taken.lock().expect("no panic").push(message);
                        let next = answers.lock().expect("no panic").next();
                        let (status, body) = next.unwrap_or((200, Vec::new()));
                        let mut response = Response::new(Full::new(Bytes::from(body)));
                        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
                        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("0"));
                        Ok::<_, Infallible>(response)
                    }
                });
                tokio::spawn(server::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        (format!("http://{address}"), kept)
    }

    fn settings(endpoint: &str) -> Settings {
        let config = TracesConfig { enabled: true, ..TracesConfig::default() };
        let variables = |name: &str| match name {
            "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.to_owned()),
            "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-key=a%20b".to_owned()),
            "OTEL_BSP_SCHEDULE_DELAY" => Some("20".to_owned()),
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" => Some("4".to_owned()),
            _ => None,
        };
        config.settings(variables).expect("valid").expect("on")
    }

    fn named(number: usize) -> Span {
        Span { name: number.to_string(), ..Span::default() }
    }

    fn names(requests: &[ExportRequest]) -> Vec<String> {
        let scopes = requests.iter().flat_map(|request| &request.resource_spans);
        let spans = scopes.flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans);
        spans.map(|span| span.name.clone()).collect()
    }

    #[tokio::test]
    async fn waiting_spans_are_sent_in_batches_and_at_the_end() {
        let busy = vec![(503, b"later".to_vec()), (429, Vec::new())];
        let (endpoint, kept) = collector(busy).await;
        let (queue, waiting) = mpsc::channel(100);
        let (ending, ended) = mpsc::channel(1);
        let exporter = tokio::spawn(run(settings(&endpoint), waiting, ended));
        for number in 0..10 {
            queue.send(named(number)).await.expect("room");
        }
        while kept.lock().expect("no panic").len() < 5 {
            sleep(Duration::from_millis(5)).await;
        }
        queue.send(named(10)).await.expect("room");
        ending.send(()).await.expect("it listens");
        exporter.await.expect("it ends");
        let requests = kept.lock().expect("no panic");
        let batches: Vec<Vec<String>> = requests.iter().map(|one| names(std::slice::from_ref(one))).collect();
        assert_eq!(batches[..3], vec![vec!["0", "1", "2", "3"]; 3], "the same batch is retried");
        // The collector may get the last batch twice, if its answer did not come before the end.
        let mut sent = names(&requests[2..]);
        let mut seen = std::collections::HashSet::new();
        sent.retain(|name| seen.insert(name.clone()));
        assert_eq!(sent, (0..=10).map(|number| number.to_string()).collect::<Vec<_>>());
        let resource = requests[0].resource_spans[0].resource.as_ref().expect("a resource");
        assert!(resource.attributes.contains(&text("service.name", "leitong")));
    }

    #[tokio::test]
    async fn a_collector_that_refuses_or_is_unavailable_costs_only_spans() {
        let partial = PartialSuccess { rejected_spans: 2, error_message: "no".to_owned() };
        let partial = ExportResponse { partial_success: Some(partial) }.encode_to_vec();
        let (endpoint, kept) = collector(vec![(400, b"bad\r\n".to_vec()), (200, partial)]).await;
        let mut exporter =
            Exporter { resource: Resource::default(), settings: settings(&endpoint), warned: None, lost: 0 };
        assert!(!exporter.send(&[named(0), named(1)], ATTEMPTS).await);
        assert_eq!(kept.lock().expect("no panic").len(), 1, "a refused batch is not sent again");
        assert!(exporter.warned.is_some() && exporter.lost == 0, "the first loss is logged");
        assert!(exporter.send(&[named(0), named(1), named(2)], ATTEMPTS).await);
        assert_eq!(exporter.lost, 2, "the rejected spans wait for the next warning");
        let away = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
        exporter.settings.endpoint = format!("http://{away}/v1/traces").parse().expect("an address");
        assert!(!exporter.send(&[named(0)], 1).await);
        assert_eq!(exporter.lost, 3);
    }
}
