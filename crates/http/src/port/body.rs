//! The body of a request, and what happens to the rest of a body that an answer did not need.
//!
//! A connection can be used again only after its body was read to the end. So a short rest is read before an early
//! answer is sent. If the rest is longer, or arrives too slowly, the answer says `connection: close`.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::time::timeout;

/// Maximum number of bytes that are read of a body that nobody needs.
pub(super) const REST_BYTES_MAX: u64 = 256 * 1024;
/// Maximum time for these bytes to arrive.
pub(super) const REST_TIMEOUT: Duration = Duration::from_secs(1);

/// The body of a request. Clones share one body, so the rest can be read after the request was answered.
#[derive(Clone)]
pub(crate) struct RequestBody(Arc<Mutex<Shared>>);

struct Shared {
    incoming: Incoming,
    /// True if the client sends the body only after `100 Continue`, which is sent when the body is first read.
    is_awaited: bool,
}

impl RequestBody {
    /// Wraps a body. `is_awaited` is true if the client waits for `100 Continue`.
    pub(super) fn new(incoming: Incoming, is_awaited: bool) -> Self {
        Self(Arc::new(Mutex::new(Shared { incoming, is_awaited })))
    }

    /// Reads the rest of the body if it is short. Returns false if the connection has to be closed.
    pub(super) async fn ends(mut self) -> bool {
        if self.is_end_stream() {
            return true;
        }
        if self.0.lock().is_awaited || self.size_hint().lower() > REST_BYTES_MAX {
            return false;
        }
        let rest = async {
            let mut bytes = 0;
            while bytes <= REST_BYTES_MAX {
                match self.frame().await {
                    None => return true,
                    Some(Err(_)) => return false,
                    Some(Ok(frame)) => bytes += frame.data_ref().map_or(0, Bytes::len) as u64,
                }
            }
            false
        };
        timeout(REST_TIMEOUT, rest).await.unwrap_or(false)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut shared = self.0.lock();
        shared.is_awaited = false;
        Pin::new(&mut shared.incoming).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().incoming.size_hint()
    }
}
