//! The API server: port, connections, threads, and shutdown.
//!
//! ```text
//! accept ─► connection: HTTP/1.1 ─► CPU threads ─► committer, if pages are stored
//! ```
//! On shutdown, no further connection is accepted, requests in flight are answered, and the table is saved if
//! pages are stored in it. A server that is killed loses nothing that was answered: see [`super::committer`].

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{Semaphore, mpsc, watch};

use super::body::{self, Memory};
use super::client::Clients;
use super::committer::{Committer, QUEUE};
use super::core::Core;
use super::http::Edge;
use super::pool::Pool;
use super::token::Token;
use crate::error::Error;
use crate::port::same_site::SameSite;
use crate::port::{Limits, Port};
use leitong_base::error::{Context, StepError};
use leitong_pipeline::config::Config;

/// An API port that is bound but not served yet.
pub struct ApiPort(Port);

impl ApiPort {
    /// Binds the port.
    ///
    /// # Errors
    /// Fails if the port cannot be bound.
    pub async fn bind(address: &str) -> Result<Self, StepError> {
        let port = Port::bind(address).await.with_context(|| {
            format!(
                "cannot listen on {address}; choose another address (api.address, or --address of `serve`), or port 0 \
                 for a free one"
            )
        })?;
        Ok(Self(port))
    }

    /// Returns the address that the port is bound to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Serves the port until `stop` is true. With `storing`, pages are stored, probes and scrapers are answered
    /// with these metrics, and in the end the committer saves the table.
    ///
    /// # Errors
    /// Fails if threads cannot be started, if the committer has failed, or if it cannot save the table.
    pub async fn serve(
        self,
        config: &Config,
        core: Core,
        storing: Option<(Committer, PrometheusHandle)>,
        token: Option<Token>,
        stop: watch::Receiver<bool>,
    ) -> Result<(), Error> {
        let core = Arc::new(core);
        let pool = Pool::start(&core, config.pipeline.threads).context("cannot start threads")?;
        let (committer, metrics) = storing.unzip();
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
        let body_timeout = Duration::from_millis(config.api.body_timeout_ms);
        let edge = Arc::new(Edge {
            core,
            pool,
            submissions,
            clients: Clients::new(config.api.requests_per_second),
            site: SameSite::for_api(self.0.address().ip().is_loopback(), &config.api.hosts),
            token,
            metrics,
            memory: Memory::new(config.pipeline.queue_bytes),
            places: Semaphore::new(config.api.requests_max),
            limits: body::Limits { bytes_max: config.api.body_bytes_max, timeout: body_timeout },
        });
        let storing_fails = async {
            match &failed {
                Some(submissions) => submissions.closed().await,
                None => std::future::pending().await,
            }
        };
        let limits = Limits {
            connections_max: config.api.connections_max,
            head_timeout: Duration::from_millis(config.api.head_timeout_ms),
            write_timeout: body_timeout,
            keep_alive: true,
        };
        let answering = Arc::clone(&edge);
        let answer = move |request, client| {
            let edge = Arc::clone(&answering);
            async move { edge.answer(request, client).await }
        };
        tokio::select! {
            () = self.0.serve_until(limits, stop, answer) => {}
            () = storing_fails => tracing::error!("stopping: pages cannot be stored any more"),
        }
        drop((failed, edge));
        let Some(committing) = committing else { return Ok(()) };
        let committed = tokio::task::spawn_blocking(move || committing.join()).await;
        let committed = committed.context("cannot wait for the committer")?;
        committed.map_err(|_| {
            StepError::new("storing has failed because of a bug in Leitong; all answered pages are in the journal; please report it")
        })??;
        Ok(())
    }
}
