//! Splits a text into sentences, and into lines that are none, such as headings.
//!
//! In: a text. Out: its [`Sentence`]s, which follow each other without gaps. None of them ends within a sentence, so
//! where that is not certain, two sentences stay one:
//!
//! * A dot after a short word, an initial or a number may belong to an abbreviation or a date, and a quotation may go
//!   on after its last sign.
//! * A line that does not end a sentence may have been broken to fit a width. It is joined with the lines after it, up
//!   to the next end of a sentence, blank line or list item, if one of these lines begins in lower case or ends with a
//!   comma or the like, if it begins within a line, or if it is as long as a passage.
//!
//! Cost: linear.

use std::ops::Range;

use super::letters::{is_letter, weight};

/// Signs that end a sentence wherever they are. Their scripts have no spaces, or use them for nothing else.
const CERTAIN_ENDS: [char; 9] = ['。', '！', '？', '｡', '।', '॥', '။', '።', '۔'];
/// Signs that end a sentence if a space and no small letter follow.
const ENDS: [char; 8] = ['.', '!', '?', '…', '؟', '։', '‼', '។'];
/// Signs that may follow the end of a sentence and belong to it.
const CLOSING: [char; 17] =
    ['"', '\'', ')', ']', '}', '”', '’', '»', '›', '」', '』', '》', '〉', '）', '】', '＂', '“'];
/// Signs that may come before the first letter of a sentence.
const OPENING: [char; 18] =
    ['"', '\'', '(', '[', '{', '“', '‘', '„', '«', '‹', '「', '『', '《', '〈', '（', '【', '¿', '¡'];
/// Signs at the end of a line that show that its sentence goes on.
const PAUSES: [char; 13] = [',', ';', ':', '،', '؛', '、', '，', '；', '：', '-', '–', '—', '&'];
/// Signs that begin a list item. After ASCII characters and dashes, a space must follow.
const BULLETS: [char; 18] =
    ['-', '*', '+', '–', '—', '•', '‣', '◦', '●', '○', '■', '□', '▪', '◆', '★', '►', '▶', '·'];
/// Maximum number of letters of a word that may be an abbreviation if a dot follows.
const ABBREVIATION_LETTERS: usize = 3;
/// Maximum number of digits in the number of a list item.
const ITEM_DIGITS: usize = 3;

/// A sentence, or a line that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// The byte range in the text, with the spaces and the line end after it.
    pub at: Range<usize>,
    /// The byte range from the first letter to the last one, without the number of a list item. Empty if it has no
    /// letters.
    pub letters: Range<usize>,
    /// True if it ends as sentences do.
    pub ends: bool,
    /// True if it begins with a sign or number of a list item.
    pub is_item: bool,
    /// True if it ends with a colon, so something is to follow.
    pub introduces: bool,
}

/// A part of a line: a sentence, the end of one, or the beginning of one.
struct Part {
    sentence: Sentence,
    begins_line: bool,
    begins_in_lower_case: bool,
    /// True if the line ends with a dot that may belong to an abbreviation.
    may_go_on: bool,
    pauses: bool,
    weight: u32,
}

/// Splits a text. A line with at least `letters_min` letters is too long for a heading.
pub(super) fn sentences(text: &str, letters_min: u32) -> Vec<Sentence> {
    let mut parts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        split_line(text, at..at + line.len(), &mut parts);
        at += line.len();
    }
    let mut sentences: Vec<Sentence> = Vec::with_capacity(parts.len());
    let mut first = 0;
    while first < parts.len() {
        let goes_on = |pair: &[Part]| {
            let [part, next] = [&pair[0], &pair[1]];
            let has_letters = |part: &Part| !part.sentence.letters.is_empty();
            next.begins_line
                && (!part.sentence.ends || part.may_go_on && next.begins_in_lower_case)
                && has_letters(part)
                && has_letters(next)
                && !next.sentence.is_item
        };
        let more = parts[first..].windows(2).take_while(|pair| goes_on(pair)).count();
        let chain = &parts[first..=first + more];
        if are_one(chain, letters_min) {
            let [first, last] = [&chain[0].sentence, &chain[more].sentence];
            sentences.push(Sentence {
                at: first.at.start..last.at.end,
                letters: first.letters.start..last.letters.end,
                is_item: first.is_item,
                ..last.clone()
            });
        } else {
            sentences.extend(chain.iter().map(|part| part.sentence.clone()));
        }
        first += more + 1;
    }
    sentences
}

/// Returns true if lines of which all but the last do not end a sentence are one sentence.
fn are_one(chain: &[Part], letters_min: u32) -> bool {
    let [first, .., last] = chain else { return true };
    let broken = &chain[..chain.len() - 1];
    !first.begins_line
        || chain[1..].iter().any(|part| part.begins_in_lower_case)
        || broken.iter().any(|part| part.pauses)
        || last.sentence.ends && broken.iter().any(|part| part.weight >= letters_min)
}

/// Adds the parts of the line at `line`, with its line end.
fn split_line(text: &str, line: Range<usize>, parts: &mut Vec<Part>) {
    let content = &text[..line.start + text[line.clone()].trim_end().len()];
    let (mut start, mut begins_line) = (line.start, true);
    let mark = mark_bytes(&content[start..]);
    let mut at = start + mark;
    let mut add = |range: Range<usize>, ends: bool| {
        let mark = if begins_line { mark } else { 0 };
        parts.push(part(text, range, mark, std::mem::take(&mut begins_line), ends));
    };
    while let Some(end) = next_end(content, &mut at) {
        let next = end + spaces(&content[end..]);
        add(start..next, true);
        start = next;
    }
    let (ends, may_go_on) = ends_line(&content[start..]);
    add(start..line.end, ends);
    if let Some(last) = parts.last_mut() {
        last.may_go_on = may_go_on;
    }
}

/// Creates a part of a line that begins with a mark of so many bytes.
fn part(text: &str, at: Range<usize>, mark: usize, begins_line: bool, ends: bool) -> Part {
    let content = &text[at.start + mark..at.end];
    let mut letters = at.start..at.start;
    let mut count = 0_u32;
    for (place, c) in content.char_indices().filter(|(_, c)| is_letter(*c)) {
        let place = at.start + mark + place;
        letters.start = if count == 0 { place } else { letters.start };
        letters.end = place + c.len_utf8();
        count = count.saturating_add(weight(c));
    }
    let last = content.trim_end().chars().next_back();
    let first = content.chars().find(|c| !c.is_whitespace() && !OPENING.contains(c));
    Part {
        sentence: Sentence {
            at,
            letters,
            ends,
            is_item: mark > 0,
            introduces: last.is_some_and(|last| [':', '：'].contains(&last)),
        },
        begins_line,
        begins_in_lower_case: first.is_some_and(char::is_lowercase),
        may_go_on: false,
        pauses: last.is_some_and(|last| PAUSES.contains(&last)),
        weight: count,
    }
}

/// Returns the end of the next sentence that ends before the end of `line`. Looks from `at` on, and moves it there.
fn next_end(line: &str, at: &mut usize) -> Option<usize> {
    while let Some((found, sign)) = line[*at..].char_indices().find(|(_, c)| is_end(*c)) {
        let found = *at + found;
        let (end, is_closed) = end_of_signs(line, found);
        *at = end;
        let next = line[end..].chars().find(|c| !c.is_whitespace())?;
        let is_end = if CERTAIN_ENDS.contains(&sign) {
            !is_closed
        } else {
            let first = line[end..].chars().find(|c| !c.is_whitespace() && !OPENING.contains(c));
            line[end..].starts_with(char::is_whitespace)
                && !first.is_some_and(char::is_lowercase)
                && (sign == '.' || !is_closed)
                && !(sign == '.' && may_be_abbreviation(&line[..found], Some(next)))
        };
        if is_end {
            return Some(end);
        }
    }
    None
}

/// Returns the end of the signs that begin at `at` and end a sentence, and true if a quotation or bracket ends with it.
fn end_of_signs(line: &str, at: usize) -> (usize, bool) {
    let is_sign = |c: &char| is_end(*c) || CLOSING.contains(c);
    let signs = line[at..].chars().take_while(is_sign);
    let (bytes, is_closed) = signs
        .fold((0, false), |(bytes, is_closed), c| (bytes + c.len_utf8(), is_closed || CLOSING.contains(&c)));
    (at + bytes, is_closed)
}

/// Returns true if the last part of a line ends with a sentence. The second value is true if it ends with a dot that may
/// belong to an abbreviation.
fn ends_line(part: &str) -> (bool, bool) {
    let part = part.trim_end_matches(|c: char| c.is_whitespace() || CLOSING.contains(&c));
    let before = part.trim_end_matches(is_end);
    let signs = &part[before.len()..];
    (!signs.is_empty(), signs == "." && may_be_abbreviation(before, None))
}

fn is_end(c: char) -> bool {
    CERTAIN_ENDS.contains(&c) || ENDS.contains(&c)
}

/// Returns true if the last word of `before`, which is followed by a dot, may be an abbreviation, an initial, or the
/// number of a day. `next` is the next sign in the line.
fn may_be_abbreviation(before: &str, next: Option<char>) -> bool {
    let is_of_word = |c: &char| c.is_alphanumeric() || *c == '.';
    let word = before.chars().rev().take_while(is_of_word).take(2 * ABBREVIATION_LETTERS);
    let (mut length, mut has_dot, mut is_number, mut first) = (0, false, true, None);
    for c in word {
        length += 1;
        has_dot |= c == '.';
        is_number &= c.is_ascii_digit();
        first = Some(c);
    }
    if is_number && length > 0 {
        return length < ABBREVIATION_LETTERS && next.is_some();
    }
    let is_name = first.is_some_and(char::is_uppercase) || next.is_some_and(char::is_numeric);
    has_dot || length <= ABBREVIATION_LETTERS + usize::from(is_name)
}

/// Returns the number of bytes of the spaces and the sign or number of a list item with which a line begins, and of the
/// spaces after it; 0 if it begins with none.
fn mark_bytes(line: &str) -> usize {
    let indent = spaces(line);
    let rest = &line[indent..];
    let is_spaced = |after: &str| after.is_empty() || after.starts_with(char::is_whitespace);
    let Some(first) = rest.chars().next() else { return 0 };
    let bytes = if BULLETS.contains(&first) {
        let after = &rest[first.len_utf8()..];
        let is_mark = is_spaced(after) || !(first.is_ascii() || ['–', '—'].contains(&first));
        if is_mark { first.len_utf8() } else { 0 }
    } else {
        let is_mark = |bytes: &usize| {
            let after = &rest[*bytes..];
            is_spaced(after) || after.chars().next().is_some_and(|c| weight(c) > 1)
        };
        numbered(rest).filter(is_mark).unwrap_or(0)
    };
    match bytes {
        0 => 0,
        bytes => indent + bytes + spaces(&rest[bytes..]),
    }
}

/// Returns the number of bytes of a number such as `12.`, `(3)` or `a)` at the start of a line.
fn numbered(line: &str) -> Option<usize> {
    let inner = line.trim_start_matches(['(', '（']);
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let is_letter = digits == 0 && inner.starts_with(|c: char| c.is_ascii_alphabetic());
    let after = inner.get(digits + usize::from(is_letter)..)?;
    let sign = after.chars().next()?;
    let is_sign = matches!(sign, ')' | '）') || !is_letter && matches!(sign, '.' | '、' | '．');
    let is_number = (1..=ITEM_DIGITS).contains(&digits) || is_letter;
    (is_number && is_sign).then(|| line.len() - after.len() + sign.len_utf8())
}

/// Returns the number of bytes of the spaces with which some text begins.
fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text, 60).into_iter().map(|sentence| text[sentence.at].trim()).collect()
    }

    #[test]
    fn sentences_of_many_scripts_end_where_readers_see_it() {
        for (text, expected) in [
            ("The river rose. Prices fell! Why? \"Nobody knows.\" (He left.) So what.", 6),
            ("河水涨了。第二座桥在水里！为什么？没人知道。", 4),
            ("नदी बढ़ गई। पुल डूब गया। लोग चले गए।", 3),
            ("ارتفع النهر. سقط الجسر! لماذا؟ لا أحد يعرف.", 4),
            ("แม่น้ำสูงขึ้น ราคาตก ไม่มีใครรู้", 1),
            ("Mr. Smith of the U.S. Army met J. Doe of Doe Inc. in St. Ives.", 1),
            ("Am 3. Mai, z. B. Montag, vgl. Abb. 5 und Nr. 7, kam er.", 1),
            ("It cost 3.5 million. Visit example.com today. See p. 5 of it.", 3),
            ("\"Stop!\" Mr Smith said. Then he left.", 2),
            ("他说：「你好。」然后走了。她也走了。", 2),
            ("Yahoo! is a firm... and it is old.", 1),
            ("г. Москва стоит на реке. Она велика.", 2),
        ] {
            assert_eq!(split(text).len(), expected, "{:?}", split(text));
        }
    }

    #[test]
    fn lines_that_were_broken_are_one_sentence_and_headings_are_their_own() {
        for (text, expected) in [
            (
                "Alder Inc of Alderville\nsaid it filed a statement with the Securities and\nExchange Commission. \
                 It makes pumps.",
                2,
            ),
            ("Share this page\nTerms of use\nPrivacy", 3),
            ("A heading\n\nThe river rose\nabove the bridge.", 2),
            ("他说，\n河水涨了。", 1),
            ("河水涨了。第二座桥\n在水里。", 2),
            ("首页\n关于我们\n河水涨了。", 3),
            ("甲公司位于阿尔德维尔，的办事处在本周一向证券交易委员会提交了声明\n涵盖拟议发行的\n单位。", 1),
            ("You need:\n- flour\n- water\nand salt.", 3),
            ("1. Flour is white.\n2. Water is wet.\n(3) Salt\na) Sea salt", 4),
            ("一、面粉\n2、水\n• 盐", 3),
            ("In the office of Smith Inc.\nPrices fell.", 2),
            ("In the office of Smith Inc.\nof London prices fell.", 1),
        ] {
            let found: Vec<&str> = split(text).into_iter().filter(|part| !part.is_empty()).collect();
            assert_eq!(found.len(), expected, "{found:?}");
        }
        let items = sentences("3. All rights reserved.\n• Share", 60);
        assert!(items.iter().all(|item| item.is_item));
        assert_eq!(items[0].letters, 3..22, "without the number");
    }

    proptest! {
        #[test]
        fn sentences_follow_each_other_without_gaps(text in "([a-cA-C中1](\\.|。|!”|, | |\r?\n|- |\\) )?){0,60}") {
            let mut at = 0;
            for sentence in sentences(&text, 9) {
                prop_assert_eq!(sentence.at.start, at);
                prop_assert!(sentence.at.end > at);
                let letters = sentence.letters;
                prop_assert!(letters.is_empty() || at <= letters.start && letters.end <= sentence.at.end);
                at = sentence.at.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
