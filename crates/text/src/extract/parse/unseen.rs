//! What stands in the markup and is not seen, or is not of the text that it stands in.
//!
//! In: a tag and its attributes. Out: whether its content
//! is passed over. Cost: the length of its names and style.

use crate::extract::parse::entities;
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::tag::Tag;

/// Whether the element is not shown. `visibility` does not count:
/// large sites hide their text that way until a script has run.
pub(in crate::extract) fn is_hidden(attributes: &Attributes<'_>) -> bool {
    // React sends parts of a page as `<div hidden id="S:0">`, which a script then shows.
    if attributes.hidden && !attributes.id.starts_with(b"S:") {
        return true;
    }
    attributes.style.len() >= "display:none".len() && is_display_none(attributes.style)
}

/// Whether a style, as it stands in the markup, says `display: none` at last: by
/// the rules of CSS the last declaration counts, unless one before is `!important`.
fn is_display_none(style: &[u8]) -> bool {
    // Most styles say nothing of it, which is told without
    // reading them. Escapes and references could spell it.
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

/// The style with its character references and escapes replaced,
/// and its comments as the spaces that they count for.
fn plain_style(style: &[u8]) -> String {
    let mut decoded = String::with_capacity(style.len());
    entities::decode_into(&String::from_utf8_lossy(style), &mut decoded);
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
            // Any other character stands for itself.
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

/// The declarations of a style: what semicolons part, unless
/// they stand in quotes or brackets, as in `url(data:a;b)`.
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

/// Names of what programs put into a line that is not of its text: links
/// from a heading to itself, "edit" of wikis, words for screen readers.
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

/// Whether the element holds such a mark.
pub(in crate::extract) fn is_mark(tag: Tag, class: &[u8]) -> bool {
    matches!(tag, Tag::A | Tag::Span)
        && class.len() >= "sr-only".len()
        && class.split(u8::is_ascii_whitespace).any(|name| MARKS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_none_is_seen_however_it_is_spelt() {
        for style in [
            "display:none",
            "display: none !important",
            "display : none",
            "DISPLAY:NONE",
            "Display:None ! Important;",
            "color:red;display:none;",
            "-webkit-box-display:x;display:none",
            "display/* a */:/* b */none/* c */",
            "display:block;display:none",
            "display:none !important;display:block",
            "d\\69splay:none",
            "display:\\6e one",
            "display&colon;none",
            "background:url(data:x;y);display:none",
            "content:\"a;b\";display:none",
            "display:\nnone",
        ] {
            assert!(is_display_none(style.as_bytes()), "{style}");
        }
    }

    #[test]
    fn what_is_shown_is_not_hidden() {
        for style in [
            "",
            "display:block",
            "display:none;display:block",
            "display:block !important;display:none",
            "/* display:none */color:red",
            "display:nonesuch",
            "border:none;display:block",
            "-x-display:none",
            "background:url(;display:none;)",
            "content:';display:none;'",
            "visibility:hidden",
            "display",
            "display:",
            "/*",
            "\\",
            "d\\",
        ] {
            assert!(!is_display_none(style.as_bytes()), "{style}");
        }
    }
}
