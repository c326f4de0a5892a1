//! Replaces the words `NaN`, `Infinity` and `-Infinity`, which JSON does not have, by `null`.
//!
//! Python writes them for numbers without a value, and its readers accept them. A document must not be lost because of
//! such a number. Words in strings are unchanged. Cost: one search of the line for each word.

use std::borrow::Cow;

use memchr::memmem;

/// The words, the longer ones first.
const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// Returns `json` with `null` for each of the words outside of strings.
pub(crate) fn replaced(json: &[u8]) -> Cow<'_, [u8]> {
    if !WORDS[1..].iter().any(|word| memmem::find(json, word).is_some()) {
        return json.into();
    }
    let (mut replaced, mut rest) = (Vec::with_capacity(json.len() + b"null".len()), json);
    while !rest.is_empty() {
        let begins = |byte: u8| matches!(byte, b'"' | b'N' | b'I' | b'-');
        let plain = rest.iter().position(|byte| begins(*byte)).unwrap_or(rest.len());
        replaced.extend_from_slice(&rest[..plain]);
        rest = &rest[plain..];
        if let Some(word) = WORDS.iter().find(|word| rest.starts_with(word)) {
            replaced.extend_from_slice(b"null");
            rest = &rest[word.len()..];
            continue;
        }
        let (taken, left) =
            rest.split_at(if rest.starts_with(b"\"") { string_bytes(rest) } else { rest.len().min(1) });
        replaced.extend_from_slice(taken);
        rest = left;
    }
    replaced.into()
}

/// Returns the number of bytes of the string at the beginning of `json`, with its quotes.
fn string_bytes(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        match json[at + found] {
            b'"' => return at + found + 1,
            _ => at += found + 2,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_of_strings_become_null() {
        for (json, expected) in [
            (r#"{"a":NaN,"b":[Infinity,-Infinity]}"#, r#"{"a":null,"b":[null,null]}"#),
            (r#"{"a":"NaN","b":"\"NaN","c":-1,"d":NaN}"#, r#"{"a":"NaN","b":"\"NaN","c":-1,"d":null}"#),
            (r#"{"NaN":1}"#, r#"{"NaN":1}"#),
            (r#"{"a":NaN,"b":"\\"}"#, r#"{"a":null,"b":"\\"}"#),
            (r#"NaN"#, "null"),
            (r#"{"a":NaN,"b":"cut \"#, r#"{"a":null,"b":"cut \"#),
            ("", ""),
        ] {
            assert_eq!(replaced(json.as_bytes()), expected.as_bytes(), "{json}");
        }
    }
}
