//! The stop flag, and the signals that raise it.

use crate::kafka::error::Result;
use leitong_base::error::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Timeout of a stop. Orchestrators usually kill the process after 30 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(28);

/// Interval in which signals count as one. Some supervisors send a signal to the process and to its group, so
/// it arrives twice.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// A flag that tells all threads to stop.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: AtomicBool,
    mutex: Mutex<()>,
    changed: Condvar,
}

impl Stop {
    /// Creates a flag that is not raised.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Raises the flag.
    pub(crate) fn request(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        let _guard = self.0.mutex.lock();
        self.0.changed.notify_all();
    }

    /// Returns true if the flag is raised.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }

    /// Waits until the flag is raised, for at most `time`. Returns true if it is raised.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let mut guard = self.0.mutex.lock();
        self.0.changed.wait_while_for(&mut guard, |()| !self.is_requested(), time);
        self.is_requested()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the timeout has passed, and destructors do nothing that is needed"
)]
fn end_at_once(status: i32) -> ! {
    std::process::exit(status)
}

/// Installs the signal handlers. SIGTERM and SIGINT raise the flag. A second signal ends the process
/// immediately. The process also ends after [`STOP_TIMEOUT`], which is reached only if brokers do not answer.
/// Signals within [`SAME_SIGNAL`] count as one.
///
/// # Errors
/// The signals cannot be handled.
pub(crate) fn on_signals(runtime: &Runtime, stop: &Stop) -> Result<()> {
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
        tracing::warn!("stopped before finishing; nothing is lost, because uncommitted work is done again");
        end_at_once(status);
    });
    Ok(())
}

/// The streams of signals that arrive from now on.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
