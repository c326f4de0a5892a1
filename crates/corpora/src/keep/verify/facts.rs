//! Compares the facts of two texts that are nearly the same: numbers, dates, versions, names.
//!
//! In: a document, a kept one, and the text that is lost with the document. Out: true if facts of the kept document are
//! replaced by others in the document, because the two are then probably pages of a series. Also the words of the
//! document in places where the kept one has other words: by these, pages of a template are recognised after all
//! documents of the cluster were compared. The addresses decide which facts count ([`Facts`]). Cost: linear in both
//! texts.

use std::ops::Range;

use super::loss::Loss;
use super::slots::Filling;
use super::words::{SplitText, Word, combined_hash, have_letters, letters_of};
use leitong_base::hashed::HashedSet;
use leitong_fingerprint::idf::is_common;
use leitong_text::page::Address;

/// Minimum number of characters of a name.
const NAME_CHARS_MIN: usize = 3;
/// Number of letters below which a text is short. Each fact of a short text matters.
const SHORT_LETTERS: u32 = 2_000;
/// Maximum number of letters of a stretch of text in which two texts differ only by a fact: the fact and the
/// words around it.
const FACT_LETTERS: u32 = 60;
/// Number of letters at the beginning, and at the end, of a text in which sites have their own credits.
const CREDIT_LETTERS: u32 = 60;
/// Number of letters of a text per number that may be replaced.
const LETTERS_A_NUMBER: u32 = 5_000;
/// Number of names that may be replaced in a long text, however few names it has: rare words count as names, too.
const NAMES_OF_LONG: usize = 1;
/// Number of names in a long text per name that may be replaced.
const NAMES_SHARE: usize = 16;
/// Number of differing places of two long texts up to which no replaced name is tolerated. Pages of a series differ in
/// few places, edited copies in more.
const PLACES_OF_A_SERIES: u32 = 2;
/// Maximum number of places in which two pages of a series differ in everyday words.
const REPLACED_PLACES: usize = 10;
/// Maximum number of places in which a page of a template differs from the first one.
const TEMPLATE_PLACES: usize = 20;
/// Minimum length of the words that replace others, in per cent of the longer side, if the two sides have different
/// numbers of words.
const REPLACED_BY: u32 = 45;

/// The way in which facts of two near-duplicates count, depending on their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Facts {
    /// The two are one page, moved or fetched again: its facts may have changed.
    MayChange,
    /// The two may be pages of a series. Replaced numbers and names count if there are more of them than are tolerated
    /// in texts of this length; if the texts differ in a few short places only, all replaced words count.
    Count,
    /// The two are on different sites. Facts count only in short texts, and only if nothing else differs. Otherwise one
    /// document is an edited copy of the other.
    CountAlone,
}

impl Facts {
    fn for_urls(a: &str, b: &str) -> Self {
        let (a, b) = (Address::from_url(a), Address::from_url(b));
        if a.site.is_empty() || b.site.is_empty() {
            Self::Count
        } else if a.name == b.name {
            Self::MayChange
        } else if a.site == b.site {
            Self::Count
        } else {
            Self::CountAlone
        }
    }
}

/// Returns true if documents at these urls may be one page that was moved or fetched again.
#[must_use]
pub(super) fn may_be_one_page(a: &str, b: &str) -> bool {
    Facts::for_urls(a, b) == Facts::MayChange
}

/// Returns true if numbers, versions or names of the kept document were replaced, or other words if the two may be
/// pages of a series. `loss` is the text that is lost with the document.
#[must_use]
pub(super) fn facts_differ(document: &SplitText, kept: &SplitText, loss: &Loss) -> bool {
    let is_short = loss.letters < SHORT_LETTERS;
    let numbers_or_names = || numbers_or_names_differ(document, kept, loss);
    let words_replaced = || words_replaced(document, kept, loss);
    match Facts::for_urls(document.url(), kept.url()) {
        Facts::MayChange => false,
        Facts::Count => {
            numbers_or_names() || have_other_files(document.url(), kept.url()) && words_replaced()
        }
        Facts::CountAlone => {
            is_short && loss.longest <= FACT_LETTERS && numbers_or_names()
                || subject_replaced(document, kept, loss)
        }
    }
}

/// Returns the words of the document in the few short places where the first kept document of its cluster has other
/// words. If a template has these places, the words are facts. Numbers and words of the document's host name do not
/// count. If the two are on different sites, places at either end of the text do not count either, because sites have
/// their own credits there, unless such a place is [within a phrase](SplitText::is_within_phrase).
#[must_use]
pub(super) fn fillings(document: &SplitText, kept: &SplitText, loss: &Loss) -> Vec<Filling> {
    let words = document.words();
    let [site, kept_site] = [document, kept].map(|text| Address::from_url(text.url()).site);
    let is_between_credits = |place: &Range<usize>| {
        if !site.is_empty() && site == kept_site {
            return true;
        }
        let around = [&words[..place.start], &words[place.end..]];
        let is_at_end = !around.iter().all(|words| have_letters(words, CREDIT_LETTERS));
        !is_at_end || document.is_within_phrase(place)
    };
    let is_short = |place: &Range<usize>| letters_of(&words[place.clone()]) <= FACT_LETTERS;
    let is_filled = |place: &Range<usize>| is_short(place) && is_between_credits(place);
    let may_be_one_page = || Facts::for_urls(document.url(), kept.url()) == Facts::MayChange;
    if loss.runs as usize > TEMPLATE_PLACES || !loss.places.iter().any(is_filled) || may_be_one_page() {
        return Vec::new();
    }
    let counts = |word: &&Word| {
        let word = document.spelled(word);
        !is_of_site(word, &site) && !has_digit(word)
    };
    let filling = |(place, instead): (&Range<usize>, Option<&Range<usize>>)| {
        let instead = instead.filter(|_| is_filled(place))?;
        let mut found = words[place.clone()].iter().filter(counts).peekable();
        found.peek()?;
        Some(Filling { place: instead.start as u32..instead.end as u32, words: combined_hash(found) })
    };
    loss.counterparts(document, kept).filter_map(filling).collect()
}

/// Returns true if the word is part of the site's name.
fn is_of_site(word: &str, site: &str) -> bool {
    word.len() >= NAME_CHARS_MIN && site.contains(word)
}

/// Returns true if a word replaces another one in several places, and neither word is anywhere in the other text: two
/// pages of a template, each about its own subject. An editor replaces words here and there.
fn subject_replaced(document: &SplitText, kept: &SplitText, loss: &Loss) -> bool {
    if !(2..=TEMPLATE_PLACES).contains(&(loss.runs as usize)) {
        return false;
    }
    let site = Address::from_url(document.url()).site;
    let [ours, theirs] =
        [document, kept].map(|text| -> HashedSet { text.words().iter().map(|word| word.hash).collect() });
    // The first word at a place of `text` that the other one lacks.
    let subject = |text: &SplitText, place: &Range<usize>, others: &HashedSet| {
        let words = &text.words()[place.clone()];
        let is_subject = |word: &&Word| {
            let spelled = text.spelled(word);
            !others.contains(&word.hash) && !has_digit(spelled) && !is_of_site(spelled, &site)
        };
        // A single ideograph is a variant of another one.
        let has_length = (NAME_CHARS_MIN as u32 + 1..=FACT_LETTERS).contains(&letters_of(words));
        words.iter().find(is_subject).filter(|_| has_length).map(|word| word.hash)
    };
    let mut seen = HashedSet::default();
    loss.counterparts(document, kept).any(|(place, instead)| {
        let word = subject(document, place, &theirs);
        let instead = instead.and_then(|instead| subject(kept, instead, &ours));
        word.zip(instead).is_some_and(|(word, instead)| !seen.insert(word.rotate_left(1) ^ instead))
    })
}

/// Returns true if more numbers, versions or names were replaced than is tolerated in a text of this length.
fn numbers_or_names_differ(document: &SplitText, kept: &SplitText, loss: &Loss) -> bool {
    let is_short = loss.letters < SHORT_LETTERS;
    // In a long text of a template, a single number tells its pages apart. In a very long one, a replaced number is
    // probably a correction.
    let numbers_tolerated = (loss.letters / LETTERS_A_NUMBER) as usize;
    if replaced(document.numbers(), kept.numbers()) > numbers_tolerated {
        return true;
    }
    let replaced = names_replaced(document, kept, loss);
    if is_short || loss.runs <= PLACES_OF_A_SERIES {
        return replaced > 0;
    }
    // All names of both texts are counted only if their number decides.
    replaced > NAMES_OF_LONG && replaced > names(document).min(names(kept)) / NAMES_SHARE
}

/// Returns the number of names of one text that replace names of the other. Looks only at text that the other one does
/// not have.
fn names_replaced(document: &SplitText, kept: &SplitText, loss: &Loss) -> usize {
    let ours = names_only_in(document, &loss.places, kept);
    match ours {
        0 => 0,
        _ => ours.min(names_only_in(kept, loss.places_instead(document, kept), document)),
    }
}

/// Returns the number of different names at these places of `text` that `other` does not have.
fn names_only_in(text: &SplitText, places: &[Range<usize>], other: &SplitText) -> usize {
    let words = places.iter().flat_map(|place| &text.words()[place.clone()]);
    let names = words.filter(|word| is_name(text.spelled(word), word.hash));
    let mut names: HashedSet = names.map(|word| word.hash).collect();
    if !names.is_empty() {
        other.words().iter().for_each(|word| _ = names.remove(&word.hash));
    }
    names.len()
}

/// Returns the number of different names of a text.
fn names(text: &SplitText) -> usize {
    let names = text.words().iter().filter(|word| is_name(text.spelled(word), word.hash));
    names.map(|word| word.hash).collect::<HashedSet>().len()
}

/// Returns true if the last parts of the paths, including queries, differ, or if a url has no path. `/cn/ls.1` and
/// `/tw/ls.1` do not differ: they may be two versions of one page.
fn have_other_files(a: &str, b: &str) -> bool {
    // Documents without a url are called `document:FILE#ROW`.
    let file = |url: &str| {
        let path = url.split('#').next()?.split_once("://")?.1.trim_end_matches('/');
        Some(path.rsplit_once('/')?.1.to_lowercase())
    };
    let (a, b) = (file(a), file(b));
    a.is_none() || a != b
}

/// Returns true if the document differs in a few short places only, and its words replace others of the kept document
/// in half of these places, or in all of them if the text is long: one page has "in red" where the other has "in blue".
/// Text that the kept document has in other places does not matter. Numbers are left to [`numbers_or_names_differ`].
fn words_replaced(document: &SplitText, kept: &SplitText, loss: &Loss) -> bool {
    if loss.longest > FACT_LETTERS || loss.runs as usize > REPLACED_PLACES {
        return false;
    }
    let has_word = |place: &Range<usize>| {
        let words = &document.words()[place.clone()];
        words.iter().any(|word| !has_digit(document.spelled(word)))
    };
    let (mut places, mut replaced) = (0_usize, 0_usize);
    for (place, instead) in loss.counterparts(document, kept).filter(|(place, _)| has_word(place)) {
        places += 1;
        replaced += usize::from(instead.is_some_and(|instead| is_replaced(document, place, kept, instead)));
    }
    let replaced_min = if loss.letters < SHORT_LETTERS { places.div_ceil(2) } else { places };
    replaced >= replaced_min.max(1)
}

/// Returns true if a place and the kept document's place have about as many words or letters, and each has a word that
/// the other lacks.
fn is_replaced(
    document: &SplitText,
    place: &Range<usize>,
    kept: &SplitText,
    kept_place: &Range<usize>,
) -> bool {
    let [ours, theirs] = [(document, place), (kept, kept_place)].map(|(text, place)| {
        let words = &text.words()[place.clone()];
        let without_digits = |word: &&Word| !has_digit(text.spelled(word));
        let hashes: HashedSet = words.iter().filter(without_digits).map(|word| word.hash).collect();
        (words.len(), letters_of(words), hashes)
    });
    let is_about_as_long =
        ours.0 == theirs.0 || ours.1.min(theirs.1) * 100 >= ours.1.max(theirs.1) * REPLACED_BY;
    is_about_as_long && !ours.2.is_subset(&theirs.2) && !theirs.2.is_subset(&ours.2)
}

/// Returns the number of facts of one text that replace facts of the other. Both are in ascending order. Further facts
/// of either text were added or left out, and are part of the [`Loss`].
fn replaced(a: &[u64], b: &[u64]) -> usize {
    let only = |a: &[u64], b: &[u64]| a.iter().filter(|fact| b.binary_search(fact).is_err()).count();
    only(a, b).min(only(b, a))
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

fn is_name(word: &str, hash: u64) -> bool {
    word.chars().nth(NAME_CHARS_MIN - 1).is_some() && !has_digit(word) && !is_common(hash)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::keep::verify::words::tests::{MARKET, RIVER, split};

    fn differ(a: &str, b: &str, urls: [&str; 2]) -> bool {
        let [document, kept] = [(urls[0], a), (urls[1], b)].map(|(url, text)| split(url, text));
        facts_differ(&document, &kept, &Loss::between(&document, &kept))
    }

    /// The naive twin of [`names_replaced`]: compares all names of both texts.
    fn naive(a: &SplitText, b: &SplitText) -> usize {
        let names = |text: &SplitText| -> BTreeSet<String> {
            let names = text.words().iter().filter(|word| is_name(text.spelled(word), word.hash));
            names.map(|word| text.spelled(word).to_owned()).collect()
        };
        let [a, b] = [a, b].map(names);
        a.difference(&b).count().min(b.difference(&a).count())
    }

    proptest! {
        #[test]
        fn replaced_names_are_those_of_a_naive_comparison(
            a in "(gcom[a-e]|gpat[a-e]|the|of|[1-3]|河|[ .,]){0,60}",
            b in "(gcom[a-e]|gpat[a-e]|the|of|[1-3]|河|[ .,]){0,60}",
            at in 0_usize..60,
        ) {
            let cut: String = a.chars().skip(at).collect();
            for (text, kept) in [(&a, &b), (&a, &cut), (&format!("{cut}{b}"), &a)] {
                let [text, kept] = [text, kept].map(|text| split("", text));
                let found = names_replaced(&text, &kept, &Loss::between(&text, &kept));
                prop_assert_eq!(found, naive(&text, &kept));
            }
        }
    }

    #[test]
    fn facts_count_unless_the_documents_are_one_page() {
        let release = |version: &str| format!("release {version} of the editor {RIVER}");
        let (old, new) = (release("4.2.15"), release("4.2.16"));
        for (urls, expected) in [
            (["https://a.example/notes/4-2-15", "https://a.example/notes/4-2-16"], true),
            (["https://a.example/notes/now", "https://b.example/latest"], true),
            (["", ""], true),
            (["https://a.example/notes/now", "https://a.example/notes/now"], false),
        ] {
            assert_eq!(differ(&old, &new, urls), expected, "{urls:?}");
            assert!(!differ(&old, &old, urls));
        }
        let long = |version: &str| format!("{}{}", RIVER.repeat(30), release(version));
        let series = ["https://a.example/1", "https://a.example/2"];
        assert!(differ(&long("4.2.15"), &long("4.2.16"), series), "one number among much text of a template");
        // A replaced name counts if it is the only difference of two long pages of one template. A replaced rare word
        // is tolerated only if the texts differ in more places.
        assert!(differ(&long("gcomm"), &long("gpathchk"), series), "a name in the only place that differs");
        let edited =
            |name: &str, words: [&str; 2]| format!("{} {} {RIVER}{} {RIVER}", long(name), words[0], words[1]);
        let [one, other] =
            [edited("gcomm", ["early in the cold morning", "late"]), edited("gpathchk", ["", "never"])];
        assert!(!differ(&one, &other, series), "a rare word of a long text that was edited");
        let sites = ["https://a.example/1", "https://b.example/2"];
        assert!(!differ(&long("4.2.15"), &long("4.2.16"), sites), "a long text that was taken over");
        let edited = new.replace("release", &MARKET[..80]);
        assert!(!differ(&edited, &old, sites), "an edited copy");
        let shorter = old.replace("4.2.15", "");
        assert!(!differ(&shorter, &old, series), "what is left out replaces nothing");
        assert!(differ("the driver gcomm of linux", "the driver gpathchk of linux", series), "a name");
    }

    /// Pages of a shop or a forecast that differ in everyday words only, such as "red" and "blue", are both kept.
    #[test]
    fn everyday_words_in_the_same_places_are_facts_of_a_series() {
        let page = |words: [&str; 2]| {
            format!(
                "{MARKET}this chair comes in {} and in wood. {RIVER}on {} it will rain. {MARKET}",
                words[0], words[1]
            )
        };
        let red = page(["red", "monday"]);
        let series = ["https://a.example/chair/1", "https://a.example/chair/2"];
        assert!(differ(&page(["blue", "monday"]), &red, series));
        assert!(differ(&page(["blue", "sunday"]), &red, series));
        for urls in [["", ""], ["document:a/b.jsonl#1", "document:a/b.jsonl#2"]] {
            assert!(differ(&page(["blue", "monday"]), &red, urls), "no addresses");
        }
        assert!(!differ(&page(["red and blue", "monday"]), &red, series), "a word was added");
        assert!(!differ(&page(["", "monday"]), &red, series), "a word was left out");
        let heron =
            "a grey heron stood in the reeds and waited for fishing boats to come back from the open sea. ";
        let longer = page(["blue", "monday"]).replace(RIVER, &format!("{RIVER}{heron}"));
        assert!(differ(&red, &longer, series), "the kept page has more text");
        assert!(!differ(&longer, &red, series), "text of its own is no replaced word");
        let days = |days: [&str; 2]| format!("{MARKET}from {} {RIVER}until {} {MARKET}", days[0], days[1]);
        assert!(
            differ(&days(["monday", "friday"]), &days(["friday", "monday"]), series),
            "words change places"
        );
        let reworded =
            red.replace("and in wood", "which was made by hand out of very old wood from the mountains");
        assert!(!differ(&reworded, &red, series), "a sentence was rewritten");
        assert!(
            !differ(&page(["blue", "monday"]), &red, ["https://a.example/1", "https://b.example/2"]),
            "another site"
        );
        let versions = ["https://a.example/cn/chair.1", "https://a.example/tw/chair.1"];
        assert!(!differ(&page(["blue", "monday"]), &red, versions), "two versions of one file");
        let chinese =
            |day: char| format!("这款椅子用木头制成。{RIVER}本店星期{day}营业，欢迎光临，谢谢惠顾。");
        assert!(differ(&chinese('三'), &chinese('五'), series));
    }

    /// Pages of one template on many sites are kept even if they differ only in their first or last words.
    #[test]
    fn words_within_a_phrase_count_at_either_end() {
        let count = |first: &str, last: &str| {
            let page = |first: &str, last: &str| format!("{first}{RIVER}{MARKET}we sell {last}");
            let document = split("https://b.example/1", &page(first, last));
            let kept = split("https://a.example/1", &page("ashford ", "soup to all of our guests."));
            fillings(&document, &kept, &Loss::between(&document, &kept)).len()
        };
        assert_eq!(count("marlow ", "soup to all of our guests."), 1, "the first word");
        assert_eq!(count("ashford ", "bread to all of our guests."), 1, "one of the last words");
        for credit in ["marlow. ", "marlow: ", "marlow (ap) - ", "by marlow\n"] {
            assert_eq!(count(credit, "soup to all of our guests."), 0, "{credit}");
        }
        assert_eq!(count("ashford ", "soup to all of our guests. by marlow."), 0);
    }

    /// Two pages of a template on two sites are each about a thing of their own, which they name in several places.
    #[test]
    fn a_replaced_subject_is_a_fact_on_other_sites() {
        let sites = ["https://a.example/1", "https://b.example/2"];
        let page = |thing: &str, more: &str| {
            format!(
                "how to clean a {thing}. {RIVER}put the {thing} on a table. {MARKET}{}{more}",
                RIVER.repeat(20)
            )
        };
        assert!(differ(&page("red chair", ""), &page("bench", ""), sites));
        assert!(differ(&page("red chair", "edited by me"), &page("bench", MARKET), sites), "and other text");
        let some = page("bench", "").replacen("bench", "red chair", 1);
        assert!(!differ(&some, &page("bench", ""), sites), "one place of two");
        assert!(!differ(&page("red chair", "a bench"), &page("bench", ""), sites), "both have the word");
        let verse = |word: &str| {
            format!("{word}日照香炉生紫烟，遥看瀑布挂前川。{RIVER}飞流直下三千尺{word}疑是银河落九天。")
        };
        assert!(!differ(&verse("馀"), &verse("余"), sites), "another edition");
        assert!(differ(&verse("庐山"), &verse("长江"), sites));
        let named = ["https://a.example/1", "https://soup.example/2"];
        assert!(!differ(&page("soup", ""), &page("bench", ""), [named[1], named[0]]), "the name of the site");
    }

    /// A replaced everyday word counts, even if one of the two words is much longer than the other.
    #[test]
    fn a_replaced_word_may_be_longer() {
        let page = |word: &str| format!("{RIVER}the shop is open on {word} from early in the day. {MARKET}");
        let series = ["https://a.example/shop/1", "https://a.example/shop/2"];
        assert!(differ(&page("wednesday"), &page("may"), series));
        assert!(!differ(&page("wednesday and also thursday"), &page("may"), series), "more was added");
    }

    #[test]
    fn words_in_the_places_of_a_template_are_found_on_other_sites() {
        let page = |hours: &str, credit: &str| {
            format!("{credit}{RIVER}the shop is open every {hours} from early in the day. {MARKET}{credit}")
        };
        let words = |hours: &str, credit: &str, site: &str| {
            let kept_credit = if credit.is_empty() { "" } else { "by the mother\n" };
            let document = split(&format!("https://{site}.example/hours"), &page(hours, credit));
            let kept = split("https://a.example/hours", &page("monday", kept_credit));
            fillings(&document, &kept, &Loss::between(&document, &kept))
        };
        let [friday, sunday] = [words("friday", "", "b"), words("sunday", "", "c")];
        assert_eq!((friday.len(), sunday.len(), &friday[0].place), (1, 1, &sunday[0].place), "one place");
        assert_ne!(friday[0].words, sunday[0].words);
        assert_eq!(words("holidays and weekdays", "", "b").len(), 1, "longer than the word that it replaces");
        assert_eq!(words("monday in spring", "", "b"), [], "added");
        assert_eq!(words("friday", "", "my-friday"), [], "the name of the site");
        assert_eq!(words("monday", "", "b"), []);
        let credits = words("friday", "by our father\n", "b");
        assert_eq!((credits.len(), credits[0].words), (1, friday[0].words), "credits do not count");
        assert_eq!(words("friday", "by our father\n", "b.a").len(), 3, "on one site they do");
    }
}
