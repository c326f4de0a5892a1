//! When two fingerprints are near: how much has to agree, by distance, sizes, addresses, numbers
//! and relation.

use super::addresses::Addresses;
use super::encoding::{Parts, SketchView, simhash_of};
use super::{Candidates, Duplicates, SimHash};
use crate::relation::Relation;
use crate::{Shares, facts, numbers, sketch};

/// Of short texts one number in another place may differ for so many that are the same: an article
/// with one figure put right, or whose end was cut so that a context came about anew, is a copy
/// still. Of one page, fetched again, as many may differ.
const SAME_NUMBERS: u32 = 3;
const SAME_NUMBERS_OF_ONE_PAGE: u32 = 1;
/// Values fewer than `sketch_matches_near` that must agree between two versions of one page: its
/// address says what it is about, and versions drift. 19 of 64 are a quarter of what both say.
const FEWER_OF_ONE_PAGE: u32 = 6;
/// What `length_ratio_min` is multiplied by for these, in hundredths.
const LENGTH_RATIO_OF_ONE_PAGE: u32 = 80;
/// Values more than `sketch_matches_near` that must agree between long texts of one site under
/// different names: pages of a series share what their template says, up to half of all.
const MORE_OF_ONE_SITE: u32 = 15;
/// Of such texts none of the facts may be replaced where they are short, in hundredths: odd sketches
/// estimate one that is replaced as 100, and one that is added as 1.
const REPLACED_OF_SHORT: u32 = 60;
/// Of long ones a sixteenth, or one: a figure put right.
const REPLACED_SHARE: u32 = 16;
const REPLACED_OF_LONG: u32 = 160;
/// Of short ones on different sites two, as credits and a title have them: one template may stand on
/// several sites.
const REPLACED_APART: u32 = 260;
/// Of related texts half as many values agree as their SimHashes have bits that differ, and half of
/// so many more: 10 at a distance of 13, 18 at 28.
const RELATED_DISTANCE_OFFSET: u32 = 7;
/// Values fewer than `sketch_matches_related` that may agree where one text is much longer, so that
/// an excerpt's passages are few among all. Unrelated texts agree in four.
const FEWER_OF_UNLIKE_LENGTHS: u32 = 6;
/// Values more than by distance alone that are asked of texts of like lengths.
const MORE_OF_LIKE_LENGTHS: u32 = 2;

impl SimHash {
    /// Values of the sketch that must agree between texts this far apart and of these sizes: two
    /// straight lines, rounded up, of which the stricter counts. The second line is the one for such
    /// addresses; pages of one name have none. Where nothing is known of an address, texts of which
    /// one contains the other need no more than that.
    fn matches_needed(&self, distance: u32, a_size: u32, b_size: u32, addresses: Addresses) -> u32 {
        let near = &self.config.near;
        let by_distance =
            on_a_line(near.sketch_matches_near, near.sketch_matches_far, distance, near.max_distance);
        let (shorter, longer) = (a_size.min(b_size), a_size.max(b_size));
        let by_size = |short, long, end| on_a_line(short, long, shorter, end);
        let long = near.sketch_matches_near;
        by_distance.max(match addresses {
            Addresses::OnePage => return by_distance.saturating_sub(FEWER_OF_ONE_PAGE),
            Addresses::OneName => 0,
            Addresses::Apart => by_size(near.sketch_matches_short_apart, long, near.short_text_size_apart),
            Addresses::Unknown => by_size(near.sketch_matches_short, long, near.short_text_size)
                .min(matches_contained(self.contained_min, shorter, longer)),
            Addresses::OneSite => {
                let long = (long + MORE_OF_ONE_SITE).min(near.sketch_matches_short);
                by_size(near.sketch_matches_short, long, near.short_text_size)
            }
        })
    }

    /// Whether neither text is but an excerpt of the other.
    fn lengths_are_comparable(&self, a_size: u32, b_size: u32, addresses: Addresses) -> bool {
        let min = match addresses {
            Addresses::OnePage => self.length_ratio_min * LENGTH_RATIO_OF_ONE_PAGE / 100,
            _ => self.length_ratio_min,
        };
        u64::from(a_size.min(b_size)) * 10_000 >= u64::from(a_size.max(b_size)) * u64::from(min)
    }

    /// Whether two short texts say different numbers in the same places. Long ones may: a figure or
    /// two is not what they are about.
    fn numbers_conflict(&self, a: &SketchView, b: &SketchView, addresses: Addresses) -> bool {
        a.size.min(b.size) < self.config.near.number_text_size && {
            let numbers = numbers::agreement(a.numbers, b.numbers);
            let tolerance = match addresses {
                Addresses::OnePage => SAME_NUMBERS_OF_ONE_PAGE,
                _ => SAME_NUMBERS,
            };
            numbers.conflicts * tolerance > numbers.same
        }
    }

    /// Whether texts that may be of one series say other facts. On different sites only those may be that
    /// agree in less than short texts of one site have to.
    fn facts_differ(&self, matches: u32, a: &SketchView, b: &SketchView, addresses: Addresses) -> bool {
        let near = &self.config.near;
        let shorter = a.size.min(b.size);
        let allowed = match addresses {
            Addresses::OneSite if shorter < near.number_text_size => REPLACED_OF_SHORT,
            Addresses::OneSite => {
                let all = facts::count(a.facts).min(facts::count(b.facts));
                REPLACED_OF_LONG.max(100 * all / REPLACED_SHARE)
            }
            Addresses::Apart
                if shorter < near.short_text_size_apart && matches < near.sketch_matches_short =>
            {
                REPLACED_APART
            }
            _ => return false,
        };
        near.number_text_size > 0 && facts::replaced(a.facts, b.facts) >= allowed
    }

    /// Whether what the fingerprints hold besides the SimHash says of texts this far apart that
    /// they are near.
    pub(super) fn confirmed(&self, distance: u32, a: &SketchView, b: &SketchView) -> bool {
        let addresses = self.addresses(a, b);
        let matches = sketch::matches(a.values, b.values);
        matches >= self.matches_needed(distance, a.size, b.size, addresses)
            && self.lengths_are_comparable(a.size, b.size, addresses)
            && !self.numbers_conflict(a, b, addresses)
            && !self.facts_differ(matches, a, b, addresses)
            && self.relation_counts(a, b)
    }

    /// Whether what `a` is to `b` makes it a duplicate.
    fn relation_counts(&self, a: &SketchView, b: &SketchView) -> bool {
        let counting = self.config.near.duplicates;
        counting == Duplicates::All
            || shares(a, b).is_some_and(|shares| match Relation::of(shares) {
                Relation::Same => true,
                Relation::Excerpt => counting == Duplicates::Contained,
                Relation::Extends | Relation::Overlaps | Relation::Alike | Relation::Part => false,
            })
    }

    /// Whether a look-up for one fingerprint, which lies within the distance of the other, finds
    /// that.
    pub(super) fn share_a_key(&self, a: &[u8], b: &[u8]) -> bool {
        self.config.near.candidates == Candidates::Blocks || simhash_of(a) == simhash_of(b) || {
            let (a, b) = (Parts::of(a), Parts::of(b));
            a.shares_band(&b) || a.passages_shared(&b) > 0
        }
    }

    /// The same for fingerprints that lie within [`Self::related_distance`]: beyond the distance of
    /// near ones, only a passage leads from one to the other.
    pub(super) fn share_a_key_to_relate(&self, a: &[u8], b: &[u8]) -> bool {
        match (simhash_of(a) ^ simhash_of(b)).count_ones() <= self.config.near.max_distance {
            true => self.share_a_key(a, b),
            false => Parts::of(a).passages_shared(&Parts::of(b)) > 0,
        }
    }

    /// How far apart the SimHashes of related texts are at most.
    pub(super) fn related_distance(&self) -> u32 {
        let near = &self.config.near;
        match near.candidates {
            Candidates::Bands => near.max_distance.max(near.max_distance_related),
            Candidates::Blocks => near.max_distance,
        }
    }

    /// Values of the sketch that must agree between texts this far apart and of these sizes for them
    /// to be related. The further apart, the more: an excerpt takes the frequent terms of its text
    /// along, and pages that have no more than a footer in common do not have these. Of texts of like
    /// lengths more, since what the shorter one has in common with the longer one shows in both.
    pub(super) fn matches_needed_to_relate(&self, distance: u32, a_size: u32, b_size: u32) -> u32 {
        let by_distance = (distance + RELATED_DISTANCE_OFFSET).div_ceil(2);
        let related = self.config.near.sketch_matches_related;
        let (shorter, longer) = (a_size.min(b_size), a_size.max(b_size));
        match shorter * 5 < longer * 3 {
            true => by_distance.max(related.saturating_sub(FEWER_OF_UNLIKE_LENGTHS)),
            false => related.max(by_distance + MORE_OF_LIKE_LENGTHS),
        }
    }

    /// The same for two fingerprints, and how far they are apart.
    pub(super) fn demand(&self, a: &Parts, b: &Parts) -> (u32, u32) {
        let distance = (a.hash ^ b.hash).count_ones();
        let (a, b) = (&a.view, &b.view);
        (distance, self.matches_needed(distance, a.size, b.size, self.addresses(a, b)))
    }

    /// How the addresses relate, as far as they count.
    pub(super) fn addresses(&self, a: &SketchView, b: &SketchView) -> Addresses {
        match self.config.near.addresses {
            true => Addresses::of(*a.address, *b.address),
            false => Addresses::Unknown,
        }
    }
}

/// How much of each text stands in the other: see [`Detector::shares`](crate::Detector::shares).
pub(super) fn shares(a: &SketchView, b: &SketchView) -> Option<Shares> {
    let resemblance = u64::from(sketch::resemblance(sketch::matches(a.values, b.values)));
    let common = resemblance * u64::from(a.size + b.size) * 10_000 / (10_000 + resemblance);
    let share = |size: u32| common.checked_div(u64::from(size)).map(|share| share.min(10_000) as u32);
    Some(Shares { of_a: share(a.size)?, of_b: share(b.size)? })
}

/// What lies at `at` on the line that leads from `from` at 0 to `to` at `end`, rounded up; `to`
/// beyond.
fn on_a_line(from: u32, to: u32, at: u32, end: u32) -> u32 {
    if at >= end { to } else { (from * (end - at) + to * at).div_ceil(end) }
}

/// Values of the sketch that agree, on average, where `share` (ten-thousandths) of the shorter
/// text's passages stand in the longer one, rounded up. With sizes *s* ≤ *l* the texts have
/// *share·s* passages in common of *s + l − share·s* different ones, which is the Jaccard
/// similarity that the sketch estimates.
fn matches_contained(share: u32, shorter: u32, longer: u32) -> u32 {
    let common = u64::from(share) * u64::from(shorter);
    let all = 10_000 * (u64::from(shorter) + u64::from(longer)) - common.min(10_000 * u64::from(shorter));
    let resemblance = (common * 10_000).checked_div(all).unwrap_or(10_000);
    sketch::matches_of(u32::try_from(resemblance).unwrap_or(10_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detector;
    use crate::detectors::simhash::SimHashConfig;
    use leitong_text::extract::Document;
    use leitong_text::segment::SegmentConfig;
    use leitong_text::segment::{Segmenter, Terms};

    #[test]
    fn the_demand_rises_with_brevity_on_one_site() {
        let detector = SimHash::new(&SimHashConfig::default());
        let needed = |addresses, size| detector.matches_needed(5, size, size + size / 10 + 1, addresses);
        for (addresses, expected) in [
            (Addresses::OneSite, [52, 46, 40, 40]),
            (Addresses::Unknown, [51, 39, 25, 25]),
            (Addresses::Apart, [36, 25, 25, 25]),
            (Addresses::OneName, [25; 4]),
            (Addresses::OnePage, [19; 4]),
        ] {
            assert_eq!(
                [50, 700, 1_400, 9_999].map(|size| needed(addresses, size)),
                expected,
                "{addresses:?}"
            );
        }
        // A short text of which nearly all stands in one twice as long.
        let one_in_another = |addresses| detector.matches_needed(10, 100, 200, addresses);
        let addresses = [Addresses::Unknown, Addresses::Apart, Addresses::OneSite];
        assert_eq!(addresses.map(one_in_another), [31, 34, 52], "two pages of a template may be so");
    }

    #[test]
    fn to_relate_the_demand_rises_with_distance_and_like_lengths() {
        let detector = SimHash::new(&SimHashConfig::default());
        let needed = |distance, shorter| detector.matches_needed_to_relate(distance, shorter, 1_000);
        assert_eq!([0, 13, 14, 20, 28].map(|distance| needed(distance, 599)), [10, 10, 11, 14, 18]);
        assert_eq!([0, 20, 24, 28].map(|distance| needed(distance, 600)), [16, 16, 18, 20]);
    }

    /// Three tenths of a text, from anywhere in it, whichever comes first.
    #[test]
    fn excerpts_of_three_tenths_are_related() {
        let detector = SimHash::new(&SimHashConfig::default());
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &leitong_text::segment::Lexicons::default())
                .expect("the default settings");
        let fingerprint = |range| {
            let mut terms = Terms::default();
            segmenter.segment(&Document::from_text(None, &sentences(range)), &mut terms);
            detector.fingerprint(&terms).expect("long enough")
        };
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
        // No term stands in these sentences twice, so that SimHashes are further apart than those of
        // texts as people write them, of which ADR 32 has the figures.
        assert!(found >= 45, "{found} of 60");
    }

    #[test]
    fn an_excerpt_is_no_copy() {
        let detector = SimHash::new(&SimHashConfig::default());
        let comparable = |a, b| detector.lengths_are_comparable(a, b, Addresses::Apart);
        assert!(comparable(100, 200) && comparable(200, 100) && !comparable(99, 200));
        assert!(comparable(0, 0) && comparable(65_535, 65_535));
        let versions = |a, b| detector.lengths_are_comparable(a, b, Addresses::OnePage);
        assert!(versions(80, 200) && !versions(79, 200), "a page that grew");
    }

    /// Sentences of which no two are alike.
    fn sentences(range: std::ops::Range<u32>) -> String {
        let word = |number: u32| format!("w{:x}", number.wrapping_mul(0x9e37_79b1) >> 8);
        let sentence = |at: u32| (0..9).map(|i| word(at * 9 + i)).collect::<Vec<_>>().join(" ") + ". ";
        range.map(sentence).collect()
    }

    #[test]
    fn which_near_pages_are_duplicates_is_a_setting() {
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &leitong_text::segment::Lexicons::default())
                .expect("defaults");
        let of = |duplicates| {
            let mut simhash = SimHashConfig::default();
            simhash.near.duplicates = duplicates;
            let detector = SimHash::new(&simhash);
            let fingerprint = |range| {
                let mut terms = Terms::default();
                segmenter.segment(&Document::from_text(None, &sentences(range)), &mut terms);
                detector.fingerprint(&terms).expect("long enough")
            };
            let canonical = fingerprint(0..100);
            let pages = [0..97, 0..65, 0..150, 30..135, 0..40, 500..600].map(fingerprint);
            pages.map(|page| match detector.compare(&page, &canonical).near {
                true => "duplicate",
                false if detector.related(&page, &canonical) => "related",
                false => "",
            })
        };
        // The same but for a few sentences, an excerpt, more than the canonical page, overlapping,
        // a short excerpt, and another text.
        assert_eq!(of(Duplicates::All), ["duplicate", "duplicate", "duplicate", "duplicate", "related", ""]);
        assert_eq!(
            of(Duplicates::Contained),
            ["duplicate", "duplicate", "related", "related", "related", ""]
        );
        assert_eq!(of(Duplicates::Same), ["duplicate", "related", "related", "related", "related", ""]);
    }

    /// The weather of two days, in sentences that are the same but for their numbers.
    #[test]
    fn other_numbers_are_no_copy() {
        let detector = SimHash::new(&SimHashConfig::default());
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &leitong_text::segment::Lexicons::default())
                .expect("the default settings");
        let near = |a: &str, b: &str| {
            let fingerprint = |text: &str| {
                let mut terms = Terms::default();
                segmenter.segment(&Document::from_text(None, text), &mut terms);
                detector.fingerprint(&terms).expect("long enough")
            };
            detector.compare(&fingerprint(a), &fingerprint(b)).near
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

    /// Lists of flaws of which one number differs, help pages of two commands, and a version of which
    /// the word before the number changed as well were duplicates.
    #[test]
    fn pages_of_a_series_that_say_other_facts_are_no_copies() {
        let detector = SimHash::new(&SimHashConfig::default());
        let segmenter =
            Segmenter::new(&SegmentConfig::default(), &leitong_text::segment::Lexicons::default())
                .expect("defaults");
        let near = |urls: [&str; 2], texts: [&str; 2]| {
            let [a, b] = [0, 1].map(|i| {
                let (mut terms, mut document) = (Terms::default(), Document::from_text(None, texts[i]));
                document.address = leitong_text::page::address::Address::from_url(urls[i]);
                segmenter.segment(&document, &mut terms);
                detector.fingerprint(&terms).expect("long enough")
            });
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
        assert!(near(series, [&alias("comm"), &alias("comm").replace("original command", "real command")]));
        assert!(!near(series, [&alias("comm"), &alias("pathchk")]));
        // One address says that it is one page, whatever changed.
        let one = ["https://a.example/docs/aliases", "https://a.example/docs/aliases#now"];
        assert!(near(one, [&alias("comm"), &alias("pathchk")]));
        assert!(near(["", ""], [&alias("comm"), &alias("comm").replace("by calling", "calling")]));
    }

    /// Both settings say what they say: of sets of passages, without rounding.
    #[test]
    fn contained_passages_are_those_of_sets() {
        for (shorter, longer) in [(100, 100), (100, 150), (300, 600), (1, 65_535)] {
            for share in (0..=10_000).step_by(500) {
                let common = f64::from(share) / 10_000.0 * f64::from(shorter);
                let jaccard = common / (f64::from(shorter + longer) - common);
                let expected = 64.0 * (1.0 / 16.0 + 15.0 / 16.0 * jaccard);
                let needed = f64::from(matches_contained(share, shorter, longer));
                assert!(
                    (needed - expected - 0.5).abs() <= 0.51,
                    "{share} of {shorter} in {longer}: {needed} for {expected}"
                );
            }
        }
        assert_eq!(matches_contained(10_000, 0, 0), 64, "no text at all");
    }
}
