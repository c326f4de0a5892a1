//! A field by which documents are grouped: their host, or a value in the document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;

use super::Decision;
use leitong_text::page::host::host;

/// Maximum number of characters of a value. What differs only after that counts as the same value.
const VALUE_CHARS_MAX: usize = 500;

/// The field by which documents are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Field {
    /// The host of the url.
    Host,
    /// The value at this JSON pointer (RFC 6901) in the document.
    Pointer(String),
}

impl Field {
    /// The top-level field of the document that contains the value. `None` if the document is not needed.
    #[must_use]
    pub fn column(&self) -> Option<String> {
        match self {
            Self::Host => None,
            Self::Pointer(pointer) => tokens(pointer).next().map(Cow::into_owned),
        }
    }

    /// Returns true if the value is in the document and not in its verdict.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        *self != Self::Host
    }

    /// The value for a document, whose content is a JSON object. `None` if it has none.
    #[must_use]
    pub fn value(&self, decision: &Decision, json: Option<&[u8]>) -> Option<String> {
        let value = match self {
            Self::Host => host(&decision.url),
            Self::Pointer(pointer) => match serde_json::from_str(raw_at(json?, pointer)?.get()).ok()? {
                serde_json::Value::Null => return None,
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            },
        };
        let end = value.char_indices().nth(VALUE_CHARS_MAX).map_or(value.len(), |(at, _)| at);
        Some(value[..end].to_owned()).filter(|value| !value.is_empty())
    }
}

/// Returns the value at `pointer`. Parses only the objects and arrays on the way to it.
pub(super) fn raw_at(json: &[u8], pointer: &str) -> Option<Box<RawValue>> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let mut value: Box<RawValue> = serde_json::from_slice(json).ok()?;
    for token in tokens(pointer) {
        value = if value.get().starts_with('[') {
            let mut items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
            let index = token.parse::<usize>().ok().filter(|index| *index < items.len())?;
            items.swap_remove(index)
        } else {
            let mut fields: HashMap<String, Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
            fields.remove(&*token)?
        };
    }
    Some(value)
}

/// The parts of a JSON pointer.
fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|token| match token.contains('~') {
        true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
        false => Cow::Borrowed(token),
    })
}

/// The error for text that is not a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected `host`, or a JSON pointer such as /meta/source")]
pub struct NoField;

impl FromStr for Field {
    type Err = NoField;

    fn from_str(text: &str) -> Result<Self, NoField> {
        match text {
            "host" => Ok(Self::Host),
            pointer if pointer.starts_with('/') => Ok(Self::Pointer(pointer.to_owned())),
            _ => Err(NoField),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Host => "host",
            Self::Pointer(pointer) => pointer,
        })
    }
}
