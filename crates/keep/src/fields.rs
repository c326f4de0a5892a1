//! A field by which documents are grouped: their host, or a value in the document.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;

use super::Decision;
use leitong_text::page::host;
use leitong_text::page::mapping::{first_name, segments};

/// Maximum number of characters of a value. Values that differ only after that count as equal.
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
    /// Returns the top-level field of the document that contains the value. `None` if the document is not
    /// needed.
    pub(crate) fn column(&self) -> Option<String> {
        match self {
            Self::Host => None,
            Self::Pointer(pointer) => first_name(pointer),
        }
    }

    /// Returns true if the value is in the document and not in its verdict.
    pub(crate) fn needs_content(&self) -> bool {
        *self != Self::Host
    }

    /// Returns the value of the field for a document, or `None` if the document has none. `json` is the
    /// content of the document, a JSON object.
    pub(crate) fn value(&self, decision: &Decision, json: Option<&[u8]>) -> Option<String> {
        let value = match self {
            Self::Host => host(&decision.url),
            Self::Pointer(pointer) => match serde_json::from_str(&value_at(json?, pointer)?).ok()? {
                serde_json::Value::Null => return None,
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            },
        };
        let end = value.char_indices().nth(VALUE_CHARS_MAX).map_or(value.len(), |(at, _)| at);
        Some(value[..end].to_owned()).filter(|value| !value.is_empty())
    }
}

/// Returns the value at `pointer` in a JSON object, as JSON. Parses only the objects and arrays on the way to it.
pub(super) fn value_at(json: &[u8], pointer: &str) -> Option<String> {
    value_in(&object(json)?, pointer)
}

/// Returns the fields of a JSON object.
pub(super) fn object(json: &[u8]) -> Option<HashMap<String, &RawValue>> {
    serde_json::from_slice(json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json)).ok()
}

/// Returns the value at `pointer` in an object with these fields, as JSON.
pub(super) fn value_in(fields: &HashMap<String, &RawValue>, pointer: &str) -> Option<String> {
    let mut segments = segments(pointer);
    let first = fields.get(&*segments.next()?)?.get().to_owned();
    segments.try_fold(first, |value, segment| child(&value, &segment))
}

/// Returns the value of `segment` in an object or array. A string may contain an object or array as JSON, as cells of
/// CSV files do.
fn child(value: &str, segment: &str) -> Option<String> {
    if value.starts_with('"') {
        let text: String = serde_json::from_str(value).ok()?;
        let inner = text.trim();
        return inner.starts_with(['{', '[']).then(|| child(inner, segment))?;
    }
    if value.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value).ok()?;
        return items.get(segment.parse::<usize>().ok()?).map(|item| item.get().to_owned());
    }
    let fields: HashMap<String, &RawValue> = serde_json::from_str(value).ok()?;
    fields.get(segment).map(|field| field.get().to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `--fields` looked into columns that hold JSON as text, but `--by`, `--one-per` and `--prefer` did not: all
    /// documents of a CSV file were of the source `(none)`.
    #[test]
    fn values_in_text_that_is_json_are_found() {
        let json = br#"{"meta":"{\"source\": [\"a\", \"b\"]}","text":"{no JSON"}"#;
        assert_eq!(value_at(json, "/meta/source/1").as_deref(), Some("\"b\""));
        assert_eq!(value_at(json, "/text/x"), None);
    }
}
