//! A request's body, received within its limits of bytes, time and memory.
//!
//! Memory is reserved as bytes come in, never for what a client but says it will send: so a client
//! that sends slowly holds what it has sent, and no more. Where memory is short a request waits for
//! a moment, and then is refused.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{timeout, timeout_at};

use super::problem::{Kind, Problem};

/// Memory is reserved in such units.
const UNIT_BYTES: usize = 1024;
/// Units that are reserved at once while a body comes in.
const STEP_UNITS: usize = 64;
/// How long a request waits for memory that others hold.
const MEMORY_WAIT: Duration = Duration::from_secs(1);

/// The memory for requests in flight.
pub(super) struct Memory {
    units: Arc<Semaphore>,
    total: usize,
}

/// A part of it, given back when this is dropped.
pub(super) struct Reserved {
    permit: Option<OwnedSemaphorePermit>,
}

impl Memory {
    /// So many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let total = (bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { units: Arc::new(Semaphore::new(total)), total }
    }

    /// Nothing yet.
    pub(super) fn reserved(&self) -> Reserved {
        Reserved { permit: None }
    }

    /// Has `reserved` be at least `bytes`, or all that there is.
    pub(super) async fn reserve(&self, reserved: &mut Reserved, bytes: usize) -> Result<(), Problem> {
        let held = reserved.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let wanted = bytes.div_ceil(UNIT_BYTES).min(self.total);
        let more = wanted.saturating_sub(held);
        if more == 0 {
            return Ok(());
        }
        let permit = Arc::clone(&self.units).acquire_many_owned(more as u32);
        match timeout(MEMORY_WAIT, permit).await {
            Ok(Ok(permit)) => {
                match &mut reserved.permit {
                    Some(held) => held.merge(permit),
                    none => *none = Some(permit),
                }
                Ok(())
            }
            _ => Err(Problem::new(
                Kind::Overloaded,
                "requests in flight fill the memory for them (pipeline.queue_bytes); send this one again later",
            )),
        }
    }

    /// Gives back what `reserved` has beyond `bytes`.
    pub(super) fn shrink(reserved: &mut Reserved, bytes: usize) {
        if let Some(permit) = &mut reserved.permit {
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

/// Receives a body.
pub(super) async fn receive(
    mut body: Incoming,
    limits: Limits,
    memory: &Memory,
    reserved: &mut Reserved,
) -> Result<Vec<u8>, Problem> {
    let Limits { bytes_max, timeout } = limits;
    let too_large = || {
        Problem::new(Kind::TooLarge, format!("the body has more than {bytes_max} bytes (api.body_bytes_max)"))
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
                let detail = format!("the body has not come within {ms} ms (api.body_timeout_ms)");
                return Err(Problem::new(Kind::TooSlow, detail));
            }
            Ok(None) => return Ok(received),
            Ok(Some(Err(_))) => {
                return Err(Problem::new(Kind::BrokenBody, "the body broke off, or its framing is broken"));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        if received.len() + data.len() > bytes_max {
            return Err(too_large());
        }
        let needed = received.len() + data.len();
        if needed > received.capacity() {
            // A vector doubles where it grows.
            let capacity = needed.max(2 * received.capacity()).next_multiple_of(STEP_UNITS * UNIT_BYTES);
            memory.reserve(reserved, capacity).await?;
            received.reserve_exact(capacity - received.len());
        }
        received.extend_from_slice(&data);
    }
}
