//! What may go wrong with a request, and how often.

use super::{MS, Rng, SECOND, Time};

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// It never arrives.
    LostRequest,
    /// It is served, and the answer never arrives.
    LostAnswer,
    /// The connection breaks; it arrives later, after so long.
    Late(Time),
    /// It arrives twice, one after the other.
    Twice,
}

/// How often things go wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// One request in so many; none at all where it is 0.
    pub(crate) one_in: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub(crate) const NONE: Self = Self { one_in: 0 };

    pub(crate) fn draw(self, rng: &mut Rng) -> Fault {
        if self.one_in == 0 || !rng.once_in(self.one_in) {
            return Fault::None;
        }
        match rng.below(6) {
            0 => Fault::LostRequest,
            1 => Fault::LostAnswer,
            2 => Fault::Twice,
            // From a moment to longer than a transaction may take.
            3 => Fault::Late(MS + rng.below(15 * SECOND)),
            _ => Fault::Late(MS + rng.below(120 * MS)),
        }
    }
}
