//! Decides whether two fingerprints are near or related: how much must agree, by distance, sizes, addresses, facts and
//! relation, and which facts may not be replaced.

use super::addresses::Addresses;
use super::encoding::{Parts, SketchView, simhash_of};
use super::{Candidates, Duplicates, NearConfig};
use crate::facts::{self, Facts};
use crate::relation::Relation;
use crate::{Shares, basis_points, sketch};

/// The judge: how much the evidence for a copy weighs, in hundredths of a unit of the logarithm of the odds. A linear
/// model over labelled pairs of 28 sets, with and without addresses (`tools/measure/judge.py`,
/// `docs/adr/0050-one-judge.md`). Pages are near if the sum is not negative.
mod weight {
    /// For a resemblance of 1.
    pub(super) const RESEMBLANCE: i64 = 682;
    /// For each doubling of the shorter text's size: a long text is rarely repeated by chance or by a template.
    pub(super) const DOUBLED_SIZE: i64 = 54;
    /// For each bit in which the SimHashes differ.
    pub(super) const DIFFERING_BIT: i64 = -17;
    /// If all facts are replaced, else in proportion; the same for numbers and for topics.
    pub(super) const FACTS_REPLACED: i64 = -321;
    pub(super) const NUMBERS_REPLACED: i64 = -150;
    pub(super) const TOPICS_REPLACED: i64 = -403;
    /// By the relation of the addresses.
    pub(super) const ONE_PAGE: i64 = 276;
    pub(super) const ONE_NAME: i64 = -248;
    /// Between -315, fitted to the addresses that the pages have, and what fits each page on a host of its own.
    pub(super) const APART: i64 = -400;
    pub(super) const UNKNOWN: i64 = -604;
    pub(super) const ONE_SITE: i64 = -827;
}
/// The size up to which a doubling counts.
const SIZE_MAX: u32 = 3_000;
/// Number by which `sketch_matches_near` is lower for two versions of one page: the address identifies the subject,
/// and versions drift. 19 of 64 values correspond to a quarter of the combined text.
const FEWER_OF_ONE_PAGE: u32 = 6;
/// Number of values by which the least number is higher for the shortest texts; it falls to 0 where texts are no longer
/// short. Pairs of unrelated texts of 100 letters agree in 30 values once in 10¹⁰ (`benches/false_matches.rs`), which is
/// .7 % false duplicates in a table of a hundred million.
const MORE_BY_CHANCE: u32 = 6;
/// The limit on replaced facts, in hundredths: none may be replaced. Odd sketches estimate one replaced fact as 100,
/// and one added fact as 1.
const REPLACED: u32 = 60;
/// The share of facts that may be replaced between pages of one site, as a divisor: a sixteenth, since a reprint
/// corrects a name or two. In languages without a table of common words every word counts as a name.
const FACTS_PER_REPLACED: u32 = 16;
/// For related texts, the number of values that must agree is half of (differing bits of the SimHashes + this
/// offset): 10 at a distance of 13, 18 at 28.
const RELATED_DISTANCE_OFFSET: u32 = 7;
/// Number of values by which `sketch_matches_related` is reduced if one text is much longer, since an excerpt's
/// passages are few among all. Unrelated texts agree in four values.
const FEWER_OF_UNLIKE_LENGTHS: u32 = 6;
/// Number of additional values, beyond those that the distance requires, that texts of similar lengths need.
const MORE_OF_LIKE_LENGTHS: u32 = 2;

/// The judge of pairs of fingerprints, by these settings.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) near: NearConfig,
    length_ratio_min: u32,
}

impl Judge {
    pub(super) fn new(near: &NearConfig) -> Self {
        Self { near: near.clone(), length_ratio_min: basis_points(near.length_ratio_min) }
    }

    /// Returns how many values of the sketch must agree for the judge's sum not to be negative; more than there are if
    /// no agreement is enough.
    pub(super) fn matches_needed(
        &self,
        distance: u32,
        a: &SketchView,
        b: &SketchView,
        addresses: Addresses,
    ) -> u32 {
        let near = &self.near;
        let shorter = a.size.min(b.size);
        let least = near.sketch_matches_near;
        let least_by_chance = least + more_by_chance(shorter, near.number_text_size);
        let (least, address) = match addresses {
            Addresses::OnePage => (least.saturating_sub(FEWER_OF_ONE_PAGE), weight::ONE_PAGE),
            Addresses::OneName => (least, weight::ONE_NAME),
            Addresses::Apart => (least_by_chance, weight::APART),
            Addresses::Unknown => (least_by_chance, weight::UNKNOWN),
            Addresses::OneSite => (least_by_chance, weight::ONE_SITE),
        };
        let size = shorter.clamp(1, SIZE_MAX);
        let mut sum = address
            + weight::DOUBLED_SIZE * log2_in_256ths(size) / 256
            + weight::DIFFERING_BIT * i64::from(distance);
        if near.number_text_size > 0 {
            sum += weight::FACTS_REPLACED * share_replaced(a.facts, b.facts) / 10_000
                + weight::NUMBERS_REPLACED * share_replaced(a.numbers, b.numbers) / 10_000
                + weight::TOPICS_REPLACED * share_replaced(a.topics, b.topics) / 10_000;
        }
        let resemblance = (-sum).max(0) as u32 * 10_000 / weight::RESEMBLANCE as u32;
        least.max(sketch::matches_of(resemblance)) + near.sketch_matches_more
    }

    /// Returns true if neither text is merely an excerpt of the other.
    fn lengths_are_comparable(&self, a_size: u32, b_size: u32) -> bool {
        let (shorter, longer) = (a_size.min(b_size), a_size.max(b_size));
        u64::from(shorter) * 10_000 >= u64::from(longer) * u64::from(self.length_ratio_min)
    }

    /// Returns true if facts say that the texts are about different things, however much of them agrees: numbers of
    /// short texts, or facts of one site, topics unless the texts are so long that their size counts no more. A page at
    /// another time may state anything.
    fn facts_differ(&self, a: &SketchView, b: &SketchView, addresses: Addresses) -> bool {
        let (short_size, shorter) = (self.near.number_text_size, a.size.min(b.size));
        short_size > 0
            && addresses != Addresses::OnePage
            && (shorter < short_size && facts::replaced(a.numbers, b.numbers) >= REPLACED
                || addresses == Addresses::OneSite
                    && (shorter < SIZE_MAX && facts::replaced(a.topics, b.topics) >= REPLACED
                        || facts::replaced(a.facts, b.facts)
                            >= replaced_facts_limit(fewer(a.facts, b.facts))))
    }

    /// Returns what decides that texts at this SimHash distance are not near; `None` if they are near.
    #[inline]
    pub(super) fn decided_by(&self, distance: u32, a: &SketchView, b: &SketchView) -> Option<&'static str> {
        let addresses = self.addresses(a, b);
        if !self.lengths_are_comparable(a.size, b.size) {
            Some("lengths")
        } else if self.facts_differ(a, b, addresses) {
            Some("facts")
        } else if sketch::matches(a.values, b.values) < self.matches_needed(distance, a, b, addresses) {
            Some("resemblance")
        } else if !self.relation_counts(a, b) {
            Some("relation")
        } else {
            None
        }
    }

    /// Returns true if the relation of `a` to `b` counts as a duplicate under the settings.
    fn relation_counts(&self, a: &SketchView, b: &SketchView) -> bool {
        let counting = self.near.duplicates;
        counting == Duplicates::All
            || shares(a, b).is_some_and(|shares| match Relation::from_shares(shares) {
                Relation::Same => true,
                Relation::Excerpt => counting == Duplicates::Contained,
                Relation::Extends | Relation::Overlaps | Relation::Alike | Relation::Part => false,
            })
    }

    /// Returns true if a look-up for one fingerprint finds the other, given that they are within the
    /// distance.
    pub(super) fn share_a_key(&self, a: &[u8], b: &[u8]) -> bool {
        self.near.candidates == Candidates::Blocks || simhash_of(a) == simhash_of(b) || {
            let (a, b) = (Parts::new(a), Parts::new(b));
            a.shares_band(&b) || a.passages_shared(&b) > 0
        }
    }

    /// Returns true if a look-up for one fingerprint finds the other, given that they are within
    /// [`Self::related_distance`]. Beyond the distance of near fingerprints, only passages can find it.
    pub(super) fn share_a_key_to_relate(&self, a: &[u8], b: &[u8]) -> bool {
        match (simhash_of(a) ^ simhash_of(b)).count_ones() <= self.near.max_distance {
            true => self.share_a_key(a, b),
            false => Parts::new(a).passages_shared(&Parts::new(b)) > 0,
        }
    }

    /// Returns the maximum distance between the SimHashes of related texts.
    pub(super) fn related_distance(&self) -> u32 {
        let near = &self.near;
        match near.candidates {
            Candidates::Bands => near.max_distance.max(near.max_distance_related),
            Candidates::Blocks => near.max_distance,
        }
    }

    /// Returns how many values of the sketch must agree for texts at this distance and of these sizes to be related.
    /// More are needed at greater distances, because an excerpt shares the frequent terms of its text, but pages that
    /// share only a footer do not. More are needed for texts of similar lengths, because their common text shows in
    /// both.
    pub(super) fn matches_needed_to_relate(&self, distance: u32, a_size: u32, b_size: u32) -> u32 {
        let by_distance = (distance + RELATED_DISTANCE_OFFSET).div_ceil(2);
        let related = self.near.sketch_matches_related;
        let (shorter, longer) = (a_size.min(b_size), a_size.max(b_size));
        match shorter * 5 < longer * 3 {
            true => by_distance.max(related.saturating_sub(FEWER_OF_UNLIKE_LENGTHS)),
            false => related.max(by_distance + MORE_OF_LIKE_LENGTHS),
        }
    }

    /// Returns true if texts at this distance, which is at most [`Self::related_distance`], are related.
    #[inline]
    pub(super) fn are_related(&self, distance: u32, a: &SketchView, b: &SketchView) -> bool {
        sketch::matches(a.values, b.values) >= self.matches_needed_to_relate(distance, a.size, b.size)
    }

    /// Compares the addresses; `Unknown` if the settings ignore them.
    pub(super) fn addresses(&self, a: &SketchView, b: &SketchView) -> Addresses {
        match self.near.addresses {
            true => Addresses::compare(a.address, b.address),
            false => Addresses::Unknown,
        }
    }
}

/// Returns the limit on the facts of texts of one site that are replaced, in hundredths, if the text that has fewer of
/// them has `fewer`.
pub(super) fn replaced_facts_limit(fewer: u32) -> u32 {
    REPLACED.max(100 * fewer / FACTS_PER_REPLACED)
}

/// Returns the limit on the numbers of short texts that are replaced.
pub(super) fn replaced_numbers_limit(_: u32) -> u32 {
    REPLACED
}

/// Returns how much of each text is in the other; see [`Detector::shares`](crate::Detector::shares).
pub(super) fn shares(a: &SketchView, b: &SketchView) -> Option<Shares> {
    let resemblance = u64::from(sketch::resemblance(sketch::matches(a.values, b.values)));
    let common = resemblance * u64::from(a.size + b.size) * 10_000 / (10_000 + resemblance);
    let share = |size: u32| common.checked_div(u64::from(size)).map(|share| share.min(10_000) as u32);
    Some(Shares { of_a: share(a.size)?, of_b: share(b.size)? })
}

/// Returns how many values beyond the least number must agree for texts of this size not to be near by chance. Texts are
/// short below `short_size`.
fn more_by_chance(size: u32, short_size: u32) -> u32 {
    (MORE_BY_CHANCE * short_size.saturating_sub(size)).div_ceil(short_size.max(1))
}

/// Returns the logarithm to base 2, in 256ths, linear between powers of two; at most 22 too low.
fn log2_in_256ths(number: u32) -> i64 {
    let whole = number.ilog2();
    i64::from((whole << 8) + (((number - (1 << whole)) << 8) >> whole))
}

/// Returns the share of facts that are replaced, of the text that has fewer of them, in hundredths of a percent.
fn share_replaced(a: &Facts, b: &Facts) -> i64 {
    i64::from((facts::replaced(a, b) * 100 / fewer(a, b).max(1)).min(10_000))
}

/// Returns the number of facts of the text that has fewer of them.
fn fewer(a: &Facts, b: &Facts) -> u32 {
    facts::count(a).min(facts::count(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detector;
    use crate::detectors::simhash::{SimHash, SimHashConfig, encode};
    use crate::test_texts::{sentences, terms_of};
    use leitong_text::extract::Document;
    use leitong_text::page::Address;

    /// Returns how many values must agree between two texts of this size that have ten facts and no number each.
    fn needed(addresses: Addresses, size: u16, distance: u32, fact_bits: u8) -> u32 {
        let detector = SimHash::new(&SimHashConfig::default());
        let print = |bits| {
            let facts = [[bits, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0], [0; 12], [0; 12]];
            encode(0, size, &[0; sketch::VALUE_BYTES], facts, [0; 12], ([1; 4], [1; 10]))
        };
        let (a, b) = (print(0), print(fact_bits));
        detector.judge.matches_needed(distance, &SketchView::new(&a), &SketchView::new(&b), addresses)
    }

    #[test]
    fn short_texts_of_one_site_need_more_matches() {
        for (addresses, expected) in [
            (Addresses::OneSite, [58, 40, 36, 30]),
            (Addresses::Unknown, [39, 25, 25, 25]),
            (Addresses::Apart, [31, 25, 25, 25]),
            (Addresses::OneName, [25; 4]),
            (Addresses::OnePage, [19; 4]),
        ] {
            assert_eq!(
                [50, 700, 1_400, 3_000].map(|size| needed(addresses, size, 5, 0)),
                expected,
                "{addresses:?}"
            );
        }
    }

    #[test]
    fn distance_and_replaced_facts_raise_the_number_of_matches() {
        let of = |distance, facts| needed(Addresses::Unknown, 200, distance, facts);
        assert!(of(0, 0) < of(10, 0) && of(10, 0) < of(20, 0));
        assert!(of(5, 0) < of(5, 0b1111) && of(5, 0b1111) < of(5, 0b1111_1111));
        assert!(needed(Addresses::OneSite, 20, 20, 0xff) > 64, "no agreement is enough");
    }

    #[test]
    fn the_logarithm_is_nearly_that_of_floats() {
        for number in 1..=70_000_u32 {
            let error = 256.0 * f64::from(number).log2() - log2_in_256ths(number) as f64;
            assert!((-0.01..23.1).contains(&error), "{number}: {error}");
        }
    }

    /// Manual pages and sayings that a site had twice, with a typing error or a lost space, were missed if they were
    /// not in English or Chinese: every word counted as a name.
    #[test]
    fn a_sixteenth_of_the_words_may_be_replaced_in_other_languages() {
        let detector = SimHash::new(&SimHashConfig::default());
        let text = "Die Fährleute am unteren Flussufer erzählten einander abends wunderliche Geschichten über versunkene \
                    Glocken, welche bei Hochwasser läuten, und über zwei eigensinnige Müllerstöchter, deren Mahlgut \
                    niemals ausging, obwohl sämtliche Speicher ringsum längst leergefegt waren und hungrige Mäuse \
                    scharenweise flüchteten.";
        let near = |other: &str| {
            let [a, b] = [("https://a.example/1", text), ("https://a.example/2", other)]
                .map(|(url, text)| fingerprint(&detector, url, text));
            detector.compare(&a, &b).near
        };
        assert!(near(&text.replace("hungrige", "hunrgige")));
        let other =
            text.replace("hungrige", "fleißige").replace("Glocken", "Fässer").replace("Mäuse", "Spatzen");
        assert!(!near(&other.replace("Speicher", "Scheunen")));
    }

    /// Copies of short pages joined a sibling whose SimHash happened to be nearer.
    #[test]
    fn the_page_with_the_most_values_in_common_goes_first() {
        let detector = SimHash::new(&SimHashConfig::default());
        let print = |hash, differing| {
            let mut values = [0; sketch::VALUE_BYTES];
            values[..differing].fill(0xff);
            encode(hash, 99, &values, [[0; 12]; 3], [0; 12], ([1; 4], [1; 10]))
        };
        let (page, original, sibling) = (print(0, 0), print(0xff, 2), print(1, 5));
        let rank = |other: &[u8]| {
            detector.rank(&page, detector.compared(other), detector.compare(&page, other).distance)
        };
        assert!(rank(&original) < rank(&sibling));
        assert!(rank(&print(0, 9)) < rank(&original), "equal SimHashes come first");
    }

    #[test]
    fn distant_texts_and_similar_lengths_need_more_matches_to_relate() {
        let detector = SimHash::new(&SimHashConfig::default());
        let needed = |distance, shorter| detector.judge.matches_needed_to_relate(distance, shorter, 1_000);
        assert_eq!([0, 13, 14, 20, 28].map(|distance| needed(distance, 599)), [10, 10, 11, 14, 18]);
        assert_eq!([0, 20, 24, 28].map(|distance| needed(distance, 600)), [16, 16, 18, 20]);
    }

    /// Excerpts are three tenths of a text, from anywhere in it; the page and its excerpt arrive in either
    /// order.
    #[test]
    fn excerpts_of_three_tenths_are_related() {
        let detector = SimHash::new(&SimHashConfig::default());
        let fingerprint = |range| fingerprint(&detector, "", &sentences(range));
        let mut found = 0;
        for number in 0..60 {
            let first = number * 1_000;
            let (whole, other) = (fingerprint(first..first + 100), fingerprint(first + 200..first + 300));
            let start = first + number % 71;
            let excerpt = fingerprint(start..start + 30);
            found += u32::from(detector.related(&excerpt, &whole));
            assert_eq!(detector.related(&whole, &excerpt), detector.related(&excerpt, &whole));
            assert!(!detector.related(&other, &whole) && !detector.related(&excerpt, &other));
        }
        // No term occurs twice in these sentences, so their SimHashes are further apart than in natural text;
        // ADR 32 has figures for natural text.
        assert!(found >= 45, "{found} of 60");
    }

    #[test]
    fn an_excerpt_is_not_a_copy() {
        let detector = SimHash::new(&SimHashConfig::default());
        let comparable = |a, b| detector.judge.lengths_are_comparable(a, b);
        assert!(comparable(100, 200) && comparable(200, 100) && !comparable(99, 200));
        assert!(comparable(0, 0) && comparable(65_535, 65_535));
    }

    /// Returns the fingerprint of a text at this address.
    fn fingerprint(detector: &SimHash, url: &str, text: &str) -> Box<[u8]> {
        let mut document = Document::from_text(None, text);
        document.address = Address::from_url(url);
        detector.fingerprint(&terms_of(&document)).expect("long enough")
    }

    #[test]
    fn a_setting_decides_which_near_pages_are_duplicates() {
        let outcomes = |duplicates| {
            let mut simhash = SimHashConfig::default();
            simhash.near.duplicates = duplicates;
            let detector = SimHash::new(&simhash);
            let fingerprint = |range| fingerprint(&detector, "", &sentences(range));
            let canonical = fingerprint(0..100);
            let pages = [0..97, 0..65, 0..150, 30..135, 0..40, 500..600].map(fingerprint);
            pages.map(|page| match detector.compare(&page, &canonical).near {
                true => "duplicate",
                false if detector.related(&page, &canonical) => "related",
                false => "",
            })
        };
        // The canonical page with a few sentences changed, an excerpt of it, an extension of it, an
        // overlapping page, a short excerpt, and another text.
        assert_eq!(
            outcomes(Duplicates::All),
            ["duplicate", "duplicate", "duplicate", "duplicate", "related", ""]
        );
        assert_eq!(
            outcomes(Duplicates::Contained),
            ["duplicate", "duplicate", "related", "related", "related", ""]
        );
        assert_eq!(outcomes(Duplicates::Same), ["duplicate", "related", "related", "related", "related", ""]);
    }

    /// The weather of two days, in sentences that differ only in their numbers.
    #[test]
    fn texts_with_other_numbers_are_not_copies() {
        let detector = SimHash::new(&SimHashConfig::default());
        let near = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|text| fingerprint(&detector, "", text));
            detector.compare(&a, &b).near
        };
        let report = |high: u32, low: u32, wind: u32| {
            format!(
                "本市气象台今天早晨发布天气预报：白天晴间多云，偏南风{wind}级，最高气温{high}度；夜间多云转阴，最低气温{low}度。\
                 昼夜温差较大，请市民朋友们注意适时增减衣物，外出时做好防晒和补水，驾车出行请注意交通安全。"
            )
        };
        assert!(near(&report(31, 22, 3), &report(31, 22, 3)));
        assert!(!near(&report(31, 22, 3), &report(27, 16, 4)));
        assert!(near(&report(31, 22, 3), &format!("{}（编辑：小李）", report(31, 22, 3))));
    }

    /// Lists of flaws that differ in one number, help pages of two commands, and a version with a change in the word
    /// before the number are not duplicates.
    #[test]
    fn pages_of_a_series_with_other_facts_are_not_copies() {
        let detector = SimHash::new(&SimHashConfig::default());
        let near = |urls: [&str; 2], texts: [&str; 2]| {
            let [a, b] = [0, 1].map(|i| fingerprint(&detector, urls[i], texts[i]));
            let near = detector.compare(&a, &b).near;
            assert_eq!(near, detector.compare(&b, &a).near);
            near
        };
        let series = ["https://a.example/1", "https://a.example/2"];
        let list = |own: u32| {
            let others: Vec<String> = (1..40).map(|n| format!("CVE-2015-{}", 8_400 + n)).collect();
            let others = others.join(", ");
            format!(
                "Use-after-free vulnerability in Adobe Flash Player before 18.0.0.268 allows attackers to execute \
                 arbitrary code, a different vulnerability than {others}, and CVE-2015-{own}."
            )
        };
        assert!(near(series, [&list(8_301), &list(8_301)]));
        assert!(!near(series, [&list(8_301), &list(8_302)]));
        let alias = |name: &str| {
            format!(
                "This command is an alias of `{name}`, which is kept under its old name for the scripts that call it. \
                 View the documentation of the original command, with all of its options, its exit statuses and the \
                 files that it reads, and examples for each, by calling the program that shows such pages with the \
                 name of the original command: `tldr {name}`."
            )
        };
        assert!(near(["", ""], [&alias("comm"), &alias("comm").replace("original command", "real command")]));
        assert!(!near(series, [&alias("comm"), &alias("pathchk")]));
        // The same address means that it is one page, whatever changed.
        let one = ["https://a.example/docs/aliases", "https://a.example/docs/aliases#now"];
        assert!(near(one, [&alias("comm"), &alias("pathchk")]));
        assert!(near(["", ""], [&alias("comm"), &alias("comm").replace("by calling", "calling")]));
    }

    /// Pages about sibling classes share the text of their parents. Long ones must not be called copies, because they
    /// would hide later versions of one another.
    #[test]
    fn long_pages_about_sibling_classes_are_not_copies() {
        let detector = SimHash::new(&SimHashConfig::default());
        let near = |urls: [&str; 2], classes: [&str; 2]| {
            let [a, b] = [0, 1].map(|i| {
                let text = format!("class {0}. {1} new {0}. {0} of tea.", classes[i], sentences(0..150));
                fingerprint(&detector, urls[i], &text)
            });
            assert_eq!(detector.compare(&a, &b), detector.compare(&b, &a));
            let near = detector.compare(&a, &b).near;
            let decided_by = detector.evidence(&a, &b).get("decided_by").cloned();
            assert_eq!(decided_by, (!near).then(|| "facts".into()), "the evidence says why");
            near
        };
        let (gantt, area) =
            ("https://a.example/1/GanttRenderer.html", "https://a.example/1/AreaRenderer.html");
        let classes = ["ganttrenderer", "arearenderer"];
        assert!(!near([gantt, area], classes), "siblings");
        assert!(near([gantt, "https://b.example/GanttRenderer.html"], ["ganttrenderer"; 2]), "a mirror");
        assert!(near([gantt, "https://a.example/1/page7.html"], ["ganttrenderer"; 2]), "another name");
        assert!(near(["", ""], classes), "one name among 150 sentences");
    }

    /// A later version of a page must not join the cluster of a sibling that happens to be nearer.
    #[test]
    fn another_version_of_the_page_goes_before_a_nearer_page() {
        let detector = SimHash::new(&SimHashConfig::default());
        let rank = |a: &str, b: &str, distance| {
            let [a, b] = [a, b].map(|url| fingerprint(&detector, url, &sentences(0..9)));
            assert_eq!(detector.rank(&a, &b, distance), detector.rank(&b, &a, distance));
            detector.rank(&a, &b, distance)
        };
        let (old, new, sibling) =
            ("https://a.example/1.0/tea", "https://a.example/2.0/tea", "https://a.example/1.0/coffee");
        assert!(rank(new, old, 20) < rank(new, sibling, 1));
        assert!(rank(new, old, 1) < rank(new, old, 2) && rank(new, sibling, 1) < rank(new, sibling, 2));
        assert_eq!(rank(new, sibling, 0), 0, "one key finds equal texts");
        let mirrors =
            ["https://a.example/how-to-brew-green-tea", "https://b.example/x/how-to-brew-green-tea"];
        assert!(rank(mirrors[0], mirrors[1], 20) < rank(mirrors[0], sibling, 1));
        assert_eq!(rank("", "", 3), rank("", sibling, 3), "without addresses the distance decides");
    }

    /// Builds sentences without digits that are all different.
    fn prose(range: std::ops::Range<u32>) -> String {
        let letter = |c: char| c.to_digit(10).map_or(c, |digit| char::from(b'g' + digit as u8));
        sentences(range).chars().map(letter).collect()
    }

    /// A section of a manual is recognised as a version of itself even if the chapters before it have moved.
    #[test]
    fn a_page_whose_chapters_have_other_numbers_is_still_the_page() {
        let detector = SimHash::new(&SimHashConfig::default());
        let near = |urls: [&str; 2], texts: [&str; 2]| {
            let [a, b] = [0, 1].map(|i| fingerprint(&detector, urls[i], texts[i]));
            detector.compare(&a, &b).near
        };
        let section = |number: &str| format!("the view of policies in chapter {number}\n{}", prose(0..30));
        let versions =
            ["https://a.example/docs/1.3/policies.html", "https://a.example/docs/1.5/policies.html"];
        assert!(near(versions, [&section("51"), &section("54")]));
        let others = ["https://a.example/views.html", "https://a.example/policies.html"];
        assert!(!near(others, [&section("51"), &section("54")]), "another page");
    }

    /// The notes on two releases share most of their text. They are not copies of one another, because their first
    /// lines name other versions.
    #[test]
    fn long_notes_on_two_versions_are_a_series() {
        let detector = SimHash::new(&SimHashConfig::default());
        let near = |urls: [&str; 2], versions: [u32; 2]| {
            let [a, b] = [0, 1].map(|i| {
                let text = format!("Changes in version {} of the program.\n{}", versions[i], prose(0..150));
                fingerprint(&detector, urls[i], &text)
            });
            assert_eq!(detector.compare(&a, &b), detector.compare(&b, &a));
            detector.compare(&a, &b).near
        };
        let notes = ["https://a.example/notes/2.html", "https://a.example/notes/4.html"];
        assert!(!near(notes, [352, 354]));
        assert!(near(notes, [352, 352]), "the same notes");
    }

    /// Numbers that count lines, verses and notes, and times at which something was said, differ between copies.
    #[test]
    fn running_numbers_and_time_stamps_do_not_tell_texts_apart() {
        let detector = SimHash::new(&SimHashConfig::default());
        let near = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|text| fingerprint(&detector, "", text));
            detector.compare(&a, &b).near
        };
        let lines: Vec<String> = prose(0..30).split_inclusive(". ").map(str::to_owned).collect();
        let stamped = |from: usize| {
            let line = |(at, line): (usize, &String)| {
                let seconds = from + 4 * at;
                format!("{}:{:02}\n{line}\n", seconds / 60, seconds % 60)
            };
            lines.iter().enumerate().map(line).collect::<String>()
        };
        assert!(near(&stamped(0), &stamped(17)));
        let verses = |from: usize| {
            let verse = |(at, line): (usize, &String)| format!("{line} ({})\n", from + at);
            lines.iter().enumerate().map(verse).collect::<String>()
        };
        assert!(near(&verses(1), &verses(31)));
    }
}
