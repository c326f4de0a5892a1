//! Reads the text of a parsed page: of a block, or of a segment such as the title.
//!
//! In: the page, its tree, a block or segment. Out: its text with character references decoded and white space
//! collapsed. A line break between two Chinese characters is not a space. Cost: linear in the text.

use crate::extract::parse::entities;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tree::{Block, Tree};

/// Returns the text of a block, in one line unless `keep_lines` is true.
pub(in crate::extract) fn of_block(html: &str, tree: &Tree, block: &Block, keep_lines: bool) -> String {
    let mut text = String::with_capacity(block.counts.bytes as usize + block.counts.words as usize + 8);
    push_segments(html, &tree.segments[block.first_segment as usize..block.end_segment as usize], &mut text);
    if keep_lines { trim_lines(&text) } else { collapse(text) }
}

/// Appends the text of segments as it is, with character references decoded.
pub(in crate::extract) fn push_segments(html: &str, segments: &[Segment], text: &mut String) {
    for segment in segments {
        if *segment == Segment::LINE_BREAK {
            text.push('\n');
        } else {
            entities::decode_into(&html[segment.range()], text);
        }
    }
}

/// Returns the text of a segment outside of the blocks, such as a title or the value of an attribute, in one line;
/// `None` if it is empty.
pub(in crate::extract) fn of_segment(html: &str, segment: Option<Segment>) -> Option<String> {
    let segment = segment?;
    let mut text = String::new();
    entities::decode_into(html.get(segment.range())?, &mut text);
    let text = single_spaced(&text);
    (!text.is_empty()).then_some(text)
}

/// Returns the lines without white space at their ends, and without blank lines at the start and end.
pub(in crate::extract) fn trim_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(is_blank)).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.is_empty()).count();
    lines[blank..].join("\n")
}

pub(in crate::extract) fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\0' | '\u{200b}' | '\u{feff}')
}

/// Returns the text between the tags of `source`, with a space for each tag.
pub(in crate::extract) fn without_tags(source: &str) -> String {
    let mut text = String::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once('>').map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// Returns `text` with one space between words, trimmed.
pub(in crate::extract) fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces each run of white space and invisible characters by one space, or by nothing at the ends and between
/// Chinese characters. Allocates only if something changes.
pub(in crate::extract) fn collapse(text: String) -> String {
    let text = match text.trim_matches(is_blank) {
        trimmed if trimmed.len() == text.len() => text,
        trimmed => trimmed.to_owned(),
    };
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        // Most blanks are one space between two words.
        let is_plain = |byte: u8| !MAY_BE_BLANK[usize::from(byte)];
        if is_plain(byte) || (byte == b' ' && bytes.get(at + 1).is_some_and(|next| is_plain(*next))) {
            at += 1;
            continue;
        }
        let after = text[at..].trim_start_matches(is_blank);
        let end = text.len() - after.len();
        if end == at {
            at += after.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        out.push_str(&text[copied..at]);
        let run = &text[at..end];
        let joins = |c: Option<char>| c.is_some_and(is_cjk);
        let only_invisible = run.chars().all(|c| matches!(c, '\0' | '\u{200b}' | '\u{feff}'));
        let wrapped = run.contains('\n') && joins(out.chars().next_back()) && joins(after.chars().next());
        if !only_invisible && !wrapped {
            out.push(' ');
        }
        (at, copied) = (end, end);
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    out
}

/// True for the first bytes of characters for which [`is_blank`] is true.
static MAY_BE_BLANK: [bool; 256] = {
    let mut may = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        // U+0085, U+00A0; U+1680; U+2000–U+205F; U+3000; U+FEFF.
        may[byte] = matches!(byte as u8, 0..=b' ' | 0xc2 | 0xe1 | 0xe2 | 0xe3 | 0xef);
        byte += 1;
    }
    may
};

/// Returns true for characters of scripts that are written without spaces, and for their punctuation.
fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_collapses_but_not_within_chinese() {
        assert_eq!(collapse(" a \n\t b\u{a0}c\u{3000}".to_owned()), "a b c");
        assert_eq!(collapse("一行\n 二行\nthree\nfour".to_owned()), "一行二行 three four");
        assert_eq!(collapse("x\u{feff}y\u{200b} z\u{200b}".to_owned()), "xy z");
        assert_eq!(collapse("一 二".to_owned()), "一 二");
        assert_eq!(collapse("a  b c\u{b}\u{1680}、d 、 e".to_owned()), "a b c 、d 、 e");
    }

    #[test]
    fn program_text_keeps_its_lines() {
        assert_eq!(trim_lines("\n  a  \n\n    b\n\n"), "  a\n\n    b");
    }
}
