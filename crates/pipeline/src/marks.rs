//! The times at which the steps of a page ended, for its trace.

use std::time::SystemTime;

/// The steps of the fingerprint stage, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Bytes to text.
    Decode,
    /// Text to document, and its digest.
    Extract,
    /// Document to terms.
    Segment,
    /// Terms to fingerprint.
    Fingerprint,
}

impl Step {
    /// Returns the name of the step's span.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Extract => "extract",
            Self::Segment => "segment",
            Self::Fingerprint => "fingerprint",
        }
    }
}

/// Times when the steps of the current page ended. Nothing is recorded unless pages are traced.
#[derive(Debug, Default)]
pub struct Marks {
    is_on: bool,
    /// Start of the page, in nanoseconds since 1970.
    pub began: u64,
    /// Steps and the times when they ended.
    pub ended: Vec<(Step, u64)>,
}

impl Marks {
    /// Returns marks for a thread of the fingerprint stage; `is_on` is true if pages are traced.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Records the start of a page.
    pub fn begin(&mut self) {
        if self.is_on {
            self.began = now();
            self.ended.clear();
        }
    }

    /// Records the end of a step.
    pub fn end(&mut self, step: Step) {
        if self.is_on {
            self.ended.push((step, now()));
        }
    }
}

/// Returns the current time in nanoseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
