//! A progress bar on standard error, if that is a terminal.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use leitong_base::terminal;
use leitong_formats::source::ReadSoFar;
use leitong_keep::sink::Counts;

/// A bar that draws itself ten times a second. It shows nothing if standard error is not a terminal.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Ends the drawing thread when the last copy is dropped.
    _finished: mpsc::Sender<()>,
}

/// Time between two drawings of the bar.
const TICK: Duration = Duration::from_millis(100);

impl Progress {
    /// Starts a bar that shows how many of `bytes_total` bytes (if known) are processed, and counts of pages
    /// and duplicates.
    pub(crate) fn start(bytes_total: Option<u64>, read: Arc<ReadSoFar>, counts: Arc<Counts>) -> Self {
        let bar = match bytes_total {
            Some(bytes) => ProgressBar::new(bytes),
            None => ProgressBar::new_spinner(),
        };
        let template = match bytes_total {
            Some(_) => "{bar:24} {percent:>3}%  {pages}  ETA {eta}",
            None => "{spinner} {bytes}  {pages}",
        };
        let processed = Arc::clone(&counts);
        let pages = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let (records, duplicates) = (counts.records(), counts.duplicates());
            let seconds = state.elapsed().as_secs_f64().max(0.001);
            #[expect(clippy::cast_precision_loss, reason = "for display")]
            let per_second = records as f64 / seconds;
            let _ = write!(out, "{records} pages, {per_second:.0}/s, {duplicates} duplicates");
        };
        // The template is a constant, and valid.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("pages", pages));
        }
        let (finished, waiting) = mpsc::channel();
        let ticking = bar.clone();
        std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(TICK) {
                ticking.set_position(position(&read, processed.records()));
                ticking.tick();
            }
        });
        Self { bar, _finished: finished }
    }

    /// Writes a message to standard error without tearing the bar.
    pub(crate) fn note(&self, message: impl fmt::Display) {
        self.bar.suspend(|| terminal::note(message));
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the bytes of the inputs whose records are processed. Reading runs far ahead of the work, so a bar
/// of the bytes read would be full while thousands of pages still wait.
fn position(read: &ReadSoFar, processed: u64) -> u64 {
    let (bytes, records) = (read.bytes.load(Ordering::Relaxed), read.records.load(Ordering::Relaxed));
    let share = u128::from(processed.min(records));
    u64::try_from(u128::from(bytes) * share / u128::from(records.max(1))).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bar of the bytes read would be at 100 % for half of the time, because reading runs far ahead.
    #[test]
    fn the_bar_shows_what_is_processed_and_not_what_is_read() {
        let read = ReadSoFar::default();
        assert_eq!(position(&read, 0), 0);
        read.bytes.store(1_000, Ordering::Relaxed);
        assert_eq!(position(&read, 0), 0, "read, but not split into records yet");
        read.records.store(4, Ordering::Relaxed);
        assert_eq!([0, 1, 4].map(|processed| position(&read, processed)), [0, 250, 1_000]);
    }
}
