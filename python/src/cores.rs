//! Threads for batches, also in a forked process.
//!
//! The threads of a pool stay in the parent. Work that a forked child hands to them would wait permanently,
//! so a child creates its own pool. Cost: none in a process that was not forked.

use std::mem;
use std::process;
use std::sync::{Arc, Mutex, OnceLock};

use leitong::pipeline;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Number of pages processed between two checks for Ctrl-C.
pub(crate) const CHUNK: usize = 64;

/// The process that has imported the package, which has the library's threads.
static IMPORTED_BY: OnceLock<u32> = OnceLock::new();

/// The pool of a forked child, and that child's process id.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Records the process that imports the package, and builds tables while no Python thread can fork.
pub(crate) fn imported() {
    IMPORTED_BY.get_or_init(process::id);
    pipeline::build_tables();
}

/// Runs work that may use all cores.
pub(crate) fn on_all<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if IMPORTED_BY.get().is_none_or(|pid| *pid == process::id()) {
        return Ok(work());
    }
    Ok(pool_of_child()?.install(work))
}

/// Raises `KeyboardInterrupt` if Ctrl-C was pressed. Called without the interpreter's lock.
pub(crate) fn check_signals() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}

fn pool_of_child() -> PyResult<Arc<ThreadPool>> {
    let make = || {
        let made = ThreadPoolBuilder::new().build();
        made.map(Arc::new).map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))
    };
    // If it is locked, another thread is creating the pool, or was doing so in the parent at the moment of
    // the fork and will never unlock it here.
    let Ok(mut known) = POOL.try_lock() else { return make() };
    match &*known {
        Some((pid, pool)) if *pid == process::id() => Ok(Arc::clone(pool)),
        _ => {
            let pool = make()?;
            // The former pool is not dropped, because the threads that dropping would end are in the parent.
            mem::forget(known.replace((process::id(), Arc::clone(&pool))));
            Ok(pool)
        }
    }
}
