//! A model of the worker's protocol: brokers, workers of both halves, and everything that may happen to them,
//! drawn from a seed. What decides (sessions, watermarks, tables, changelog, where an owner goes on) is the
//! program's own code; what brokers promise is modelled here, as strictly as they promise it and no more.

#![allow(dead_code, reason = "each test file uses a part of this")]

pub(crate) mod brokers;
pub(crate) mod fingerprint;
pub(crate) mod owner;
pub(crate) mod world;

/// A small generator, so that a seed is all it takes to see a run again.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }
}

/// A mistake built into the protocol, to see that the model finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// Offsets are committed when records are sent.
    CommitsBeforeDelivery,
    /// Records name no predecessor.
    NamesNoPredecessor,
    /// A producer that was fenced may still commit.
    FencesNobody,
    /// A new owner does not end the transaction of the old one before it reads.
    ReadsBeforeFencing,
    /// A transaction whose answer was lost counts as committed.
    TrustsLostAnswers,
}
