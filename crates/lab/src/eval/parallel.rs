//! Runs the same work on many items with several threads, keeps the order of results, and shows a progress
//! bar.

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Minimum number of items that a thread takes at a time.
const CHUNK: usize = 8;

/// The threads for an evaluation.
pub(crate) struct Workers(ThreadPool);

impl Workers {
    /// Returns workers that use `threads` threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self(ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started"))
    }

    /// Returns the result of `work` for each of `items`. `workspace` creates the state that is kept between items.
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
        let step = |kept: &mut W, item| {
            bar.inc(1);
            work(kept, item)
        };
        let items = items.par_iter().with_min_len(CHUNK);
        let results = self.0.install(|| items.map_init(&workspace, step).collect());
        bar.finish_and_clear();
        results
    }
}
