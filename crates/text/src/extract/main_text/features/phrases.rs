//! Phrases of page boilerplate (`phrases.txt`): "all rights reserved", "责任编辑", "read more", "扫一扫".
//!
//! In: a short block's source. Out: a set of [`Phrases`]. A phrase alone decides nothing; it is one of the features by
//! which a block is scored. Long blocks are not searched, because they are text whatever they mention. Cost: one pass
//! of an Aho-Corasick automaton over the short blocks of a page.

use std::sync::LazyLock;

use aho_corasick::AhoCorasickKind;

use crate::extract::word_lists::{self, Automaton};

/// A set of kinds of phrases, one bit each.
pub(in crate::extract) type Phrases = u32;

/// Number of kinds.
pub(in crate::extract) const KINDS: usize = NAMES.len();

/// Bytes of source above which a block is not searched.
pub(in crate::extract) const BYTES_MAX: usize = 400;

// The kinds that code refers to by name, as bit numbers in [`Phrases`].

/// Author and publisher of a text.
pub(in crate::extract) const CREDIT_LINES: u32 = 1;
/// Sharing.
pub(in crate::extract) const SHARE: u32 = 2;
/// Other pages.
pub(in crate::extract) const RELATED: u32 = 3;
/// Accounts and newsletters.
pub(in crate::extract) const ACCOUNT: u32 = 5;
/// Comments.
pub(in crate::extract) const COMMENT: u32 = 7;
/// Dates.
pub(in crate::extract) const DATE: u32 = 9;
/// Shops.
pub(in crate::extract) const SHOP: u32 = 11;

/// The names of the kinds in `phrases.txt`. The index in this list is the kind's bit.
#[rustfmt::skip]
const NAMES: [&str; 14] = [
    "copyright", "credit line", "share", "related", "neighbour", "account", "law", "comment", "advert", "date", "menu",
    "shop", "contact", "caption",
];

/// Returns the words of another list in `phrases.txt`.
pub(super) fn of_list(name: &str) -> impl Iterator<Item = (&'static str, ())> {
    word_lists::words(include_str!("phrases.txt"))
        .filter(move |(list, _)| *list == name)
        .map(|(_, word)| (word, ()))
}

/// Returns all phrases with their kinds.
fn phrases() -> impl Iterator<Item = (&'static str, usize)> {
    let words = word_lists::words(include_str!("phrases.txt"));
    words.filter_map(|(list, phrase)| Some((phrase, NAMES.iter().position(|name| *name == list)?)))
}

static AUTOMATON: LazyLock<Automaton<usize>> =
    LazyLock::new(|| word_lists::automaton(AhoCorasickKind::DFA, phrases()));

/// Builds the table, which is otherwise built on first use.
pub(in crate::extract) fn build_table() {
    LazyLock::force(&AUTOMATON);
}

/// Returns the kinds of phrases in `text`.
pub(in crate::extract) fn find(text: &[u8]) -> Phrases {
    let Some((automaton, kinds)) = AUTOMATON.as_ref() else { return 0 };
    automaton
        .find_overlapping_iter(text)
        .fold(0, |found, phrase| found | 1 << kinds[phrase.pattern().as_usize()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_any_case() {
        assert_eq!(find("ALL RIGHTS RESERVED".as_bytes()), 1);
        assert_eq!(find("（责任编辑：王）".as_bytes()), 1 << 1);
        assert_eq!(find("Ответить".as_bytes()), 1 << COMMENT);
        assert_eq!(find("多: 관련기사".as_bytes()), 1 << RELATED);
        assert_eq!(find("an ordinary sentence without any of them".as_bytes()), 0);
    }
}
