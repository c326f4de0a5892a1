//! The admin port: serves `GET /livez`, `/readyz`, `/metrics` and `/state`.
//!
//! There is no authentication, so the port is on the loopback interface unless the settings say otherwise.
//! Probes are answered no matter how many other clients are connected ([`port`](crate::port)).

mod state;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};

use crate::port::{Limits, Port, RequestBody};
use leitong_base::error::{Context, StepError};

pub use state::AdminState;

/// Limits on the clients: probes and scrapers are few, and send one request each.
const LIMITS: Limits = Limits {
    connections_max: 32,
    head_timeout: Duration::from_secs(5),
    write_timeout: Duration::from_secs(10),
    keep_alive: false,
};

/// An admin port that is bound but not served yet.
pub struct AdminPort(Port);

impl AdminPort {
    /// Binds the port.
    ///
    /// # Errors
    /// Fails if the port cannot be bound.
    pub async fn bind(address: &str) -> Result<Self, StepError> {
        let port = Port::bind(address).await.with_context(|| {
            format!("admin.address = {address:?}: cannot be bound; choose another address with --admin, or port 0 for a free port")
        })?;
        Ok(Self(port))
    }

    /// Returns the address that the port is bound to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves the port permanently.
    pub async fn serve(self, state: Arc<AdminState>) {
        self.serve_within(LIMITS, state).await;
    }

    async fn serve_within(self, limits: Limits, state: Arc<AdminState>) {
        let answer = move |request: Request<RequestBody>, _| {
            std::future::ready(respond(&request.into_parts().0, &state))
        };
        self.0.serve(limits, answer).await;
    }
}

fn respond(request: &Parts, state: &AdminState) -> Response<Full<Bytes>> {
    if request.method != Method::GET && request.method != Method::HEAD {
        let mut response =
            text(StatusCode::METHOD_NOT_ALLOWED, "this port allows only GET and HEAD\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri.path() {
        "/livez" => probe(&state.health.dead()),
        "/readyz" => probe(&state.health.not_ready()),
        "/metrics" => text(StatusCode::OK, state.metrics.render()),
        "/state" => state.answer(request),
        _ => text(StatusCode::NOT_FOUND, "not found; try /livez, /readyz, /metrics or /state\n".to_owned()),
    }
}

fn probe(reasons: &[String]) -> Response<Full<Bytes>> {
    match reasons {
        [] => text(StatusCode::OK, "ok\n".to_owned()),
        reasons => text(StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n"),
    }
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    const CONTENT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, CONTENT);
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use metrics_exporter_prometheus::PrometheusBuilder;
    use tokio::runtime::{Builder, Runtime};

    use super::*;
    use crate::wait::HANG_LIMIT;

    /// Starts a runtime, and opens a port in it.
    pub(super) fn open_port() -> (Runtime, AdminPort) {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let port = runtime.block_on(AdminPort::bind("127.0.0.1:0")).expect("a port");
        (runtime, port)
    }

    /// Sends `request` to the port and returns the answer.
    pub(super) fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("the port is open");
        stream.set_read_timeout(Some(*HANG_LIMIT)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("written");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    /// 200 clients that send half a request must not keep probes waiting: a healthy worker would be
    /// restarted.
    #[test]
    fn slow_clients_do_not_keep_probes_waiting() {
        let (runtime, port) = open_port();
        let address = port.address();
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let state = Arc::new(AdminState::begin(Arc::default(), metrics, true));
        // A probe that had to wait for a slow client would wait for an hour.
        let hour = Duration::from_secs(3600);
        let limits = Limits { head_timeout: hour, write_timeout: hour, ..LIMITS };
        runtime.spawn(port.serve_within(limits, state));
        let mut slow = Vec::new();
        for number in 0..200 {
            let mut stream = TcpStream::connect(address).expect("the port is open");
            // Half of the clients send nothing at all.
            if number % 2 == 0 {
                stream.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n").expect("written");
            }
            slow.push(stream);
        }
        for path in ["/livez", "/readyz", "/metrics"] {
            for (method, body) in [("GET", ""), ("GET", "{}"), ("PUT", "{}")] {
                let length = body.len();
                let head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n");
                let answer = ask(address, &format!("{head}\r\n{body}"));
                assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer:?}");
                // The port takes one request of each connection.
                assert!(answer.contains("\r\nconnection: close\r\n"), "{path}: {answer}");
            }
        }
        // The first connections are closed, since their number is limited.
        slow[0].set_read_timeout(Some(*HANG_LIMIT)).expect("a timeout");
        assert_eq!(slow[0].read(&mut [0; 100]).unwrap_or(0), 0, "closed without an answer");
    }
}
