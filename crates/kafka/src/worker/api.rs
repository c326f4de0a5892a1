//! The look-up API of a worker: an HTTP server on separate threads, which end with the worker.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::ports::World;
use super::role::ClusterRole;
use super::tables::WorkerTables;
use crate::kafka::error::Result;
use leitong_base::error::{Context, StepError};
use leitong_graph::thread_count;
use leitong_http::api::ApiPort;
use leitong_http::api::Core;
use leitong_http::api::Token;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::load::ConfigError;

/// Maximum number of threads that serve sockets. Pages are processed by other threads.
const SOCKET_THREADS_MAX: usize = 2;
/// Interval at which the stop flag is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The API of one worker. When it is dropped, requests in flight are answered first.
pub(super) struct LookUpApi {
    runtime: Runtime,
    served: Option<JoinHandle<Result<(), leitong_http::Error>>>,
    stop: watch::Sender<bool>,
}

impl LookUpApi {
    /// Opens the port and serves it until the role's stop flag is raised. Returns `None` if no address is
    /// configured.
    ///
    /// # Errors
    /// The port or the token cannot be used, or threads cannot be started.
    pub(super) fn start<W: World>(
        role: &Arc<ClusterRole<W>>,
        stage: &Arc<FingerprintStage>,
    ) -> Result<Option<Self>> {
        let config = Arc::clone(&role.config);
        if config.api.address.is_empty() {
            return Ok(None);
        }
        let token =
            Token::from_config(&config.api).map_err(|fault| ConfigError::Faults { faults: vec![fault] })?;
        let tables = Arc::new(WorkerTables::new(Arc::clone(role)));
        let core = Core::new(&config, Arc::clone(stage), tables)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(thread_count(0).min(SOCKET_THREADS_MAX))
            .thread_name("leitong-api")
            .enable_all()
            .build()
            .context("cannot start threads")?;
        let port = runtime.block_on(ApiPort::bind(&config.api.address))?;
        let address = port.address();
        tracing::info!("look-ups: http://{address}");
        if token.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "look-ups: without a token (api.token_env, api.token_file), anyone who can reach this port can use them"
            );
        }
        let (stop, stopped) = watch::channel(false);
        let served = runtime.spawn(async move { port.serve(&config, core, None, token, stopped).await });
        let (of_worker, raised) = (role.stop.clone(), stop.clone());
        runtime.spawn(async move {
            while !of_worker.is_requested() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            // If the server has already ended, nobody receives this.
            let _ = raised.send(true);
        });
        Ok(Some(Self { runtime, served: Some(served), stop }))
    }
}

impl Drop for LookUpApi {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        let Some(served) = self.served.take() else { return };
        match self.runtime.block_on(served) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!("look-ups: {}", StepError::with_causes(&error)),
            Err(error) => tracing::error!("look-ups: internal error in Leitong: {error}"),
        }
    }
}
