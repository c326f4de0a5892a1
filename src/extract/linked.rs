//! The article's text in linked data, for pages whose markup has none: a script puts it there.
//!
//! In: the source of a JSON string. Out: paragraphs, one a line, without the
//! markup that some sites leave in it. What is no JSON string gives nothing. Cost:
//! linear in the string, since where one tag does not end, none after it does.

use crate::extract::parse::entities;
use crate::extract::write::single_spaced;
use crate::extract::{Paragraph, ParagraphKind};

/// The paragraphs of `source`, a JSON string without its quotes.
pub(super) fn paragraphs(source: &str) -> Vec<Paragraph> {
    let Ok(text) = serde_json::from_str::<String>(&format!("\"{source}\"")) else { return Vec::new() };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let begins_tag = after.starts_with(|c: char| c == '/' || c.is_ascii_alphabetic());
        match begins_tag.then(|| after.find('>')).flatten() {
            Some(end) => {
                plain.push('\n');
                rest = &after[end + 1..];
            }
            None => {
                plain.push('<');
                rest = after;
                if begins_tag {
                    break;
                }
            }
        }
    }
    plain.push_str(rest);
    let lines = plain.lines().map(|line| {
        let mut decoded = String::with_capacity(line.len());
        entities::decode_into(line, &mut decoded);
        single_spaced(&decoded)
    });
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(|line| Paragraph::new(ParagraphKind::Paragraph, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<String> {
        paragraphs(source).into_iter().map(|paragraph| paragraph.text).collect()
    }

    #[test]
    fn escapes_references_and_markup_are_resolved() {
        assert_eq!(lines(r"One &amp; two\nthr\u0065e \u8336"), ["One & two", "three 茶"]);
        assert_eq!(lines(r"<p>One<\/p><p>two 1 < 2</p>"), ["One", "two 1 < 2"]);
        assert_eq!(lines("<p>1 << 2 <b>bold</b> <a <b"), ["1 << 2", "bold", "<a <b"]);
    }

    #[test]
    fn what_is_no_string_gives_nothing() {
        assert_eq!(lines("a\u{1}b"), [""; 0]);
        assert_eq!(lines(r"\u12"), [""; 0]);
        assert_eq!(lines(""), [""; 0]);
    }
}
