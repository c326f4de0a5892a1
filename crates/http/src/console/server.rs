//! The port of `leitong console`: sockets, limits and timeouts.
//!
//! ```text
//! accept ─► check the client ─► a permit ─► body ─► a thread: site ─► answer
//! ```
//! Bounded: [connections](crate::port); [`PLACES`] requests at a time, each with at most
//! one form. A form has the bytes of two pages at most, and must arrive within [`BODY_TIMEOUT`].

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::http::{self, Query};
use super::site::{ConsoleRequest, Site};
use crate::answer::Answer;
use crate::port::same_site::SameSite;
use crate::port::{Client, Limits, Port, RequestBody};

/// Maximum number of requests that are processed at once. Others wait.
const PLACES: usize = 2;
/// Maximum time for a form to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Limits on the connections of the browser.
const LIMITS: Limits = Limits {
    connections_max: 32,
    head_timeout: Duration::from_secs(30),
    write_timeout: Duration::from_secs(30),
    keep_alive: true,
};
const TOO_LARGE: &str = "the pages are larger than page.bytes_max";

/// The reason why a port cannot be bound.
#[derive(Debug, Error)]
pub enum BindError {
    /// Other machines could reach the port.
    #[error(
        "--address {0}: other machines could reach it, and the console has no authentication; use 127.0.0.1, and \
         from another machine `ssh -L {port}:127.0.0.1:{port}`",
        port = .0.port()
    )]
    OtherMachines(SocketAddr),
    /// The operating system reported an error.
    #[error(
        "--address {address:?}: cannot be bound ({error}); choose another address, or port 0 for a free port"
    )]
    Io {
        /// The address.
        address: String,
        /// The error. It is `InvalidInput` for an address without a port, and the like.
        error: io::Error,
    },
}

impl BindError {
    /// Returns true if the address itself is wrong.
    pub fn is_about_address(&self) -> bool {
        !matches!(self, Self::Io { error, .. } if error.kind() != io::ErrorKind::InvalidInput)
    }
}

/// A port that is bound but not served yet.
pub struct ConsolePort(Port);

impl ConsolePort {
    /// Binds a port that only this machine can reach.
    ///
    /// # Errors
    /// Fails if the port cannot be bound, or if other machines could reach it.
    pub async fn bind(address: &str) -> Result<Self, BindError> {
        let port = Port::bind(address).await;
        let port = port.map_err(|error| BindError::Io { address: address.to_owned(), error })?;
        match port.address() {
            address if address.ip().is_loopback() => Ok(Self(port)),
            address => Err(BindError::OtherMachines(address)),
        }
    }

    /// Returns the address that the port is bound to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves the port permanently.
    pub async fn serve(self, site: Site) {
        let edge = Arc::new(Edge { site: Arc::new(site), places: Semaphore::new(PLACES) });
        let answer = move |request, client| {
            let edge = Arc::clone(&edge);
            async move { edge.answer(request, client).await }
        };
        self.0.serve(LIMITS, answer).await;
    }
}

/// State that all connections share.
struct Edge {
    site: Arc<Site>,
    places: Semaphore,
}

impl Edge {
    async fn answer(&self, request: Request<RequestBody>, client: Client) -> Response<Full<Bytes>> {
        // Only this machine can reach the port.
        if let Some(why) = SameSite::for_pages(true).refusal(request.version(), request.headers()) {
            return text_response(StatusCode::FORBIDDEN, &why);
        }
        match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, _) | (&Method::POST, "/compare") => {
                self.answer_on_thread(request, &client).await
            }
            (_, path) => {
                let allow = if path == "/compare" { "GET, HEAD, POST" } else { "GET, HEAD" };
                let mut response =
                    text_response(StatusCode::METHOD_NOT_ALLOWED, "this address does not allow that method");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
                response
            }
        }
    }

    /// Receives a form. Returns the status and the reason if it cannot be received.
    async fn form(&self, body: RequestBody) -> Result<Vec<u8>, (StatusCode, &'static str)> {
        let bytes_max = self.site.form_bytes_max();
        if body.size_hint().lower() > bytes_max as u64 {
            return Err((StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE));
        }
        match timeout(BODY_TIMEOUT, Limited::new(body, bytes_max).collect()).await {
            Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err((StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE))
            }
            Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the form ended early; send it again")),
            Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the form did not arrive in time; send it again")),
        }
    }

    /// Answers on a thread that may block.
    async fn answer_on_thread(
        &self,
        request: Request<RequestBody>,
        client: &Client,
    ) -> Response<Full<Bytes>> {
        // A permit comes before the body is read, so memory holds at most one form per permit.
        let Ok(_place) = self.places.acquire().await else {
            return text_response(StatusCode::SERVICE_UNAVAILABLE, "the console is stopping");
        };
        let (parts, body) = request.into_parts();
        let body = if parts.method == Method::POST { self.form(body).await } else { Ok(Vec::new()) };
        let body = match body {
            Ok(body) => body,
            Err((status, why)) => return text_response(status, why),
        };
        let _at_work = client.at_work();
        let site = Arc::clone(&self.site);
        let answer = tokio::task::spawn_blocking(move || {
            let request = ConsoleRequest {
                path: parts.uri.path(),
                query: Query::from_uri(&parts.uri),
                accepts: http::accepted_language(&parts.headers),
            };
            let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            match parts.method {
                Method::POST => site.post(&request, content_type.unwrap_or_default(), &body),
                _ => site.get(&request),
            }
        });
        match answer.await {
            Ok(answer) => answer.into_response(),
            Err(_) => {
                text_response(StatusCode::INTERNAL_SERVER_ERROR, "this is a bug in Leitong; please report it")
            }
        }
    }
}

fn text_response(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    Answer { status, content_type: "text/plain; charset=utf-8", body: format!("{why}\n") }.into_response()
}
