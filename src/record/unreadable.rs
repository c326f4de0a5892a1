//! A record that no page could be read from, on its way to the dead letters.

use serde::{Serialize, Serializer};

use super::cause::Cause;
use super::place::Place;
use super::received::Received;

/// A record that no page could be read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Where it stands.
    pub source: Place,
    /// Why.
    pub cause: Cause,
    /// What is wrong, and what to do.
    pub message: String,
    /// The record's value as received, in JSON with bytes that are no UTF-8 replaced:
    /// of a file's record the beginning, of a message all or nothing; none for null.
    #[serde(serialize_with = "lossy")]
    pub raw: Option<Vec<u8>>,
    /// Bytes of the whole record.
    pub raw_bytes: u64,
    /// What a message had beside its value.
    #[serde(skip)]
    pub received: Option<Box<Received>>,
}

fn lossy<S: Serializer>(raw: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    match raw {
        Some(bytes) => serializer.serialize_str(&String::from_utf8_lossy(bytes)),
        None => serializer.serialize_none(),
    }
}
