//! Ctrl-C and SIGTERM as a wish to end, for commands that run until somebody has seen enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Whether somebody wants this process to end.
pub(super) struct Interrupt {
    requested: Arc<AtomicBool>,
    /// Listens for as long as this lives.
    _runtime: tokio::runtime::Runtime,
}

impl Interrupt {
    /// Listens from now on.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot listen to signals")?;
        let requested = Arc::new(AtomicBool::new(false));
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let _guard = runtime.enter();
            let mut signals = signal(kind).context("cannot listen to signals")?;
            let requested = Arc::clone(&requested);
            runtime.spawn(async move {
                signals.recv().await;
                requested.store(true, Ordering::SeqCst);
            });
        }
        Ok(Self { requested, _runtime: runtime })
    }

    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }
}
