//! The record of the fingerprint log: everything that clustering needs to know about one page.
//!
//! Every stage passes these types on, so they depend on no other part of the program: where a page was read
//! ([`Place`]), the key and headers of its message ([`Received`], [`Carried`]), why a page is undecidable
//! ([`Reason`]) or unreadable ([`Unreadable`] and its [`Cause`]), what the page states about its source
//! ([`Metadata`]), and the record itself ([`LogRecord`]).

mod cause;
mod metadata;
mod place;
mod publication_time;
mod reason;
mod received;
mod timestamp;
mod unreadable;

pub use cause::Cause;
pub use metadata::Metadata;
pub use place::Place;
pub use publication_time::PublicationTime;
pub use reason::Reason;
pub use received::{Carried, Received};
pub use timestamp::Timestamp;
pub use unreadable::Unreadable;

/// The content of the fingerprint log at one offset.
#[derive(Debug, Clone, PartialEq)]
pub enum LogRecord {
    /// A page.
    Page(Box<FingerprintRecord>),
    /// Input that could not be read as a page. It is written to the log too, because only the cluster stage,
    /// which reads the log, writes its outputs exactly once.
    Unreadable(Box<Unreadable>),
}

/// The result of the fingerprint stage for one page.
#[derive(Debug, Clone, PartialEq)]
pub struct FingerprintRecord {
    /// The place where the page was read.
    pub source: Place,
    /// The page's id.
    pub page_id: String,
    /// The page's url.
    pub url: String,
    /// The corpus of the page. Pages from different corpora are never compared.
    pub corpus: String,
    /// Hash of the settings that produced the fingerprint. Pages with different hashes are never compared.
    pub fingerprint_hash: u64,
    /// Time at which the page was fetched.
    pub fetched_at: Option<Timestamp>,
    /// The time that advances the log time: the log time is the maximum of these values so far. `None` leaves
    /// it unchanged.
    pub log_time: Option<Timestamp>,
    /// The crawler's own JSON. It is returned in the verdict.
    pub passthrough: Option<String>,
    /// The key and headers of the page message that are copied to the verdict's message. They are independent
    /// of the page's content.
    pub carried: Option<Box<Carried>>,
    /// Publisher, authors, date and so on, as the page states them. They are not part of the text.
    pub metadata: Option<Box<Metadata>>,
    /// Digest and length of the main text, if there is one.
    pub text: Option<TextDigest>,
    /// The fingerprint, or the reason why there is none.
    pub outcome: Outcome,
}

impl FingerprintRecord {
    /// Maximum length of a corpus name. A longer name is replaced by its digest.
    pub const CORPUS_BYTES_MAX: usize = 256;

    /// Creates a record for measurements. `number` determines the place, page id and text digest; all other
    /// fields except the fingerprint are empty. If `fingerprint` is `None`, the page is undecidable.
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
            metadata: None,
            text: Some(TextDigest { digest: number as u128, chars: 0 }),
            outcome: fingerprint.map_or(Outcome::Undecidable(Reason::TooShort), Outcome::Fingerprint),
        }
    }
}

/// The fingerprint of a page, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The fingerprint, in the detector's own encoding.
    Fingerprint(Box<[u8]>),
    /// No fingerprint, for this reason.
    Undecidable(Reason),
}

impl Outcome {
    /// Returns the fingerprint, if there is one.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&[u8]> {
        match self {
            Self::Fingerprint(fingerprint) => Some(fingerprint),
            Self::Undecidable(_) => None,
        }
    }
}

/// Digest and length of a text. Equal texts have equal digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextDigest {
    /// Digest of the main text's UTF-8 without white space: XXH3-128 with seed 0, or 128-bit SipHash-2-4 if a
    /// secret is set.
    pub digest: u128,
    /// Number of characters in the main text, without white space.
    pub chars: u32,
}
