//! Reads bytes ahead, while others are processed.
//!
//! The rest of `dedup` is not asynchronous: reads and requests are tasks in a small runtime, and callers wait
//! on a channel for the result.

use std::fs::File;
#[cfg(feature = "s3")]
use std::future::Future;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// A pending read.
#[derive(Debug)]
pub(crate) struct Fetch {
    bytes: Receiver<io::Result<Bytes>>,
    task: AbortHandle,
}

impl Fetch {
    /// Starts `request`.
    ///
    /// # Errors
    /// The runtime's threads cannot be started.
    #[cfg(feature = "s3")]
    pub(super) fn start_request(
        request: impl Future<Output = io::Result<Bytes>> + Send + 'static,
    ) -> io::Result<Self> {
        let (done, bytes) = mpsc::sync_channel(1);
        let task = runtime()?.spawn(async move {
            // The receiver may already be gone.
            let _ = done.send(request.await);
        });
        Ok(Self { bytes, task: task.abort_handle() })
    }

    /// Starts reading the file `path` at `range`. The result is shorter if the file ends before that.
    ///
    /// # Errors
    /// The runtime's threads cannot be started.
    pub(super) fn start_read(path: PathBuf, range: Range<u64>) -> io::Result<Self> {
        let (done, bytes) = mpsc::sync_channel(1);
        let task = runtime()?.spawn_blocking(move || {
            let _ = done.send(read(&path, range));
        });
        Ok(Self { bytes, task: task.abort_handle() })
    }

    /// Waits for the bytes.
    ///
    /// # Errors
    /// The error of the operating system or the store.
    pub(crate) fn wait(self) -> io::Result<Bytes> {
        self.bytes.recv().unwrap_or_else(|_| Err(io::Error::other("the request was cancelled")))
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Opens a file whose path comes from data. Pipes and devices are refused: they may block, or never end.
///
/// # Errors
/// It is not a regular file, or it cannot be opened.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    File::open(path)
}

fn read(path: &Path, range: Range<u64>) -> io::Result<Bytes> {
    let file = open_regular(path)?;
    let length = range.end.min(file.metadata()?.len()).saturating_sub(range.start);
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes.into())
}

/// Runs `request` and waits for its result. May be called from any thread, including threads of other
/// runtimes.
#[cfg(feature = "s3")]
pub(super) fn wait<T: Send + 'static>(request: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (done, result) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        let _ = done.send(request.await);
    });
    result.recv().map_err(|_| io::Error::other("the request was cancelled"))
}

/// Returns the runtime for these tasks: one thread for requests, which hand over their bytes, and a few
/// threads that read files.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(16)
        .thread_name("fetch")
        .enable_all()
        .build()?;
    Ok(RUNTIME.get_or_init(|| runtime))
}
