//! What goes through the fingerprint log: all that clustering needs to know of one page.
//!
//! These types stand at the ground of the house, since every room of the flow hands them on: where
//! a page was read ([`Place`]), what its message had beside it ([`Received`], [`Carried`]), why
//! nothing can be said of it ([`Reason`]; [`Unreadable`] and its [`Cause`]), what it says of its
//! source ([`Credits`]), and the record itself ([`LogRecord`]).

mod cause;
mod credits;
mod place;
mod publication_time;
mod reason;
mod received;
pub mod timestamp;
mod unreadable;

pub use cause::Cause;
pub use credits::Credits;
pub use place::Place;
pub use publication_time::PublicationTime;
pub use reason::Reason;
pub use received::{Carried, HEADERS_LEFT_OUT, Received};
use timestamp::Timestamp;
pub use unreadable::Unreadable;

/// What stands at one offset of the fingerprint log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogRecord {
    /// A page.
    Page(Box<FingerprintRecord>),
    /// Something that could not be read as a page. It travels through the log as
    /// well, so that dead letters are written by the half that writes exactly once.
    Unreadable(Box<Unreadable>),
}

/// One page after the stateless half.
#[derive(Debug, Clone, PartialEq)]
pub struct FingerprintRecord {
    /// Where the page was read.
    pub source: Place,
    /// The page's id.
    pub page_id: String,
    /// The page's url.
    pub url: String,
    /// Pages of different corpora never meet.
    pub corpus: String,
    /// Of the settings that made the fingerprint; pages of different values never meet.
    pub fingerprint_hash: u64,
    /// When the page was fetched.
    pub fetched_at: Option<Timestamp>,
    /// What the log time is the running maximum of; none: the log time stays.
    pub log_time: Option<Timestamp>,
    /// JSON that comes back in the verdict.
    pub passthrough: Option<String>,
    /// What of the page's message its verdict is to have; says nothing about the page.
    pub carried: Option<Box<Carried>>,
    /// What the page says of its source and of itself; says nothing about the text.
    pub credits: Option<Box<Credits>>,
    /// Of the main text, where there is one.
    pub text: Option<TextDigest>,
    /// What came of the page.
    pub outcome: Outcome,
}

impl FingerprintRecord {
    /// A record for measurements, of a page of which nothing is known but its fingerprint,
    /// if it has one: the number stands for its place, its page id and its text.
    #[must_use]
    pub fn numbered(number: usize, fingerprint: Option<Box<[u8]>>) -> Self {
        Self {
            source: Place::Line { input: "-".into(), line: number as u64 + 1 },
            page_id: number.to_string(),
            url: String::new(),
            corpus: String::new(),
            fingerprint_hash: 0,
            fetched_at: None,
            log_time: None,
            passthrough: None,
            carried: None,
            credits: None,
            text: Some(TextDigest { digest: number as u128, chars: 0 }),
            outcome: fingerprint.map_or(Outcome::Undecidable(Reason::TooShort), Outcome::Fingerprint),
        }
    }
}

/// What the stateless half made of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The detector's fingerprint, in its own encoding.
    Fingerprint(Box<[u8]>),
    /// Nothing to compare.
    Undecidable(Reason),
}

/// Tells equal texts from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextDigest {
    /// XXH3-128 (seed 0) of the main text's UTF-8 without
    /// white space; with a secret SipHash-2-4 of 128 bits.
    pub digest: u128,
    /// Characters of the main text without white space.
    pub chars: u32,
}
