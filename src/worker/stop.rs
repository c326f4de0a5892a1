//! The stop flag, and the signals that raise it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long a stop may take. Orchestrators kill after 30 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(28);

/// Some supervisors send a signal to the process and to its group, which is twice.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Asks all threads to come to an end.
#[derive(Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: AtomicBool,
    mutex: Mutex<()>,
    changed: Condvar,
}

impl Stop {
    /// Not raised yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        let _guard = self.0.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.changed.notify_all();
    }

    /// Whether it is raised.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }

    /// Waits until it is raised, at most `time`; whether it is.
    pub fn wait(&self, time: Duration) -> bool {
        let guard = self.0.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.0.changed.wait_timeout_while(guard, time, |()| !self.is_requested());
        drop(waiting);
        self.is_requested()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "patience is at its end; nothing that destructors do is needed"
)]
fn end_at_once(status: i32) -> ! {
    std::process::exit(status)
}

/// SIGTERM and SIGINT raise the flag. A second one ends the process at
/// once, and so do [`STOP_TIMEOUT`] seconds, which it takes only where
/// brokers do not answer. What comes within [`SAME_SIGNAL`] counts as one.
///
/// # Errors
/// The signals cannot be had.
pub fn on_signals(runtime: &Runtime, stop: &Stop) -> anyhow::Result<()> {
    let stop = stop.clone();
    let _guard = runtime.enter();
    let mut first = Signals::listen()?;
    runtime.spawn(async move {
        first.recv().await;
        tracing::info!("stopping: finishing what is in flight");
        stop.request();
        tokio::time::sleep(SAME_SIGNAL).await;
        let second = async {
            match Signals::listen() {
                Ok(mut second) => second.recv().await,
                Err(_) => std::future::pending().await,
            }
        };
        let status = match tokio::time::timeout(STOP_TIMEOUT, second).await {
            Ok(()) => 130,
            Err(_) => 1,
        };
        tracing::warn!("stopped in the midst; nothing is lost, what was not committed is done again");
        end_at_once(status);
    });
    Ok(())
}

/// The signals that come from now on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen to SIGINT")?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
