//! Receives the body of a request within limits on bytes, time and memory.
//!
//! Memory is reserved as bytes arrive, and not for the size that a client announces. So a slow client
//! occupies only what it has sent. If memory is short, a request waits for at most [`MEMORY_WAIT`], and is
//! then refused.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{timeout, timeout_at};

use super::problem::{Problem, ProblemKind};
use crate::port::RequestBody;

/// Unit in which memory is reserved.
const UNIT_BYTES: usize = 1024;
/// Number of units in a step. Memory for a body that arrives is reserved in multiples of a step.
const STEP_UNITS: usize = 64;
/// Maximum time that a request waits for memory that other requests hold.
const MEMORY_WAIT: Duration = Duration::from_secs(1);

/// The memory for requests in flight.
pub(super) struct Memory {
    units: Arc<Semaphore>,
    total: usize,
}

/// A part of the memory, which is released on drop.
pub(super) type Reserved = Option<OwnedSemaphorePermit>;

impl Memory {
    /// Creates a memory of `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let total = (bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { units: Arc::new(Semaphore::new(total)), total }
    }

    /// Extends `reserved` to at least `bytes`, or to the whole memory if that is less.
    pub(super) async fn reserve(&self, reserved: &mut Reserved, bytes: usize) -> Result<(), Problem> {
        let held = reserved.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let wanted = bytes.div_ceil(UNIT_BYTES).min(self.total);
        let more = wanted.saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let permit = Arc::clone(&self.units).acquire_many_owned(more as u32);
        match timeout(MEMORY_WAIT, permit).await {
            Ok(Ok(permit)) => {
                match reserved {
                    Some(held) => held.merge(permit),
                    none => *none = Some(permit),
                }
                Ok(())
            }
            _ => Err(Problem::new(
                ProblemKind::Overloaded,
                "the memory for requests in flight (pipeline.queue_bytes) is full; retry this request later",
            )),
        }
    }

    /// Releases the memory that `reserved` holds beyond `bytes`.
    pub(super) fn shrink(reserved: &mut Reserved, bytes: usize) {
        if let Some(permit) = reserved {
            drop(permit.split(permit.num_permits().saturating_sub(bytes.div_ceil(UNIT_BYTES))));
        }
    }
}

/// Limits of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) bytes_max: usize,
    pub(super) timeout: Duration,
}

/// Receives the body of a request.
pub(super) async fn receive(
    mut body: RequestBody,
    limits: Limits,
    memory: &Memory,
    reserved: &mut Reserved,
) -> Result<Vec<u8>, Problem> {
    let Limits { bytes_max, timeout } = limits;
    let too_large = || {
        Problem::new(
            ProblemKind::TooLarge,
            format!("the body has more than {bytes_max} bytes (api.body_bytes_max)"),
        )
    };
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let deadline = tokio::time::Instant::now() + timeout;
    let mut received = Vec::new();
    loop {
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_) => {
                let ms = timeout.as_millis();
                let detail = format!("the body did not arrive within {ms} ms");
                return Err(Problem::new(ProblemKind::TooSlow, detail));
            }
            Ok(None) => return Ok(received),
            Ok(Some(Err(_))) => {
                return Err(Problem::new(
                    ProblemKind::BrokenBody,
                    "the body ended early, or its framing is invalid",
                ));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if received.len() + data.len() > bytes_max {
            return Err(too_large());
        }
        let needed = received.len() + data.len();
        if needed > received.capacity() {
            // The vector at least doubles when it grows.
            let capacity = needed.max(2 * received.capacity()).next_multiple_of(STEP_UNITS * UNIT_BYTES);
            memory.reserve(reserved, capacity).await?;
            received.reserve_exact(capacity - received.len());
        }
        received.extend_from_slice(&data);
    }
}
