//! A progress bar on standard error, where that is a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::counts::Counts;

/// A bar that draws itself ten times a second; silent where nobody watches.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    /// Dropped with the last copy, which ends the ticking.
    _finished: mpsc::Sender<()>,
}

/// How often the bar is drawn.
const TICK: Duration = Duration::from_millis(100);

impl Progress {
    /// Shows how many of `bytes_total` bytes are read (if that is known), and what came of the pages.
    #[must_use]
    pub fn start(bytes_total: Option<u64>, bytes_read: Arc<AtomicU64>, counts: Arc<Counts>) -> Self {
        let bar = match bytes_total {
            Some(bytes) => ProgressBar::new(bytes),
            None => ProgressBar::new_spinner(),
        };
        let template = match bytes_total {
            Some(_) => "{bar:24} {percent:>3}%  {pages}  ETA {eta}",
            None => "{spinner} {bytes}  {pages}",
        };
        let pages = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let (records, duplicates) = (counts.records(), counts.duplicates());
            let seconds = state.elapsed().as_secs_f64().max(0.001);
            #[expect(clippy::cast_precision_loss, reason = "for display")]
            let per_second = records as f64 / seconds;
            let _ = write!(out, "{records} pages, {per_second:.0}/s, {duplicates} duplicates");
        };
        // The template is a constant, and right.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("pages", pages));
        }
        let (finished, waiting) = mpsc::channel();
        let ticking = bar.clone();
        std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(TICK) {
                ticking.set_position(bytes_read.load(Ordering::Relaxed));
                ticking.tick();
            }
        });
        Self { bar, _finished: finished }
    }

    /// Prints a line to standard error without tearing the bar.
    pub fn log(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
