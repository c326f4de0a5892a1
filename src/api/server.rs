//! The API server: port, connections, threads, and shutdown.
//!
//! ```text
//! accept ─► connection: HTTP/1.1 ─► CPU threads ─► committer, if pages are stored
//! ```
//! At the shutdown no further connection is accepted, requests in flight are answered, and the table is saved
//! if pages are stored in it. A server that is killed loses nothing that was answered: see
//! [`super::committer`].

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

use super::committer::{Committer, QUEUE};
use super::connections::{Activity, Connections};
use super::core::Core;
use super::http::Edge;
use super::pool::Pool;
use super::socket::Socket;
use super::token::Token;
use crate::config::Config;

/// Limit on the bytes of a request's head, and on those read ahead from a body.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Time for requests in flight to finish at a shutdown.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// An API port that is bound but not served yet.
pub struct ApiPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl ApiPort {
    /// Binds the port.
    ///
    /// # Errors
    /// Fails if the port cannot be bound.
    pub async fn bind(address: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("api.address = {address:?}: cannot be bound; choose another address, or port 0 for a free port")
        })?;
        let address = listener.local_addr().context("the port has no address")?;
        Ok(Self { listener, address })
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the port until `stop` is true, with `metrics` and probes if they are given. Then the
    /// `committer`, if pages are stored, saves the table.
    ///
    /// # Errors
    /// Fails if threads cannot be started, if the committer has failed, or if it cannot save the table.
    pub async fn serve(
        self,
        config: &Config,
        core: Core,
        committer: Option<Committer>,
        token: Option<Token>,
        metrics: Option<PrometheusHandle>,
        stop: watch::Receiver<bool>,
    ) -> anyhow::Result<()> {
        let core = Arc::new(core);
        let pool = Pool::start(&core, config.pipeline.threads).context("cannot start threads")?;
        let (mut submissions, mut committing) = (None, None);
        if let Some(committer) = committer {
            let (sender, submitted) = mpsc::channel(QUEUE);
            let thread = thread::Builder::new().name("leitong-commit".to_owned());
            committing =
                Some(thread.spawn(move || committer.run(submitted)).context("cannot start a thread")?);
            submissions = Some(sender);
        }
        // Only the committer holds the receiving end, so the channel is closed if it has failed.
        let failed = submissions.clone();
        let queue_bytes = config.pipeline.queue_bytes;
        let is_loopback = self.address.ip().is_loopback();
        let mut edge = Edge::new(&config.api, queue_bytes, core, pool, submissions, token, is_loopback);
        edge.metrics = metrics;
        let edge = Arc::new(edge);
        let storing_fails = async {
            match &failed {
                Some(submissions) => submissions.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.accept(config, &edge, stop) => {}
            () = storing_fails => tracing::error!("stopping: pages cannot be stored any more"),
        }
        drop((failed, edge));
        let Some(committing) = committing else { return Ok(()) };
        let committed = tokio::task::spawn_blocking(move || committing.join()).await;
        let committed = committed.context("cannot wait for the committer")?;
        committed.map_err(|_| {
            anyhow!("storing has failed because of a fault in Leitong; all answered pages are in the journal; please report it")
        })??;
        Ok(())
    }

    /// Accepts connections until `stop` is true, and waits for the last one to end.
    async fn accept(&self, config: &Config, edge: &Arc<Edge>, mut stop: watch::Receiver<bool>) {
        let mut connections = Connections::new(config.api.connections_max);
        // Each connection holds a sender, so the channel closes when the last connection ends.
        let (going, mut ends) = mpsc::channel::<()>(1);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, client) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a client could not connect; the server goes on serving others");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // If all connections are busy, a new client has to retry.
            let Some(activity) = connections.make_room() else { continue };
            let (edge, stop, going) = (Arc::clone(edge), stop.clone(), going.clone());
            let head_timeout = Duration::from_millis(config.api.head_timeout_ms);
            let of_connection = Arc::clone(&activity);
            let connection = tokio::spawn(async move {
                serve(stream, client, &edge, &of_connection, head_timeout, stop).await;
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

/// Serves one connection until it ends, or until it is idle and `stop` is true.
async fn serve(
    stream: TcpStream,
    client: SocketAddr,
    edge: &Arc<Edge>,
    activity: &Arc<Activity>,
    head_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are written as a whole, so waiting for more data would only delay them.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: hyper::Request<Incoming>| async move {
        Ok::<_, Infallible>(edge.answer(request, client.ip(), activity).await)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head_timeout).max_buf_size(HEAD_BYTES_MAX);
    let socket = Socket::new(stream, edge.limits.timeout);
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
