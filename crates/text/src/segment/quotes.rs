//! Finds the lines that a text quotes from another one, such as those that a mail answers.
//!
//! A line that begins with `>` repeats a text that has a page of its own. An answer that quotes all of its question is
//! not a copy of it, so quoted lines are no part of the text that is compared, unless there is hardly anything else.

use crate::extract::{Paragraph, ParagraphKind};

/// Least number of letters and digits that a text must have outside of its quoted lines.
const OWN_LETTERS: usize = 100;
/// Beginnings of quoted lines.
const MARKS: [&str; 2] = [">", "&gt;"];

/// Returns true if the quoted lines of a text are to be left out.
pub(super) fn are_left_out(paragraphs: &[Paragraph]) -> bool {
    paragraphs.iter().any(is_quoted) && {
        let own = paragraphs.iter().filter(|paragraph| !is_quoted(paragraph));
        let letters = own.flat_map(|paragraph| paragraph.text.chars()).filter(|c| c.is_alphanumeric());
        letters.take(OWN_LETTERS).count() == OWN_LETTERS
    }
}

/// Returns true if a paragraph begins as quoted lines do. Code is not quoted: `>` is its prompt.
pub(super) fn is_quoted(paragraph: &Paragraph) -> bool {
    paragraph.kind != ParagraphKind::Code && MARKS.iter().any(|mark| paragraph.text.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::Document;
    use crate::segment::{Lexicons, SegmentConfig, Segmenter, Terms};
    use leitong_base::work::Work;

    fn terms_of(text: &str) -> Terms {
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("the defaults");
        let (mut terms, document) = (Terms::default(), Document::from_text(None, text));
        segmenter.segment(&document, &mut terms);
        let normalized = segmenter.normalized_document(&document, &mut Work::unbounded());
        assert_eq!(normalized.expect("unbounded"), terms.text());
        assert_eq!(terms.paragraphs().len(), document.paragraphs.len(), "each has a place");
        terms
    }

    #[test]
    fn an_answer_has_the_text_of_the_answer_alone() {
        let answer = "The ferry stops there only in summer, and not at all if the river is low; \
                      in winter one has to walk over the dam, which takes an hour.";
        for mark in [">", "&gt;", "> >"] {
            let mail = format!("{mark} Is there a ferry from Marlow?\n{mark} And when?\n\n{answer}");
            assert_eq!(terms_of(&mail).text().trim(), terms_of(answer).text().trim(), "{mark}");
        }
    }

    #[test]
    fn a_text_that_is_all_quotes_stays() {
        let quotes = "> Is there a ferry from Marlow?\nYes.\n> And when?";
        assert!(terms_of(quotes).text().contains("marlow"));
    }

    #[test]
    fn prompts_of_code_are_not_quotes() {
        assert!(!is_quoted(&Paragraph::new(ParagraphKind::Code, "> ls".into())));
        assert!(is_quoted(&Paragraph::new(ParagraphKind::Paragraph, "> ls".into())));
    }
}
