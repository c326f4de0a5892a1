//! Guesses the fields of messages that match no preset, for a [`Survey`](super::Survey) of samples.
//!
//! In: a message. Out: its fields, with what their values look like. Cost: one pass over the message.

use serde_json::Value;

use super::pointer::to_field;
use leitong_base::record::Timestamp;

/// Maximum depth at which fields are guessed.
const GUESS_DEPTH: usize = 3;
/// Maximum number of fields that are examined.
const GUESS_FIELDS: usize = 500;

/// Collects all scalar values of a message down to [`GUESS_DEPTH`], with their pointers.
fn leaves<'v>(value: &'v Value, at: &str, depth: usize, found: &mut Vec<(String, &'v Value)>) {
    if found.len() >= GUESS_FIELDS {
        return;
    }
    match value {
        Value::Object(fields) if depth < GUESS_DEPTH => {
            for (name, value) in fields {
                let at = at.to_owned() + &to_field(name);
                leaves(value, &at, depth + 1, found);
            }
        }
        // Crawlers write some values as an array of one element.
        Value::Array(values) if values.len() == 1 && !values[0].is_object() => {
            leaves(&values[0], at, depth, found);
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {}
        value => found.push((at.to_owned(), value)),
    }
}

/// Returns pointers to the fields of a message.
#[must_use]
pub(crate) fn pointers(message: &Value) -> Vec<String> {
    let mut found = Vec::new();
    leaves(message, "", 0, &mut found);
    found.into_iter().map(|(pointer, _)| pointer).collect()
}

/// The probable content of a field, judged by its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Looks {
    /// A url.
    Url,
    /// HTML, or a long text in Base64.
    Body,
    /// A long text.
    Text,
    /// An HTTP status.
    Status,
    /// A date.
    Date,
}

impl Looks {
    /// Returns the matching key in `[input.fields]`.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Body => "body",
            Self::Text => "text",
            Self::Status => "status",
            Self::Date => "fetched_at",
        }
    }
}

/// Guesses the fields of an unknown message. Returns for each the pointer, the probable content, and a score
/// that grows with the length of the value and with a typical name.
#[must_use]
pub(crate) fn guess(message: &Value) -> Vec<(String, Looks, usize)> {
    let mut found = Vec::new();
    leaves(message, "", 0, &mut found);
    let named = |pointer: &str, words: &[&str]| {
        let pointer = pointer.to_lowercase();
        words.iter().any(|word| pointer.ends_with(word))
    };
    let look = |(pointer, value): (String, &Value)| {
        let is_time = || named(&pointer, &["time", "date", "_at", "timestamp", "tstamp"]);
        let (looks, weight) = match value {
            Value::String(text) if text.starts_with("http://") || text.starts_with("https://") => (
                Looks::Url,
                if named(&pointer, &["url", "uri", "link", "endpoint", "href"]) { 1000 } else { 100 },
            ),
            Value::String(text) if text.len() > 60 && text.trim_start().starts_with('<') => {
                (Looks::Body, text.len() * 2)
            }
            Value::String(text) if text.len() > 200 && !text.contains(' ') && text.is_ascii() => {
                (Looks::Body, text.len())
            }
            Value::String(text) if text.chars().count() > 60 => (Looks::Text, text.len()),
            Value::String(text) if is_time() => {
                Timestamp::from_text(text)?;
                (Looks::Date, 1)
            }
            Value::Number(number) if named(&pointer, &["status", "code", "statuscode"]) => {
                number.as_u64().filter(|number| (100..600).contains(number))?;
                (Looks::Status, 1)
            }
            Value::Number(number) if is_time() => {
                Timestamp::from_text(&number.to_string())?;
                (Looks::Date, 1)
            }
            _ => return None,
        };
        // Prefer the value that is less deeply nested.
        let depth = pointer.matches('/').count();
        Some((pointer, looks, weight * 10 / depth.max(1)))
    };
    found.into_iter().filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_unknown_messages_are_guessed() {
        let message = serde_json::json!({
            "meta": { "link": "https://a.example/1", "code": 200, "date": "2026-11-21", "n": 5 },
            "image": "https://a.example/1.png",
            "page~": [format!("<html>{}", "x".repeat(100))],
        });
        let mut found: Vec<_> = guess(&message);
        found.sort_by_key(|(_, looks, weight)| (*looks, usize::MAX - weight));
        let found: Vec<_> = found.iter().map(|(pointer, looks, _)| (pointer.as_str(), *looks)).collect();
        assert_eq!(
            found,
            [
                ("/meta/link", Looks::Url),
                ("/image", Looks::Url),
                ("/page~0", Looks::Body),
                ("/meta/code", Looks::Status),
                ("/meta/date", Looks::Date),
            ]
        );
    }
}
