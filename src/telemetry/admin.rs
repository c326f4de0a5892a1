//! The admin port: `GET /livez`, `/readyz` and `/metrics`. No authentication, so it listens on the loopback
//! interface unless told otherwise. Memory: at most [`CONNECTIONS_MAX`] connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::health::Health;

/// Connections that are served at once; further ones wait.
const CONNECTIONS_MAX: usize = 32;
/// How long a client may take to say what it wants.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The port, taken and not yet served.
pub struct AdminPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl AdminPort {
    /// Takes the port.
    ///
    /// # Errors
    /// It cannot be had.
    pub async fn bind(address: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("admin.address = {address:?}: cannot be had; take another one with --admin or port 0")
        })?;
        let address = listener.local_addr().context("the admin port has no address")?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves it, for ever.
    pub async fn serve(self, health: Arc<Health>, metrics: PrometheusHandle) {
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the admin port takes no connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (health, metrics) = (Arc::clone(&health), metrics.clone());
            tokio::spawn(async move {
                let _permit = permit;
                let answer = service_fn(move |request: Request<Incoming>| {
                    let response = respond(&request, &health, &metrics);
                    async move { Ok::<_, Infallible>(response) }
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).keep_alive(false);
                // A client that goes away early is its own affair.
                let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    }
}

fn respond(
    request: &Request<Incoming>,
    health: &Health,
    metrics: &PrometheusHandle,
) -> Response<Full<Bytes>> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "GET only\n".to_owned());
    }
    match request.uri().path() {
        "/livez" => probe(&health.dead()),
        "/readyz" => probe(&health.not_ready()),
        "/metrics" => text(StatusCode::OK, metrics.render()),
        _ => text(StatusCode::NOT_FOUND, "there is /livez, /readyz and /metrics\n".to_owned()),
    }
}

fn probe(reasons: &[String]) -> Response<Full<Bytes>> {
    match reasons {
        [] => text(StatusCode::OK, "ok\n".to_owned()),
        reasons => text(StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n"),
    }
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let plain = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}
