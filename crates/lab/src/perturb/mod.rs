//! Changes texts in the ways in which near-duplicates arise, with a seeded random number generator.
//!
//! Shares are shares of the text's characters or, if sentences or paragraphs are moved, of their number.
//! Added text comes from *donors*, which are sentences of other texts (paper 002 uses 50 other texts).

mod body;
mod boilerplate;
mod condition;
mod copies;
mod synonyms;

use opencc_fmmseg::OpenCC;

use self::body::Body;
pub(crate) use self::condition::Change;
pub(crate) use self::condition::Condition;
pub(crate) use self::copies::copies;
use self::synonyms::Synonyms;
use leitong_base::random::Random;
use leitong_text::segment::sentences;

/// Generator of changed texts.
pub(crate) struct Perturber<'a> {
    /// Sentences of other texts.
    pub donors: Vec<&'a str>,
    /// Other texts.
    pub others: Vec<&'a str>,
    synonyms: Option<Synonyms>,
    opencc: OpenCC,
}

impl<'a> Perturber<'a> {
    /// Creates a perturber with texts from which text is taken. `synonyms` has lines of words separated by
    /// tabs, or is empty.
    ///
    /// # Errors
    /// A message if `synonyms` cannot be used.
    pub(crate) fn new(others: Vec<&'a str>, synonyms: &str) -> Result<Self, String> {
        let donors = others.iter().flat_map(|text: &&'a str| sentences(text).map(|range| &text[range]));
        let donors = donors.filter(|sentence| sentence.chars().count() >= 8).collect();
        let synonyms = (!synonyms.is_empty()).then(|| Synonyms::new(synonyms)).transpose()?;
        Ok(Self { donors, others, synonyms, opencc: OpenCC::new() })
    }

    /// Returns `text` changed according to `condition`.
    pub(crate) fn perturb(&self, text: &str, condition: Condition, random: &mut Random) -> String {
        let mut body = Body::new(text);
        match condition.change {
            Change::Added => self.add(&mut body, condition.level, random),
            Change::Deleted => body::delete(&mut body, condition.level, random),
            Change::Rewritten => self.rewrite(&mut body, condition.level, random),
            Change::Synonyms => {
                let replaced = self.synonyms.as_ref().map(|s| s.replace(text, condition.level, random));
                return replaced.unwrap_or_else(|| text.to_owned());
            }
            Change::SentencesMoved => body::move_sentences(&mut body, condition.level, random),
            Change::ParagraphsMoved => body::move_paragraphs(&mut body, condition.level, random),
            Change::Excerpt => body::excerpt(&mut body, condition.level, random),
            Change::Merged => return self.merge(text, condition.level as usize, random),
            Change::Boilerplate => return boilerplate::boilerplate(text, condition.level as usize, random),
            Change::Headline => self.change_headline(&mut body, random),
            Change::Traditional => return self.opencc.s2twp(text, false),
            Change::Width => return text.chars().map(swap_width).collect(),
        }
        body.text()
    }

    fn donor(&self, random: &mut Random) -> String {
        self.donors.get(random.below(self.donors.len())).map_or_else(String::new, |donor| (*donor).to_owned())
    }

    fn add(&self, body: &mut Body, share: f64, random: &mut Random) {
        let mut left = body.part(share);
        while left > 0 && !self.donors.is_empty() {
            let sentence: String = self.donor(random).chars().take(left).collect();
            left -= sentence.chars().count().max(1).min(left);
            let (paragraph, at) = body.place(random);
            body.paragraphs[paragraph].insert(at, sentence);
        }
    }

    fn rewrite(&self, body: &mut Body, share: f64, random: &mut Random) {
        if self.donors.is_empty() {
            return;
        }
        // Replaces `part` characters of the sentence with as many characters of other sentences.
        body::change_sentences(body, share, random, |sentence, part, random| {
            let mut new = String::new();
            while new.chars().count() < part {
                new.push_str(&self.donor(random));
            }
            *sentence = new.chars().take(part).chain(sentence.chars().skip(part)).collect();
        });
    }

    fn merge(&self, text: &str, texts: usize, random: &mut Random) -> String {
        let mut parts = vec![text];
        for _ in 1..texts {
            let other = self.others.get(random.below(self.others.len())).copied().unwrap_or_default();
            parts.insert(random.below(parts.len() + 1), other);
        }
        parts.join("\n")
    }

    fn change_headline(&self, body: &mut Body, random: &mut Random) {
        let headline = self.donor(random).chars().take(24).collect();
        let editor = format!(
            "2026-0{}-{} 来源：本站 编辑：小{}",
            1 + random.below(9),
            10 + random.below(18),
            random.below(9)
        );
        match body.paragraphs.first_mut() {
            Some(first) if body_is_headline(first) => *first = vec![headline],
            _ => body.paragraphs.insert(0, vec![headline]),
        }
        body.paragraphs.insert(1, vec![editor]);
    }
}

fn body_is_headline(paragraph: &[String]) -> bool {
    paragraph.iter().map(|sentence| sentence.chars().count()).sum::<usize>() <= 60
}

fn swap_width(c: char) -> char {
    let shifted = match c {
        '!'..='~' => u32::from(c) + 0xfee0,
        '\u{ff01}'..='\u{ff5e}' => u32::from(c) - 0xfee0,
        _ => u32::from(c),
    };
    char::from_u32(shifted).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "雷同的标题（A1）b\n第一句话在这里。第二句话也在这里。第三句话还在这里。\n第二段的第一句。第二段的第二句。第二段的第三句。\n";
    const OTHER: &str = "毫不相干的另一篇文章，说的是天气和收成。它还有第二句话。";

    fn perturbed(change: Change, level: f64) -> String {
        let perturber = Perturber::new(vec![OTHER], "句话\t句子\n").expect("valid");
        perturber.perturb(TEXT, Condition { change, level }, &mut Random::new(1, 2))
    }

    fn chars(text: &str) -> usize {
        text.chars().filter(|c| !c.is_whitespace()).count()
    }

    #[test]
    fn every_condition_changes_the_text_and_can_be_repeated() {
        let perturber = Perturber::new(vec![OTHER], "句话\t句子\n").expect("valid");
        for condition in Condition::all(true) {
            let text = perturber.perturb(TEXT, condition, &mut Random::new(7, 7));
            assert_eq!(text, perturber.perturb(TEXT, condition, &mut Random::new(7, 7)), "{condition}");
            let may_fall_back = matches!(condition.change, Change::SentencesMoved | Change::ParagraphsMoved);
            assert!(text != TEXT || may_fall_back, "{condition}: {text}");
        }
    }

    #[test]
    fn the_changed_share_is_the_requested_one() {
        let whole = chars(TEXT);
        assert_eq!(chars(&perturbed(Change::Deleted, 0.2)), whole - whole / 5);
        assert_eq!(chars(&perturbed(Change::Added, 0.2)), whole + whole / 5);
        assert_eq!(chars(&perturbed(Change::Rewritten, 0.5)), whole);
        let half = chars(&perturbed(Change::Excerpt, 0.5));
        assert!(half >= whole / 2 && half < whole, "{half} of {whole}");
        let mut sorted: Vec<char> =
            perturbed(Change::SentencesMoved, 1.0).chars().filter(|c| *c != '\n').collect();
        let mut expected: Vec<char> = TEXT.chars().filter(|c| *c != '\n').collect();
        sorted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected, "moving must not lose text");
        assert!(perturbed(Change::Synonyms, 0.05).contains("句子"));
        assert!(perturbed(Change::Traditional, 1.0).contains("標題"));
        assert_eq!(swap_width(swap_width('a')), 'a');
    }

    #[test]
    fn tiny_texts_are_changed_without_a_panic() {
        let perturber = Perturber::new(vec![], "").expect("valid");
        for text in ["", "一", "\n\n", "。"] {
            for condition in Condition::all(true) {
                let _ = perturber.perturb(text, condition, &mut Random::new(3, 4));
            }
        }
    }
}
