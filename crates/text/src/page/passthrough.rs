//! The `passthrough` of a page: any JSON value that the crawler wants to have returned in the verdict.
//!
//! In: JSON text. Out: the same value on one line, without white space between its parts. Everything else is
//! unchanged: numbers keep their digits, strings their escapes. Only lone surrogates become U+FFFD, as in all
//! other strings, because many parsers could not read a verdict that contains them. Memory: one copy of the
//! text.

use serde::de::IgnoredAny;

use leitong_base::limits::JSON_DEPTH_MAX;

/// Maximum length of the `passthrough` value, written on one line. A longer value is counted and left out of
/// the verdict.
const PASSTHROUGH_BYTES_MAX: usize = 4 * 1024;
/// Maximum nesting of brackets in the `passthrough` value. A deeper value is counted and left out of the
/// verdict. Together with the two levels around it in the verdict, this is the depth that JSON parsers
/// commonly accept, including ours.
const PASSTHROUGH_DEPTH_MAX: usize = JSON_DEPTH_MAX - 2;

/// A value that fits into a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passthrough {
    /// Valid JSON on one line, at most [`PASSTHROUGH_BYTES_MAX`] bytes long and with brackets nested at most
    /// [`PASSTHROUGH_DEPTH_MAX`] deep.
    pub json: String,
    /// Number of lone surrogates that were replaced.
    pub lone_surrogates: u32,
}

/// The reason why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The value is not valid JSON, with the parser's message.
    NotJson(String),
    /// The value is too long or too deeply nested.
    TooLarge,
}

/// Checks and normalises any text.
///
/// # Errors
/// [`Unfit`] if the text is not JSON, or exceeds a limit.
pub fn parse(text: &str) -> Result<Passthrough, Unfit> {
    // Checks the complete grammar without recursion.
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| Unfit::NotJson(error.to_string()))?;
    compact(text)
}

/// Normalises text that is known to be JSON.
///
/// # Errors
/// [`Unfit::TooLarge`] if it exceeds a limit.
pub(super) fn compact(json: &str) -> Result<Passthrough, Unfit> {
    let mut out = String::with_capacity(json.len().min(PASSTHROUGH_BYTES_MAX));
    let (mut depth, mut lone_surrogates) = (0_usize, 0);
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            ' ' | '\t' | '\n' | '\r' => {
                rest = &rest[1..];
                continue;
            }
            '"' => {
                let length = string_length(rest);
                lone_surrogates += push_string(&rest[..length], &mut out);
                rest = &rest[length..];
                continue;
            }
            '[' | '{' => {
                depth += 1;
                1
            }
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                1
            }
            c => c.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
        if depth > PASSTHROUGH_DEPTH_MAX || out.len() > PASSTHROUGH_BYTES_MAX {
            return Err(Unfit::TooLarge);
        }
    }
    if out.len() > PASSTHROUGH_BYTES_MAX {
        return Err(Unfit::TooLarge);
    }
    Ok(Passthrough { json: out, lone_surrogates })
}

/// Returns the length in bytes of the string literal at the start of `json`, including both quotes.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

/// Appends a string literal. Returns the number of lone surrogates that were replaced.
fn push_string(literal: &str, out: &mut String) -> u32 {
    let mut replaced = 0;
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match surrogate(rest) {
            Some(0xd800..=0xdbff) if matches!(surrogate(&rest[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(_) => {
                replaced += 1;
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            None => 2,
        };
        out.push_str(&rest[..length.min(rest.len())]);
        rest = &rest[length.min(rest.len())..];
    }
    out.push_str(rest);
    replaced
}

/// Returns the surrogate if `text` begins with the escape of one.
fn surrogate(text: &str) -> Option<u32> {
    let unit = u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()?;
    (0xd800..=0xdfff).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn json(text: &str) -> String {
        parse(text).expect("it fits").json
    }

    #[test]
    fn puts_the_value_on_one_line_and_changes_nothing_else() {
        for (text, expected) in [
            (r#"{"n":1.0}"#, r#"{"n":1.0}"#),
            ("{\n\t\"a b\" :\r [ 1e400 ,\n -0.0 ] }\n", r#"{"a b":[1e400,-0.0]}"#),
            (r#" "x \" [ \\" "#, r#""x \" [ \\""#),
            (" null ", "null"),
            ("\"中\u{2028}\\u4e2d\\ud83d\\ude00\"", "\"中\u{2028}\\u4e2d\\ud83d\\ude00\""),
        ] {
            assert_eq!(json(text), expected);
        }
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        let found = parse(r#"{"\ud800":"\udc00\ud83d\ude00\ud800\ud83d\ude00\\ud800"}"#).expect("it fits");
        assert_eq!(found.json, r#"{"\ufffd":"\ufffd\ud83d\ude00\ufffd\ud83d\ude00\\ud800"}"#);
        assert_eq!(found.lone_surrogates, 3);
        assert!(serde_json::from_str::<Value>(&found.json).is_ok());
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(json(&nested(PASSTHROUGH_DEPTH_MAX)), nested(PASSTHROUGH_DEPTH_MAX));
        assert_eq!(parse(&nested(PASSTHROUGH_DEPTH_MAX + 1)), Err(Unfit::TooLarge));
        assert_eq!(parse(&nested(2_000_000)), Err(Unfit::TooLarge));
        let long = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert_eq!(json(&long(PASSTHROUGH_BYTES_MAX)).len(), PASSTHROUGH_BYTES_MAX);
        assert_eq!(parse(&long(PASSTHROUGH_BYTES_MAX + 1)), Err(Unfit::TooLarge));
        for text in ["", "x", "{", "[1,]", "\"\n\"", "1 2", "{\"a\":1}\n{\"b\":2}", "\"\\ud8\""] {
            assert!(matches!(parse(text), Err(Unfit::NotJson(_))), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn normalising_keeps_the_meaning(text in r#"[\[\]{},:
        "a\\u0d89f1-]{0,40}"#) {
            if let Ok(found) = parse(&text) {
                prop_assert!(!found.json.contains(['\n', '\r']));
                prop_assert_eq!(&json(&found.json), &found.json);
                if let Ok(value) = serde_json::from_str::<Value>(&text) {
                    prop_assert_eq!(serde_json::from_str::<Value>(&found.json).ok(), Some(value));
                }
            }
        }
    }
}
