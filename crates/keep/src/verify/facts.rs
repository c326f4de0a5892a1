//! Decides whether two texts that are nearly the same say different things: they are pages of a series, and no versions
//! of one text.
//!
//! In: a document, a kept one, and the text that is lost with the document. Out: a difference that shows it. In a
//! series, facts are replaced and hardly anything else. An editor also adds, leaves out and rewords. So facts
//! decide if there are at least as many of them as [edits](Kind). The addresses say how much is needed ([`Relation`]).
//! Also the words by which pages of a template are recognised after all documents of the cluster were compared. Cost:
//! linear in both texts.

use leitong_base::hashed::HashedMap;
use leitong_text::page::Address;

use super::differences::{Difference, Kind, differences};
use super::loss::Loss;
use super::slots::Filling;
use super::words::{SplitText, have_letters};

/// Number of letters of a text for each fact that may be replaced by a correction.
const LETTERS_A_CORRECTION: u32 = 5_000;
/// Minimum number of letters of a word that names what a page is about: a single ideograph is a variant of another one.
const SUBJECT_LETTERS: u32 = 4;

/// The relation of two near-duplicates by their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The two are one page, moved or fetched again: its facts may have changed.
    OnePage,
    /// The two may be pages of a series: they are on one site, or an address is not known.
    Series,
    /// One is most likely another version of the other: the same file in two folders of a site.
    Versions,
    /// One is most likely a copy of the other: they are on different sites.
    Copies,
}

impl Relation {
    /// Returns the relation of the pages at two urls, which may be empty.
    pub(super) fn for_urls(a: &str, b: &str) -> Self {
        let [from_a, from_b] = [a, b].map(Address::from_url);
        let is_one_site = from_a.site == from_b.site;
        if from_a.site.is_empty() || from_b.site.is_empty() {
            Self::Series
        } else if from_a.name == from_b.name {
            Self::OnePage
        } else if !is_one_site {
            Self::Copies
        } else if file(a) == file(b) {
            Self::Versions
        } else {
            Self::Series
        }
    }
}

/// Returns the last part of the path of a url, with the query.
fn file(url: &str) -> &str {
    let url = url.split('#').next().unwrap_or_default();
    let address = url.split_once("://").map_or(url, |(_, address)| address);
    let path = address.split_once('/').map_or("", |(_, path)| path.trim_end_matches('/'));
    path.rsplit_once('/').map_or(path, |(_, file)| file)
}

/// Returns true if documents at these urls may be one page that was moved or fetched again.
#[must_use]
pub(super) fn may_be_one_page(a: &str, b: &str) -> bool {
    Relation::for_urls(a, b) == Relation::OnePage
}

/// Returns a difference by which the documents are pages of a series. `loss` is the text that is lost with the document.
#[must_use]
pub(super) fn replaced_fact(document: &SplitText, kept: &SplitText, loss: &Loss) -> Option<Difference> {
    let relation = Relation::for_urls(document.url(), kept.url());
    if relation == Relation::OnePage {
        return None;
    }
    let all = differences(document, kept, loss, relation);
    let count =
        |is: &dyn Fn(Kind) -> bool| all.iter().filter(|other| !other.is_credit && is(other.kind)).count();
    // A list of numbers may have another one in another place.
    let numbers = match count(&|kind| kind == Kind::Figure) {
        0 => 0,
        figures => figures.min(replaced(document.numbers(), kept.numbers())),
    };
    let edits = count(&|kind| matches!(kind, Kind::Edit | Kind::Figure | Kind::Wording)) - numbers;
    let is_series = relation == Relation::Series;
    let fact_min = if is_series { Kind::Word } else { Kind::Name };
    let facts = numbers + count(&|kind| kind >= fact_min);
    let is_enough = facts > (loss.letters / LETTERS_A_CORRECTION) as usize
        && if is_series { facts >= edits } else { edits == 0 };
    let subject = || (relation == Relation::Copies).then(|| replaced_subject(document, &all)).flatten();
    let first = |kind_min| all.iter().position(|other| !other.is_credit && other.kind >= kind_min);
    let shown = if is_enough { first(fact_min).or_else(|| first(Kind::Figure)) } else { subject() };
    all.into_iter().nth(shown?)
}

/// Returns the number of a difference that is half of all and occurs in several places: the same word instead of the same
/// other one, and neither is anywhere in the other text. Each of the documents is then about a thing of its own. An
/// editor replaces words here and there.
fn replaced_subject(document: &SplitText, all: &[Difference]) -> Option<usize> {
    let has_length =
        |other: &Difference| have_letters(&document.words()[other.ours.clone()], SUBJECT_LETTERS);
    let others = all.iter().filter(|other| other.kind != Kind::Nothing).count();
    let mut seen: HashedMap<usize> = HashedMap::default();
    all.iter().position(|other| {
        other.are_new && has_length(other) && {
            let places = seen.entry(other.words[0].rotate_left(1) ^ other.words[1]).or_default();
            *places += 1;
            *places > 1 && *places * 2 >= others
        }
    })
}

/// Returns the words of the document in the places where the first kept document of its cluster has other words. If a
/// template has these places, the words are facts. None if more was added than replaced.
#[must_use]
pub(super) fn fillings(document: &SplitText, kept: &SplitText, loss: &Loss) -> Vec<Filling> {
    let relation = Relation::for_urls(document.url(), kept.url());
    if relation == Relation::OnePage {
        return Vec::new();
    }
    let mut all = differences(document, kept, loss, relation);
    all.retain(|other| other.kind != Kind::Nothing && !other.is_credit);
    let places = all.len();
    all.retain(|other| other.kind >= Kind::Wording);
    if places > 2 * all.len() {
        return Vec::new();
    }
    let filling = |Difference { theirs, words, .. }| Filling {
        place: theirs.start as u32..theirs.end as u32,
        words: words[0],
    };
    all.into_iter().map(filling).collect()
}

/// Returns the first difference that is more than letters joined in another way.
#[must_use]
pub(super) fn first_difference(document: &SplitText, kept: &SplitText, loss: &Loss) -> Option<Difference> {
    let relation = Relation::for_urls(document.url(), kept.url());
    let all = differences(document, kept, loss, relation);
    all.into_iter().find(|other| other.kind >= Kind::Wording && !other.is_credit)
}

/// Returns the number of numbers of one text that replace numbers of the other. Both are in ascending order. Further
/// numbers of either text were added or left out.
fn replaced(a: &[u64], b: &[u64]) -> usize {
    let only = |a: &[u64], b: &[u64]| a.iter().filter(|fact| b.binary_search(fact).is_err()).count();
    only(a, b).min(only(b, a))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::verify::words::tests::{MARKET, RIVER, split};

    const SERIES: [&str; 2] = ["https://a.example/notes/1", "https://a.example/notes/2"];
    const SITES: [&str; 2] = ["https://a.example/1", "https://b.example/2"];
    const NO_URLS: [&str; 2] = ["", ""];

    fn differ(a: &str, b: &str, urls: [&str; 2]) -> bool {
        let [document, kept] = [(urls[0], a), (urls[1], b)].map(|(url, text)| split(url, text));
        replaced_fact(&document, &kept, &Loss::between(&document, &kept)).is_some()
    }

    #[test]
    fn facts_count_unless_the_documents_are_one_page() {
        let release = |version: &str| format!("release {version} of the editor {RIVER}");
        let (old, new) = (release("4.2.15"), release("4.2.16"));
        let one_page = ["https://a.example/notes/now", "https://a.example/notes/now"];
        for (urls, expected) in [(SERIES, true), (SITES, true), (NO_URLS, true), (one_page, false)] {
            assert_eq!(differ(&old, &new, urls), expected, "{urls:?}");
            assert!(!differ(&old, &old, urls));
            let shorter = old.replace("4.2.15", "");
            assert!(!differ(&shorter, &old, urls), "what is left out replaces nothing");
        }
        let long = |version: &str| format!("{}{}", RIVER.repeat(30), release(version));
        assert!(differ(&long("4.2.15"), &long("4.2.16"), SERIES), "one number among much text of a template");
        let longer = |version: &str| format!("{}{}", RIVER.repeat(70), release(version));
        assert!(!differ(&longer("4.2.15"), &longer("4.2.16"), SERIES), "a correction");
        let edited = new.replace("release", &MARKET[..80]);
        assert!(!differ(&edited, &old, SITES), "an edited copy");
        let list = |number: &str| format!("{RIVER}cve-1-8404, cve-1-8405 {MARKET} and {number} {RIVER}");
        let other = list("cve-1-8411").replace("8404", "8404, cve-1-8406");
        assert!(differ(&other, &list("cve-1-8407"), NO_URLS), "another number in a list");
    }

    /// Editors replace words as well, and add others.
    #[test]
    fn facts_decide_if_there_are_as_many_of_them_as_edits() {
        let page = |name: &str, edits: [&str; 2]| {
            format!("{RIVER}it is {name} who came. {MARKET}{}{RIVER}there was {}a boat.", edits[0], edits[1])
        };
        let kept = page("gcomm", ["", ""]);
        assert!(differ(&page("gpathchk", ["", ""]), &kept, NO_URLS));
        assert!(differ(&page("gpathchk", ["so they say ", ""]), &kept, NO_URLS));
        assert!(!differ(&page("gpathchk", ["so they say ", "never such "]), &kept, NO_URLS));
        assert!(!differ(&page("gpathchk", ["so they say ", ""]), &kept, SITES));
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
        let rows = ["document:a/b.jsonl#1", "document:a/b.jsonl#2"];
        for urls in [SERIES, NO_URLS, rows] {
            assert!(differ(&page(["blue", "monday"]), &red, urls), "{urls:?}");
            assert!(differ(&page(["blue", "sunday"]), &red, urls), "{urls:?}");
        }
        assert!(!differ(&page(["red and blue", "monday"]), &red, SERIES), "a word was added");
        assert!(!differ(&page(["", "monday"]), &red, SERIES), "a word was left out");
        let heron =
            "a grey heron stood in the reeds and waited for fishing boats to come back from the open sea. ";
        let longer = page(["blue", "monday"]).replace(RIVER, &format!("{RIVER}{heron}"));
        assert!(differ(&red, &longer, SERIES), "the kept page has more text");
        let days = |days: [&str; 2]| format!("{MARKET}from {} {RIVER}until {} {MARKET}", days[0], days[1]);
        assert!(
            differ(&days(["monday", "friday"]), &days(["friday", "monday"]), SERIES),
            "words change places"
        );
        let reworded =
            red.replace("and in wood", "which was made by hand out of very old wood from the mountains");
        assert!(!differ(&reworded, &red, SERIES), "a sentence was rewritten");
        let versions = ["https://a.example/cn/chair.1", "https://a.example/tw/chair.1"];
        for urls in [SITES, versions] {
            assert!(!differ(&page(["blue", "monday"]), &red, urls), "{urls:?}");
        }
    }

    #[test]
    fn one_name_in_two_folders_of_a_site_is_not_one_page() {
        let class = |folder: &str| format!("https://a.example/{folder}/errors/RetriableException.html");
        assert!(!may_be_one_page(&class("common"), &class("connect")));
        assert!(may_be_one_page(&class("common"), &class("common")));
        assert!(!may_be_one_page(&class("common"), &class("common").replace("a.example", "b.example")));
        let moved = |folder: &str| format!("https://a.example/{folder}/how-prices-at-the-market-rose");
        assert!(may_be_one_page(&moved("drafts"), &moved("published")), "a title");
        assert!(
            may_be_one_page(&moved("drafts"), &moved("drafts").replace("a.example", "b.example")),
            "a title"
        );
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
        let page = |thing: &str, more: &str| {
            format!(
                "how to clean a {thing}. {RIVER}put the {thing} on a table. {MARKET}{}{more}",
                RIVER.repeat(20)
            )
        };
        assert!(differ(&page("red chair", ""), &page("bench", ""), SITES));
        assert!(differ(&page("red chair", "edited by me"), &page("bench", MARKET), SITES), "and other text");
        let some = page("bench", "").replacen("bench", "red chair", 1);
        assert!(!differ(&some, &page("bench", ""), SITES), "one place of two");
        let verse = |word: &str| {
            format!("{word}日照香炉生紫烟，遥看瀑布挂前川。{RIVER}飞流直下三千尺{word}疑是银河落九天。")
        };
        assert!(!differ(&verse("馀"), &verse("余"), SITES), "another edition");
        assert!(differ(&verse("庐山"), &verse("长江"), SITES));
        let named = ["https://a.example/1", "https://soup.example/2"];
        assert!(!differ(&page("soup", ""), &page("bench", ""), [named[1], named[0]]), "the name of the site");
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
    }

    proptest! {
        /// A document has no fact that its equal lacks, and no text breaks the comparison.
        #[test]
        fn equal_texts_never_differ(
            a in "(gcom[a-e]|gpat[a-e]|the|of|[1-3]|河|三|://|[ .,]){0,60}",
            b in "(gcom[a-e]|gpat[a-e]|the|of|[1-3]|河|三|://|[ .,]){0,60}",
        ) {
            prop_assert!(!differ(&a, &a, NO_URLS));
            for urls in [NO_URLS, SERIES, SITES] {
                differ(&a, &b, urls);
            }
        }
    }
}
