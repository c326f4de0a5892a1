//! HTTP on a port with few clients: probes, metrics, the console.
//!
//! A request is answered no matter how many clients are connected. If there are [`CONNECTIONS_MAX`]
//! connections, a new one replaces the oldest, which has had the most time to send its request. Memory: these
//! connections.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Limit on connections that are served at once.
const CONNECTIONS_MAX: usize = 32;
/// Time within which a client must send the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Settings for connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connections {
    /// Longest duration of a connection, with all requests and answers.
    pub(crate) timeout: Duration,
    /// True if a client may send further requests on a connection.
    pub(crate) keep_alive: bool,
}

impl Connections {
    /// Serves `listener` permanently. Each request gets the response of `answer`.
    pub(crate) async fn serve<F>(
        self,
        listener: TcpListener,
        answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    ) where
        F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
    {
        let mut connections: VecDeque<AbortHandle> = VecDeque::with_capacity(CONNECTIONS_MAX);
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a client could not connect; the port goes on serving others");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            connections.retain(|connection| !connection.is_finished());
            if connections.len() >= CONNECTIONS_MAX
                && let Some(oldest) = connections.pop_front()
            {
                oldest.abort();
            }
            let answer = answer.clone();
            let connection = tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let answered = answer(request);
                    async move { Ok::<_, Infallible>(answered.await) }
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).keep_alive(self.keep_alive);
                // A client that goes away early or is too slow needs no message.
                let served = http.serve_connection(TokioIo::new(stream), answer);
                let _ = timeout(self.timeout, served).await;
            });
            connections.push_back(connection.abort_handle());
        }
    }
}
