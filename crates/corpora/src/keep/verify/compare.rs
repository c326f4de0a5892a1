//! Compares two texts exactly: which passages of one the other lacks, and how many of its facts it replaces.
//!
//! Both texts are normalised: lower case, one width and one Chinese script. They are split into *words*, of
//! which an ideograph is one. Text counts as common if it is part of a *run* of at least [`RUN_LETTERS`]
//! letters that both texts have. The passages of one text between common runs are lost. So a sentence that
//! moved is not lost, and if a word was replaced, only that word is lost.
//! Cost: linear in both texts.

use std::collections::HashSet;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use leitong_base::hashed::HashedMap;
use leitong_fingerprint::idf::is_common;
use leitong_fingerprint::{is_unit, words_with_digits};
use leitong_text::page::Address;

/// Minimum number of letters in a run that two texts have in common: five ideographs, or about three words.
const RUN_LETTERS: u32 = 15;
/// Number of letters that an ideograph counts for.
const IDEOGRAPH_LETTERS: u32 = 3;
/// Minimum number of letters of a passage. Shorter differences are a matter of wording.
pub(crate) const PASSAGE_LETTERS: u32 = 100;
/// Minimum number of characters of a name.
const NAME_CHARS_MIN: usize = 3;
/// Number of letters below which a text is short. Each fact of a short text matters.
const SHORT_LETTERS: u32 = 2_000;
/// Maximum number of letters of a stretch of text in which two texts differ only by a fact: the fact and the
/// words around it.
const FACT_LETTERS: u32 = 60;
/// Number of letters for each number of a text that may be replaced.
const LETTERS_A_NUMBER: u32 = 5_000;
/// Number of names of a long text that may be replaced: rare words count as names.
const NAMES_OF_LONG: usize = 1;
/// Divisor for the share of a long text's names that may be replaced.
const NAMES_SHARE: usize = 16;
/// Maximum number of places in which two texts differ if each name counts in a long text as well: pages of a series
/// differ in few places, copies that were edited in more.
const PLACES_OF_A_SERIES: u32 = 2;
/// Maximum number of places in which words of two pages of a series are replaced.
const REPLACED_PLACES: usize = 10;
/// Percentage of the replaced text that the text in its place must have at least.
const REPLACED_BY: u32 = 70;
/// Odd multiplier for hashes: the golden ratio in 64 bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A document's url and normalised text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    /// The url. May be empty.
    pub url: &'a str,
    /// The normalised text.
    pub text: &'a str,
}

/// The words of a text, which are split once for all comparisons.
#[derive(Debug)]
pub(crate) struct Words(Vec<Word>);

impl Words {
    /// Splits a normalised text.
    #[must_use]
    pub(crate) fn new(text: &str) -> Self {
        Self(words(text))
    }
}

/// A text with its words.
type Split<'a> = (&'a str, &'a Words);

/// The text that is lost if a document is deleted and another one is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Number of letters of the document.
    pub letters: u32,
    /// Number of letters in its lost passages of at least [`PASSAGE_LETTERS`] letters.
    pub lost: u32,
    /// Number of letters in the longest run of lost text, however short it is.
    pub longest: u32,
    /// Number of letters in all runs of lost text.
    pub total: u32,
    /// Number of these runs.
    pub runs: u32,
    /// The byte range of the longest run in the text.
    pub passage: Range<usize>,
    /// All runs, as ranges of the document's words.
    pub places: Vec<Range<usize>>,
}

impl Loss {
    /// Returns the share of the document that is in lost passages.
    #[must_use]
    pub(crate) fn share(&self) -> f64 {
        f64::from(self.lost) / f64::from(self.letters.max(1))
    }

    /// Returns true if nearly all lost text, at least nine letters in ten, is in one run. A passage was then added to
    /// a text that is otherwise the same.
    #[must_use]
    pub(crate) fn is_one_passage(&self) -> bool {
        self.total > 0 && u64::from(self.longest) * 10 >= u64::from(self.total) * 9
    }

    /// Returns true if no run has more than half of the lost text, as in a revised text.
    #[must_use]
    pub(crate) fn is_spread(&self) -> bool {
        self.longest <= self.total / 2
    }

    fn add(&mut self, words: &[Word]) {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
        let letters = letters_of(words);
        self.total += letters;
        self.runs += 1;
        if letters >= PASSAGE_LETTERS {
            self.lost += letters;
        }
        if letters > self.longest {
            self.longest = letters;
            self.passage = first.start as usize..last.end as usize;
        }
    }
}

/// A word, or an ideograph.
#[derive(Debug, Clone, Copy)]
struct Word {
    start: u32,
    end: u32,
    letters: u32,
    hash: u64,
}

impl Word {
    fn slice(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }
}

/// Returns the text that is lost if the document with the text `text` is deleted and the one with the text
/// `kept` is not.
#[must_use]
pub(crate) fn loss(text: Split<'_>, kept: Split<'_>) -> Loss {
    let words = &text.1.0;
    let mut loss = Loss { letters: letters_of(words), ..Loss::default() };
    let places = gaps(text, kept);
    places.iter().for_each(|place| loss.add(&words[place.clone()]));
    Loss { places, ..loss }
}

/// Returns the places of a text between the runs that the other text has as well, as ranges of its words.
fn gaps((text, Words(words)): Split<'_>, (other_text, Words(others)): Split<'_>) -> Vec<Range<usize>> {
    let is_same = |a: &Word, b: &Word| a.hash == b.hash && a.slice(text) == b.slice(other_text);
    // Most of two near-duplicates is the same at both ends, and needs no search.
    let ahead = words.iter().zip(others).take_while(|(a, b)| is_same(a, b)).count();
    let left = words.len().min(others.len()) - ahead;
    let behind =
        words.iter().rev().zip(others.iter().rev()).take(left).take_while(|(a, b)| is_same(a, b)).count();
    let is_common = |run: &Range<usize>| run.end <= ahead || run.start >= words.len() - behind;
    // The other text's first run for each hash that is searched for.
    let mut found: HashedMap<Option<u32>> = HashedMap::default();
    for_each_run(words, |run, hash| {
        if !is_common(&run) {
            found.insert(hash, None);
        }
    });
    if !found.is_empty() {
        for_each_run(others, |run, hash| {
            if let Some(start) = found.get_mut(&hash) {
                start.get_or_insert(run.start as u32);
            }
        });
    }
    // The hash finds a run, and the letters decide.
    let is_found = |run: &Range<usize>, hash: u64| {
        let Some(Some(start)) = found.get(&hash) else { return false };
        let there = others.get(*start as usize..*start as usize + run.len()).unwrap_or_default();
        there.len() == run.len() && words[run.clone()].iter().zip(there).all(|(a, b)| is_same(a, b))
    };
    let mut gaps = Vec::new();
    let mut common_until = 0;
    for_each_run(words, |run, hash| {
        if is_common(&run) || is_found(&run, hash) {
            if run.start > common_until {
                gaps.push(common_until..run.start);
            }
            common_until = run.end;
        }
    });
    if common_until < words.len() {
        gaps.push(common_until..words.len());
    }
    gaps
}

fn letters_of(words: &[Word]) -> u32 {
    words.iter().map(|word| word.letters).sum()
}

/// Splits a normalised text into words.
fn words(text: &str) -> Vec<Word> {
    // Offsets beyond 4 GiB do not occur: pages are far smaller.
    let text = text.get(..u32::MAX as usize).unwrap_or(text);
    let mut words = Vec::with_capacity(text.len() / 4);
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let (letters, hash) = if is_unit(c) {
            (IDEOGRAPH_LETTERS, u64::from(c).wrapping_mul(MULTIPLIER))
        } else if c.is_alphanumeric() {
            let mut letters = 1;
            while let Some((at, next)) =
                chars.next_if(|(_, next)| next.is_ascii_alphanumeric() || is_of_a_word(*next))
            {
                end = at + next.len_utf8();
                letters += 1;
            }
            (letters, xxh3_64(&text.as_bytes()[start..end]))
        } else {
            continue;
        };
        words.push(Word { start: start as u32, end: end as u32, letters, hash });
    }
    words
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unit(c)
}

/// Calls `take` with the shortest run that begins at each word, if there is one, and its hash.
fn for_each_run(words: &[Word], mut take: impl FnMut(Range<usize>, u64)) {
    let (mut end, mut letters) = (0, 0);
    for start in 0..words.len() {
        while letters < RUN_LETTERS {
            let Some(word) = words.get(end) else { return };
            letters += word.letters;
            end += 1;
        }
        let hash = words[start..end]
            .iter()
            .fold(0_u64, |hash, word| (hash.rotate_left(5) ^ word.hash).wrapping_mul(MULTIPLIER));
        take(start..end, hash);
        letters -= words[start].letters;
    }
}

/// The facts in which two near-duplicates may differ, depending on their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Facts {
    /// They are one page, moved or fetched again: its facts may have changed.
    MayChange,
    /// They may be two pages of a series. Numbers must be equal, names as well in short texts, and all words if the texts
    /// differ in a few places only.
    Count,
    /// They are on different sites. Facts count in short texts, if nothing else differs. Otherwise one is an edited
    /// copy.
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
pub(crate) fn may_be_one_page(a: &str, b: &str) -> bool {
    Facts::for_urls(a, b) == Facts::MayChange
}

/// Returns true if the document has numbers, versions or names for which the kept one has others, or other words in
/// the same places. They are then probably two pages of a series. `loss` is the result of [`loss`] for them.
#[must_use]
pub(crate) fn facts_differ(
    (document, words): (Side<'_>, &Words),
    (kept, kept_words): (Side<'_>, &Words),
    loss: &Loss,
) -> bool {
    let is_short = loss.letters < SHORT_LETTERS;
    let facts = Facts::for_urls(document.url, kept.url);
    match facts {
        Facts::MayChange => return false,
        Facts::CountAlone if !is_short || loss.longest > FACT_LETTERS => return false,
        Facts::CountAlone | Facts::Count => {}
    }
    let [split, kept_split] = [(document.text, words), (kept.text, kept_words)];
    let [ours, theirs] = [split, kept_split].map(FactsOfText::new);
    // In a long text of a template, a single number tells its pages apart. In a very long one, a figure was corrected.
    let numbers_tolerated = (loss.letters / LETTERS_A_NUMBER) as usize;
    let names_tolerated = match is_short || loss.runs <= PLACES_OF_A_SERIES {
        true => 0,
        false => NAMES_OF_LONG.max(ours.names.len().min(theirs.names.len()) / NAMES_SHARE),
    };
    replaced(&ours.numbers, &theirs.numbers) > numbers_tolerated
        || replaced(&ours.names, &theirs.names) > names_tolerated
        || (facts == Facts::Count
            && have_other_files(document.url, kept.url)
            && words_replaced(split, kept_split, loss))
}

/// Returns true if the last parts of the paths differ, with their queries, or if a url has no path. `/cn/ls.1` and
/// `/tw/ls.1` may be two versions of one page.
fn have_other_files(a: &str, b: &str) -> bool {
    // Documents without a url are called `document:FILE#ROW`.
    let file = |url: &str| {
        let path = url.split('#').next()?.split_once("://")?.1.trim_end_matches('/');
        Some(path.rsplit_once('/')?.1.to_lowercase())
    };
    let (a, b) = (file(a), file(b));
    a.is_none() || a != b
}

/// Returns true if the texts differ in a few short places only, where both have other words, about as many: one page has
/// "in red" where the other has "in blue". Numbers are left to [`FactsOfText`].
fn words_replaced((text, words): Split<'_>, (kept, kept_words): Split<'_>, loss: &Loss) -> bool {
    if loss.longest > FACT_LETTERS || loss.runs as usize > REPLACED_PLACES {
        return false;
    }
    let places = |text: &str, Words(words): &Words, gaps: &[Range<usize>]| {
        let in_gap = |gap: &Range<usize>| letters_of(&words[gap.clone()]);
        let replaced: HashSet<u64> = gaps
            .iter()
            .flat_map(|gap| &words[gap.clone()])
            .filter(|word| !word.slice(text).contains(|c: char| c.is_ascii_digit()))
            .map(|word| word.hash)
            .collect();
        let is_short = gaps.len() <= REPLACED_PLACES && gaps.iter().all(|gap| in_gap(gap) <= FACT_LETTERS);
        (is_short, gaps.iter().map(in_gap).sum::<u32>(), replaced)
    };
    let (_, letters, replaced) = places(text, words, &loss.places);
    let (is_short, kept_letters, replacing) =
        places(kept, kept_words, &gaps((kept, kept_words), (text, words)));
    is_short
        && letters.min(kept_letters) * 100 >= letters.max(kept_letters) * REPLACED_BY
        && !replaced.is_subset(&replacing)
        && !replacing.is_subset(&replaced)
}

/// Returns the number of facts of one text that replace facts of the other. Further facts of either text were added
/// or left out; [`loss`] finds these.
fn replaced(a: &[u64], b: &[u64]) -> usize {
    let only = |a: &[u64], b: &[u64]| a.iter().filter(|fact| b.binary_search(fact).is_err()).count();
    only(a, b).min(only(b, a))
}

/// The facts of a normalised text, as hashes in ascending order.
struct FactsOfText {
    /// Words with digits: numbers, dates, versions.
    numbers: Vec<u64>,
    names: Vec<u64>,
}

impl FactsOfText {
    fn new((text, Words(words)): Split<'_>) -> Self {
        let (mut numbers, mut names) = (Vec::new(), Vec::new());
        words_with_digits(text, |word| numbers.push(xxh3_64(word.as_bytes())));
        names.extend(words.iter().filter(|word| is_name(word.slice(text), word.hash)).map(|word| word.hash));
        for facts in [&mut numbers, &mut names] {
            facts.sort_unstable();
            facts.dedup();
        }
        Self { numbers, names }
    }
}

fn is_name(word: &str, hash: u64) -> bool {
    word.chars().nth(NAME_CHARS_MIN - 1).is_some()
        && !word.contains(|c: char| c.is_ascii_digit())
        && !is_common(hash)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn loss(text: &str, kept: &str) -> Loss {
        super::loss((text, &Words::new(text)), (kept, &Words::new(kept)))
    }

    const RIVER: &str = "the river rose above the second bridge during the night, and the old mill had to be left \
                         by the people who lived there. ";
    const MARKET: &str = "prices at the market went up again after a dry summer, so that farmers sold their apples \
                          for twice as much as in most other years. ";

    #[test]
    fn an_added_passage_is_lost_and_a_moved_one_is_not() {
        let merged = format!("{RIVER}{MARKET}");
        let found = loss(&merged, RIVER);
        assert_eq!(&merged[found.passage.clone()], MARKET.trim_end().trim_end_matches('.'));
        assert_eq!((found.lost, found.longest), (found.longest, loss(MARKET, "").letters));
        assert!((0.4..0.6).contains(&found.share()), "{found:?}");
        assert_eq!(loss(RIVER, &merged).longest, 0, "it is contained");
        assert_eq!(loss(&merged, &format!("{MARKET}{RIVER}")).lost, 0, "moved");
    }

    #[test]
    fn a_replaced_word_is_lost_alone() {
        let edited = RIVER.replace("second", "third");
        let found = loss(&edited, RIVER);
        assert_eq!((&edited[found.passage.clone()], found.lost), ("third", 0), "wording is not a passage");
        let chinese = "河水在夜里涨过了第二座桥，住在那里的人只好离开老磨坊。";
        let found = loss(&chinese.replace('第', "这"), chinese);
        assert_eq!((found.longest, found.lost), (3, 0), "an ideograph counts as three letters");
    }

    #[test]
    fn one_added_passage_differs_from_changes_in_many_places() {
        let added = loss(&format!("{RIVER}{RIVER}{MARKET}"), RIVER);
        assert!(added.is_one_passage() && !added.is_spread(), "{added:?}");
        let revised = loss(&format!("{MARKET}{RIVER}{MARKET}{RIVER}{MARKET}"), RIVER);
        assert!(!revised.is_one_passage() && revised.is_spread(), "{revised:?}");
        assert_eq!(revised.runs, 3);
        assert!(!Loss::default().is_one_passage());
    }

    fn differ(a: &str, b: &str, urls: [&str; 2]) -> bool {
        let [one, other] =
            [(a, urls[0]), (b, urls[1])].map(|(text, url)| (Side { url, text }, Words::new(text)));
        facts_differ((one.0, &one.1), (other.0, &other.1), &loss(a, b))
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
        // A name was replaced in the only place in which two long pages of one template differ, and the page was dropped:
        // one rare word of a long text was tolerated, wherever else the texts differed.
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

    /// Pages of a shop or a forecast that differed in everyday words only, such as "red" and "blue", were dropped: numbers and
    /// rare words were the only facts.
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

    /// The naive twin of [`loss`]: marks each word of each run that the other text has.
    fn naive(text: &str, kept: &str) -> u32 {
        let spelled = |text: &str, words: &[Word]| -> Vec<String> {
            words.iter().map(|word| word.slice(text).to_owned()).collect()
        };
        let (ours, theirs) = (words(text), words(kept));
        let mut runs = Vec::new();
        for_each_run(&theirs, |run, _| runs.push(spelled(kept, &theirs[run])));
        let mut is_common = vec![false; ours.len()];
        for_each_run(&ours, |run, _| {
            if runs.contains(&spelled(text, &ours[run.clone()])) {
                is_common[run].fill(true);
            }
        });
        let lost = ours.iter().zip(is_common).map(|(word, common)| if common { 0 } else { word.letters });
        let mut longest = 0;
        lost.fold(0, |run, letters| {
            let run = if letters == 0 { 0 } else { run + letters };
            longest = longest.max(run);
            run
        });
        longest
    }

    proptest! {
        #[test]
        fn the_loss_is_that_of_a_naive_comparison(
            a in "([a-d]{1,3}|[一二三]|[ .,1]){0,60}",
            b in "([a-d]{1,3}|[一二三]|[ .,1]){0,60}",
            at in 0_usize..60,
        ) {
            // Texts that have much in common.
            let cut: String = a.chars().skip(at).collect();
            for (text, kept) in [(&a, &b), (&a, &cut), (&format!("{cut}{b}"), &a)] {
                let found = loss(text, kept);
                prop_assert_eq!(found.longest, naive(text, kept), "{} {}", text, kept);
                prop_assert!(text.get(found.passage.clone()).is_some());
                prop_assert!(found.lost <= found.letters);
            }
        }
    }
}
