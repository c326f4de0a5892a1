//! A record of the fingerprint log: all that clustering needs to know of one page.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::page::timestamp::Timestamp;
use crate::verdict::Reason;

/// What stands at one offset of the fingerprint log.
#[derive(Debug, Clone, PartialEq)]
pub enum LogRecord {
    /// A page.
    Page(Box<FingerprintRecord>),
    /// Something that could not be read as a page. It travels through the log as well, so that dead letters
    /// are written by the half that writes exactly once.
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
    /// Of the main text, where there is one.
    pub text: Option<TextDigest>,
    /// What came of the page.
    pub outcome: Outcome,
}

impl FingerprintRecord {
    /// A record for measurements, of a page of which nothing is known but its fingerprint, if it has one: the number stands for
    /// its place, its page id and its text.
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
    /// XXH3-128 (seed 0) of the main text's UTF-8 without white space.
    pub digest: u128,
    /// Characters of the main text without white space.
    pub chars: u32,
}

/// A record that no page could be read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Where it stands.
    pub source: Place,
    /// A stable word for the cause, such as `MISSING_URL`.
    pub cause: Cow<'static, str>,
    /// What is wrong, and what to do.
    pub message: String,
    /// The record's value as received, in JSON with bytes that are no UTF-8 replaced: of a file's record the
    /// beginning, of a message all or nothing; none for null.
    #[serde(serialize_with = "lossy")]
    pub raw: Option<Vec<u8>>,
    /// Bytes of the whole record.
    pub raw_bytes: u64,
    /// What a message had beside its value.
    #[serde(skip)]
    pub received: Option<Box<Received>>,
}

/// What a message of a topic has beside its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// The key.
    pub key: Option<Vec<u8>>,
    /// Names and values, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// The message's time, never later than the clock of whoever read it.
    pub log_time: Option<Timestamp>,
}

impl Received {
    /// The value of the last header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().rfind(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_deref())
    }

    /// Bytes of memory, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let headers: usize = self
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.as_ref().map_or(0, Vec::len) + 64)
            .sum();
        self.key.as_ref().map_or(0, Vec::len) + headers
    }
}

fn lossy<S: Serializer>(raw: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    match raw {
        Some(bytes) => serializer.serialize_str(&String::from_utf8_lossy(bytes)),
        None => serializer.serialize_none(),
    }
}

/// Where a page was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// A line of a JSON lines file.
    Line {
        /// The file as named on the command line, `-` for standard input.
        input: Arc<str>,
        /// From 1.
        line: u64,
    },
    /// A record of a WARC file.
    Record {
        /// The file as named on the command line, `-` for standard input.
        input: Arc<str>,
        /// From 1, counting all records.
        record: u64,
    },
    /// A message of a topic.
    Message {
        /// The topic.
        topic: Arc<str>,
        /// Its partition.
        partition: u32,
        /// Where the message stands in the partition.
        offset: u64,
        /// Raised by an operator to have pages processed again.
        epoch: u32,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { input, line } => write!(f, "{input}: line {line}"),
            Self::Record { input, record } => write!(f, "{input}: record {record}"),
            Self::Message { topic, partition, offset, .. } => write!(f, "{topic}[{partition}]@{offset}"),
        }
    }
}
