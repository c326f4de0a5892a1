//! Puts Hebrew in visual order, as ISO-8859-8 has it, into the order in which it is read.
//!
//! In: a decoded page whose lines are written from left to right as they look. Out: each line from right to left, with
//! numbers and words of other scripts as they are, brackets mirrored, and the elements within the line around the same
//! words. A line ends at a tag of a block, at `<br>`, and in a text without tags at a line feed. RFC 1556 names the
//! orders: ISO-8859-8 is visual, ISO-8859-8-I logical. A page that declares the wrong one is recognised by the letters
//! with a form for the end of a word. Cost: linear.

use std::ops::Range;

/// Elements that do not end a line.
const INLINE: [&str; 22] = [
    "a", "abbr", "acronym", "b", "bdo", "big", "cite", "code", "em", "font", "i", "img", "kbd", "s", "small",
    "span", "strike", "strong", "sub", "sup", "tt", "u",
];

/// Maximum number of open elements among which the one of an end tag is searched.
const OPEN_MAX: usize = 32;

/// A piece of a line: a tag, a bracket, or text that stays together; and the number of the piece that takes its place
/// when the line is turned round. That is its own number, except for tags of an element that is opened and closed.
type Piece = (Range<usize>, usize);

/// Returns `text` in logical order; `None` if it is in that order.
pub(super) fn to_logical(text: &str) -> Option<String> {
    let is_final = |c: char| matches!(c, 'ך' | 'ם' | 'ן' | 'ף' | 'ץ');
    let is_hebrew = |c: &char| ('א'..='ת').contains(c);
    let words = text.split(|c| !is_hebrew(&c)).filter(|word| word.chars().nth(1).is_some());
    let (mut first, mut last) = (0, 0);
    for word in words {
        first += u32::from(word.starts_with(is_final));
        last += u32::from(word.ends_with(is_final));
    }
    if last > first || !text.contains(|c| is_hebrew(&c)) {
        return None;
    }
    let has_tags = text.contains('<');
    let mut out = String::with_capacity(text.len());
    let (mut at, mut line) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        let end = if rest.starts_with('<') {
            let end = at + rest.find('>').map_or(rest.len(), |end| end + 1);
            let name = tag_name(&text[at..end]).to_ascii_lowercase();
            if INLINE.contains(&name.as_str()) {
                at = end;
                continue;
            }
            match ["script", "style"].contains(&name.as_str()) && !rest.starts_with("</") {
                true => rest.find(&format!("</{name}")).map_or(text.len(), |length| at + length),
                false => end,
            }
        } else if rest.starts_with('\n') && !has_tags {
            at + 1
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        push_line(&text[line..at], &mut out);
        out.push_str(&text[at..end]);
        (at, line) = (end, end);
    }
    push_line(&text[line..], &mut out);
    Some(out)
}

/// Returns the name of a tag, without the slash of an end tag.
fn tag_name(tag: &str) -> &str {
    let name = tag.trim_start_matches(['<', '/']);
    name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
}

/// Appends a line in logical order.
fn push_line(line: &str, out: &mut String) {
    if !line.contains(|c| ('א'..='ת').contains(&c)) {
        out.push_str(line);
        return;
    }
    let body = line.trim();
    let start = line.len() - line.trim_start().len();
    out.push_str(&line[..start]);
    let pieces = pieces(body);
    for (_, place) in pieces.iter().rev() {
        out.push_str(mirrored(&body[pieces[*place].0.clone()]));
    }
    out.push_str(&line[start + body.len()..]);
}

/// Divides a line into pieces.
fn pieces(line: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        let end = match c {
            '<' if rest.contains('>') => at + rest.find('>').map_or(1, |end| end + 1),
            '&' => at + rest.bytes().take(10).position(|byte| byte == b';').map_or(1, |end| end + 1),
            _ => at + left_to_right(rest).max(c.len_utf8()),
        };
        let this = pieces.len();
        let mut place = this;
        if c == '<' && end > at + 1 {
            let name = tag_name(&line[at..end]).to_ascii_lowercase();
            if rest.starts_with("</") {
                let recent = open.len().saturating_sub(OPEN_MAX);
                if let Some(found) = open[recent..].iter().rposition(|(opened, _)| *opened == name) {
                    (_, place) = open.swap_remove(recent + found);
                    pieces[place].1 = this;
                }
            } else if name != "img" {
                open.push((name, this));
            }
        }
        pieces.push((at..end, place));
        at = end;
    }
    pieces
}

/// Returns the length of the words and numbers at the start of `text` that are written from left to right: letters of
/// other scripts and digits, with the signs and spaces between them.
fn left_to_right(text: &str) -> usize {
    let is_strong = |c: char| c.is_alphanumeric() && !('א'..='ת').contains(&c);
    let (mut end, mut last) = (0, None);
    for (at, c) in text.char_indices() {
        if is_strong(c) {
            let between = &text[end..at];
            let may_join = match last {
                None => at == 0,
                // Numbers stand apart; words of other scripts follow one another.
                Some(before) if between.contains(' ') => char::is_alphabetic(before) && c.is_alphabetic(),
                Some(_) => true,
            };
            if !may_join {
                break;
            }
            (end, last) = (at + c.len_utf8(), Some(c));
        } else if last.is_none() || !matches!(c, ' ' | '.' | ',' | ':' | '/' | '-' | '\'' | '@' | '_' | '%') {
            break;
        }
    }
    end
}

/// Returns the counterpart of a bracket, and any other text as it is.
fn mirrored(text: &str) -> &str {
    match text {
        "(" => ")",
        ")" => "(",
        "[" => "]",
        "]" => "[",
        "{" => "}",
        "}" => "{",
        "&lt;" => "&gt;",
        "&gt;" => "&lt;",
        "«" => "»",
        "»" => "«",
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_turned_with_their_elements_numbers_and_brackets() {
        for (visual, logical) in [
            ("<p>.םלוע םולש</p>", "<p>שלום עולם.</p>"),
            ("<p>םיכלמ<br>\n.םולש</p>", "<p>מלכים<br>\nשלום.</p>"),
            ("<p>ג <b>ב</b> <a href=x>א</a> ,ם</p>", "<p>ם, <a href=x>א</a> <b>ב</b> ג</p>"),
            ("<td>12:30 העשב 2026 תנשב</td>", "<td>בשנת 2026 בשעה 12:30</td>"),
            ("<td>(Windows XP) םולש&nbsp;תא</td>", "<td>את&nbsp;שלום (Windows XP)</td>"),
            ("<p>English only (1).</p><p>ם</p>", "<p>English only (1).</p><p>ם</p>"),
            ("םולש\nםלוע", "שלום\nעולם"),
        ] {
            assert_eq!(to_logical(visual).as_deref(), Some(logical), "{visual}");
        }
    }

    #[test]
    fn logical_text_and_other_scripts_stay() {
        assert_eq!(to_logical("<p>שלום עולם, מלכים באים.</p>"), None);
        assert_eq!(to_logical("<p>abc (1)</p>"), None);
    }
}
