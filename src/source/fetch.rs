//! Bytes that are read while others are worked on.
//!
//! The rest of `dedup` knows no futures: reads and requests are tasks of a small runtime of their own, and who wants
//! their bytes waits for a channel.

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

/// Bytes that are on their way.
#[derive(Debug)]
pub struct Fetch {
    bytes: Receiver<io::Result<Bytes>>,
    task: AbortHandle,
}

impl Fetch {
    /// What `request` will give.
    ///
    /// # Errors
    /// There are no threads to be had.
    #[cfg(feature = "s3")]
    pub(super) fn of_request(
        request: impl Future<Output = io::Result<Bytes>> + Send + 'static,
    ) -> io::Result<Self> {
        let (done, bytes) = mpsc::sync_channel(1);
        let task = runtime()?.spawn(async move {
            // Whoever wanted them may be gone.
            let _ = done.send(request.await);
        });
        Ok(Self { bytes, task: task.abort_handle() })
    }

    /// The bytes of the file `path` at `range`, or what there is of them.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub(super) fn of_file(path: PathBuf, range: Range<u64>) -> io::Result<Self> {
        let (done, bytes) = mpsc::sync_channel(1);
        let task = runtime()?.spawn_blocking(move || {
            let _ = done.send(read(&path, range));
        });
        Ok(Self { bytes, task: task.abort_handle() })
    }

    /// Waits for the bytes.
    ///
    /// # Errors
    /// What the operating system or the store says.
    pub fn wait(self) -> io::Result<Bytes> {
        self.bytes.recv().unwrap_or_else(|_| Err(io::Error::other("the request was given up")))
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Opens a file that somebody else has named: a pipe would have to be waited for, and others have no end.
///
/// # Errors
/// It is no regular file, or cannot be opened.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file"));
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

/// What `request` gives. May be called from any thread, those of other runtimes as well.
#[cfg(feature = "s3")]
pub(super) fn wait<T: Send + 'static>(request: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
    let (done, result) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        let _ = done.send(request.await);
    });
    result.recv().map_err(|_| io::Error::other("the request was given up"))
}

/// Where tasks run: one thread for requests, which hands bytes on, and a few that read files.
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
