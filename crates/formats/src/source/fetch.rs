//! Fetches bytes while earlier ones are being processed.
//!
//! The system is asked to read ranges of files ahead. Requests to stores are tasks in a small runtime, and callers
//! wait on a channel for the result, since the rest of `dedup` is not asynchronous.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bytes::Bytes;
use rustix::fs::{Advice, fadvise};

#[cfg(feature = "stores")]
pub(super) use requests::wait;

/// A pending read.
#[derive(Debug)]
pub(crate) enum Fetch {
    /// A range of a file.
    Read(File, Range<u64>),
    /// A request to a store.
    #[cfg(feature = "stores")]
    Request(requests::Request),
}

impl Fetch {
    /// Starts reading the file `path` at `range`. The result is shorter if the file ends within the range.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn start_read(path: &Path, range: Range<u64>) -> io::Result<Self> {
        let file = open_regular(path)?;
        if let Some(length) = std::num::NonZeroU64::new(range.end.saturating_sub(range.start)) {
            // If the file system ignores this hint, the bytes are read in `wait`.
            let _ = fadvise(&file, range.start, Some(length), Advice::WillNeed);
        }
        Ok(Self::Read(file, range))
    }

    /// Waits for the bytes.
    ///
    /// # Errors
    /// The error of the operating system or the store.
    pub(crate) fn wait(self) -> io::Result<Bytes> {
        match self {
            Self::Read(file, range) => read(&file, range),
            #[cfg(feature = "stores")]
            Self::Request(request) => request.wait(),
        }
    }
}

/// Opens a file whose path comes from data. Pipes and devices are refused: they may block, or never end.
///
/// # Errors
/// `path` is not a regular file, or it cannot be opened.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file"));
    }
    File::open(path)
}

fn read(file: &File, range: Range<u64>) -> io::Result<Bytes> {
    let length = range.end.min(file.metadata()?.len()).saturating_sub(range.start);
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, range.start)?;
    Ok(bytes.into())
}

/// Requests to stores, which run as tasks.
#[cfg(feature = "stores")]
mod requests {
    use std::future::Future;
    use std::io;
    use std::sync::OnceLock;
    use std::sync::mpsc::{self, Receiver};

    use bytes::Bytes;
    use tokio::runtime::{Builder, Runtime};
    use tokio::task::AbortHandle;

    use super::Fetch;

    /// A pending request.
    #[derive(Debug)]
    pub(crate) struct Request {
        bytes: Receiver<io::Result<Bytes>>,
        task: AbortHandle,
    }

    impl Fetch {
        /// Starts `request`.
        ///
        /// # Errors
        /// The runtime's threads cannot be started.
        pub(crate) fn start_request(
            request: impl Future<Output = io::Result<Bytes>> + Send + 'static,
        ) -> io::Result<Self> {
            let (done, bytes) = mpsc::sync_channel(1);
            let task = runtime()?.spawn(async move {
                // The receiver may already be gone.
                let _ = done.send(request.await);
            });
            Ok(Self::Request(Request { bytes, task: task.abort_handle() }))
        }
    }

    impl Request {
        pub(crate) fn wait(self) -> io::Result<Bytes> {
            self.bytes.recv().unwrap_or_else(|_| Err(io::Error::other("the request was cancelled")))
        }
    }

    impl Drop for Request {
        fn drop(&mut self) {
            self.task.abort();
        }
    }

    /// Runs `request` and waits for its result. May be called from any thread, including threads of other
    /// runtimes.
    pub(crate) fn wait<T: Send + 'static>(
        request: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (done, result) = mpsc::sync_channel(1);
        runtime()?.spawn(async move {
            let _ = done.send(request.await);
        });
        result.recv().map_err(|_| io::Error::other("the request was cancelled"))
    }

    /// Returns the runtime for these tasks. It has one thread, which only passes on bytes.
    fn runtime() -> io::Result<&'static Runtime> {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        if let Some(runtime) = RUNTIME.get() {
            return Ok(runtime);
        }
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("fetch").enable_all().build()?;
        Ok(RUNTIME.get_or_init(|| runtime))
    }
}
