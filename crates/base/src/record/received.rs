//! Key, headers and time of a message on the page topic, and the part of them that is copied to the verdict.

use super::timestamp::Timestamp;

/// Everything in a message except its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// The key.
    pub key: Option<Vec<u8>>,
    /// Names and values, in the order of the message.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// The timestamp of the message, never later than the clock of the reader.
    pub log_time: Option<Timestamp>,
}

impl Received {
    /// Name of the dead letter's header that says how much of the message's key and headers was left out.
    pub const HEADERS_LEFT_OUT: &str = "leitong.headers.left.out";

    /// Returns the value of the last header with this name, ignoring case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().rfind(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_deref())
    }

    /// Returns the approximate memory use in bytes.
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

/// Headers and key that are copied from the page message to its verdict, unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// The key, if the verdict should have the same key.
    pub key: Option<Vec<u8>>,
    /// Names and values, in the order of the message.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Carried {
    /// Maximum length of a page message's key for it to become the verdict's key. Otherwise the page id is the
    /// verdict's key.
    pub const KEY_BYTES_MAX: usize = crate::limits::URL_BYTES_MAX;
    /// Maximum length of the headers (names and values) that are copied from a page message to its verdict.
    /// Headers that do not fit are left out.
    pub const HEADERS_BYTES_MAX: usize = 4 * 1024;

    /// Returns the key and headers to copy, or `None` if there are none.
    #[must_use]
    pub fn new(key: Option<Vec<u8>>, headers: Vec<(String, Option<Vec<u8>>)>) -> Option<Box<Self>> {
        (key.is_some() || !headers.is_empty()).then(|| Box::new(Self { key, headers }))
    }
}
