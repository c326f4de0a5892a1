//! What the user gets for one record of the log.

use super::Verdict;
use crate::record::Unreadable;

/// What the user gets for one record: exactly one of the two.
#[derive(Debug)]
pub enum Conclusion {
    /// A verdict on a page.
    Verdict(Box<Verdict>),
    /// Something that could not be read as a page.
    DeadLetter(Box<Unreadable>),
}
