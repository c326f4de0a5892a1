//! Decides whether two texts that are nearly the same say different things: they are pages of a series, and no versions
//! of one text.
//!
//! In a series, facts are replaced and hardly anything else. An editor also adds, leaves out and rewords. So facts
//! decide if there are at least as many of them as [edits](Kind). The addresses say how much is needed ([`Relation`]).
//! Also the words by which pages of a template are recognised after all documents of the cluster were compared. Cost:
//! linear in both texts.

use leitong_text::page::Address;

use super::differences::{Difference, Kind, differences};
use super::loss::Loss;
use super::slots::Filling;
use super::words::SplitText;
use super::{Compared, LostMax, shortened};

/// Number of letters of a text for each fact that may be replaced by a correction.
const LETTERS_A_CORRECTION: u32 = 2_000;

/// The relation of two near-duplicates by their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// The two are one page, moved or fetched again: its facts may have changed.
    OnePage,
    /// The two may be pages of a series: they are on one site, or an address is not known.
    Series,
    /// One is most likely a copy or another version of the other: they are on different sites, or the same file in two
    /// folders of a site.
    Copies,
}

impl Relation {
    /// Returns the relation of the pages at two urls, which may be empty.
    pub(super) fn for_urls(a: &str, b: &str) -> Self {
        let [from_a, from_b] = [a, b].map(Address::from_url);
        if from_a.site.is_empty() || from_b.site.is_empty() {
            Self::Series
        } else if from_a.name == from_b.name {
            Self::OnePage
        } else if from_a.site != from_b.site || file(a) == file(b) {
            Self::Copies
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

/// A document compared with a kept one.
pub(super) struct Comparison<'a> {
    /// The document and the kept one.
    pub(super) texts: [&'a SplitText; 2],
    relation: Relation,
    /// The text that is lost if the document is dropped.
    pub(super) loss: Loss,
    differences: Vec<Difference>,
}

impl<'a> Comparison<'a> {
    /// Compares a document with a kept one.
    #[must_use]
    pub(super) fn new(document: &'a SplitText, kept: &'a SplitText) -> Self {
        let loss = Loss::between(document, kept);
        let relation = Relation::for_urls(document.url(), kept.url());
        // The facts of a page may change.
        let differences =
            if relation == Relation::OnePage { Vec::new() } else { differences(document, kept, &loss) };
        Self { texts: [document, kept], relation, loss, differences }
    }

    /// Returns the hashes of the document's [own passages](Loss::own_passages); none if the documents are one page.
    #[must_use]
    pub(super) fn own_passages(&self, letters_min: u32) -> Vec<u64> {
        match self.relation {
            Relation::OnePage => Vec::new(),
            _ => self.loss.own_passages(self.texts[0], self.texts[1], letters_min),
        }
    }

    /// Returns a difference by which the documents are pages of a series.
    #[must_use]
    pub(super) fn replaced_fact(&self) -> Option<&Difference> {
        let is_series = self.relation == Relation::Series;
        let fact_min = if is_series { Kind::Word } else { Kind::Name };
        let count =
            |is: &dyn Fn(Kind) -> bool| self.differences.iter().filter(|other| is(other.kind)).count();
        let edits = count(&|kind| matches!(kind, Kind::Edit | Kind::Wording));
        let facts = count(&|kind| kind >= fact_min);
        let is_enough = facts > (self.loss.letters / LETTERS_A_CORRECTION) as usize
            && if is_series { facts >= edits } else { edits == 0 };
        if is_enough { self.differences.iter().find(|other| other.kind >= fact_min) } else { None }
    }

    /// Returns the words of the document in the places where the kept document has others, which is the first one of its
    /// cluster. If a template has these places, the words are facts.
    #[must_use]
    pub(super) fn fillings(&self) -> Vec<Filling> {
        let differences = self.differences.iter().filter(|other| other.kind != Kind::Nothing);
        let filling = |Difference { kind, place, words }: &Difference| Filling {
            place: place.theirs.start as u32..place.theirs.end as u32,
            words: *words,
            replaces: *kind >= Kind::Wording,
        };
        differences.map(filling).collect()
    }

    /// Returns how the document differs from the kept one, which is the first one of its cluster.
    #[must_use]
    pub(super) fn compared(&self) -> Compared {
        let replaced = self.differences.iter().find(|other| other.kind >= Kind::Wording);
        Compared {
            fillings: self.fillings(),
            replaced: replaced.map(|difference| self.shown(difference)),
            kept_url: self.texts[1].known_url(),
        }
    }

    /// Returns true if no more text is lost than is allowed, apart from own passages.
    #[must_use]
    pub(super) fn allows(&self, lost_max: LostMax) -> bool {
        let is_one_page = self.relation == Relation::OnePage;
        if is_one_page { lost_max.allows_version(&self.loss) } else { lost_max.allows(&self.loss) }
    }

    /// Returns what the document and the kept one have instead of one another, with the words around it.
    #[must_use]
    pub(super) fn shown(&self, Difference { place, .. }: &Difference) -> String {
        let [document, kept] = self.texts;
        [document.around(&place.ours), kept.around(&place.theirs)].map(shortened).join(" | ")
    }
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
        Comparison::new(&document, &kept).replaced_fact().is_some()
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
        let long = |version: &str, times: usize| format!("{}{}", RIVER.repeat(times), release(version));
        assert!(
            differ(&long("4.2.15", 12), &long("4.2.16", 12), SERIES),
            "one number among much text of a template"
        );
        assert!(!differ(&long("4.2.15", 30), &long("4.2.16", 30), SERIES), "a correction");
        let edited = new.replace("release", &MARKET[..80]);
        assert!(!differ(&edited, &old, SITES), "an edited copy");
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
        let longer = page(["blue", "monday"]).replace(RIVER, &format!("{RIVER}{}", &MARKET[..80]));
        assert!(differ(&red, &longer, SERIES), "the kept page has more text");
        let reworded =
            red.replace("and in wood", "which was made by hand out of very old wood from the mountains");
        assert!(!differ(&reworded, &red, SERIES), "a sentence was rewritten");
        let versions = ["https://a.example/cn/chair.1", "https://a.example/tw/chair.1"];
        for urls in [SITES, versions] {
            assert!(!differ(&page(["blue", "monday"]), &red, urls), "{urls:?}");
        }
    }

    #[test]
    fn one_name_in_two_folders_of_a_site_is_one_page_only_if_it_is_a_title() {
        let class = |folder: &str| format!("https://a.example/{folder}/errors/RetriableException.html");
        let moved = |folder: &str| format!("https://a.example/{folder}/how-prices-at-the-market-rose");
        let elsewhere = |url: String| url.replace("a.example", "b.example");
        for (a, b, expected) in [
            (class("common"), class("common"), Relation::OnePage),
            (class("common"), class("connect"), Relation::Copies),
            (class("common"), elsewhere(class("common")), Relation::Copies),
            (moved("drafts"), moved("published"), Relation::OnePage),
            (moved("drafts"), elsewhere(moved("drafts")), Relation::OnePage),
        ] {
            assert_eq!(Relation::for_urls(&a, &b), expected, "{a} {b}");
        }
    }

    #[test]
    fn the_places_of_a_template_are_the_same_in_all_its_pages() {
        let words = |hours: &str| {
            let page = |hours: &str| {
                format!("{RIVER}the shop is open every {hours} from early in the day. {MARKET}")
            };
            let document = split("https://b.example/hours", &page(hours));
            let kept = split("https://my-shop.example/hours", &page("monday"));
            Comparison::new(&document, &kept).fillings()
        };
        let [friday, sunday] = [words("friday"), words("sunday")];
        assert_eq!((friday.len(), sunday.len(), &friday[0].place), (1, 1, &sunday[0].place), "one place");
        assert!(friday[0].words != sunday[0].words && friday[0].replaces);
        assert!(words("holidays and weekdays")[0].replaces, "longer than the word that it replaces");
        assert!(!words("monday in spring")[0].replaces, "added");
        assert_eq!(words("monday"), []);
    }

    proptest! {
        /// A document has no fact that its equal lacks, and no text breaks the comparison.
        #[test]
        fn equal_texts_never_differ(
            a in "(gcom[a-e]|gpat[a-e]|the|of|[1-3]|河|三|://|[ .,-]){0,60}",
            b in "(gcom[a-e]|gpat[a-e]|the|of|[1-3]|河|三|://|[ .,-]){0,60}",
        ) {
            prop_assert!(!differ(&a, &a, NO_URLS));
            for urls in [NO_URLS, SERIES, SITES] {
                differ(&a, &b, urls);
            }
        }
    }
}
