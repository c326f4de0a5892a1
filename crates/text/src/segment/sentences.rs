//! Splits normalised text into sentences.
//!
//! A sentence ends after `。`, `!`, `?`, `;` or `…` with the marks and closing quotes that follow, after a full stop
//! followed by white space, and at a line feed. (Full-width `！？；` are `!?;` in normalised text.) Cost: linear, without
//! allocation.

use std::ops::Range;

/// Returns the ranges of the sentences of `text`, trimmed of white space; none is empty.
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < text.len() {
            let end = at + end_of_first(&text[at..]);
            let sentence = &text[at..end];
            let start = at + (sentence.len() - sentence.trim_start().len());
            at = end;
            let end = start + sentence.trim().len();
            if start < end {
                return Some(start..end);
            }
        }
        None
    })
}

/// Returns the offset at which the first sentence of `text` ends.
fn end_of_first(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        match c {
            '\n' => return after,
            '。' | '!' | '?' | ';' | '…' => {
                let mut end = after;
                while let Some((at, c)) = chars.next_if(|(_, c)| closes(*c)) {
                    end = at + c.len_utf8();
                }
                return end;
            }
            '.' if chars.peek().is_none_or(|(_, next)| next.is_whitespace()) => return after,
            _ => {}
        }
    }
    text.len()
}

/// Returns true for marks that belong to the sentence they follow.
fn closes(c: char) -> bool {
    matches!(c, '。' | '!' | '?' | ';' | '…' | '”' | '’' | '"' | '\'' | '」' | '』' | ')' | '》')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        sentences(text).map(|range| &text[range]).collect()
    }

    #[test]
    fn splits_at_ends_of_sentences_and_lines() {
        assert_eq!(
            cut("春天来了。“万物复苏!”他说;然后……走了"),
            ["春天来了。", "“万物复苏!”", "他说;", "然后……", "走了"]
        );
        assert_eq!(
            cut("Version 3.14 is out. Get it!\n code()\n\n"),
            ["Version 3.14 is out.", "Get it!", "code()"]
        );
        assert_eq!(cut(" \n。"), ["。"]);
        assert_eq!(cut(""), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn only_white_space_is_lost(text in "[a。. !
        ”中]{0,30}") {
            let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(solid(&cut(&text).concat()), solid(&text));
        }
    }
}
