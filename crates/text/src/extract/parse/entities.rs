//! Decodes character references: `&amp;`, `&#20013;`, `&#x4e2d;`, and the old ones without a semicolon.
//!
//! In: text of a page. Out: the text with each reference replaced, by the rules of the HTML standard (longest name
//! first, windows-1252 for numbers 0x80–0x9F, U+FFFD for numbers that are not characters). Cost: linear, even with a
//! flood of `&`, since a name is at most [`NAME_BYTES_MAX`] bytes long.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Length in bytes of the longest name, `&CounterClockwiseContourIntegral;`.
const NAME_BYTES_MAX: usize = 33;

/// Length in bytes of the longest name that may lack its semicolon.
const BARE_NAME_BYTES_MAX: usize = 7;

/// All names of the standard, each with `&`; 106 are there twice, with a semicolon and without one.
static NAMES: LazyLock<HashMap<&'static [u8], &'static str>> =
    LazyLock::new(|| entities::ENTITIES.iter().map(|e| (e.entity.as_bytes(), e.characters)).collect());

/// Builds the table, which the first page would otherwise wait for.
pub(in crate::extract) fn build_table() {
    LazyLock::force(&NAMES);
}

/// The characters of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Characters {
    /// The one or two characters of a name.
    Named(&'static str),
    /// The character of a number.
    Numbered(char),
}

/// Returns the characters of the reference at the start of `text`, which begins with `&`, and its length in bytes; `None`
/// if the `&` is not part of a reference.
pub(in crate::extract) fn reference(text: &[u8]) -> Option<(Characters, usize)> {
    match text.get(1)? {
        b'#' => number(text),
        first if first.is_ascii_alphabetic() => name(text),
        _ => None,
    }
}

fn name(text: &[u8]) -> Option<(Characters, usize)> {
    // The most frequent ones need no table.
    for (name, characters) in [
        ("&nbsp;", "\u{a0}"),
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&ldquo;", "\u{201c}"),
        ("&rdquo;", "\u{201d}"),
    ] {
        if text.starts_with(name.as_bytes()) {
            return Some((Characters::Named(characters), name.len()));
        }
    }
    let letters = text[1..].iter().take(NAME_BYTES_MAX).take_while(|b| b.is_ascii_alphanumeric()).count();
    let named = |length: usize| Some((Characters::Named(NAMES.get(&text[..length])?), length));
    if text.get(1 + letters) == Some(&b';')
        && let Some(found) = named(letters + 2)
    {
        return Some(found);
    }
    (3..=(letters + 1).min(BARE_NAME_BYTES_MAX)).rev().find_map(named)
}

fn number(text: &[u8]) -> Option<(Characters, usize)> {
    let hexadecimal = matches!(text.get(2), Some(b'x' | b'X'));
    let (start, radix) = if hexadecimal { (3, 16) } else { (2, 10) };
    let mut code = 0_u32;
    let mut at = start;
    while let Some(digit) = text.get(at).and_then(|b| char::from(*b).to_digit(radix)) {
        code = code.saturating_mul(radix).saturating_add(digit);
        at += 1;
    }
    if at == start {
        return None;
    }
    let end = at + usize::from(text.get(at) == Some(&b';'));
    Some((Characters::Numbered(character(code)), end))
}

/// Returns the character of a number, with the standard's table for C1 controls.
fn character(code: u32) -> char {
    if let Ok(byte @ 0x80..=0x9f) = u8::try_from(code) {
        let (text, _) = encoding_rs::WINDOWS_1252.decode_without_bom_handling(std::slice::from_ref(&byte));
        return text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
    }
    char::from_u32(code).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Appends `text` with its references replaced.
pub(in crate::extract) fn decode_into(text: &str, out: &mut String) {
    append(text, false, out);
}

/// Returns `text` with its references replaced.
pub(in crate::extract) fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    decode_into(text, &mut decoded);
    decoded
}

/// Returns the link in an attribute with its references replaced. There, a name without a semicolon is no reference if
/// `=`, a letter or a digit follows: `?a=1&section=2` has no `&sect`.
pub(in crate::extract) fn decoded_link(link: &str) -> String {
    let mut decoded = String::with_capacity(link.len());
    append(link, true, &mut decoded);
    decoded
}

/// Appends `text`, or the value of an attribute, with its references replaced.
fn append(text: &str, in_attribute: bool, out: &mut String) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let bytes = rest.as_bytes();
        let is_text = |length: usize| {
            let goes_on = bytes.get(length).is_some_and(|next| *next == b'=' || next.is_ascii_alphanumeric());
            in_attribute && bytes[1] != b'#' && bytes[length - 1] != b';' && goes_on
        };
        let length = match reference(bytes).filter(|(_, length)| !is_text(*length)) {
            Some((Characters::Named(characters), length)) => {
                out.push_str(characters);
                length
            }
            Some((Characters::Numbered(character), length)) => {
                out.push(character);
                length
            }
            None => {
                out.push('&');
                1
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_every_form_are_replaced() {
        assert_eq!(decoded("a &amp; b &lt;c&gt; &quot;d&quot;"), "a & b <c> \"d\"");
        assert_eq!(decoded("&#20013;&#x6587;&#X6587"), "中文文");
        assert_eq!(decoded("&copy 2026 &copy; &eacute;t&eacute"), "© 2026 © été");
        assert_eq!(decoded("&#150; &#0; &#xD800; &#99999999999;"), "– \u{fffd} \u{fffd} \u{fffd}");
    }

    #[test]
    fn text_that_is_not_a_reference_is_unchanged() {
        for text in ["&", "&&", "&;", "&#;", "&#x;", "AT&T", "a & b", "&nonsense;", "?a=1&b=2"] {
            assert_eq!(decoded(text), text);
        }
    }

    #[test]
    fn links_keep_parameters_that_begin_like_names() {
        let link = "?a=1&section=2&copy=3&param=4";
        assert_eq!(decoded_link(link), link);
        assert_eq!(decoded_link("?a=1&amp;section=2&#38;b&copy"), "?a=1&section=2&b©");
        assert_eq!(decoded("?a=1&section"), "?a=1§ion", "in text, names end where they can");
    }

    #[test]
    fn every_name_of_the_standard_is_decoded() {
        for entity in &entities::ENTITIES {
            assert_eq!(decoded(entity.entity), entity.characters, "{}", entity.entity);
        }
    }

    #[test]
    fn the_length_limits_are_those_of_the_table() {
        let longest =
            entities::ENTITIES.iter().filter(|e| !e.entity.ends_with(';')).map(|e| e.entity.len()).max();
        assert_eq!(longest, Some(BARE_NAME_BYTES_MAX));
        let longest = entities::ENTITIES.iter().map(|e| e.entity.len()).max();
        assert_eq!(longest, Some(NAME_BYTES_MAX));
    }
}
