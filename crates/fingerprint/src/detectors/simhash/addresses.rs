//! Compares the addresses of two pages: whether they are the same page, may be of one series, are about
//! different things, or are parts of one paged article. An address takes eight bytes per page: 16 bits each of the
//! hashes of site and name, then 32 bits, of which the first is 1 for a part of a paged article. Parts have 23 bits of
//! the article and 8 of the subject. Other pages have 30 bits of the subject. For members of a family without
//! a subject the second bit is 1, followed by 15 bits each of the family and its member.

use crate::idf;
use crate::secret::TextHash;
use leitong_text::page::Address;
use xxhash_rust::xxh3::xxh3_64;

/// Size of an address in bytes, big-endian. Unknown parts are zero.
pub(crate) const ADDRESS_BYTES: usize = 8;
/// Bit of the last four bytes that marks a part of a paged article.
const PART: u32 = 1 << 31;
/// Bit of the last four bytes that marks a page without a subject: a member of a family.
const NO_SUBJECT: u32 = 1 << 30;
/// Number of bits of the hash of a page's subject.
const SUBJECT_BITS: u32 = 30;
/// Number of bits each of the hashes of a family and of its member.
const FAMILY_BITS: u32 = 15;
/// Number of these bits, the last ones, that a part of a paged article has.
const SUBJECT_BITS_OF_PART: u32 = 8;
/// Number of bits of the hash of a paged article.
const ARTICLE_BITS: u32 = 23;

/// Characters that join words. Addresses and texts may join the same words by different ones.
const JOINTS: [char; 4] = ['-', '_', '.', ':'];
/// Maximum length, in bytes, of a word that may be a subject.
const SUBJECT_BYTES_MAX: usize = 80;

/// The relation of two addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addresses {
    /// The same name on one site: one page, moved or fetched again.
    OnePage,
    /// The same name on different sites: one page, mirrored.
    OneName,
    /// Different names on one site: they may be of one series.
    OneSite,
    /// Different sites and different names.
    Apart,
    /// One of the addresses is not known.
    Unknown,
}

impl Addresses {
    /// Compares two addresses. With 16 bits, one pair of different sites or names in 65,536 seems to be the
    /// same. Pages of one name have one subject, so names with different ones are different.
    #[inline]
    pub(super) fn compare(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> Self {
        let same = |at: usize| a[at..at + 2] == b[at..at + 2];
        let same_name = same(2) && !subjects_differ(a, b);
        let known = |at: usize| [a, b].iter().all(|address| address[at..at + 2] != [0, 0]);
        match (known(0) && known(2), same(0), same_name) {
            (false, _, _) => Self::Unknown,
            (true, true, true) => Self::OnePage,
            (true, false, true) => Self::OneName,
            (true, true, false) => Self::OneSite,
            (true, false, false) => Self::Apart,
        }
    }

    /// Returns the wording used in evidence.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OnePage => "one page",
            Self::OneName => "one name",
            Self::OneSite => "one site",
            Self::Apart => "different sites",
            Self::Unknown => "not known",
        }
    }
}

/// Returns the last 32 bits of an address.
fn article_and_subject(address: [u8; ADDRESS_BYTES]) -> u32 {
    u32::from_be_bytes(*address.last_chunk().expect("8 bytes"))
}

/// Returns the paged article that a page is a part of, or `None`.
pub(super) fn article(address: [u8; ADDRESS_BYTES]) -> Option<u32> {
    let bits = article_and_subject(address);
    (bits & PART != 0).then_some((bits & !PART) >> SUBJECT_BITS_OF_PART)
}

/// Returns true if these are different pages of one article. Pages with the same name are one page, fetched
/// twice.
pub(super) fn are_parts(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> bool {
    article(a).is_some() && article(a) == article(b) && Addresses::compare(a, b) == Addresses::OneSite
}

/// Returns true if the last words of both addresses name what the texts are about, and they are different.
pub(super) fn subjects_differ(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> bool {
    subjects(a, b).is_some_and(|[a, b]| a != b)
}

/// Returns true if the last words of both addresses name what the texts are about, and they are the same.
pub(super) fn subjects_agree(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> bool {
    subjects(a, b).is_some_and(|[a, b]| a == b)
}

/// Returns the hashes of the subjects, or of two members of one family, with the largest number of bits that both
/// addresses have; `None` if one has no subject. A page is compared with all near pages of its site, so with few bits,
/// some of them would seem to have the same subject.
#[inline]
fn subjects(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> Option<[u32; 2]> {
    let [a, b] = [a, b].map(article_and_subject);
    let has_none = |address: u32| address & (PART | NO_SUBJECT) == NO_SUBJECT;
    if has_none(a) || has_none(b) {
        return (a >> FAMILY_BITS == b >> FAMILY_BITS && a != b).then_some([a, b]);
    }
    let bits = if (a | b) & PART == 0 { SUBJECT_BITS } else { SUBJECT_BITS_OF_PART };
    let subjects = [a, b].map(|address| address & ((1 << bits) - 1));
    subjects.iter().all(|subject| *subject != 0).then_some(subjects)
}

/// Returns true if a text is about this word: it has the word at least twice, or once if the word has no digit and
/// either is not common (`sampwindow`) or consists of several parts (`data-vector-mutable`, which may be written
/// `Data.Vector.Mutable`).
fn is_about(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let parts = || word.split(JOINTS).filter(|part| !part.is_empty());
    let Some(first) = parts().next().filter(|_| word.len() <= SUBJECT_BYTES_MAX) else { return false };
    let is_whole = |at: &usize| {
        let after = parts().skip(1).try_fold(&text[at + first.len()..], |rest, part| {
            let joined = rest.trim_start_matches(JOINTS);
            joined.strip_prefix(part).filter(|_| joined.len() < rest.len())
        });
        !is_part(text[..*at].chars().next_back()) && after.is_some_and(|after| !is_part(after.chars().next()))
    };
    let is_common = || parts().nth(1).is_none() && idf::is_common(xxh3_64(word.as_bytes()));
    let needed = if word.bytes().any(|byte| byte.is_ascii_digit()) || is_common() { 2 } else { 1 };
    text.match_indices(first).map(|(at, _)| at).filter(is_whole).nth(needed - 1).is_some()
}

/// Encodes an address, and what the text is about, in eight bytes.
pub(super) fn encoded(address: &Address, text: &str, hash: &TextHash) -> [u8; ADDRESS_BYTES] {
    // 0 means not known.
    let bits = |text: &str, count: u32| match text {
        "" => 0,
        _ => (hash.hash(text.as_bytes()) >> (64 - count)).max(1),
    };
    let [site, name] = [&address.site, &address.name].map(|text| bits(text, 16));
    let subject = if is_about(text, &address.subject) { bits(&address.subject, SUBJECT_BITS) } else { 0 };
    let article_and_subject = match address.article.as_str() {
        "" if subject == 0 && !address.family.is_empty() => {
            let [family, member] = [&address.family, &address.member].map(|text| bits(text, FAMILY_BITS));
            u64::from(NO_SUBJECT) | family << FAMILY_BITS | member
        }
        "" => subject,
        article => {
            let last = subject & ((1 << SUBJECT_BITS_OF_PART) - 1);
            let subject = if subject == 0 { 0 } else { last.max(1) };
            u64::from(PART) | bits(article, ARTICLE_BITS) << SUBJECT_BITS_OF_PART | subject
        }
    };
    (site << 48 | name << 32 | article_and_subject).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_one_article_are_parts_of_it() {
        let encode = |url: &str, article: &str| {
            encoded(&Address { article: article.into(), ..Address::from_url(url) }, "", &TextHash::default())
        };
        let first = encode("https://a.example/tea.html", "tea");
        let second = encode("https://a.example/tea_2.html", "tea");
        assert!(are_parts(first, second) && are_parts(second, first));
        assert!(!are_parts(second, second), "the same page once more");
        assert!(!are_parts(first, encode("https://a.example/coffee_2.html", "coffee")));
        let [none, other] =
            ["tea.html", "tea_2.html"].map(|page| encode(&format!("https://a.example/{page}"), ""));
        assert!(!are_parts(none, other) && !are_parts(none, second));
        assert_eq!((article(none), article(first) == article(second)), (None, true));
    }

    #[test]
    fn a_word_of_the_address_is_the_subject_if_the_text_has_it() {
        let encode = |url: &str, text: &str| encoded(&Address::from_url(url), text, &TextHash::default());
        let (oolong, sencha) = ("https://a.example/tea/oolong.html", "https://a.example/tea/sencha.html");
        let text = "oolong is a tea. (oolong) and sencha, or sencha";
        assert!(subjects_differ(encode(oolong, text), encode(sencha, text)));
        assert!(!subjects_differ(encode(oolong, text), encode(oolong, text)), "the same subject");
        let (module, lazy) = ("https://a.example/Text-Parse.html", "https://a.example/Text-ParseLazy.html");
        let text = "defined in text.parse, as in text::parselazy";
        assert!(subjects_differ(encode(module, text), encode(lazy, text)), "several words, joined otherwise");
        assert!(!subjects_differ(encode(module, "a text to parse"), encode(lazy, text)), "not joined");
        assert!(subjects_agree(encode(module, text), encode("https://a.example/x/Text-Parse.html", text)));
        let others = ["oolongs and senchas", "one tea", "oolong", ""];
        assert!(others.iter().all(|text| !subjects_differ(encode(oolong, text), encode(sencha, text))));
    }

    /// Pages about the windows of two libraries, which list what all windows inherit, are not copies, even if one has
    /// its own name only once.
    #[test]
    fn a_word_that_is_not_common_is_the_subject_if_the_text_has_it_once() {
        let encode = |url: &str, text: &str| encoded(&Address::from_url(url), text, &TextHash::default());
        let (samp, wait) = ("https://a.example/SampWindow.html", "https://b.example/WaitDialog.html");
        assert!(subjects_differ(encode(samp, "class sampwindow"), encode(wait, "class waitdialog")));
        assert!(!subjects_differ(encode(samp, "class sampwindows"), encode(wait, "class waitdialog")));
        let (water, river) = ("https://a.example/water", "https://a.example/river");
        assert!(!subjects_differ(encode(water, "the water of a river"), encode(river, "a river has water")));
        let (first, second) = ("https://a.example/utf8x1", "https://a.example/utf8x2");
        assert!(!subjects_differ(encode(first, "utf8x1"), encode(second, "utf8x2")), "numbers");
    }

    /// Each page of a library is compared with all of its siblings, so it is too many if one in 255 pairs of classes
    /// seems to be about one class.
    #[test]
    fn the_subjects_of_many_siblings_differ() {
        let words: Vec<String> = (0..500)
            .map(|number| format!("tea{}leaf", "x".repeat(number % 50) + &"y".repeat(number / 50)))
            .collect();
        let encode = |word: &String, article: &str| {
            let address = Address {
                article: article.into(),
                ..Address::from_url(&format!("https://a.example/{word}"))
            };
            encoded(&address, word, &TextHash::default())
        };
        let alone: Vec<_> = words.iter().map(|word| encode(word, "")).collect();
        let same = |a: &[_], b: &[_]| {
            let pairs = (0..a.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
            pairs.filter(|(i, j)| !subjects_differ(a[*i], b[*j])).count()
        };
        assert_eq!(same(&alone, &alone), 0);
        // A part of a paged article has fewer bits of its subject, and is compared by these.
        let parts: Vec<_> = words.iter().map(|word| encode(word, "an article")).collect();
        assert!(same(&alone, &parts) < 2_500, "of 124,750");
        assert!((0..words.len()).all(|at| !subjects_differ(alone[at], parts[at])));
    }

    /// With names of 16 bits, some pages of a large site seem to have one name. If their subjects were not compared as
    /// well, few matches would be enough for their long texts.
    #[test]
    fn pages_about_different_things_have_different_names() {
        let [oolong, mut sencha] = ["oolong", "sencha"].map(|word| {
            encoded(
                &Address::from_url(&format!("https://a.example/{word}")),
                "oolong, sencha",
                &TextHash::default(),
            )
        });
        sencha[2..4].copy_from_slice(&oolong[2..4]);
        assert_eq!(Addresses::compare(oolong, oolong), Addresses::OnePage);
        assert_eq!(Addresses::compare(oolong, sencha), Addresses::OneSite);
    }

    /// The packages of a library have one description but for a sentence.
    #[test]
    fn members_of_a_family_are_about_different_things() {
        let encode = |last: &str, text: &str| {
            encoded(&Address::from_url(&format!("https://a.example/{last}")), text, &TextHash::default())
        };
        let [doc, dev] = ["libtea-green-doc", "libtea-green-dev"].map(|last| encode(last, "a library"));
        assert!(subjects_differ(doc, dev) && !subjects_differ(doc, doc) && !subjects_agree(doc, doc));
        for other in ["libtea-black-dev", "libtea-green", "1"].map(|last| encode(last, "a library")) {
            assert!(!subjects_differ(doc, other) && !subjects_agree(doc, other));
        }
        let about = encode("libtea-green-dev", "libtea-green-dev");
        assert!(
            !subjects_differ(doc, about) && subjects_agree(about, about),
            "a subject goes before a family"
        );
    }

    #[test]
    fn addresses_identify_pages_that_may_be_of_one_series() {
        let compare = |a: &str, b: &str| {
            let encode = |url| encoded(&Address::from_url(url), "", &TextHash::default());
            let (a, b) = (encode(a), encode(b));
            assert_eq!(Addresses::compare(a, b), Addresses::compare(b, a));
            Addresses::compare(a, b)
        };
        for (a, b, expected) in [
            ("https://a.example/weather/0411", "https://a.example/weather/0412", Addresses::OneSite),
            ("https://bj.a.example/weather", "https://sh.a.example/weather", Addresses::OneSite),
            ("https://a.example/weather/0411", "https://b.example/weather/0411", Addresses::Apart),
            ("https://a.example/weather/0411", "http://a.example/weather/0411#now", Addresses::OnePage),
            (
                "https://a.example/1/the-river-cup-final",
                "https://www.a.example/the-river-cup-final",
                Addresses::OnePage,
            ),
            (
                "https://a.example/1/the-river-cup-final",
                "https://b.example/the-river-cup-final",
                Addresses::OneName,
            ),
            ("", "https://b.example/the-river-cup-final", Addresses::Unknown),
            ("", "", Addresses::Unknown),
        ] {
            assert_eq!(compare(a, b), expected, "{a} {b}");
        }
    }
}
