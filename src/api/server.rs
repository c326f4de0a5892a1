//! The server: its port, its connections, its threads, and how it ends.
//!
//! ```text
//! accept ─► connection: HTTP/1.1 ─► CPU threads ─► committer, where pages are stored
//! ```
//! At the end no connection is taken any more, what is in flight is answered, and the table that
//! pages are stored in is saved. Whoever is killed instead loses nothing that was answered: see [`super::committer`].

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

/// Bytes of a request's head, and of what is read ahead of a body.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long requests in flight may take once the server is to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The port, taken and not yet served.
pub struct ApiPort {
    listener: TcpListener,
    address: SocketAddr,
}

impl ApiPort {
    /// Takes the port.
    ///
    /// # Errors
    /// It cannot be had.
    pub async fn bind(address: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("api.address = {address:?}: cannot be had; take another one, or port 0")
        })?;
        let address = listener.local_addr().context("the port has no address")?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves it, and `metrics` and probes if they are given, until `stop` is true; then the `committer`, if pages are stored, saves the table.
    ///
    /// # Errors
    /// Threads cannot be started; the committer has failed, or cannot save the table.
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
        // Nobody holds the other end but the committer: it is gone where that has failed.
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
            () = storing_fails => tracing::error!("pages cannot be stored any more: stopping"),
        }
        drop((failed, edge));
        let Some(committing) = committing else { return Ok(()) };
        let committed = tokio::task::spawn_blocking(move || committing.join()).await;
        let committed = committed.context("cannot wait for the committer")?;
        committed.map_err(|_| {
            anyhow!("a fault in Leitong: storing has failed; what was answered is in the journal")
        })??;
        Ok(())
    }

    /// Takes connections until it is to stop and the last has ended.
    async fn accept(&self, config: &Config, edge: &Arc<Edge>, mut stop: watch::Receiver<bool>) {
        let mut connections = Connections::new(config.api.connections_max);
        // Each connection holds the receiving end, so that its number says how many there are.
        let (going, mut ends) = mpsc::channel::<()>(1);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, client) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "no connection is taken");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            // Where all are at work, a client that comes now has to come again.
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
            tracing::warn!("some requests were not answered within {} s", STOP_TIMEOUT.as_secs());
            connections.end();
            let _ = ends.recv().await;
        }
    }
}

/// Serves one connection to its end, or until it is idle and `stop` is true.
async fn serve(
    stream: TcpStream,
    client: SocketAddr,
    edge: &Arc<Edge>,
    activity: &Arc<Activity>,
    head_timeout: Duration,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are written whole, so waiting for more of them only makes them late.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: hyper::Request<Incoming>| async move {
        Ok::<_, Infallible>(edge.answer(request, client.ip(), activity).await)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head_timeout).max_buf_size(HEAD_BYTES_MAX);
    let socket = Socket::new(stream, edge.limits.timeout);
    let connection = http.serve_connection(socket, answer);
    let mut connection = std::pin::pin!(connection);
    // A client that goes away early, or is too slow, is its own affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stop.wait_for(|stop| *stop) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
