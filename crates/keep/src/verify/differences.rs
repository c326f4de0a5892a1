//! Names what two texts have instead of one another: facts, wording, or text that was added or left out.
//!
//! In: a document, a kept one, and the places where text is lost with the document. Out: a [`Difference`] for each, by
//! what is left of it on both sides without the words that both have there. The built-in table of document frequencies
//! distinguishes everyday words from names; nothing else depends on a language. Cost: linear in both texts.

use leitong_fingerprint::idf::documents_with;
use leitong_fingerprint::is_unit;
use xxhash_rust::xxh3::xxh3_64;

use super::loss::{Loss, Place};
use super::words::{JOINTS, SplitText, Word, WordCounts, combined_hash, letters_of};

/// Number of documents, of a million, from which on a word is grammar, such as "which".
const GRAMMAR_DOCUMENTS: u32 = 250_000;
/// Maximum number of letters that replace others as a fact, unless as many words replace as many. More is a passage.
const FACT_LETTERS: u32 = 30;
/// Minimum number of letters of two words that may be spellings of one word.
const SPELLING_LETTERS: usize = 6;
/// Maximum number of bytes before a word, and after it, in which an address is searched for.
const ADDRESS_BYTES: usize = 256;
/// Digits of scripts that write numbers without spaces, in addition to those that Unicode counts as digits.
const IDEOGRAPH_DIGITS: &str = "〇一二三四五六七八九十百千";

/// The kind of a place in which two texts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The same letters, joined or ordered in another way.
    Nothing,
    /// Text was added or rewritten.
    Edit,
    /// A word replaces another one, and both are grammar, spellings of one word, single ideographs, or numbers with the
    /// same digits.
    Wording,
    /// A word replaces another one.
    Word,
    /// A name replaces another one, and neither is anywhere in the other text.
    Name,
    /// A number replaces another one.
    Number,
}

/// A place in which the document has other text than the kept one.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) kind: Kind,
    pub(super) place: Place,
    /// Hash of the words that only the document has there.
    pub(super) words: u64,
}

/// Returns the differences of two documents.
pub(super) fn differences(document: &SplitText, kept: &SplitText, loss: &Loss) -> Vec<Difference> {
    let pair = Pair([document, kept]);
    let difference = |place: &Place| {
        let only = without_common(&document.words()[place.ours.clone()], &kept.words()[place.theirs.clone()]);
        Difference { kind: pair.kind(&only), place: place.clone(), words: combined_hash(&only[0]) }
    };
    loss.places.iter().map(difference).collect()
}

/// Two texts that are compared: the document and the kept one.
struct Pair<'a>([&'a SplitText; 2]);

impl Pair<'_> {
    /// Returns the kind of a place in which each text has some words that the other one does not have there.
    fn kind(&self, only: &[Vec<Word>; 2]) -> Kind {
        let spelled = |side: usize| only[side].iter().map(move |word| self.0[side].spelled(word));
        if joined(spelled(0)) == joined(spelled(1)) {
            return Kind::Nothing;
        }
        let is_word_for_word = only[0].len() == only[1].len();
        if !is_word_for_word && only.iter().any(|words| letters_of(words) > FACT_LETTERS) {
            return Kind::Edit;
        }
        if [0, 1].iter().all(|side| spelled(*side).any(has_digit)) {
            let [ours, theirs] = [0, 1].map(|side| spelled(side).flat_map(numbers).collect::<Vec<_>>());
            return if ours == theirs { Kind::Wording } else { Kind::Number };
        }
        if is_word_for_word {
            let are_spellings = spelled(0).zip(spelled(1)).all(|(a, b)| are_spellings(a, b));
            if are_spellings
                || only[0].len() == 1 && [0, 1].iter().all(|side| spelled(*side).all(is_ideograph))
            {
                return Kind::Wording;
            }
        }
        let [ours, theirs] = [0, 1].map(|side| self.heaviest(side, &only[side]));
        match (ours, theirs) {
            (None, _) | (_, None) => Kind::Edit,
            (Some(Weight::Name), Some(Weight::Name)) => Kind::Name,
            (Some(Weight::Grammar), Some(Weight::Grammar)) => Kind::Wording,
            _ => Kind::Word,
        }
    }

    /// Returns the weight of the word that says most among some words of a text. `None` if all are numbers, or parts of
    /// an address.
    fn heaviest(&self, side: usize, words: &[Word]) -> Option<Weight> {
        let text = self.0[side];
        let weight = |word: &Word| {
            let spelled = text.spelled(word);
            let counts = !spelled.starts_with(is_digit) && !is_of_address(text.text(), word);
            let documents = |part: &str| documents_with(xxh3_64(part.as_bytes()));
            counts.then(|| match spelled.split(JOINTS).map(documents).min().unwrap_or(0) {
                0 if is_ideograph(spelled) => Weight::Everyday,
                0 if self.0[1 - side].has_word(word.hash) => Weight::Grammar,
                0 => Weight::Name,
                GRAMMAR_DOCUMENTS.. => Weight::Grammar,
                _ => Weight::Everyday,
            })
        };
        words.iter().filter_map(weight).max()
    }
}

/// How much a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// The word is in most texts, or in both of these.
    Grammar,
    /// The word is in the table.
    Everyday,
    /// The word is not in the table, and only in one of the texts.
    Name,
}

/// Returns the words that only one of two places has, each as often as it is there more often.
fn without_common(ours: &[Word], theirs: &[Word]) -> [Vec<Word>; 2] {
    let only = |words: &[Word], others: &[Word]| {
        let mut others = WordCounts::new(others);
        words.iter().filter(|word| !others.take(word)).copied().collect()
    };
    [only(ours, theirs), only(theirs, ours)]
}

/// Returns the letters of some words without what joins them. Two numbers stay apart.
fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for part in words.flat_map(|word| word.split(JOINTS)) {
        if joined.ends_with(char::is_numeric) && part.starts_with(char::is_numeric) {
            joined.push(' ');
        }
        joined.push_str(part);
    }
    joined
}

/// Returns true if two words differ in one letter, or in the order of two.
fn are_spellings(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|word| word.chars().collect::<Vec<_>>());
    let begin = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let end = a[begin..].iter().rev().zip(b[begin..].iter().rev()).take_while(|(a, b)| a == b).count();
    let is_one_change = match (&a[begin..a.len() - end], &b[begin..b.len() - end]) {
        ([first, second], [third, fourth]) => first == fourth && second == third,
        (a, b) => a.len().max(b.len()) <= 1,
    };
    is_one_change && a.len().min(b.len()) >= SPELLING_LETTERS
}

/// Returns true if the word is in an address within the text. Addresses change when a page moves.
fn is_of_address(text: &str, word: &Word) -> bool {
    let (start, end) = (word.start as usize, word.end as usize);
    let from = text.floor_char_boundary(start.saturating_sub(ADDRESS_BYTES));
    let until = text.floor_char_boundary(text.len().min(end + ADDRESS_BYTES));
    let begin = text[from..start].rfind(char::is_whitespace).map_or(from, |space| from + space);
    let rest = text[end..until].find(char::is_whitespace).map_or(until, |space| end + space);
    text[begin..rest].contains("://")
}

/// Returns true if the word is an ideograph, or another letter that is a word of its own.
fn is_ideograph(word: &str) -> bool {
    word.starts_with(is_unit)
}

fn is_digit(c: char) -> bool {
    c.is_numeric() || IDEOGRAPH_DIGITS.contains(c)
}

/// Returns the digits of a word that are next to each other.
fn numbers(word: &str) -> impl Iterator<Item = &str> {
    word.split(|c| !is_digit(c)).filter(|digits| !digits.is_empty())
}

fn has_digit(word: &str) -> bool {
    word.contains(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::{GROWTH_MAX, growth};
    use crate::verify::words::tests::{MARKET, RIVER, split};

    /// Returns the kinds of the places in which the two halves of a page differ: `ours` instead of `theirs`.
    fn kinds(ours: &str, theirs: &str) -> Vec<Kind> {
        let [document, kept] =
            [ours, theirs].map(|words| split("", &format!("{RIVER}so {words} and {MARKET}")));
        let loss = Loss::between(&document, &kept);
        let found = differences(&document, &kept, &loss);
        found.iter().map(|difference| difference.kind).collect()
    }

    #[test]
    fn numbers_names_and_words_are_facts_and_wording_is_not() {
        for (ours, theirs, expected) in [
            ("it was 18.00 million", "it was 19.00 million", Kind::Number),
            ("on the 3rd day", "on the 4th day", Kind::Number),
            ("本店星期三营业", "本店星期五营业", Kind::Number),
            ("the driver gcomm of linux", "the driver gpathchk of linux", Kind::Name),
            ("the chair in red wood", "the chair in blue wood", Kind::Word),
            ("on monday at noon", "on tuesday at noon", Kind::Word),
            ("联系人王建国先生", "联系人李秀英先生", Kind::Word),
            ("a quake which struck the coast", "a quake that struck the coast", Kind::Wording),
            ("who organised the fair", "who organized the fair", Kind::Wording),
            ("completely new", "copmletely new", Kind::Wording),
            ("放入蚝油三勺", "放入耗油三勺", Kind::Wording),
            ("they found 9 boats", "they found nine boats", Kind::Edit),
            ("and others as well", "and", Kind::Edit),
            ("cve 2015 8405 too", "cve 2015 too", Kind::Edit),
            ("release v4.2 of it", "release 4.2 of it", Kind::Wording),
            ("the crate unic-char of", "the crate unic-char-range of", Kind::Name),
            ("for 40km", "for 40 km", Kind::Nothing),
            ("a coffee house", "a coffeehouse", Kind::Nothing),
            ("see https://a.example/x here", "see ftp://b.example/x here", Kind::Edit),
        ] {
            let found = kinds(ours, theirs);
            assert_eq!(found, [expected], "{ours} | {theirs}");
        }
        assert_eq!(kinds("1.12 euro", "11.2 euro"), [Kind::Number], "digits are not joined");
        assert_eq!(kinds("the colour red", "the colour red"), []);
        let passage = "boats that come back from the open sea with their nets full of herring";
        assert_eq!(kinds(passage, "grey herons that stand in reeds and wait for an hour"), [Kind::Edit]);
    }

    /// A place is compared with one place of the other text, and what both have there does not count.
    #[test]
    fn words_that_both_have_in_a_place_do_not_count() {
        assert_eq!(kinds("on friday by us", "on sunday by us"), [Kind::Word]);
        let [document, kept] = ["profile. reporting by our staff", "profile"]
            .map(|end| split("", &format!("{RIVER}{MARKET}the end of the {end}")));
        let loss = Loss::between(&document, &kept);
        let found = differences(&document, &kept, &loss);
        assert_eq!(found.iter().map(|difference| difference.kind).collect::<Vec<_>>(), [Kind::Edit]);
    }

    #[test]
    fn texts_without_spaces_cost_what_their_length_costs() {
        let texts = |words: usize| {
            [0, 1].map(|other| {
                let word = |at: usize| if at.is_multiple_of(9) { at + other * words } else { at };
                let text: String = (0..words).map(|at| format!("w{}x/", word(at))).collect();
                split("", &text)
            })
        };
        let grown = growth(5_000, texts, |[kept, text]| {
            let loss = Loss::between(text, kept);
            assert!(differences(text, kept, &loss).len() > 100);
        });
        assert!(grown < GROWTH_MAX, "{grown}");
    }
}
