//! Cuts passages that are in many documents out of a text.
//!
//! The text is normalised line by line, like the texts in which passages were found, and its [pieces](super::pieces)
//! are looked up by their hashes. Pieces that overlap or touch are cut as one passage. A line of which all letters are
//! cut is removed with its line end; from any other line, the passage is removed with the punctuation and the space
//! after it. Only letters of frequent pieces are cut. So letters next to a passage may stay although all documents
//! with the passage have them: fewer than a passage must have, and none at the start and end of lines and sentences.

use std::ops::Range;
use std::sync::Arc;

use super::letters::{is_letter, letters, words};
use super::pieces::Sampling;
use super::repeated::sampling;
use leitong_base::hashed::HashedSet;

/// A function that normalises a line of a text.
pub(crate) type Normalise = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Cuts passages out of texts.
pub(crate) struct Cutter {
    sampling: Sampling,
    frequent: HashedSet,
    normalise: Normalise,
}

/// Counts of what was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of passages that were cut.
    pub passages: u64,
    /// Number of bytes that were cut.
    pub bytes: u64,
    /// Number of lines with a passage that was not cut, because its place in the line is not certain.
    pub left: u64,
}

/// A line of the text.
struct Line {
    /// The range in the text, without line end.
    original: Range<usize>,
    /// The byte offset after the line end.
    next: usize,
    /// The range in the normalised text.
    normalised: Range<usize>,
}

impl Cutter {
    /// Creates a cutter for the pieces with the hashes `frequent`, of passages with at least `letters_min` letters.
    #[must_use]
    pub(crate) fn new(letters_min: u32, frequent: HashedSet, normalise: Normalise) -> Self {
        Self { sampling: sampling(letters_min), frequent, normalise }
    }

    /// Cuts all passages out of `text`.
    pub(crate) fn cut(&self, text: &mut String) -> Cut {
        let (mut normalised, mut lines) = (String::with_capacity(text.len()), Vec::new());
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let (start, next) = (normalised.len(), at + line.len());
            let line = without_line_end(line);
            normalised.push_str(&(self.normalise)(line));
            lines.push(Line { original: at..at + line.len(), next, normalised: start..normalised.len() });
            normalised.push('\n');
            at = next;
        }
        let spans = self.spans(&normalised);
        let mut cut = Cut { passages: spans.len() as u64, ..Cut::default() };
        if spans.is_empty() {
            return cut;
        }
        let mut out = String::with_capacity(text.len());
        let mut first = 0;
        for line in &lines {
            first += spans[first..].partition_point(|span| span.end <= line.normalised.start);
            let of_line = spans[first..].iter().take_while(|span| span.start < line.normalised.end);
            let spans: Vec<Range<usize>> = of_line.cloned().collect();
            let original = &text[line.original.clone()];
            let kept = match spans.is_empty() {
                true => Some(original.to_owned()),
                false => self.without(original, &normalised[line.normalised.clone()], line, &spans, &mut cut),
            };
            let line_end = &text[line.original.end..line.next];
            if let Some(kept) = kept {
                out.push_str(&kept);
                out.push_str(line_end);
            } else if line_end.is_empty() {
                // The last line goes with the line end before it.
                out.truncate(without_line_end(&out).len());
            }
        }
        cut.bytes = (text.len() - out.len()) as u64;
        *text = out;
        cut
    }

    /// Returns the ranges of all passages, which neither overlap nor touch.
    fn spans(&self, normalised: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        self.sampling.all(words(normalised), |piece| {
            if self.frequent.contains(&piece.hash) {
                found.push(piece.range());
            }
        });
        found.sort_unstable_by_key(|span| (span.start, span.end));
        let mut spans: Vec<Range<usize>> = Vec::new();
        for span in found {
            match spans.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => spans.push(span),
            }
        }
        spans
    }

    /// Returns the part of a line that stays, or `None` if the whole line is removed.
    fn without(
        &self,
        original: &str,
        normalised: &str,
        line: &Line,
        spans: &[Range<usize>],
        cut: &mut Cut,
    ) -> Option<String> {
        let is_cut = |at: usize| spans.iter().any(|span| span.contains(&(line.normalised.start + at)));
        let cuts: Vec<bool> = letters(normalised).map(|letter| is_cut(letter.start)).collect();
        if cuts.iter().all(|is_cut| *is_cut) {
            return None;
        }
        let Some(places) = self.places(original, cuts.len()) else {
            cut.left += 1;
            return Some(original.to_owned());
        };
        let mut kept = String::with_capacity(original.len());
        let mut from = 0;
        for (at, is_cut) in cuts.iter().enumerate() {
            let begins = *is_cut && (at == 0 || !cuts[at - 1]);
            if begins && places[at].start >= from {
                kept.push_str(&original[from..places[at].start]);
            }
            if *is_cut {
                // The text continues at the next letter of the line.
                from = places.get(at + 1).map_or(original.len(), |next| next.start);
            }
        }
        kept.push_str(&original[from..]);
        Some(kept.trim_end().to_owned())
    }

    /// Returns the byte range in the line from which each letter of its normalised form comes. Characters are
    /// normalised one by one for this. Returns `None` if that does not give `count` letters.
    fn places(&self, line: &str, count: usize) -> Option<Vec<Range<usize>>> {
        let mut places = Vec::with_capacity(count);
        let mut buffer = [0; 4];
        for (start, c) in line.char_indices() {
            let letters = match c.is_ascii() {
                true => usize::from(is_letter(c)),
                false => letters(&(self.normalise)(c.encode_utf8(&mut buffer))).count(),
            };
            places.extend(std::iter::repeat_n(start..start + c.len_utf8(), letters));
        }
        (places.len() == count).then_some(places)
    }
}

/// Returns a line without the line feed at its end and the carriage return before it.
fn without_line_end(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::letters::{WORD_LETTERS_MAX, count};
    use super::*;

    /// Creates a cutter for the pieces of these texts.
    fn cutter(letters_min: u32, frequent: &[&str]) -> Cutter {
        let mut hashes = HashedSet::default();
        for text in frequent {
            let text = text.to_lowercase();
            sampling(letters_min).chosen(words(&text), |piece| {
                hashes.insert(piece.hash);
                true
            });
        }
        Cutter::new(letters_min, hashes, Arc::new(str::to_lowercase))
    }

    fn cut(cutter: &Cutter, text: &str) -> (String, Cut) {
        let mut text = text.to_owned();
        let cut = cutter.cut(&mut text);
        (text, cut)
    }

    const FOOTER: &str = "Share this page with your friends.\nAll rights reserved, no part may be copied.";

    #[test]
    fn lines_of_a_passage_go_and_the_others_stay_as_they_are() {
        let cutter = cutter(20, &[FOOTER]);
        let text = format!("The River rose — again.\n\n{FOOTER}\n  Prices went up.\n");
        let (kept, counts) = cut(&cutter, &text);
        assert_eq!(kept, "The River rose — again.\n\n  Prices went up.\n");
        assert_eq!(counts, Cut { passages: 1, bytes: FOOTER.len() as u64 + 1, left: 0 });
        let unrelated = "Nothing here is in many documents, so nothing is cut.";
        assert_eq!(cut(&cutter, unrelated), (unrelated.to_owned(), Cut::default()));
        assert_eq!(cut(&cutter, FOOTER).0, "");
    }

    /// In texts with CRLF, a line from which a part was cut ended with LF, and a text whose last line was cut with CR.
    #[test]
    fn lines_keep_their_ends() {
        let cutter = cutter(20, &[FOOTER]);
        let footer = FOOTER.replace('\n', "\r\n");
        for (text, kept) in [
            (format!("One.\r\n{footer}\r\nTwo.\r\n"), "One.\r\nTwo.\r\n"),
            (format!("One.\r\n{footer}"), "One."),
            (format!("One.\r\n{footer}\r\n"), "One.\r\n"),
            (format!("One. {footer}\r\nTwo."), "One.\r\nTwo."),
            (format!("One.\n{FOOTER}"), "One."),
            (format!("{FOOTER}\n\nOne.\n"), "\nOne.\n"),
        ] {
            assert_eq!(cut(&cutter, &text).0, kept, "{text:?}");
        }
    }

    #[test]
    fn a_passage_within_a_line_goes_with_its_punctuation() {
        let cutter = cutter(20, &["本文由译者翻译并发布在此转载请注明出处谢谢"]);
        let (kept, counts) =
            cut(&cutter, "河水涨了。本文由译者翻译，并发布在此，转载请注明出处，谢谢！ 第二座桥在水里。");
        // The passage in the line and the known one begin and end with the sentence.
        assert_eq!((&*kept, counts.passages, counts.left), ("河水涨了。第二座桥在水里。", 1, 0));
    }

    /// Normalising may turn one letter into several, which moves the letters after it.
    #[test]
    fn letters_that_become_several_do_not_move_the_cut() {
        let expanding = |text: &str| text.replace('ﬁ', "fi").to_lowercase();
        let known = cutter(20, &["The rights of all are reserved here and there"]);
        let cutter = Cutter { normalise: Arc::new(expanding), ..known };
        let (kept, _) = cut(&cutter, "ﬁve ﬁsh! The rights of all are reserved here and there. ﬁn");
        assert_eq!(kept, "ﬁve ﬁsh! ﬁn");
        let merging = |text: &str| text.replace("ab", "x").to_lowercase();
        let cutter = Cutter { normalise: Arc::new(merging), ..cutter };
        let (kept, counts) = cut(&cutter, "ab. The rights of all are reserved here and there");
        assert_eq!((kept.starts_with("ab. The rights"), counts.left), (true, 1));
    }

    proptest! {
        #[test]
        fn only_letters_of_frequent_passages_go(
            frequent in "[a-f中文 .\\n]{10,160}",
            around in prop::array::uniform2("[g-k字 .\\n]{0,40}"),
            letters_min in 3_u32..12,
        ) {
            let cutter = cutter(letters_min, &[&frequent]);
            let [before, after] = around;
            let text = format!("{before}{frequent}{after}");
            let (kept, counts) = cut(&cutter, &text);
            let spelled = |text: &str| text.chars().filter(|c| is_letter(*c)).collect::<String>();
            let (start, end) = (spelled(&before), spelled(&after));
            let kept = spelled(&kept);
            prop_assert!(kept.starts_with(&start) && kept.ends_with(&end), "{:?}", kept);
            let rest = count(&kept) - count(&start) - count(&end);
            if count(&frequent) >= sampling(letters_min).found_from(WORD_LETTERS_MAX) + 2 * WORD_LETTERS_MAX {
                prop_assert!(counts.passages > 0);
                prop_assert!(rest < count(&frequent));
            }
        }
    }
}
