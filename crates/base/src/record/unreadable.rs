//! Input that could not be read as a page, on its way to the dead letters.

use serde::{Serialize, Serializer};

use super::cause::Cause;
use super::place::Place;
use super::received::Received;

/// A record that could not be read as a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// The place of the record.
    pub source: Place,
    /// The cause, for programs.
    pub cause: Cause,
    /// The problem and what to do about it, for people.
    pub message: String,
    /// The value as received: the beginning of a file's record, or the whole value of a message. `None` if
    /// the value is missing or too large. In JSON, bytes that are not UTF-8 are replaced.
    #[serde(serialize_with = "lossy")]
    pub raw: Option<Vec<u8>>,
    /// Size of the whole record in bytes.
    pub raw_bytes: u64,
    /// Key, headers and time of the message, if it came from a topic.
    #[serde(skip)]
    pub received: Option<Box<Received>>,
}

fn lossy<S: Serializer>(raw: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    match raw {
        Some(bytes) => serializer.serialize_str(&String::from_utf8_lossy(bytes)),
        None => serializer.serialize_none(),
    }
}

impl Unreadable {
    /// Creates a dead letter without a value.
    #[must_use]
    pub fn new(source: Place, cause: Cause, message: String) -> Self {
        Self { source, cause, message, raw: None, raw_bytes: 0, received: None }
    }

    /// Maximum length of the explanation in a dead letter. Without a limit it could be of any length, because it
    /// may quote the input.
    pub const MESSAGE_BYTES_MAX: usize = 1024;
    /// Maximum number of bytes that a dead letter quotes of an unreadable record of a file.
    pub const RAW_BYTES_MAX: usize = 1024;
    /// Maximum length of the key and headers that a dead letter keeps; the rest is left out. This fits into the
    /// space that `kafka.dead_letters.value_bytes_max` must leave in a message.
    pub const HEADERS_BYTES_MAX: usize = 128 * 1024;
}
