//! Signals: Ctrl-C and SIGTERM, for commands that run until the user stops them, and the limit on files.

#[cfg(feature = "kafka")]
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Number of the signal for a file that would exceed the limit.
const SIGXFSZ: i32 = 25;

/// Makes writes beyond a limit on the size of files (`ulimit -f`) fail, and be reported. Otherwise the signal ends
/// the process without a word.
pub(super) fn outlive_file_limits() {
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
        let _guard = runtime.enter();
        // Once a signal has had a listener, it ends the process no longer.
        let _ = signal(SignalKind::from_raw(SIGXFSZ));
    }
}

/// Listens for Ctrl-C and SIGTERM, and returns a future that ends with the first of them. Called within a runtime.
pub(super) fn signalled() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Listener for Ctrl-C and SIGTERM.
#[cfg(feature = "kafka")]
pub(super) struct Interrupt {
    requested: Arc<AtomicBool>,
    /// Runs the listener until this value is dropped.
    _runtime: tokio::runtime::Runtime,
}

#[cfg(feature = "kafka")]
impl Interrupt {
    /// Starts listening.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot listen for signals")?;
        let signalled = {
            let _guard = runtime.enter();
            signalled()?
        };
        let requested = Arc::new(AtomicBool::new(false));
        let request = Arc::clone(&requested);
        runtime.spawn(async move {
            signalled.await;
            request.store(true, Ordering::SeqCst);
        });
        Ok(Self { requested, _runtime: runtime })
    }

    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }
}
