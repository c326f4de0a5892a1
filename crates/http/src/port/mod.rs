//! The HTTP edge: the API, the admin port and the console all receive their requests through a [`Port`].
//!
//! ```text
//! accept ─► room for a connection ─► HTTP/1.1 ─► answer(request, client) ─► write
//! ```
//! Invariants: a client that is slow, or sends nothing, keeps no other client out: a new connection replaces the
//! one that has been waiting for longest. A client that does not read is cut off. At a stop no further
//! connection is accepted, and requests in flight are answered. Memory: the connections, each with a buffer of
//! at most 32 KiB, and their answers. An answer that closes the connection says so.

mod body;
mod connections;
pub(crate) mod same_site;
mod socket;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, EXPECT, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioTimer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

pub(crate) use body::RequestBody;
pub(crate) use connections::AtWork;
use connections::{Activity, Connections};
use socket::Socket;

/// Maximum number of bytes of a request's head, and of a body's bytes that are read ahead.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Time for requests in flight to finish at a stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Pause after a connection could not be accepted, for instance for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits on the connections of a port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of simultaneous connections.
    pub(crate) connections_max: usize,
    /// Time for the head of a request to arrive.
    pub(crate) head_timeout: Duration,
    /// Time for which a write may make no progress.
    pub(crate) write_timeout: Duration,
    /// True if a client may send further requests on a connection.
    pub(crate) keep_alive: bool,
}

/// The sender of a request.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The address of the client.
    pub ip: IpAddr,
    activity: Arc<Activity>,
}

impl Client {
    /// Marks the connection as busy until the guard is dropped. A busy connection is not replaced by another.
    pub(crate) fn at_work(&self) -> AtWork {
        self.activity.at_work()
    }
}

/// A port that is bound but not served yet.
pub(crate) struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

impl Port {
    /// Binds the port. Port 0 picks a free one.
    ///
    /// # Errors
    /// Fails if the port cannot be bound.
    pub(crate) async fn bind(address: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Returns the address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the port permanently. Each request gets the response of `answer`.
    pub(crate) async fn serve<F>(self, limits: Limits, answer: impl Answer<F>)
    where
        F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
    {
        let (_running, never) = watch::channel(false);
        self.serve_until(limits, never, answer).await;
    }

    /// Serves the port until `stop` is true, and waits for the last connection to end.
    pub(crate) async fn serve_until<F>(
        self,
        limits: Limits,
        mut stop: watch::Receiver<bool>,
        answer: impl Answer<F>,
    ) where
        F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
    {
        let mut connections = Connections::new(limits.connections_max);
        // Each connection holds a sender, so the channel closes when the last connection ends.
        let (going, mut ends) = mpsc::channel::<()>(1);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a client could not connect; others are still served");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // If all connections are busy, a new client has to retry.
            let Some(activity) = connections.make_room() else { continue };
            let client = Client { ip: peer.ip(), activity: Arc::clone(&activity) };
            let (answer, stop, going) = (answer.clone(), stop.clone(), going.clone());
            let connection = tokio::spawn(async move {
                serve_connection(stream, client, limits, stop, answer).await;
                drop(going);
            });
            connections.hold(connection.abort_handle(), activity);
        }
        drop(going);
        if tokio::time::timeout(STOP_TIMEOUT, ends.recv()).await.is_err() {
            tracing::warn!(
                "some requests got no answer: the shutdown took longer than {} s",
                STOP_TIMEOUT.as_secs()
            );
            connections.end();
            let _ = ends.recv().await;
        }
    }
}

/// A function that answers requests.
pub(crate) trait Answer<F>: Fn(Request<RequestBody>, Client) -> F + Clone + Send + 'static {}

impl<F, T: Fn(Request<RequestBody>, Client) -> F + Clone + Send + 'static> Answer<F> for T {}

/// Serves one connection until it ends, or until it is idle and `stop` is true.
async fn serve_connection<F>(
    stream: TcpStream,
    client: Client,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
    answer: impl Answer<F>,
) where
    F: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    // Answers are written as a whole, so waiting for more data would only delay them.
    let _ = stream.set_nodelay(true);
    let has_rest = Arc::new(AtomicBool::new(false));
    let socket = Socket::new(stream, limits.write_timeout, Arc::clone(&has_rest));
    let answer = service_fn(move |request: Request<Incoming>| {
        let is_awaited = request.headers().contains_key(EXPECT);
        let request = request.map(|body| RequestBody::new(body, is_awaited));
        let (rest, has_rest) = (request.body().clone(), Arc::clone(&has_rest));
        let answered = answer(request, client.clone());
        async move {
            let mut response = answered.await;
            if !rest.ends().await {
                has_rest.store(true, Ordering::Relaxed);
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(limits.keep_alive);
    let connection = http.serve_connection(socket, answer);
    let mut connection = std::pin::pin!(connection);
    // A client that goes away early or is too slow needs no message.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
