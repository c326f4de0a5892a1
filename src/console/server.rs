//! The port of `leitong console`: sockets, limits, time.
//!
//! ```text
//! accept ─► who asks ─► a place ─► body ─► a thread: site ─► answer
//! ```
//! Bounded: [connections](crate::telemetry::connections); [`PLACES`] requests that are worked on, each
//! with one form; a form has two pages' bytes, and comes within [`BODY_TIMEOUT`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::http::{self, Answer, Query};
use super::site::{Asked, Site};
use crate::api::site::Site as Host;
use crate::telemetry::connections::Connections;

/// Requests that are worked on at once; the others wait.
const PLACES: usize = 2;
/// How long a form may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may last.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(180);
const TOO_LARGE: &str = "the pages are larger than page.bytes_max";

/// The port, taken and not yet served.
pub struct ConsolePort {
    listener: TcpListener,
    address: SocketAddr,
}

impl ConsolePort {
    /// Takes a port of this machine that others do not reach.
    ///
    /// # Errors
    /// It cannot be had, or others would reach it.
    pub async fn bind(address: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("--address {address:?}: cannot be had; take another one, or port 0"))?;
        let address = listener.local_addr().context("the port has no address")?;
        if !address.ip().is_loopback() {
            bail!(
                "--address {address}: others would reach it, and the console asks nobody who they are; take 127.0.0.1, \
                 and from elsewhere `ssh -L {0}:127.0.0.1:{0}`",
                address.port()
            );
        }
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves it, permanently.
    pub async fn serve(self, site: Site) {
        let edge = Arc::new(Edge { site: Arc::new(site), places: Semaphore::new(PLACES) });
        let connections = Connections { timeout: CONNECTION_TIMEOUT, keep_alive: true };
        let answer = move |request| {
            let edge = Arc::clone(&edge);
            async move { edge.answer(request).await }
        };
        connections.serve(self.listener, answer).await;
    }
}

/// What all connections share.
struct Edge {
    site: Arc<Site>,
    places: Semaphore,
}

impl Edge {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        // Only this machine reaches the port.
        if let Some(why) = Host::for_pages(true).refusal(request.headers()) {
            return said(StatusCode::FORBIDDEN, &why);
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, _) => self.made(request, Vec::new()).await,
            (&Method::POST, "/compare") => self.posted(request).await,
            (_, path) => {
                let allow = if path == "/compare" { "GET, HEAD, POST" } else { "GET, HEAD" };
                let mut response =
                    said(StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
                response
            }
        }
    }

    async fn posted(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        // Before the body: what is held in memory is a form for each place.
        let Ok(_place) = self.places.acquire().await else {
            return said(StatusCode::SERVICE_UNAVAILABLE, "the console is ending");
        };
        let (parts, body) = request.into_parts();
        let bytes_max = self.site.form_bytes_max();
        if body.size_hint().lower() > bytes_max as u64 {
            return closing(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
        }
        let body = Limited::new(body, bytes_max).collect();
        let body = match timeout(BODY_TIMEOUT, body).await {
            Ok(Ok(body)) => body.to_bytes().to_vec(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return closing(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE);
            }
            Ok(Err(_)) => return closing(StatusCode::BAD_REQUEST, "the form broke off"),
            Err(_) => return closing(StatusCode::REQUEST_TIMEOUT, "the form has not come in time"),
        };
        self.worked(parts, body).await
    }

    async fn made<B>(&self, request: Request<B>, body: Vec<u8>) -> Response<Full<Bytes>> {
        let Ok(_place) = self.places.acquire().await else {
            return said(StatusCode::SERVICE_UNAVAILABLE, "the console is ending");
        };
        self.worked(request.into_parts().0, body).await
    }

    /// Answers on a thread that may take its time.
    async fn worked(&self, parts: hyper::http::request::Parts, body: Vec<u8>) -> Response<Full<Bytes>> {
        let site = Arc::clone(&self.site);
        let answer = tokio::task::spawn_blocking(move || {
            let asked = Asked {
                path: parts.uri.path(),
                query: Query::of(&parts.uri),
                accepts: http::accepted_language(&parts.headers),
            };
            let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            match parts.method {
                Method::POST => site.post(&asked, content_type.unwrap_or_default(), &body),
                _ => site.get(&asked),
            }
        });
        match answer.await {
            Ok(answer) => answer.into_response(),
            Err(_) => said(StatusCode::INTERNAL_SERVER_ERROR, "a fault in Leitong: please report it"),
        }
    }
}

fn said(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    Answer { status, content_type: "text/plain; charset=utf-8", body: format!("{why}\n") }.into_response()
}

/// The rest of the body may still be on its way, and nobody will read it.
fn closing(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = said(status, why);
    response.headers_mut().insert(hyper::header::CONNECTION, HeaderValue::from_static("close"));
    response
}
