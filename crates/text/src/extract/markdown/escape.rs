//! Escapes: characters of a text that would act as markup get a backslash, and no others.
//!
//! Two questions are separate: which characters act anywhere in a text ([`acts`]), and what a line may not
//! begin with ([`push_line`]).

/// Returns true if the character `c` needs a backslash between `before` and `after`, the characters of the output
/// next to it. `None` is an end of the text. `rest` is the text after an `&`, up to the next markup, and may be empty
/// for other characters. `in_brackets` is true for the text of a link and of an image.
pub(super) fn acts(
    before: Option<char>,
    c: char,
    after: Option<char>,
    rest: &str,
    in_brackets: bool,
) -> bool {
    let is_blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
    match c {
        '`' | '~' => true,
        '[' | ']' if in_brackets => true,
        // Without a destination, a label or a definition after it, a bracket is only a bracket.
        ']' => matches!(after, Some('(' | '[' | ':')),
        '[' => matches!(after, Some('^')) || before.is_none(),
        '!' => after == Some('['),
        '*' => !(is_blank(before) && is_blank(after)),
        '_' => {
            let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            !(is_letter(before) && is_letter(after))
        }
        '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
        '&' => ends_reference(rest),
        '\\' => after.is_none_or(|c| c.is_ascii_punctuation()),
        _ => false,
    }
}

/// Returns true if `rest` continues an `&` to a character reference.
pub(super) fn ends_reference(rest: &str) -> bool {
    let name = rest.strip_prefix('#').unwrap_or(rest);
    let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    length > 0 && name.as_bytes().get(length) == Some(&b';')
}

/// Appends a line of a paragraph. A backslash keeps its start from being a heading, a list, a quotation or the
/// rule of a heading or table.
pub(super) fn push_line(line: &str, out: &mut String) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = line[digits..].chars().next();
    if (1..=9).contains(&digits) && matches!(after, Some('.' | ')')) {
        let ends = line[digits + 1..].chars().next().is_none_or(char::is_whitespace);
        out.push_str(&line[..digits]);
        out.push_str(if ends { "\\" } else { "" });
        out.push_str(&line[digits..]);
        return;
    }
    let mut chars = line.chars();
    let first = chars.next();
    let is_marker = match first {
        Some('#') => {
            let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
            hashes <= 6 && line[hashes..].chars().next().is_none_or(char::is_whitespace)
        }
        Some('>') => true,
        Some('-' | '+') if chars.next().is_none_or(char::is_whitespace) => true,
        Some('-' | '=' | ':') => line.chars().all(|c| matches!(c, '-' | '=' | ':' | '|' | ' ' | '\\')),
        _ => false,
    };
    out.push_str(if is_marker { "\\" } else { "" });
    out.push_str(line);
}
