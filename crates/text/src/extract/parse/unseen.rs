//! Recognises elements that are in the markup but not visible, or not part of the text around them.
//!
//! In: a tag and its attributes. Out: true if its content is skipped. Cost: linear in its names and style.

use crate::extract::parse::entities;
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::tag::Tag;

/// Returns true if the element is hidden, or a dialog that is not open. `visibility` does not count: large sites hide
/// their text that way until a script has run.
pub(in crate::extract) fn is_hidden(tag: Tag, attributes: &Attributes<'_>) -> bool {
    // React sends parts of a page as `<div hidden id="S:0">`, and a script shows them.
    if attributes.hidden && !attributes.id.starts_with(b"S:") || tag == Tag::Dialog && !attributes.open {
        return true;
    }
    attributes.style.len() >= "display:none".len() && is_display_none(attributes.style)
}

/// Returns true if a style attribute, as written in the markup, results in `display: none`. By the rules of CSS, the
/// last declaration counts unless an earlier one is `!important`.
fn is_display_none(style: &[u8]) -> bool {
    // Most styles do not contain `none`, so they need not be parsed. Escapes and references could spell it.
    if !style.iter().any(|byte| matches!(byte, b'\\' | b'&')) && !holds_none(style) {
        return false;
    }
    let plain = plain_style(style);
    let (mut hidden, mut important) = (false, false);
    for declaration in declarations(&plain) {
        let Some((name, value)) = declaration.split_once(':') else { continue };
        if !name.trim().eq_ignore_ascii_case("display") {
            continue;
        }
        let (value, is_important) = match value.split_once('!') {
            Some((value, rest)) => (value, rest.trim().eq_ignore_ascii_case("important")),
            None => (value, false),
        };
        if is_important || !important {
            hidden = value.trim().eq_ignore_ascii_case("none");
            important = is_important;
        }
    }
    hidden
}

fn holds_none(style: &[u8]) -> bool {
    memchr::memchr2_iter(b'n', b'N', style)
        .any(|at| style.get(at..at + 4).is_some_and(|word| word.eq_ignore_ascii_case(b"none")))
}

/// Returns the style with its character references and escapes decoded, and its comments replaced by spaces.
fn plain_style(style: &[u8]) -> String {
    let decoded = entities::decoded(&String::from_utf8_lossy(style));
    let mut plain = String::with_capacity(decoded.len());
    let mut rest = decoded.as_str();
    while let Some(at) = memchr::memchr2(b'/', b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("/*") {
            plain.push(' ');
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if let Some(escape) = rest.strip_prefix('\\') {
            let digits = escape.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
            let code = u32::from_str_radix(&escape[..digits], 16).ok().and_then(char::from_u32);
            // A backslash before any other character is dropped.
            plain.extend(code);
            rest = &escape[digits..];
            rest = if digits > 0 { rest.strip_prefix([' ', '\t', '\n']).unwrap_or(rest) } else { rest };
        } else {
            plain.push('/');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain
}

/// Splits a style into its declarations, at semicolons outside of quotes and brackets (`url(data:a;b)`).
fn declarations(style: &str) -> impl Iterator<Item = &str> {
    let (mut quote, mut depth) = (None, 0_u32);
    style.split(move |c: char| {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            (None, _) => return c == ';' && depth == 0,
        }
        false
    })
}

/// Class names of elements that programs insert into a line, but that are not part of its text: links from a heading to
/// itself, "edit" links of wikis, words for screen readers.
const MARKS: [&[u8]; 8] = [
    b"headerlink",
    b"hash-link",
    b"anchorjs-link",
    b"header-anchor",
    b"mw-editsection",
    b"sr-only",
    b"visually-hidden",
    b"screen-reader-text",
];

/// Returns true if a program has inserted the element into a line, and it is not part of the text.
pub(in crate::extract) fn is_mark(tag: Tag, class: &[u8]) -> bool {
    matches!(tag, Tag::A | Tag::Span)
        && class.len() >= "sr-only".len()
        && class.split(u8::is_ascii_whitespace).any(|name| MARKS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_none_is_found_however_it_is_written() {
        #[rustfmt::skip]
        const HIDDEN: [&str; 16] = [
            "display:none", "display: none !important", "display : none", "DISPLAY:NONE",
            "Display:None ! Important;", "color:red;display:none;", "-webkit-box-display:x;display:none",
            "display/* a */:/* b */none/* c */", "display:block;display:none",
            "display:none !important;display:block", "d\\69splay:none", "display:\\6e one",
            "display&colon;none", "background:url(data:x;y);display:none", "content:\"a;b\";display:none",
            "display:\nnone",
        ];
        for style in HIDDEN {
            assert!(is_display_none(style.as_bytes()), "{style}");
        }
    }

    #[test]
    fn visible_elements_are_not_hidden() {
        #[rustfmt::skip]
        const SHOWN: [&str; 16] = [
            "", "display:block", "display:none;display:block", "display:block !important;display:none",
            "/* display:none */color:red", "display:nonesuch", "border:none;display:block",
            "-x-display:none", "background:url(;display:none;)", "content:';display:none;'",
            "visibility:hidden", "display", "display:", "/*", "\\", "d\\",
        ];
        for style in SHOWN {
            assert!(!is_display_none(style.as_bytes()), "{style}");
        }
    }
}
