//! A progress bar on standard error, or a line every 30 seconds if that is not a terminal.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use leitong_base::terminal;
use leitong_formats::source::ReadSoFar;
use leitong_keep::sink::Counts;

/// A bar that draws itself ten times a second, or lines for a log.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// True when all pages are decided on.
    is_decided: Arc<AtomicBool>,
    /// Ends the drawing thread when the last copy is dropped.
    _finished: mpsc::Sender<()>,
}

/// Time between two drawings of the bar.
const TICK: Duration = Duration::from_millis(100);
/// Time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(30);

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
        let is_decided = Arc::new(AtomicBool::new(false));
        let (ticking, decided) = (bar.clone(), Arc::clone(&is_decided));
        std::thread::spawn(move || {
            let (started, mut lines) = (Instant::now(), Lines::default());
            while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(TICK) {
                let skipped: u64 = processed.skipped_in_words().iter().map(|(_, count)| count).sum();
                let position = position(&read, processed.records() + skipped);
                if ticking.is_hidden() {
                    let phase = match decided.load(Ordering::Relaxed) {
                        false => Phase::Deciding { bytes: position, bytes_total },
                        true => Phase::Writing { written: processed.documents_copied() },
                    };
                    let counts = (processed.records(), processed.duplicates());
                    lines.due(started.elapsed(), phase, counts).iter().for_each(terminal::note);
                } else {
                    ticking.set_position(position);
                    ticking.tick();
                }
            }
        });
        Self { bar, is_decided, _finished: finished }
    }

    /// Writes a message to standard error without tearing the bar.
    pub(crate) fn note(&self, message: impl fmt::Display) {
        self.bar.suspend(|| terminal::note(message));
    }

    /// Removes the bar, since all pages are decided on. Lines go on while documents are written.
    pub(crate) fn finish(&self) {
        self.is_decided.store(true, Ordering::Relaxed);
        self.bar.finish_and_clear();
    }
}

/// The work that is being done.
#[derive(Clone, Copy)]
enum Phase {
    /// Pages are decided on: those of so many bytes of the inputs.
    Deciding { bytes: u64, bytes_total: Option<u64> },
    /// Documents are verified and written, so many until now.
    Writing { written: u64 },
}

/// Lines for a log.
#[derive(Default)]
struct Lines {
    /// Time of the last line, and the documents that were written then, if it was about writing.
    last: (Duration, Option<u64>),
}

impl Lines {
    /// Returns the line that is due at this time after the start, if one is. Counts are pages and duplicates.
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    fn due(&mut self, elapsed: Duration, phase: Phase, (pages, duplicates): (u64, u64)) -> Option<String> {
        if elapsed < self.last.0 + LINE_EVERY {
            return None;
        }
        let (since, written_before) = std::mem::replace(&mut self.last, (elapsed, None));
        let left = |done: u64, all: u64, took: Duration| match all.saturating_sub(done) as f64 / done as f64 {
            share if share.is_finite() => {
                format!(", about {} left", HumanDuration(took.mul_f64(share)))
            }
            _ => String::new(),
        };
        Some(match phase {
            Phase::Deciding { bytes, bytes_total } => {
                let rate = pages as f64 / elapsed.as_secs_f64();
                let of = bytes_total.map_or_else(String::new, |all| {
                    let share = 100.0 * bytes as f64 / all.max(1) as f64;
                    format!(", {share:.0} % of {}{}", DecimalBytes(all), left(bytes, all, elapsed))
                });
                format!("progress: {pages} pages, {rate:.0}/s, {duplicates} duplicates{of}")
            }
            Phase::Writing { written } => {
                self.last.1 = Some(written);
                // Many are written before all pages are decided on, so the first line knows no rate.
                let rate = written_before.map_or_else(String::new, |before| {
                    let (new, took) = (written - before, elapsed - since);
                    let rate = new as f64 / took.as_secs_f64();
                    format!(", {rate:.0}/s{}", left(new, new + pages.saturating_sub(written), took))
                });
                format!("progress: all {pages} pages are decided on, {written} documents written{rate}")
            }
        })
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

    #[test]
    fn a_log_gets_a_line_every_30_seconds_with_rate_and_time_left() {
        let mut lines = Lines::default();
        let mut line = |seconds, phase, pages| lines.due(Duration::from_secs(seconds), phase, (pages, 7));
        let deciding = |bytes| Phase::Deciding { bytes, bytes_total: Some(4_000_000) };
        let writing = |written| Phase::Writing { written };
        assert_eq!(line(29, deciding(1), 10), None, "too early");
        assert_eq!(
            line(30, deciding(1_000_000), 600).as_deref(),
            Some("progress: 600 pages, 20/s, 7 duplicates, 25 % of 4.00 MB, about 2 minutes left")
        );
        assert_eq!(line(59, deciding(1_500_000), 700), None, "too early after a line");
        assert_eq!(
            line(60, Phase::Deciding { bytes: 0, bytes_total: None }, 900).as_deref(),
            Some("progress: 900 pages, 15/s, 7 duplicates"),
            "from a pipe"
        );
        assert_eq!(
            line(90, writing(300), 2_400).as_deref(),
            Some("progress: all 2400 pages are decided on, 300 documents written")
        );
        assert_eq!(
            line(120, writing(900), 2_400).as_deref(),
            Some(
                "progress: all 2400 pages are decided on, 900 documents written, 20/s, about 75 seconds left"
            )
        );
    }

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
