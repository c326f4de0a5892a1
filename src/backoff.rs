//! The one place that sleeps.

use std::time::Duration;

/// Waits before something is tried again, where no event announces that it can be.
#[expect(
    clippy::disallowed_methods,
    reason = "every caller tries again in a loop that has a deadline or a stop flag"
)]
pub(crate) fn backoff(time: Duration) {
    std::thread::sleep(time);
}
