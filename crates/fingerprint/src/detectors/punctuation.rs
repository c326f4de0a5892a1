//! `punctuation`, a baseline (paper 004, framework 1): finds texts that are equal around one punctuation
//! mark.
//!
//! It hashes five letters before and after the m-th full stop or line break, or around the last one if the
//! text has fewer. The paper does not state m. Two texts are near iff the hashes are equal: it misses pairs
//! with one edit near the mark, or with one more mark before it.
//!
//! Encoding: the hash, 8 bytes, big-endian; it is also the key. Cost: the text up to the mark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::resources::Resources;
use crate::secret::{Purpose, TextHash};
use crate::{Comparison, Detector};
use leitong_text::segment::Terms;

/// Version of the fingerprint, part of the fingerprint hash. Raise it whenever the same terms may yield a
/// different fingerprint.
const VERSION: u32 = 1;
/// Number of letters on each side of the mark.
const LETTERS: usize = 5;

/// The baseline `punctuation`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PunctuationConfig {
    /// Number of the full stop or line break whose surroundings are hashed, counted from 1.
    #[schemars(range(min = 1, max = 1_000))]
    pub(crate) mark: usize,
}

impl Default for PunctuationConfig {
    fn default() -> Self {
        // The paper does not state m. On most pages the third mark follows the headline and the first line.
        Self { mark: 3 }
    }
}

impl PunctuationConfig {
    /// Creates the detector with these settings.
    #[must_use]
    pub fn detector(&self, resources: &Resources) -> Box<dyn Detector> {
        let hash = TextHash::new(resources.secret.as_ref(), Purpose::Texts);
        Box::new(Punctuation { mark: self.mark, hash })
    }
}

/// The detector with its settings.
#[derive(Debug)]
struct Punctuation {
    mark: usize,
    hash: TextHash,
}

/// Returns the position of the `number`-th mark of `text`, or of the last one if there are fewer.
fn mark(text: &str, number: usize) -> Option<usize> {
    let is_mark = |(at, c): &(usize, char)| match c {
        '。' | '\n' => true,
        // A full stop, not the point in a number or a name.
        '.' => text[at + 1..].chars().next().is_none_or(char::is_whitespace),
        _ => false,
    };
    text.char_indices().filter(is_mark).take(number).last().map(|(at, _)| at)
}

impl Detector for Punctuation {
    fn name(&self) -> &'static str {
        "punctuation"
    }

    fn fingerprint_settings(&self) -> Value {
        json!({ "version": VERSION, "mark": self.mark })
    }

    fn fingerprint(&self, terms: &Terms) -> Option<Box<[u8]>> {
        let (before, after) = terms.text().split_at(mark(terms.text(), self.mark)?);
        let before = before.chars().rev().filter(|c| c.is_alphanumeric()).take(LETTERS);
        let excerpt: String =
            before.chain(after.chars().filter(|c| c.is_alphanumeric()).take(LETTERS)).collect();
        // With fewer letters than one side should have, there is too little to compare.
        (excerpt.chars().count() >= LETTERS).then(|| self.hash.hash(excerpt.as_bytes()).to_be_bytes().into())
    }

    fn is_fingerprint(&self, bytes: &[u8]) -> bool {
        bytes.len() == 8
    }

    fn insert_keys(&self, fingerprint: &[u8], keys: &mut Vec<u64>) {
        keys.extend(fingerprint.first_chunk().map(|hash| u64::from_be_bytes(*hash)));
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Comparison {
        let near = a == b;
        Comparison { distance: 10_000 * u32::from(!near), near }
    }

    fn evidence(&self, a: &[u8], b: &[u8]) -> Map<String, Value> {
        Map::from_iter([("equal_round_the_mark".to_owned(), Value::Bool(a == b))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_punctuation_mark_is_found_by_its_number() {
        let text = "一。二3.5三. 四\n五";
        let after = |number| mark(text, number).map(|at| &text[at..]);
        assert_eq!(after(1), Some("。二3.5三. 四\n五"));
        assert_eq!(after(2), Some(". 四\n五"));
        assert_eq!(after(3), Some("\n五"));
        assert_eq!(after(9), Some("\n五"), "the last one");
        assert_eq!(mark("no mark", 1), None);
    }
}
