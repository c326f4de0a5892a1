//! Bounded queues between stages. The number of pages and bytes in each is known at any time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::budget::Load;

/// The number of pages and bytes in a queue.
#[derive(Clone, Default)]
pub struct Fill(Arc<[AtomicUsize; 2]>);

impl Fill {
    /// Returns the number of pages and bytes in the queue.
    #[must_use]
    pub fn load(&self) -> Load {
        let [pages, bytes] = &*self.0;
        Load { pages: pages.load(Ordering::Relaxed), bytes: bytes.load(Ordering::Relaxed) }
    }

    fn add(&self, load: Load) {
        self.0[0].fetch_add(load.pages, Ordering::Relaxed);
        self.0[1].fetch_add(load.bytes, Ordering::Relaxed);
    }

    fn remove(&self, load: Load) {
        self.0[0].fetch_sub(load.pages, Ordering::Relaxed);
        self.0[1].fetch_sub(load.bytes, Ordering::Relaxed);
    }
}

/// The end of a queue that takes items.
pub struct Sender<T> {
    items: mpsc::Sender<(T, Load)>,
    fill: Fill,
}

/// The end of a queue that returns items.
pub struct Receiver<T> {
    items: mpsc::Receiver<(T, Load)>,
    fill: Fill,
}

/// Error: the queue's receiver was dropped.
pub struct Ended;

/// Creates a queue of at most `batches_max` items. `fill` counts what is in it.
pub fn queue<T>(batches_max: usize, fill: &Fill) -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel(batches_max);
    (Sender { items: sender, fill: fill.clone() }, Receiver { items: receiver, fill: fill.clone() })
}

impl<T> Sender<T> {
    /// Appends an item of this load. Waits while the queue is full.
    pub async fn send(&self, item: T, load: Load) -> Result<(), Ended> {
        let place = self.items.reserve().await.map_err(|_| Ended)?;
        self.fill.add(load);
        place.send((item, load));
        Ok(())
    }
}

impl<T> Receiver<T> {
    /// Waits for the next item. Returns `None` after the last one.
    pub async fn recv(&mut self) -> Option<T> {
        let (item, load) = self.items.recv().await?;
        self.fill.remove(load);
        Some(item)
    }

    /// Returns true if no item is waiting.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
