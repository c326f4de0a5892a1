//! Limits on the text that may be lost when a document is dropped.

use std::fmt;
use std::str::FromStr;

use super::loss::Loss;

/// The share of [`LostMax::letters`] that a document's own passage must have to keep the document: by default 250
/// letters.
const OWN_PASSAGE: f64 = 0.5;

/// Limits on the text that may be lost with a document; above one of them, the document is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostMax {
    /// Maximum share of the document in passages that the kept document lacks.
    pub share: f64,
    /// Maximum number of letters in the longest lost passage. If it is the document's [own](Loss::own_passages), the
    /// limit is this number times [`OWN_PASSAGE`]. Another version of the kept page may lose any passage.
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
        self.allows_version(loss) && loss.longest <= self.letters
    }

    /// Returns true if `loss` is within the limits of another version of the kept page, which may have lost any passage.
    pub(super) fn allows_version(self, loss: &Loss) -> bool {
        // If the share is 0, differences in wording count as well.
        if self.share == 0.0 { loss.longest == 0 } else { loss.share() <= self.share }
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
    fn a_version_may_lose_a_long_passage_and_a_copy_may_not() {
        let loss = |longest: u32, lost: u32| Loss { letters: 9_000, longest, lost, ..Loss::default() };
        let max = LostMax::default();
        assert!(max.allows(&loss(500, 600)) && !max.allows(&loss(700, 900)));
        assert!(max.allows_version(&loss(700, 900)) && !max.allows_version(&loss(700, 4_000)));
        let all = LostMax { share: 0.0, ..max };
        assert!(!all.allows_version(&loss(1, 0)) && all.allows(&loss(0, 0)), "a word of its own");
    }
}
