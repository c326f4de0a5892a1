//! Runs the same work on many items with several threads, keeps the order of results, and shows a progress
//! bar.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};

/// Maximum number of items that a thread takes at a time.
const CHUNK: usize = 8;

/// The threads for an evaluation.
pub(crate) struct Workers {
    threads: usize,
}

impl Workers {
    /// Returns workers that use `threads` threads, or one if that is 0.
    #[must_use]
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads: threads.max(1) }
    }

    /// Returns the result of `work` for each of `items`. `workspace` creates the state that a thread keeps
    /// between items.
    ///
    /// # Panics
    /// Panics if `work` panics.
    pub(crate) fn map<T: Sync, W, R: Send>(
        &self,
        stage: &'static str,
        items: &[T],
        workspace: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, &T) -> R + Sync,
    ) -> Vec<R> {
        let bar = ProgressBar::new(items.len() as u64).with_message(stage);
        // The template is a constant, and valid.
        if let Ok(style) = ProgressStyle::with_template("{msg:32} {bar:24} {pos}/{len}  ETA {eta}") {
            bar.set_style(style);
        }
        let chunk_items = (items.len() / (4 * self.threads)).clamp(1, CHUNK);
        let next = AtomicUsize::new(0);
        let results = Mutex::new(Vec::with_capacity(items.len()));
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    let mut kept = workspace();
                    loop {
                        let start = next.fetch_add(chunk_items, Ordering::Relaxed);
                        let end = items.len().min(start + chunk_items);
                        let Some(chunk) = items.get(start..end).filter(|chunk| !chunk.is_empty()) else {
                            break;
                        };
                        let done: Vec<(usize, R)> =
                            (start..).zip(chunk.iter().map(|item| work(&mut kept, item))).collect();
                        bar.inc(chunk.len() as u64);
                        results.lock().expect("no thread panicked with the lock").extend(done);
                    }
                });
            }
        });
        bar.finish_and_clear();
        let mut results = results.into_inner().expect("no thread panicked with the lock");
        results.sort_unstable_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_items() {
        let items: Vec<u32> = (0..1_003).collect();
        for threads in [1, 3] {
            let doubled = Workers::new(threads).map("test", &items, || (), |(), item| item * 2);
            assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(Workers::new(2).map("test", &[0_u8; 0], || (), |(), _| ()).is_empty());
    }
}
