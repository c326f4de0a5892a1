//! What a message of the page topic has beside its value, and what of it goes on to the verdict.

use super::timestamp::Timestamp;

/// A dead letter's header that says what of its key and headers was left out.
pub const HEADERS_LEFT_OUT: &str = "leitong.headers.left.out";

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

/// What goes from the message of a page to the message of its verdict, as received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Carried {
    /// The key, where the verdict is to have it.
    pub key: Option<Vec<u8>>,
    /// Names and values, in order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Carried {
    /// None where there is nothing to carry.
    #[must_use]
    pub fn new(key: Option<Vec<u8>>, headers: Vec<(String, Option<Vec<u8>>)>) -> Option<Box<Self>> {
        (key.is_some() || !headers.is_empty()).then(|| Box::new(Self { key, headers }))
    }
}
