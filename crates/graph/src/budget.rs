//! A budget that bounds the number of pages in flight, and their bytes.
//!
//! The reading stage waits for room, reads a batch, and takes a permit for it. The permit is dropped when the
//! batch has left the stages. So memory is bounded even if one stage is slow. Invariant: the budget is exceeded
//! by at most the last page of one batch, whose size is known only when it was read. Cost: a lock per batch.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A number of pages, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of pages.
    pub pages: usize,
    /// Number of bytes of the pages.
    pub bytes: usize,
}

/// A bound on pages and bytes, for one reading stage.
#[derive(Clone)]
pub struct Budget {
    max: Load,
    used: Arc<Used>,
}

/// The part of the budget that is in use.
#[derive(Default)]
struct Used {
    load: Mutex<Load>,
    freed: Notify,
}

/// A part of the budget. It is released when this is dropped.
pub struct Permit {
    load: Load,
    used: Arc<Used>,
}

impl Budget {
    /// Creates a budget of this many pages and bytes.
    #[must_use]
    pub fn new(max: Load) -> Self {
        Self { max: Load { pages: max.pages.max(1), bytes: max.bytes.max(1) }, used: Arc::default() }
    }

    /// Returns the number of pages and bytes that may be in flight.
    #[must_use]
    pub fn max(&self) -> Load {
        self.max
    }

    /// Waits until there is room for `load`. A load larger than the budget never has room. Only one task may
    /// wait.
    pub(crate) async fn room_for(&self, load: Load) {
        loop {
            let used = self.in_use();
            if used.pages + load.pages <= self.max.pages && used.bytes + load.bytes <= self.max.bytes {
                return;
            }
            // If something was released since the check, this returns at once.
            self.used.freed.notified().await;
        }
    }

    /// Takes a part of the budget, even if there is no room.
    #[must_use]
    pub fn take(&self, load: Load) -> Permit {
        let mut used = self.used.load.lock();
        *used = Load { pages: used.pages + load.pages, bytes: used.bytes + load.bytes };
        Permit { load, used: Arc::clone(&self.used) }
    }

    /// Returns the number of pages and bytes in flight.
    #[must_use]
    pub fn in_use(&self) -> Load {
        *self.used.load.lock()
    }
}

impl Permit {
    /// Returns the number of pages and bytes that the permit stands for.
    #[must_use]
    pub fn load(&self) -> Load {
        self.load
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut used = self.used.load.lock();
            *used = Load { pages: used.pages - self.load.pages, bytes: used.bytes - self.load.bytes };
        }
        self.used.freed.notify_one();
    }
}
