//! `sentence-ends`, a baseline (papers 002 and 004 describe it): finds texts whose sentences begin and end
//! alike.
//!
//! Each sentence has a code: its first and last letter. `equal`, the papers' method: all codes, in order,
//! joined and hashed, are equal. `share`, ours: at least `share_min` of the longer text's codes are equal in
//! any order (a code that recurs counts as often as it occurs in both).
//!
//! Encoding: `equal` 8 bytes; `share` a [`hash_set`] of (code, number of earlier occurrences). Keys: exact
//! for both.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::resources::Resources;
use crate::secret::{Purpose, TextHash};
use crate::{Comparison, Detector, basis_points, hash_set, to_display};
use leitong_text::segment::{Terms, sentences};

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// Maximum number of sentences.
const SENTENCES_MAX: usize = 1_024;
/// Minimum number of letters of a sentence. Shorter ones begin and end alike too often.
const LETTERS_MIN: usize = 4;

/// The baseline `sentence-ends`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SentenceEndsConfig {
    /// Codes that near texts have in common: all (`equal`), or a `share` of them.
    pub(crate) matching: SentenceMatching,
    /// Minimum share of the longer text's codes that near texts have in common (`share`).
    #[schemars(range(min = 0.01, max = 1))]
    pub(crate) share_min: f64,
}

/// Codes that near texts have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SentenceMatching {
    /// All codes, in order.
    Equal,
    /// A share of the codes, in any order.
    Share,
}

impl Default for SentenceEndsConfig {
    fn default() -> Self {
        Self { matching: SentenceMatching::Share, share_min: 0.6 }
    }
}

impl SentenceEndsConfig {
    /// Creates the detector with these settings.
    #[must_use]
    pub fn detector(&self, resources: &Resources) -> Box<dyn Detector> {
        Box::new(SentenceEnds {
            config: self.clone(),
            share_min: basis_points(self.share_min).max(1),
            hash: TextHash::new(resources.secret.as_ref(), Purpose::Texts),
        })
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct SentenceEnds {
    config: SentenceEndsConfig,
    /// The setting of this name, in basis points.
    share_min: u32,
    hash: TextHash,
}

impl SentenceEnds {
    /// Returns the share of the longer text's codes that both texts have, in basis points, rounded down.
    fn share(&self, a: &[u8], b: &[u8]) -> u32 {
        match self.config.matching {
            SentenceMatching::Equal => u32::from(a == b) * 10_000,
            SentenceMatching::Share => {
                (hash_set::shared(a, b) * 10_000 / hash_set::len(a).max(hash_set::len(b))) as u32
            }
        }
    }
}

/// Returns the first and last letter of each sentence.
fn codes(text: &str) -> Vec<(char, char)> {
    let code = |sentence: &str| {
        let letters = || sentence.chars().filter(|c| c.is_alphanumeric());
        (letters().take(LETTERS_MIN).count() == LETTERS_MIN)
            .then(|| (letters().next().unwrap_or_default(), letters().next_back().unwrap_or_default()))
    };
    sentences(text).filter_map(|range| code(&text[range])).take(SENTENCES_MAX).collect()
}

impl Detector for SentenceEnds {
    fn name(&self) -> &'static str {
        "sentence-ends"
    }

    fn fingerprint_settings(&self) -> Value {
        json!({ "version": VERSION, "matching": self.config.matching })
    }

    fn near_settings(&self) -> Value {
        json!({ "share_min": self.config.share_min })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let codes = codes(terms.text());
        if codes.is_empty() {
            return None;
        }
        match self.config.matching {
            SentenceMatching::Equal => {
                let joined: String = codes.iter().flat_map(|(first, last)| [*first, *last]).collect();
                Some(self.hash.hash(joined.as_bytes()).to_be_bytes().into())
            }
            SentenceMatching::Share => {
                let mut occurrences = HashMap::<(char, char), u32>::new();
                let mut hashes: Vec<u32> = codes
                    .into_iter()
                    .map(|code| {
                        let number = occurrences.entry(code).or_default();
                        *number += 1;
                        (self.hash.hash(format!("{}{}{number}", code.0, code.1).as_bytes()) >> 32) as u32
                    })
                    .collect();
                Some(hash_set::encode(&mut hashes))
            }
        }
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        match self.config.matching {
            SentenceMatching::Equal => bytes.len() == 8,
            SentenceMatching::Share => hash_set::is_set(bytes, SENTENCES_MAX),
        }
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        match self.config.matching {
            SentenceMatching::Equal => {
                keys.extend(fingerprint.first_chunk().map(|hash| u64::from_be_bytes(*hash)));
            }
            SentenceMatching::Share => hash_set::prefix_keys(fingerprint, self.share_min, keys),
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let share = self.share(a, b);
        Comparison { distance: 10_000 - share, near: share >= self.share_min }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        let mut evidence = Map::new();
        if self.config.matching == SentenceMatching::Share {
            evidence.insert("sentences".into(), hash_set::len(a).into());
            evidence.insert("canonical_sentences".into(), hash_set::len(b).into());
            evidence.insert("equal_codes".into(), hash_set::shared(a, b).into());
            evidence.insert("share_needed".into(), to_display(self.share_min).into());
        } else {
            evidence.insert("equal_codes".into(), (a == b).into());
        }
        evidence
    }

    fn display(&self, fingerprint: &[u8]) -> String {
        format!("{:016x}", xxh3_64(fingerprint))
    }

    fn threshold_setting(&self, distance: u32) -> Option<String> {
        (self.config.matching == SentenceMatching::Share)
            .then(|| format!("[sentence-ends]\nshare_min = {}", to_display(10_000 - distance.min(9_900))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_first_and_last_letters() {
        assert_eq!(
            codes("春天已经来了。太短。“Spring has come!”他们都说\n"),
            [('春', '了'), ('S', 'e'), ('他', '说')]
        );
    }
}
