//! The outcome for one record of the log: a verdict or a dead letter.

use super::Verdict;
use leitong_base::record::{Place, Unreadable};

/// The outcome for one record: a verdict or a dead letter, never both.
#[derive(Debug)]
pub enum Conclusion {
    /// A verdict on a page.
    Verdict(Box<Verdict>),
    /// Input that could not be read as a page.
    DeadLetter(Box<Unreadable>),
}

impl Conclusion {
    /// Returns the place where the record was read.
    #[must_use]
    pub fn source(&self) -> &Place {
        match self {
            Self::Verdict(verdict) => &verdict.source,
            Self::DeadLetter(letter) => &letter.source,
        }
    }
}
