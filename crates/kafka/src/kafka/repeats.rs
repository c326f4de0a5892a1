//! Limits how often equal errors of a broker are logged. While a broker is away, each of a worker's clients tries to
//! reach it every few seconds.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Minimum time between two lines.
const INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of kinds of errors that are remembered.
const KINDS_MAX: usize = 1024;

/// The errors of brokers.
#[derive(Default)]
pub(super) struct Repeats {
    /// The time of the last line about each kind of error of each broker, and the number of errors after it.
    kinds: HashMap<Box<str>, (Instant, u64)>,
}

impl Repeats {
    /// Enters an error of this kind, which includes the broker. Returns `None` if it is not to be logged, and otherwise
    /// the number of errors since the last line. Errors that are about no broker are always logged.
    pub(super) fn report(&mut self, kind: Option<&str>, now: Instant) -> Option<u64> {
        let Some(kind) = kind else { return Some(0) };
        match self.kinds.get_mut(kind) {
            Some((last, left_out)) if now.saturating_duration_since(*last) < INTERVAL => {
                *left_out += 1;
                None
            }
            Some((last, left_out)) => {
                *last = now;
                Some(std::mem::take(left_out))
            }
            None => {
                if self.kinds.len() >= KINDS_MAX {
                    self.kinds.clear();
                }
                self.kinds.insert(kind.into(), (now, 0));
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker wrote thousands of lines an hour while its brokers were away.
    #[test]
    fn a_kind_of_error_has_one_line_a_minute_with_the_number_of_others() {
        let start = Instant::now();
        let mut repeats = Repeats::default();
        let mut report = |kind, seconds| repeats.report(kind, start + Duration::from_secs(seconds));
        assert_eq!(report(Some("a:9092"), 0), Some(0));
        assert_eq!(report(Some("a:9092"), 1), None);
        assert_eq!(report(Some("b:9092"), 1), Some(0));
        assert_eq!(report(Some("a:9092"), 59), None);
        assert_eq!(report(Some("a:9092"), 60), Some(2));
        assert_eq!(report(Some("a:9092"), 61), None);
        assert_eq!(report(Some("a:9092"), 200), Some(1));
        assert_eq!((report(None, 200), report(None, 200)), (Some(0), Some(0)));
    }
}
