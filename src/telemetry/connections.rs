//! HTTP on a port that few ask: probes, metrics, the console.
//!
//! A request is answered whatever else is connected: where there are [`CONNECTIONS_MAX`]
//! connections, a new one takes the place of the oldest, which has had the most time to say what it
//! wants. Memory: so many connections.

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

/// Connections that are served at once.
const CONNECTIONS_MAX: usize = 32;
/// How long a client may take to say what it wants.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How connections are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connections {
    /// How long one may last, with all requests and answers.
    pub(crate) timeout: Duration,
    /// Whether a client may ask again on it.
    pub(crate) keep_alive: bool,
}

impl Connections {
    /// Serves `listener`, permanently; each request gets what `answer` comes to.
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
                    tracing::warn!(%error, "no connection is taken");
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
                // A client that goes away early, or is too slow, is its own affair.
                let served = http.serve_connection(TokioIo::new(stream), answer);
                let _ = timeout(self.timeout, served).await;
            });
            connections.push_back(connection.abort_handle());
        }
    }
}
