//! Waits before a retry. This is the only place where a thread may sleep (`clippy.toml` forbids it elsewhere).

use std::time::{Duration, Instant};

/// Waits before a retry if no event tells when the retry can succeed.
#[expect(
    clippy::disallowed_methods,
    reason = "every caller tries again in a loop that has a deadline or a stop flag"
)]
pub fn backoff(time: Duration) {
    std::thread::sleep(time);
}

/// Asks every `pause` until the answer is `Ok`, or `deadline` has passed. Returns the last answer.
///
/// # Errors
/// The errors of `ask`, which end the wait at once.
pub(crate) fn ask_until<T, P, E>(
    deadline: Instant,
    pause: Duration,
    mut ask: impl FnMut() -> Result<Result<T, P>, E>,
) -> Result<Result<T, P>, E> {
    loop {
        let answer = ask()?;
        if answer.is_ok() || Instant::now() >= deadline {
            return Ok(answer);
        }
        backoff(pause);
    }
}
