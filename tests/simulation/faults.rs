//! Faults of requests, and how often they occur.

use super::{MS, Rng, SECOND, Time};

/// The fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The request never arrives.
    LostRequest,
    /// The request is served, and the answer never arrives.
    LostAnswer,
    /// The connection breaks; the request arrives this much later.
    Late(Time),
    /// The request arrives twice, one after the other.
    Twice,
}

/// The frequency of faults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    /// One request in this many has a fault; 0 means none.
    pub(crate) one_in: u64,
}

impl Faults {
    /// No faults.
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
