//! `paragraph`: finds pages that share paragraphs (paper 001).
//!
//! Fingerprint: for each paragraph with a long enough sentence, a SimHash ([`hash`]) and a weight: its
//! characters times a factor for its place (opening paragraph, under a heading, level of lists). Two pages
//! are near if [matching] paragraphs hold enough of the weight of **both**. If they do so for one
//! page only, one page is an excerpt of the other, which is evidence but no duplicate. Common paragraphs are
//! left out by a [list](crate::boilerplate).
//!
//! Encoding: per paragraph its SimHash (8 or 16 bytes, big-endian) and its weight (2, big-endian, at most
//! 65,535).
//!
//! Keys. Near pages share paragraphs that hold `share_min` of each page, so any selection that leaves out
//! less than `share_min` contains a shared one. Only such a selection is inserted, the
//! [main](mod@main_paragraphs) paragraphs.
//! * `bands`: groups of 32 consecutive bits of each main paragraph. Near pages share one; this is then part
//!   of the definition of near.
//! * `blocks`: matching hashes agree within the radius of at least one block ([`Blocks`]). Main paragraphs
//!   are inserted under their blocks; all paragraphs are looked up, within the radii. Finds every near page.

mod bands;
mod bound;
mod config;
mod hash;
mod main_paragraphs;
mod matching;

use serde_json::{Map, Value, json};

use self::bound::{Bound, MayBeNear};
pub use self::config::ParagraphConfig;
use self::config::{Bits, Candidates, Matching};
use self::hash::Hasher;
use self::main_paragraphs::main_paragraphs;
use self::matching::{Match, ParagraphFingerprint};
use crate::blocks::Blocks;
use crate::boilerplate::Boilerplate;
use crate::idf::IdfTable;
use crate::resources::{ResourceError, Resources};
use crate::secret::{Purpose, TextHash};
use crate::{Comparison, Detector, Shares, basis_points, compare_bounded, to_display};
use leitong_text::extract::ParagraphKind;
use leitong_text::segment::{ParagraphTerms, Terms};

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// Version of the comparison, part of the cluster hash. Raise it whenever other fingerprints may be near.
const NEAR_VERSION: u32 = 2;

const WEIGHT_BYTES: usize = 2;
/// Maximum number of matches listed as evidence.
const MATCHES_SHOWN: usize = 8;

impl ParagraphConfig {
    /// Creates the detector with these settings.
    ///
    /// # Errors
    /// [`ResourceError`] if a file cannot be used.
    pub fn detector(&self, resources: &Resources) -> Result<Box<dyn Detector>, ResourceError> {
        Ok(Box::new(Paragraph::new(self, resources)?))
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct Paragraph {
    config: ParagraphConfig,
    idf: IdfTable,
    boilerplate: Boilerplate,
    blocks: Blocks,
    /// The setting of this name, in basis points.
    share_min: u32,
    hash_bytes: usize,
    hash: TextHash,
}

impl Paragraph {
    fn new(config: &ParagraphConfig, resources: &Resources) -> Result<Self, ResourceError> {
        let hash_bytes = match config.bits {
            Bits::B64 => 8,
            Bits::B128 => 16,
        };
        Ok(Self {
            config: config.clone(),
            idf: IdfTable::new(&resources.idf)?,
            boilerplate: Boilerplate::new(&resources.boilerplate)?,
            blocks: Blocks::new(hash_bytes as u32 * 8, config.near.max_distance),
            share_min: basis_points(config.near.share_min).max(1),
            hash_bytes,
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Terms),
        })
    }

    /// Returns characters times the factor for the place. The opening paragraph is the page's first that is
    /// not a heading.
    fn weight(&self, paragraph: &ParagraphTerms, text: &str, opening: bool) -> u16 {
        let mut weight = text.chars().filter(|c| !c.is_whitespace()).count() as u64 * 100;
        let mut percent = |percent: u32| weight = weight * u64::from(percent) / 100;
        if opening {
            percent(self.config.opening_percent);
        }
        if paragraph.place.heading.is_some() {
            percent(self.config.under_heading_percent);
        }
        (0..paragraph.place.list_level).for_each(|_| percent(self.config.list_level_percent));
        u16::try_from((weight / 100).max(1)).unwrap_or(u16::MAX)
    }

    fn decode<'a>(&self, fingerprint: &'a [u8]) -> impl Iterator<Item = ParagraphFingerprint> + use<'a> {
        let hash_bytes = self.hash_bytes;
        fingerprint.chunks_exact(hash_bytes + WEIGHT_BYTES).map(move |entry| {
            let (hash, weight) = entry.split_at(hash_bytes);
            let mut bytes = [0; 16];
            bytes[..hash_bytes].copy_from_slice(hash);
            ParagraphFingerprint {
                hash: u128::from_be_bytes(bytes),
                weight: u16::from_be_bytes([weight[0], weight[1]]),
            }
        })
    }

    fn decode_both(&self, a: &[u8], b: &[u8]) -> [Vec<ParagraphFingerprint>; 2] {
        [a, b].map(|fingerprint| self.decode(fingerprint).collect())
    }

    fn main_paragraphs(&self, fingerprints: &[ParagraphFingerprint]) -> Vec<ParagraphFingerprint> {
        main_paragraphs(fingerprints, self.share_min)
    }

    fn matches(&self, a: &[ParagraphFingerprint], b: &[ParagraphFingerprint]) -> Vec<Match> {
        match self.config.near.matching {
            Matching::OneToOne => matching::one_to_one(a, b, self.config.near.max_distance),
            Matching::Strict => matching::in_place(a, b, self.config.near.max_distance),
        }
    }

    /// Returns the number of bands of 32 bits.
    fn bands(&self) -> u32 {
        self.hash_bytes as u32 / 4
    }

    /// Adds the keys for the chosen kind of candidates. For blocks, `of_hash` yields the keys of a hash, to
    /// insert or to probe.
    fn keys(
        &self,
        fingerprint: &[u8],
        probed: bool,
        of_hash: fn(&Blocks, u128, &mut Vec<u64>),
        keys: &mut Vec<u64>,
    ) {
        let fingerprints: Vec<ParagraphFingerprint> = self.decode(fingerprint).collect();
        let of_hash = |hash, keys: &mut Vec<u64>| of_hash(&self.blocks, hash, keys);
        match (self.config.near.candidates, self.config.near.matching) {
            (Candidates::Bands, _) => bands::keys(&self.main_paragraphs(&fingerprints), self.bands(), keys),
            // In near pages every paragraph matches, so the first one is enough.
            (Candidates::Blocks, Matching::Strict) => bands::distinct_keys(&fingerprints[..1], keys, of_hash),
            (Candidates::Blocks, Matching::OneToOne) if probed => {
                bands::distinct_keys(&fingerprints, keys, of_hash);
            }
            (Candidates::Blocks, Matching::OneToOne) => {
                bands::distinct_keys(&self.main_paragraphs(&fingerprints), keys, of_hash);
            }
        }
    }
}

impl Detector for Paragraph {
    fn name(&self) -> &'static str {
        "paragraph"
    }

    fn fingerprint_settings(&self) -> Value {
        let mut settings = json!(self.config);
        if let Some(settings) = settings.as_object_mut() {
            settings.remove("near");
            settings.insert("version".into(), VERSION.into());
            settings.insert("boilerplate_file".into(), self.boilerplate.contents().into());
            if self.config.idf {
                settings.insert("idf_table".into(), self.idf.contents().into());
            }
        }
        settings
    }

    fn near_settings(&self) -> Value {
        json!({ "version": NEAR_VERSION, "near": self.config.near })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let mut hasher = Hasher::new(&self.config, &self.idf, self.hash, terms);
        let mut fingerprints = Vec::new();
        let mut opening = true;
        for paragraph in terms.paragraphs() {
            let text = &terms.text()[paragraph.text.clone()];
            if !self.boilerplate.contains(text)
                && let Some(hash) = hasher.hash(paragraph)
            {
                fingerprints
                    .push(ParagraphFingerprint { hash, weight: self.weight(paragraph, text, opening) });
            }
            opening &= matches!(paragraph.kind, ParagraphKind::Heading(_));
        }
        if fingerprints.len() > self.config.paragraphs_max {
            let mut weights: Vec<(u16, std::cmp::Reverse<usize>)> = (0..)
                .zip(&fingerprints)
                .map(|(at, fingerprint)| (fingerprint.weight, std::cmp::Reverse(at)))
                .collect();
            weights.sort_unstable();
            let lightest_kept = weights[fingerprints.len() - self.config.paragraphs_max];
            let mut at = 0..;
            fingerprints.retain(|fingerprint| {
                at.next().is_some_and(|at| (fingerprint.weight, std::cmp::Reverse(at)) >= lightest_kept)
            });
        }
        let encode = |fingerprint: &ParagraphFingerprint| {
            let hash = fingerprint.hash.to_be_bytes();
            [&hash[..self.hash_bytes], &fingerprint.weight.to_be_bytes()].concat()
        };
        (!fingerprints.is_empty()).then(|| fingerprints.iter().flat_map(encode).collect())
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        let entry = self.hash_bytes + WEIGHT_BYTES;
        !bytes.is_empty()
            && bytes.len().is_multiple_of(entry)
            && bytes.len() / entry <= self.config.paragraphs_max
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.keys(fingerprint, false, Blocks::insert_keys, keys);
    }

    fn probe_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        self.keys(fingerprint, true, Blocks::probe_keys, keys);
    }

    fn compare_all(&self, fingerprint: &[u8], compared: &[&[u8]], found: &mut dyn FnMut(usize, Comparison)) {
        let may_be_near = || {
            let fingerprints: Vec<ParagraphFingerprint> = self.decode(fingerprint).collect();
            let share_min = if self.config.near.matching == Matching::OneToOne { self.share_min } else { 0 };
            let max_distance = self.config.near.max_distance;
            let bound = Bound::new(&fingerprints, max_distance, share_min, self.hash_bytes);
            pulp::Arch::new().dispatch(MayBeNear { bound, fingerprints: compared })
        };
        compare_bounded(self, fingerprint, compared, may_be_near, found);
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let [a, b] = self.decode_both(a, b);
        let matches = self.matches(&a, &b);
        let (of_a, of_b) = matching::shares(&a, &b, &matches);
        let share = of_a.min(of_b);
        let near = match self.config.near.matching {
            Matching::OneToOne => share >= self.share_min,
            Matching::Strict => a.len() == b.len() && matches.len() == a.len(),
        };
        let share_a_band =
            || bands::share(&self.main_paragraphs(&a), &self.main_paragraphs(&b), self.bands());
        let near = near && (self.config.near.candidates == Candidates::Blocks || share_a_band());
        Comparison { distance: 10_000 - share, near }
    }

    fn shares(&self, a: &[u8], b: &[u8]) -> Option<Shares> {
        let [a, b] = self.decode_both(a, b);
        let (of_a, of_b) = matching::shares(&a, &b, &self.matches(&a, &b));
        Some(Shares { of_a, of_b })
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let [a, b] = self.decode_both(a, b);
        let mut matches = self.matches(&a, &b);
        let (of_a, of_b) = matching::shares(&a, &b, &matches);
        let mut evidence = Map::new();
        evidence.insert("paragraphs".into(), a.len().into());
        evidence.insert("canonical_paragraphs".into(), b.len().into());
        evidence.insert("shared_paragraphs".into(), matches.len().into());
        evidence.insert("shared_share".into(), to_display(of_a).into());
        evidence.insert("canonical_shared_share".into(), to_display(of_b).into());
        evidence.insert("share_needed".into(), to_display(self.share_min).into());
        if self.config.near.matching == Matching::OneToOne && of_a.min(of_b) < self.share_min {
            let excerpt = match (of_a >= self.share_min, of_b >= self.share_min) {
                (true, _) => Some("the page is an excerpt of the canonical one, or is contained in it"),
                (_, true) => Some("the page contains the canonical one, or an excerpt of it"),
                _ => None,
            };
            if let Some(excerpt) = excerpt {
                evidence.insert("excerpt".into(), excerpt.into());
            }
        }
        // Heaviest first: [number in the page, number in the canonical page, differing bits], counted from 1.
        matches.sort_by_key(|pair| (std::cmp::Reverse(a[pair.a].weight), pair.a));
        let shown =
            matches.iter().take(MATCHES_SHOWN).map(|pair| json!([pair.a + 1, pair.b + 1, pair.distance]));
        evidence.insert("matches".into(), shown.collect());
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        // Shows the heaviest paragraph's hash, as a name for people; it is not the whole fingerprint.
        let heaviest = self
            .decode(fingerprint)
            .max_by_key(|fingerprint| fingerprint.weight)
            .map_or(0, |fingerprint| fingerprint.hash);
        let hex = format!("{heaviest:032x}");
        hex[..2 * self.hash_bytes].to_owned()
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        (self.config.near.matching == Matching::OneToOne)
            .then(|| format!("[paragraph.near]\nshare_min = {}", to_display(10_000 - distance.min(9_999))))
    }
}
