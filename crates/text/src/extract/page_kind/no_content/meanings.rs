//! Recognises sentences of pages without content by their meaning, in any words: "you are in a country where we do not
//! offer this".
//!
//! In: a text in lower case. Out: the sentences that combine all *meanings* of a kind of page, each expressed by any of
//! its words (`meanings.txt`): a place, a refusal, and the visitor or the thing requested. Phrases ([`super::phrases`])
//! find known wordings; there are more wordings than can be listed. A sentence with only two of the meanings
//! counts as part of such a page, but does not make the page one. Cost: one pass of an Aho-Corasick automaton, only on
//! pages with little text.

use std::sync::LazyLock;

use aho_corasick::AhoCorasickKind;

use crate::extract::document::NoContent;
use crate::extract::page_kind::list;
use crate::extract::word_lists::{self, Automaton};

/// A set of meanings, one bit each.
pub(super) type Meanings = u64;

/// Defines the meanings, and the list of their names in `meanings.txt`.
macro_rules! meanings {
    ($($(#[$comment:meta])* $name:ident = $bit:literal,)*) => {
        $($(#[$comment])* const $name: Meanings = 1 << $bit;)*

        const NAMES: &[(&str, Meanings)] = &[$((stringify!($name), $name)),*];
    };
}

meanings! {
    PLACE = 0,
    REFUSAL = 1,
    YOU = 2,
    ASKED = 3,
    DATA = 4,
    CHOICE = 5,
    GO_ON = 6,
    AGE = 7,
    ENTER = 8,
    ACCOUNT = 9,
    READING = 10,
    ONLY = 11,
    MACHINE = 12,
    CHECK = 13,
    SCRIPTS = 14,
    SWITCH = 15,
    REQUESTS = 16,
    TOO_MANY = 17,
    WAIT = 18,
    WORK = 19,
    NOW = 20,
    SITE = 21,
    BROWSER = 22,
    CHECKING = 23,
    SAFE = 24,
    PLEASE = 25,
    /// Tells how something works in general. A page without content says what happens here and now.
    EXPLAINS = 26,
    BLOCKER = 27,
    OFF = 28,
    /// Speaks to the reader: "you", "your", "please". Articles seldom do.
    ADDRESS = 29,
    /// Speaks of rights, or of regret.
    LIMITS = 30,
    /// Names of countries. A sentence that names one may report on it, so they count for whole pages only.
    LANDS = 31,
    /// Names the visitor's request or origin: "your request", "your network".
    ORIGIN = 32,
    STOPPED = 33,
    /// Speaks of attacks, or of what keeps them off.
    GUARD = 34,
    /// Names the thing that the visitor wanted to see: "this listing".
    THING = 35,
    GONE = 36,
    /// Names what the visitor would need: "permission", "privileges".
    RIGHTS = 37,
    LACK = 38,
    /// Says of a browser that it is too old.
    OLD = 39,
}

/// The meanings that a sentence of each kind combines: all of the first set, and one of the second.
const SENTENCES: [(NoContent, Meanings, Meanings); 12] = [
    (NoContent::Region, PLACE | REFUSAL, YOU | ASKED),
    (NoContent::Consent, DATA | CHOICE, GO_ON),
    (NoContent::Consent, AGE | ENTER, ADDRESS),
    (NoContent::Login, ACCOUNT | READING, ONLY),
    (NoContent::Blocked, MACHINE | CHECK, YOU | GO_ON | PLEASE | WAIT),
    (NoContent::Blocked, REQUESTS | TOO_MANY, YOU | WAIT),
    (NoContent::Blocked, BROWSER | CHECKING, SAFE | GUARD),
    (NoContent::Blocked, ORIGIN | STOPPED, GUARD | MACHINE | TOO_MANY | ASKED | SITE),
    (NoContent::Error, WORK | NOW, SITE),
    (NoContent::Error, THING | GONE, !0),
    (NoContent::Blocked, BLOCKER, OFF),
    (NoContent::Shell, SCRIPTS | SWITCH, ADDRESS | ASKED | SITE | PLEASE | REFUSAL),
];

/// The meanings that all sentences of a short page, its title and its buttons combine: all of the first set, and one of
/// the second. A page may say where the visitor is in one sentence, and what follows from that in the next.
const PAGES: [(NoContent, Meanings, Meanings); 15] = [
    (NoContent::Region, PLACE | REFUSAL | ADDRESS, ASKED),
    (NoContent::Region, PLACE | LIMITS | ADDRESS, ASKED),
    (NoContent::Consent, DATA | CHOICE | ADDRESS, !0),
    (NoContent::Consent, AGE | ENTER | ADDRESS, !0),
    (NoContent::Login, ACCOUNT | READING | ONLY | ADDRESS, !0),
    (NoContent::Blocked, MACHINE | CHECK | ADDRESS, !0),
    (NoContent::Blocked, TOO_MANY | WAIT | ADDRESS, !0),
    (NoContent::Blocked, BROWSER | CHECKING | SAFE | ADDRESS, !0),
    (NoContent::Error, WORK | NOW | SITE, !0),
    (NoContent::Error, RIGHTS | LACK | ADDRESS, READING | REQUESTS | THING | ASKED | GO_ON),
    (NoContent::Blocked, BLOCKER | OFF | ADDRESS, !0),
    (NoContent::Shell, SCRIPTS | SWITCH | ADDRESS, !0),
    (NoContent::Shell, BROWSER | OLD | ADDRESS, SITE | ASKED | READING | SWITCH),
    (NoContent::Blocked, MACHINE | REFUSAL | ASKED | ADDRESS, !0),
    (NoContent::Blocked, ORIGIN | STOPPED | GUARD | ADDRESS, !0),
];

/// Returns true if a page whose text has these meanings is of this kind, provided that it says little else.
pub(super) fn is_kind(said: Meanings, kind: NoContent) -> bool {
    let said = if said & LANDS == 0 { said } else { said | PLACE };
    PAGES.iter().any(|&(of, every, one)| of == kind && said & every == every && said & one != 0)
}

/// Returns the meanings of a label whose words mean `said`. A label that offers a choice also speaks to the visitor.
pub(super) fn of_label(said: Meanings) -> Meanings {
    let said = said & !EXPLAINS;
    if said & CHOICE == 0 { said } else { said | ADDRESS }
}

/// Returns true if a sentence with the meanings `said` has none of the meanings that make it such a page.
pub(super) fn is_other(said: Meanings, kind: NoContent) -> bool {
    let meant =
        PAGES.iter().filter(|page| page.0 == kind).fold(LANDS | REQUESTS, |meant, page| meant | page.1);
    said & meant & !ADDRESS == 0
}

/// Returns the meaning with this name in `meanings.txt`.
fn meaning(name: &str) -> Option<Meanings> {
    NAMES.iter().find(|(known, _)| *known == name).map(|&(_, meaning)| meaning)
}

/// Returns all words with their meanings.
fn words() -> impl Iterator<Item = (&'static str, Meanings)> {
    word_lists::words(include_str!("meanings.txt")).map(|(name, word)| (word, meaning(name).unwrap_or(0)))
}

static AUTOMATON: LazyLock<Automaton<Meanings>> =
    LazyLock::new(|| word_lists::automaton(AhoCorasickKind::ContiguousNFA, words()));

/// Builds the table, which is otherwise built on first use.
pub(super) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// A sentence with meanings of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) kind: NoContent,
    /// True if the sentence has all meanings of the kind; otherwise it has two of them.
    pub(super) is_whole: bool,
    /// Byte offset of the start of the sentence.
    pub(super) start: usize,
    /// Byte offset after the end of the sentence.
    pub(super) end: usize,
}

/// Maximum length of a sentence in bytes; longer ones say more than such a page has to say.
const SENTENCE_BYTES_MAX: usize = 420;

/// Finds the sentences of `text` that have meanings of a kind; `sentences` lists the bounds of all in order. A sentence
/// with quotation marks, or with a condition, never means [`NoContent::Region`]: news articles quote what sites tell
/// their visitors, and help pages explain when a site shows such a page. Writes the meanings of each sentence into
/// `said`.
pub(super) fn find(
    text: &str,
    sentences: &[(usize, usize)],
    found: &mut Vec<Sentence>,
    said: &mut Vec<Meanings>,
) {
    said.clear();
    let Some((automaton, meanings)) = AUTOMATON.as_ref() else { return };
    let mut words = automaton.find_overlapping_iter(text).peekable();
    // Words are in the order of their ends.
    let mut next_of = |&(start, end): &(usize, usize)| {
        let mut all = 0;
        while let Some(word) = words.next_if(|word| word.end() <= end) {
            if word.start() >= start && begins_word(text.as_bytes(), word.start()) {
                all |= meanings[word.pattern().as_usize()];
            }
        }
        all
    };
    let mut bounds = sentences.iter();
    let mut next = bounds.next().map(|bounds| (*bounds, next_of(bounds)));
    while let Some(((start, end), all)) = next {
        next = bounds.next().map(|bounds| (*bounds, next_of(bounds)));
        if end - start > SENTENCE_BYTES_MAX {
            said.push(all & EXPLAINS);
            continue;
        }
        let is_reported = text[start..end].contains(['“', '”', '"', '「', '«', '„'])
            || list("condition").iter().any(|condition| text[start..end].contains(condition));
        let is_case = |sentence: &str| {
            sentence.contains(" if ") || list("case").iter().any(|case| sentence.starts_with(case))
        };
        let tells_end = all & (STOPPED | GONE) != 0 && !is_case(text[start..end].trim_start());
        let all = if tells_end { all } else { all & !(STOPPED | GONE) };
        said.push(if is_reported { all & !(PLACE | LANDS) } else { all });
        for (kind, every, one) in SENTENCES {
            let is_reported = kind == NoContent::Region && is_reported;
            // The next sentence may have the second meaning: "Too many requests. Please wait a minute."
            let after = next.filter(|_| matches!(kind, NoContent::Blocked)).map_or(0, |(_, after)| after);
            let is_whole = all & every == every && (all | after) & one != 0 && !is_reported;
            let is_part = (all & (every | if one == !0 { 0 } else { one })).count_ones() >= 2;
            if is_whole || is_part {
                found.push(Sentence { kind, is_whole, start, end });
            }
        }
    }
}

/// Returns the meanings of a title that asks what its text answers.
pub(super) fn of_title(title: &str) -> Meanings {
    let asks = list("question").iter().any(|question| title.starts_with(question));
    if asks && !title.contains(" i ") { EXPLAINS } else { 0 }
}

/// Returns true if the meanings `said` are those of a page that asks visitors for their accounts.
pub(super) fn asks_for_account(said: Meanings) -> bool {
    said & ACCOUNT != 0
}

/// Returns true if one of the sentences explains how such pages work.
pub(super) fn explains(said: Meanings) -> bool {
    said & EXPLAINS != 0
}

/// Returns true if a word of ASCII letters does not begin within a longer word.
fn begins_word(text: &[u8], start: usize) -> bool {
    let goes_on = start.checked_sub(1).is_some_and(|at| text[at].is_ascii_alphanumeric());
    !(text[start].is_ascii_alphanumeric() && goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds_of(text: &str) -> Vec<NoContent> {
        let mut found = Vec::new();
        find(text, &[(0, text.len())], &mut found, &mut Vec::new());
        found.into_iter().filter(|sentence| sentence.is_whole).map(|sentence| sentence.kind).collect()
    }

    #[test]
    fn all_meanings_of_a_kind_must_come_together() {
        assert_eq!(kinds_of("you cannot watch this from where you are"), [NoContent::Region]);
        assert_eq!(
            kinds_of("diese sendung darf nur innerhalb von deutschland gezeigt werden, sagen sie"),
            [NoContent::Region]
        );
        assert_eq!(kinds_of("are you of legal age"), [NoContent::Consent]);
        assert_eq!(
            kinds_of("your request was rated as suspicious and therefore blocked"),
            [NoContent::Blocked]
        );
        assert_eq!(kinds_of("if your request is blocked by the firewall, write to us"), []);
        assert_eq!(kinds_of("this listing is no longer available"), [NoContent::Error]);
        for other in ["the country is large", "you cannot watch this", "", "she lives in another country"] {
            assert_eq!(kinds_of(other), [], "{other}");
        }
    }

    #[test]
    fn words_are_written_as_texts_are_normalised() {
        for (word, meaning) in words() {
            assert_eq!(word, word.to_lowercase(), "it would never be found");
            assert!(!word.trim().is_empty() && !word.contains('’'), "{word:?}");
            assert_eq!(meaning.count_ones(), 1, "{word:?} has no known meaning");
        }
    }
}
