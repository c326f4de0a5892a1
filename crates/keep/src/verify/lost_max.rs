//! Limits on the text that may be lost when a document is dropped.

use std::fmt;
use std::str::FromStr;

use super::loss::Loss;

/// The share of [`LostMax::letters`] that a document's own passage must have to keep the document: by default 60
/// letters. Two thirds are enough for a whole sentence.
const OWN_PASSAGE: f64 = 0.12;

/// Limits on the text that may be lost with a document; above one of them, the document is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostMax {
    /// Maximum share of the document in passages that the kept document lacks.
    pub share: f64,
    /// Maximum number of letters in the longest lost passage. There are two exceptions. If the lost text is spread over
    /// a long text, the limit is a tenth of that text, but at least this number and at most twice this number. If the
    /// passage is the document's [own](Loss::own_passages), the limit is this number times [`OWN_PASSAGE`], unless the
    /// document is the kept one fetched again.
    pub letters: u32,
}

impl Default for LostMax {
    fn default() -> Self {
        Self { share: 0.4, letters: 500 }
    }
}

impl LostMax {
    /// Returns true if `loss` is within the limits. A document's own passages have a [limit](Self::own_letters) of their
    /// own.
    pub(super) fn allows(self, loss: &Loss) -> bool {
        // If the share is 0, differences in wording count as well.
        let is_within_share = if self.share == 0.0 { loss.longest == 0 } else { loss.share() <= self.share };
        let tenth = (loss.letters / 10).min(self.letters.saturating_mul(2));
        let letters = if loss.is_spread() { self.letters.max(tenth) } else { self.letters };
        is_within_share && loss.longest <= letters
    }

    /// Returns the number of letters from which on a passage of a document's own keeps it.
    pub(super) fn own_letters(self) -> u32 {
        (f64::from(self.letters) * OWN_PASSAGE) as u32
    }
}

/// The error for text that does not say how much may be lost.
const NO_LOST_MAX: &str =
    "expected a share of the text from 0 to 1, a number of letters, or both, such as 0.2, 300 or 0.2,300";

impl FromStr for LostMax {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lost_max = Self::default();
        let mut parts = 0;
        for part in text.split(',') {
            let part = part.trim();
            match (part.parse::<u32>(), part.parse::<f64>()) {
                (Ok(letters), _) if letters > 1 => lost_max.letters = letters,
                (_, Ok(share)) if (0.0..=1.0).contains(&share) => lost_max.share = share,
                _ => return Err(NO_LOST_MAX),
            }
            parts += 1;
        }
        if parts > 2 { Err(NO_LOST_MAX) } else { Ok(lost_max) }
    }
}

impl fmt::Display for LostMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.share, self.letters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_all_over_a_long_text_may_be_longer_than_one_passage() {
        let allows = |longest: u32, total: u32| {
            LostMax::default().allows(&Loss { letters: 9_000, longest, total, ..Loss::default() })
        };
        assert!(allows(500, 600) && !allows(700, 900), "one passage");
        assert!(allows(700, 2_000) && !allows(950, 2_000), "a tenth, in many places");
        assert_eq!(LostMax::default().own_letters(), 60);
    }
}
