//! Phrases of pages without content: "checking your browser", "页面不存在", "Seite nicht gefunden".
//!
//! In: a text in lower case, with plain apostrophes and single spaces. Out: the phrases in it, with their positions.
//! Each phrase (`phrases.txt`) has a [`Strength`] as evidence. Cost: one pass of an Aho-Corasick automaton, only on
//! pages with little text.

use std::sync::LazyLock;

use aho_corasick::AhoCorasickKind;

use crate::extract::document::NoContent;
use crate::extract::word_lists::{self, Automaton};

/// The strength of a phrase as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Occurs on pages without content, but in other texts as well.
    Weak,
    /// Evidence if the phrase is all of a title or block.
    Alone,
    /// Occurs on pages without content, and elsewhere only in quotations.
    Strong,
}

/// A phrase in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhraseMatch {
    /// The kind of page with this phrase.
    pub(super) kind: NoContent,
    /// Strength of the phrase as evidence.
    pub(super) strength: Strength,
    /// The index of the phrase.
    pub(super) phrase: usize,
    /// Byte offset of the start of the phrase.
    pub(super) start: usize,
    /// Byte offset after the end of the phrase.
    pub(super) end: usize,
}

/// Returns all phrases with their kinds and strengths.
fn phrases() -> impl Iterator<Item = (&'static str, (NoContent, Strength))> {
    word_lists::words(include_str!("phrases.txt")).filter_map(|(heading, phrase)| {
        let (kind, strength) = heading.split_once(' ')?;
        let kind = NoContent::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let strength = match strength {
            "weak" => Strength::Weak,
            "alone" => Strength::Alone,
            "strong" => Strength::Strong,
            _ => return None,
        };
        Some((phrase, (kind, strength)))
    })
}

static AUTOMATON: LazyLock<Automaton<(NoContent, Strength)>> =
    LazyLock::new(|| word_lists::automaton(AhoCorasickKind::ContiguousNFA, phrases()));

/// Builds the table, which is otherwise built on first use.
pub(super) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// Maximum length in bytes of ASCII phrases that must be whole words. A longer one may be the beginning of a word.
const WHOLE_BYTES_MAX: usize = 5;

/// Returns the phrases in `text` that begin at the start of a word, in the order of their ends.
pub(super) fn find(text: &str) -> impl Iterator<Item = PhraseMatch> {
    AUTOMATON.as_ref().into_iter().flat_map(move |(automaton, kinds)| {
        automaton.find_overlapping_iter(text).filter_map(move |found| {
            let (kind, strength) = kinds[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.end());
            let phrase = found.pattern().as_usize();
            is_word(text.as_bytes(), start, end).then_some(PhraseMatch { kind, strength, phrase, start, end })
        })
    })
}

/// Returns true if no ASCII letter or digit precedes the phrase, and none follows a short one. Identifiers in programs
/// (`http.Error(`, `error_log`) and decimal fractions are single words.
fn is_word(text: &[u8], start: usize, end: usize) -> bool {
    let is_letter = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let is_one_of =
        |at: Option<usize>, joints: &[u8]| at.and_then(|at| text.get(at)).is_some_and(|b| joints.contains(b));
    let (before, after) = (start.checked_sub(1), Some(end));
    let begins_within = is_letter(before)
        || is_one_of(before, b"_")
        || (is_one_of(before, b".,") && is_letter(start.checked_sub(2)));
    let ends_within =
        is_letter(after) || is_one_of(after, b"_(") || (is_one_of(after, b".,") && is_letter(Some(end + 1)));
    let may_go_on = end - start > WHOLE_BYTES_MAX && text[end - 1].is_ascii_alphabetic();
    !(text[start].is_ascii_alphanumeric() && begins_within)
        && (may_go_on || !(text[end - 1].is_ascii_alphanumeric() && ends_within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use NoContent::Error;
    use Strength::Alone;
    use Strength::Weak;

    fn found(text: &str) -> Vec<(NoContent, Strength)> {
        find(text).map(|one| (one.kind, one.strength)).collect()
    }

    #[test]
    fn phrases_are_whole_words() {
        assert!(found("403 forbidden").contains(&(Error, Alone)));
        assert_eq!(found("terrors of 14040"), []);
        assert_eq!(found("http.error(w, 3.500, 500.0)"), []);
        assert!(found("error 404.").len() >= 2);
        assert_eq!(found("抱歉，您访问的页面不存在！").first(), Some(&(Error, Weak)));
        assert_eq!(found("an ordinary sentence, without any of them"), []);
    }

    /// The automaton matches text in lower case, with plain apostrophes.
    #[test]
    fn phrases_are_written_as_texts_are_normalised() {
        for (phrase, _) in phrases() {
            assert_eq!(phrase, phrase.to_lowercase().trim(), "it would never be found");
            assert!(!phrase.is_empty() && !phrase.contains(['’', '\u{a0}']), "{phrase:?}");
        }
    }

    #[test]
    fn every_heading_names_a_kind_and_a_strength() {
        assert_eq!(phrases().count(), word_lists::words(include_str!("phrases.txt")).count());
    }
}
