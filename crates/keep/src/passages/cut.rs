//! Cuts passages that are in many documents out of a text.
//!
//! The text is normalised line by line, like the texts in which passages were found, and its [pieces](super::pieces)
//! are looked up by their hashes. Pieces that overlap or touch are one *stretch*. A [sentence](super::sentences), or a
//! line that is none, is cut if all its letters are in one stretch. So no sentence loses a part, and all letters that
//! are cut are in many documents. Some sentences stay although they could be cut:
//!
//! * the last line of a cut passage that is no sentence, if the lines before it are sentences and text follows that
//!   stays: it is probably a heading of that text;
//! * a line with a colon at its end and the text or list that follows it, unless both can be cut.
//!
//! Cost: linear in the text and the pieces that are found.

use std::ops::Range;
use std::sync::Arc;

use super::letters::{is_letter, letters, words};
use super::pieces::Sampling;
use super::repeated::sampling;
use super::sentences::{Sentence, sentences};
use leitong_base::hashed::HashedSet;

/// A function that normalises a line of a text.
pub(crate) type Normalise = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Cuts passages out of texts.
pub(crate) struct Cutter {
    letters_min: u32,
    sampling: Sampling,
    frequent: HashedSet,
    normalise: Normalise,
}

/// Counts of what was cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Number of passages that were cut: sentences that follow each other are one.
    pub passages: u64,
    /// Number of bytes that were cut.
    pub bytes: u64,
    /// Number of passages of which nothing was cut, because they are parts of sentences, or their place in the text is
    /// not certain.
    pub left: u64,
}

impl Cutter {
    /// Creates a cutter for the pieces with the hashes `frequent`, of passages with at least `letters_min` letters.
    #[must_use]
    pub(crate) fn new(letters_min: u32, frequent: HashedSet, normalise: Normalise) -> Self {
        Self { letters_min, sampling: sampling(letters_min), frequent, normalise }
    }

    /// Cuts all passages out of `text`.
    pub(crate) fn cut(&self, text: &mut String) -> Cut {
        let (stretches, uncertain) = self.stretches(text);
        let mut cut = Cut { left: uncertain, ..Cut::default() };
        if stretches.is_empty() {
            return cut;
        }
        let sentences = sentences(text, self.letters_min);
        let mut goes = vec![false; sentences.len()];
        let mut at = 0;
        let of_stretch = |stretch: &Range<usize>| {
            // The sentences before the next stretch. One that begins in this stretch may end in a later one.
            at += sentences[at..].partition_point(|sentence| sentence.at.end <= stretch.start);
            at..at + sentences[at..].partition_point(|sentence| sentence.at.start < stretch.end)
        };
        let of_stretches: Vec<Range<usize>> = stretches.iter().map(of_stretch).collect();
        for (stretch, places) in stretches.iter().zip(&of_stretches) {
            for (sentence, goes) in sentences[places.clone()].iter().zip(&mut goes[places.clone()]) {
                *goes |= stretch.start <= sentence.letters.start && sentence.letters.end <= stretch.end;
            }
        }
        goes_as_well(&sentences, &mut goes);
        let is_left = |places: &&Range<usize>| !goes[(*places).clone()].contains(&true);
        cut.left += of_stretches.iter().filter(is_left).count() as u64;
        cut.passages = goes.chunk_by(|a, b| a == b).filter(|same| same[0]).count() as u64;
        if cut.passages > 0 {
            let out = without(text, &sentences, &goes);
            cut.bytes = (text.len() - out.len()) as u64;
            *text = out;
        }
        cut
    }

    /// Returns the stretches of `text` in which each letter is in a frequent piece, each from its first to its last
    /// letter. Also returns the number of lines with a passage whose place in the line is not certain.
    fn stretches(&self, text: &str) -> (Vec<Range<usize>>, u64) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let normalised: Vec<String> =
            lines.iter().map(|line| (self.normalise)(without_line_end(line)) + "\n").collect();
        let spans = self.spans(&normalised.concat());
        let mut stretches = Stretches::default();
        let (mut uncertain, mut line_at, mut normalised_at, mut span) = (0, 0, 0, 0);
        for (line, normalised) in lines.iter().zip(&normalised) {
            let mut is_covered = |letter: usize| {
                let letter = normalised_at + letter;
                span += spans[span..].iter().take_while(|span| span.end <= letter).count();
                spans.get(span).is_some_and(|span| span.start <= letter)
            };
            let covered: Vec<bool> = letters(normalised).map(|letter| is_covered(letter.start)).collect();
            match self.places(line, &covered) {
                Some(places) => places.iter().for_each(|(place, is_covered)| {
                    stretches.add(line_at + place.start..line_at + place.end, *is_covered);
                }),
                None => {
                    uncertain += 1;
                    stretches.goes_on = false;
                }
            }
            line_at += line.len();
            normalised_at += normalised.len();
        }
        (stretches.all, uncertain)
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

    /// Returns the byte range in the line from which each letter of its normalised form comes, and true if the letter is
    /// `covered`. Characters are normalised one by one for this, unless all letters are covered, or none. Returns `None`
    /// if that does not give as many letters.
    fn places(&self, line: &str, covered: &[bool]) -> Option<Vec<(Range<usize>, bool)>> {
        let place = |(start, c): (usize, char)| start..start + c.len_utf8();
        let Some(is_covered) = covered.first() else { return Some(Vec::new()) };
        if covered.iter().all(|other| other == is_covered) {
            let letters = line.char_indices().filter(|(_, c)| is_letter(*c));
            return Some(letters.map(|letter| (place(letter), *is_covered)).collect());
        }
        let (mut places, mut at) = (Vec::with_capacity(covered.len()), 0);
        let mut buffer = [0; 4];
        for (start, c) in line.char_indices() {
            let count = match c.is_ascii() {
                true => usize::from(is_letter(c)),
                false => letters(&(self.normalise)(c.encode_utf8(&mut buffer))).count(),
            };
            if count > 0 {
                let is_covered = covered.get(at..at + count)?.iter().all(|is_covered| *is_covered);
                places.push((place((start, c)), is_covered));
                at += count;
            }
        }
        (at == covered.len()).then_some(places)
    }
}

/// Collects stretches of covered letters.
#[derive(Default)]
struct Stretches {
    all: Vec<Range<usize>>,
    /// True if the last letter was covered.
    goes_on: bool,
}

impl Stretches {
    fn add(&mut self, place: Range<usize>, is_covered: bool) {
        match self.all.last_mut() {
            Some(last) if is_covered && self.goes_on => last.end = place.end,
            _ if is_covered => self.all.push(place),
            _ => {}
        }
        self.goes_on = is_covered;
    }
}

/// Decides on the sentences next to those that go: on lines without letters between them, on headings of text that
/// stays, and on what a line that stays introduces.
fn goes_as_well(sentences: &[Sentence], goes: &mut [bool]) {
    let has_letters = |at: usize| !sentences[at].letters.is_empty();
    let lettered: Vec<usize> = (0..sentences.len()).filter(|at| has_letters(*at)).collect();
    (0..sentences.len()).filter(|at| !has_letters(*at)).for_each(|at| goes[at] = false);
    let mut is_introduced = false;
    for pair in lettered.windows(2) {
        let [before, at] = [pair[0], pair[1]];
        let is_next_item = is_introduced && sentences[before].is_item && sentences[at].is_item;
        is_introduced = !goes[before] && (sentences[before].introduces || is_next_item);
        goes[at] &= !is_introduced;
    }
    for pair in lettered.windows(2).rev() {
        goes[pair[0]] &= goes[pair[1]] || !sentences[pair[0]].introduces;
    }
    for three in lettered.windows(3) {
        let [sentence, heading, text] = [three[0], three[1], three[2]];
        let is_heading = !sentences[heading].ends && !sentences[heading].is_item && heading + 1 == text;
        if is_heading && goes[sentence] && goes[heading] && !goes[text] && sentences[sentence].ends {
            goes[heading] = false;
        }
    }
    for pair in lettered.windows(2).filter(|pair| pair[0] + 1 < pair[1]) {
        let both_go = goes[pair[0]] && goes[pair[1]];
        goes[pair[0] + 1..pair[1]].fill(both_go);
    }
}

/// Returns `text` without the sentences that go. Lines keep their ends, and of the blank lines before and after a cut
/// passage, those after it go as well.
fn without(text: &str, sentences: &[Sentence], goes: &[bool]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_cut = false;
    for (sentence, goes) in sentences.iter().zip(goes) {
        let all = &text[sentence.at.clone()];
        let is_at_line_start = out.is_empty() || out.ends_with('\n');
        if *goes {
            after_cut = true;
            if let (false, Some(end)) = (is_at_line_start, all.find('\n')) {
                out.truncate(out.trim_end().len());
                out.push_str(if all[..end].ends_with('\r') { "\r\n" } else { "\n" });
            }
            continue;
        }
        let is_blank = all.trim().is_empty();
        let is_after_blank = || out.is_empty() || without_line_end(&out).ends_with('\n');
        if !(after_cut && is_blank && is_at_line_start && is_after_blank()) {
            out.push_str(all);
        }
        after_cut &= is_blank;
    }
    if after_cut {
        // The text ends as before, with a line end or without one.
        let kept = out.trim_end().len();
        let line_end = out[kept..].find('\n').filter(|_| text.ends_with('\n'));
        out.truncate(kept + line_end.map_or(0, |line_end| line_end + 1));
    }
    out
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
    use crate::growth::{GROWTH_MAX, growth};

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
            (format!("Before.\r\n{footer}\r\nLater on.\r\n"), "Before.\r\nLater on.\r\n"),
            (format!("Before.\r\n{footer}"), "Before."),
            (format!("Before.\r\n{footer}\r\n"), "Before.\r\n"),
            (format!("Before. {footer}\r\nLater on."), "Before.\r\nLater on."),
            (format!("Before.\n{FOOTER}"), "Before."),
            (format!("{FOOTER}\n\nBefore.\n"), "Before.\n"),
            (format!("Before.\n\n{FOOTER}\n\nLater on.\n"), "Before.\n\nLater on.\n"),
            (format!("Before.\n\n{FOOTER}\n"), "Before.\n"),
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
        let (kept, _) = cut(&cutter, "ﬁve ﬁsh! The rights of all are reserved here and there. Fin");
        assert_eq!(kept, "ﬁve ﬁsh! Fin");
        let merging = |text: &str| text.replace("ab", "x").to_lowercase();
        let cutter = Cutter { normalise: Arc::new(merging), ..cutter };
        let (kept, counts) = cut(&cutter, "ab. The rights of all are reserved here and there");
        assert_eq!((kept.starts_with("ab. The rights"), counts.left), (true, 1));
    }

    const FILING: &str = "said it filed a registration statement with the Securities and\nExchange Commission covering \
                          a proposed offering of";

    /// Filings of many companies have most words in common, and each has its own name and numbers.
    #[test]
    fn no_sentence_loses_its_middle() {
        let chinese = "向证券交易委员会提交了一份注册声明，涵盖拟议发行的";
        let thai = "บริษัทได้ยื่นเอกสารต่อสำนักงานเมื่อวานนี้เพื่อขอออกหุ้นใหม่จำนวน";
        let cutter = cutter(20, &[FILING, chinese, thai, "All rights reserved by the owner of this page."]);
        for text in [
            format!("Alder Inc of Alderville\n{FILING} 4790,000\nunits. Alder makes pumps."),
            format!("Alder Inc of Alderville {FILING} 4790,000 units. Alder makes pumps."),
            format!("In Alderville, Alder Inc.\n{FILING}\nUnits."),
            format!("阿尔德公司{chinese}4790单位。阿尔德制造水泵。"),
            format!("阿尔德公司，\n{chinese}\n单位。"),
            format!("อัลเดอร์{thai} 4790 หน่วย"),
            "The owner said: \"All rights reserved by the owner of this page.\" Then he left.".to_owned(),
            "Rules:\n- All rights reserved by the owner of this page.\n- Be kind.".to_owned(),
        ] {
            let (kept, counts) = cut(&cutter, &text);
            assert_eq!((&kept, counts.passages), (&text, 0));
            assert!(counts.left > 0, "{text}: a passage is there");
        }
    }

    #[test]
    fn readers_see_no_headings_or_numbers_of_what_was_cut() {
        let owner = "All rights reserved by the owner of this page.";
        let cutter = cutter(20, &["All rights reserved by the owner of this page.\nAbout the author"]);
        for (text, expected) in [
            (format!("He left. {owner} She stayed."), "He left. She stayed."),
            (format!("He left.\n7. {owner}\n8. She stayed."), "He left.\n8. She stayed."),
            (format!("He left.\n\n• {owner}\n\nShe stayed."), "He left.\n\nShe stayed."),
            (
                format!("He left.\n{owner}\nAbout the author\nAnn writes."),
                "He left.\nAbout the author\nAnn writes.",
            ),
            (format!("He left.\n{owner}\nAbout the author\n\n***\n"), "He left.\n\n***\n"),
            (format!("{owner}\nAbout the author"), ""),
        ] {
            assert_eq!(cut(&cutter, &text).0, expected, "{text}");
        }
    }

    /// A page may have thousands of passages in one line, or thousands of equal lines.
    #[test]
    fn texts_with_many_passages_cost_what_their_letters_cost() {
        let sentence =
            |at: usize| format!("The{} part of the page is here for each reader. ", "x".repeat(at % 50));
        let all: Vec<String> = (0..50).map(sentence).collect();
        let cutter = cutter(20, &all.iter().map(String::as_str).collect::<Vec<_>>());
        let one_line = |count: usize| (0..count).map(|at| sentence(at) + "He left. ").collect::<String>();
        let equal_lines = |count: usize| (sentence(7) + "\n").repeat(count);
        for grown in [
            growth(500, one_line, |text| assert!(cut(&cutter, text).1.passages > 400)),
            growth(500, equal_lines, |text| assert_eq!(cut(&cutter, text).0, "")),
            growth(5_000, |count| "word ".repeat(count), |text| assert_eq!(cut(&cutter, text).1.passages, 0)),
        ] {
            assert!(grown < GROWTH_MAX, "{grown}");
        }
    }

    proptest! {
        #[test]
        fn only_whole_sentences_of_frequent_passages_go(
            frequent in "([a-fA中文]{1,9}(\\. |。|, |\n|- )){2,20}",
            around in prop::array::uniform2("([g-kG字]{1,9}(\\. |。|, |\n| )){0,8}"),
            letters_min in 3_u32..12,
            is_apart: bool,
        ) {
            let cutter = cutter(letters_min, &[&frequent]);
            let [before, after] = around;
            let between = if is_apart { "\n\n" } else { "" };
            let text = format!("{before}{between}{frequent}{between}{after}");
            let (kept, counts) = cut(&cutter, &text);
            prop_assert_eq!(counts.bytes as usize, text.len() - kept.len());
            let spelled = |text: &str| text.chars().filter(|c| is_letter(*c)).collect::<String>();
            let (start, end) = (spelled(&before), spelled(&after));
            let rest = spelled(&kept);
            prop_assert!(rest.starts_with(&start) && rest.ends_with(&end), "{:?}", kept);
            // All that is left are sentences of the text, in their order.
            let mut reached = vec![true];
            reached.resize(rest.len() + 1, false);
            for sentence in sentences(&text, letters_min) {
                let letters = spelled(&text[sentence.letters]);
                for at in (0..reached.len()).rev().filter(|at| reached[*at]).collect::<Vec<_>>() {
                    if rest[at..].starts_with(&letters) {
                        reached[at + letters.len()] = true;
                    }
                }
            }
            prop_assert!(reached[rest.len()], "{:?} of {:?}", kept, text);
            if is_apart && count(&frequent) >= sampling(letters_min).found_from(WORD_LETTERS_MAX) + 2 * WORD_LETTERS_MAX {
                prop_assert_eq!(rest, start + &end, "all of it goes");
            }
        }
    }
}
