//! A TCP connection that ends if its peer does not read: a write that makes no progress for too long fails.
//!
//! Without this, clients that never read would keep their answers in memory permanently. A connection with the rest of
//! a request on its way is closed in two steps. If it were closed at once, the client, which still sends, could lose
//! the answer.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::body::{REST_BYTES_MAX, REST_TIMEOUT};

/// Number of bytes of a rest that are read at once.
const REST_BUFFER_BYTES: usize = 8 * 1024;

/// A TCP connection.
pub(super) struct Socket {
    inner: TokioIo<TcpStream>,
    write_timeout: Duration,
    /// Timer that runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// True if the client may still be sending when the connection is closed.
    has_rest: Arc<AtomicBool>,
    /// Number of bytes that are still read after the answer.
    rest_bytes: u64,
}

impl Socket {
    /// Wraps a connection. Writes that wait for longer than `write_timeout` fail.
    pub(super) fn new(stream: TcpStream, write_timeout: Duration, has_rest: Arc<AtomicBool>) -> Self {
        let inner = TokioIo::new(stream);
        Self { inner, write_timeout, waiting: None, has_rest, rest_bytes: REST_BYTES_MAX }
    }

    /// Reads what the client still sends, until it closes the connection or a limit is reached.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.waiting.get_or_insert_with(|| Box::pin(sleep(REST_TIMEOUT)));
        if timer.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut bytes = [0; REST_BUFFER_BYTES];
        while self.rest_bytes > 0 {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.inner).poll_read(context, buffer.unfilled()) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.rest_bytes = self.rest_bytes.saturating_sub(buffer.filled().len() as u64);
                }
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(())
    }

    fn in_time(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.write_timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.in_time(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.in_time(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_shutdown(context))?;
        if self.has_rest.load(Ordering::Relaxed) {
            ready!(self.poll_rest(context));
        }
        Poll::Ready(Ok(()))
    }
}
