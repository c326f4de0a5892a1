//! What the user gets for one record of the log.

use super::Verdict;
use crate::record::{Place, Unreadable};

/// What the user gets for one record: exactly one of the two.
#[derive(Debug)]
pub enum Conclusion {
    /// A verdict on a page.
    Verdict(Box<Verdict>),
    /// Something that could not be read as a page.
    DeadLetter(Box<Unreadable>),
}

impl Conclusion {
    /// Where the record was read.
    #[must_use]
    pub fn source(&self) -> &Place {
        match self {
            Self::Verdict(verdict) => &verdict.source,
            Self::DeadLetter(letter) => &letter.source,
        }
    }
}
