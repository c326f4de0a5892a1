//! Reads hints on the role of an element from names: element names, roles, and the words in `class`, `id` and
//! `itemprop`.
//!
//! In: attribute values. Out: a set of [`Hints`], and a hash of the words, which is part of a node's structural
//! signature. Names are split at punctuation, digits and inner capitals (`post-meta`, `postMeta2` → post, meta), and
//! words are looked up by a 32-bit hash in a table computed at compile time. A hint alone decides nothing; it is one of
//! the features by which a block is scored. Cost: linear in the names, about 1 ns per byte.

use crate::extract::parse::tag::Tag;

/// A set of hints, one bit each.
pub(in crate::extract) type Hints = u32;

/// Defines the hints, one bit each, and the list of their names in `names.txt`.
macro_rules! hints {
    ($($(#[$comment:meta])* $name:ident = $bit:literal,)*) => {
        $($(#[$comment])* pub(in crate::extract) const $name: Hints = 1 << $bit;)*

        const NAMES: [(&str, Hints); 32] = [$((stringify!($name), $name)),*];
    };
}

hints! {
    /// Menus, site maps.
    NAV = 0,
    /// Page or section headers.
    HEADER = 1,
    /// Page or section footers.
    FOOTER = 2,
    /// Side columns.
    SIDE = 3,
    /// Readers' comments.
    COMMENT = 4,
    /// Links to other pages: related, recommended, most read.
    RELATED = 5,
    /// Share bars and the like.
    SHARE = 6,
    /// Advertisement.
    AD = 7,
    /// Date, source, author line.
    META = 8,
    /// Cookie banners, pop-ups, warnings.
    POPUP = 9,
    /// Breadcrumbs.
    CRUMB = 10,
    /// Links to other pages of the same text.
    PAGER = 11,
    /// Forms, log-in, search.
    FORM = 12,
    /// Parts that are not shown.
    HIDDEN = 13,
    /// User boxes and signatures of forums.
    USER = 14,
    /// Modules, widgets, boxes.
    WIDGET = 15,
    /// Captions and figures.
    CAPTION = 16,
    /// Tables of contents.
    TOC = 17,
    /// Newsletters, subscriptions, apps.
    PROMO = 18,
    /// Content, text.
    CONTENT = 19,
    /// Articles.
    ARTICLE = 20,
    /// Main part.
    MAIN = 21,
    /// Posts, messages, answers.
    POST = 22,
    /// Title, headline.
    TITLE = 23,
    /// Summary, lead.
    SUMMARY = 24,
    /// Lists, grids, cards.
    LIST = 25,
    /// Author boxes.
    AUTHOR = 26,
    /// Tags, categories.
    TAGS = 27,
    /// Copyright, imprint, disclaimer.
    COPYRIGHT = 28,
    /// Products, prices.
    PRODUCT = 29,
    /// Code and technical text.
    CODE = 30,
    /// Consent to cookies: never main text, if the hint is trusted.
    CONSENT = 31,
}

/// Hints of boilerplate. They are not trusted on a node that holds most of the page's best run of text.
pub(in crate::extract) const BOILERPLATE: Hints =
    !(HIDDEN | CONTENT | ARTICLE | MAIN | POST | SUMMARY | PRODUCT | CODE | CONSENT);

/// Words of names, by hint.
const FILE: &[u8] = include_bytes!("names.txt");

/// Number of slots of the table, which is less than half full.
const SLOTS: usize = 2048;

/// `(hash, hints)`; a hash of 0 marks a free slot.
static TABLE: [(u32, Hints); SLOTS] = table();

const SEED: u32 = 0x811c_9dc5;

/// Adds one byte to an FNV-1a hash.
#[inline]
const fn mix(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

const fn hash_of(word: &str) -> u32 {
    let (mut hash, mut at) = (SEED, 0);
    while at < word.len() {
        hash = mix(hash, word.as_bytes()[at]);
        at += 1;
    }
    hash
}

/// Words after which the next word refers to the page's layout: `no-right`, `has-sidebar`.
const LAYOUT_WORDS: [u32; 5] =
    [hash_of("no"), hash_of("not"), hash_of("has"), hash_of("with"), hash_of("without")];

// The two words of `sourceCode`, which does not name a source.
const SOURCE_WORD: u32 = hash_of("source");
const CODE_WORD: u32 = hash_of("code");

const fn slot(hash: u32) -> usize {
    (hash ^ (hash >> 15)) as usize % SLOTS
}

/// Returns the hint whose name begins at `at`.
const fn named(at: usize) -> Hints {
    let mut hint = 0;
    loop {
        let (name, hints) = NAMES[hint];
        let (name, mut byte) = (name.as_bytes(), 0);
        while byte < name.len() && FILE[at + byte] == name[byte] {
            byte += 1;
        }
        if byte == name.len() && FILE[at + byte] == b']' {
            return hints;
        }
        hint += 1;
    }
}

const fn table() -> [(u32, Hints); SLOTS] {
    let mut table = [(0, 0); SLOTS];
    let (mut hints, mut hash, mut byte, mut in_words) = (0, SEED, 0, false);
    while byte < FILE.len() {
        match FILE[byte] {
            b'[' => (hints, in_words) = (named(byte + 1), false),
            b'#' => in_words = false,
            b'\n' => in_words = true,
            b'|' if in_words => {
                let mut at = slot(hash);
                while table[at].0 != 0 && table[at].0 != hash {
                    at = (at + 1) % SLOTS;
                }
                table[at] = (hash, table[at].1 | hints);
                hash = SEED;
            }
            letter if in_words => hash = mix(hash, letter),
            _ => {}
        }
        byte += 1;
    }
    table
}

#[inline]
fn hints_of(hash: u32) -> Hints {
    let mut at = slot(hash);
    loop {
        let (found, hints) = TABLE[at];
        if found == hash {
            return hints;
        }
        if found == 0 {
            return 0;
        }
        at = (at + 1) % SLOTS;
    }
}

/// Returns the hints of all words in `names`, and mixes each word's hash into `signature`.
pub(in crate::extract) fn from_names(names: &[u8], signature: &mut u32) -> Hints {
    let mut hints = 0;
    let (mut hash, mut after_small) = (SEED, false);
    // The previous word of the same name, and the hints without it.
    let (mut before, mut without_it) = (SEED, 0);
    let mut end = |hash: &mut u32, ends_name: bool| {
        if *hash != SEED {
            if *hash == CODE_WORD && before == SOURCE_WORD {
                hints = without_it;
            }
            without_it = hints;
            if !LAYOUT_WORDS.contains(&before) {
                hints |= hints_of(*hash);
            }
            before = *hash;
            *signature = signature.rotate_left(5).wrapping_add(*hash).wrapping_mul(0x9e37_79b1);
            *hash = SEED;
        }
        if ends_name {
            before = SEED;
        }
    };
    for &byte in names {
        if byte.is_ascii_lowercase() {
            hash = mix(hash, byte);
            after_small = true;
        } else if byte.is_ascii_uppercase() {
            if after_small {
                end(&mut hash, false);
            }
            hash = mix(hash, byte | 0x20);
            after_small = false;
        } else {
            end(&mut hash, byte.is_ascii_whitespace());
            after_small = false;
        }
    }
    end(&mut hash, true);
    // An article about biscuits is in the category "cookies".
    if hints & (POST | ARTICLE | TAGS) != 0 {
        hints &= !CONSENT;
    }
    hints
}

/// Returns the hints of an element name.
pub(in crate::extract) fn from_tag(tag: Tag) -> Hints {
    match tag {
        Tag::Nav | Tag::Menu => NAV,
        Tag::Header => HEADER,
        Tag::Footer => FOOTER,
        Tag::Aside => SIDE,
        Tag::Dialog => POPUP,
        Tag::Form | Tag::Fieldset | Tag::Search => FORM,
        Tag::Figure | Tag::Figcaption | Tag::Caption => CAPTION,
        Tag::Address => META,
        Tag::Article => ARTICLE,
        Tag::Main => MAIN,
        _ => 0,
    }
}

/// Returns true if an element or its role is a dialog, which is stronger evidence than a class name.
pub(in crate::extract) fn is_dialog(tag: Tag, role: &[u8]) -> bool {
    tag == Tag::Dialog || matches!(role, b"dialog" | b"alertdialog")
}

/// Returns the hints of a `role` attribute.
pub(in crate::extract) fn from_role(role: &[u8]) -> Hints {
    match role {
        b"navigation" | b"menu" | b"menubar" | b"tablist" | b"menuitem" | b"tab" => NAV,
        b"banner" => HEADER,
        b"contentinfo" => FOOTER,
        b"complementary" => SIDE,
        b"dialog" | b"alertdialog" | b"alert" => POPUP,
        b"search" | b"form" => FORM,
        b"main" => MAIN,
        b"article" => ARTICLE,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(names: &str) -> Hints {
        from_names(names.as_bytes(), &mut 0)
    }

    #[test]
    fn names_are_split_at_punctuation_digits_and_capitals() {
        assert_eq!(hints("post-meta"), POST | META);
        assert_eq!(hints("PostMeta2"), POST | META);
        assert_eq!(hints("sidebar_1 wp-nothing"), SIDE);
        assert_eq!(hints("TRS_Editor"), CONTENT | META);
        assert_eq!(hints("onetrust-banner-sdk") & CONSENT, CONSENT);
        assert_eq!(hints("post category-cookies") & CONSENT, 0);
        assert_eq!(hints("sourceCode"), CODE);
        assert_eq!(hints("article source-code"), ARTICLE | CODE);
        assert_eq!(hints("source code"), META | CODE);
        assert_eq!(hints("has-sidebar no-right"), 0);
        assert_eq!(hints("no right"), SIDE);
        assert_eq!(hints("nonsense"), 0);
        assert_eq!(hints(""), 0);
    }

    #[test]
    fn similar_nodes_have_one_hash_whatever_their_numbers() {
        let signature = |names: &str| {
            let mut signature = 0;
            from_names(names.as_bytes(), &mut signature);
            signature
        };
        assert_eq!(signature("post-12 entry"), signature("post-977 entry"));
        assert_ne!(signature("post entry"), signature("entry post"));
    }
}
