//! The worker's own owner, writer, restore, standby, snapshots and fingerprint
//! sessions over simulated brokers in simulated time: a seed decides on every
//! delay, fault and crash, and gives the same run to the byte.
//!
//! ```text
//! seed ─► Run ─► actors (the product's code, each on a stack of its own) ─► SimWorld (the ports)
//!           └► events: crashes, rebalances, late requests, stale leaders …     └► Brokers
//! ```
//! Whenever the product asks the world for anything, it yields to the scheduler, which decides who
//! goes on and what time it is. After a while of faults all is healed, the log is drained, and
//! [`checks`] compares what a `read_committed` consumer sees with the log: one outcome a page, and
//! the outcomes that the log gives. What look-ups were answered meanwhile is compared with the log
//! as well ([`look_ups`]).
//!
//! The brokers promise what Kafka promises, and no more: transaction markers arrive one after the
//! other; a new leader may not know yet what was committed; a request may be lost, be answered into
//! the void, or arrive long after its repetition was served. A [`Mistake`] built into the ports
//! shows that a broken promise is found.

mod brokers;
mod checks;
mod client;
mod faults;
mod fingerprint;
mod look_ups;
mod reader;
mod run;
mod tests;
mod world;

use leitong_base::random::Random;

/// Random numbers, so that a seed is all it takes to see a run again.
#[derive(Clone)]
pub(crate) struct Rng(Random);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::of_seed(seed))
    }

    /// Some number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_bits() % bound.max(1)
    }

    /// True once in `n` times.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `0..len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

/// Microseconds of simulated time.
pub(crate) type Time = u64;

/// A millisecond.
pub(crate) const MS: Time = 1000;
/// A second.
pub(crate) const SECOND: Time = 1000 * MS;

/// A mistake built into the ports or the brokers, to see that the checks find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Brokers serve producers of older epochs.
    FencesNobody,
    /// A new owner reads before it has fenced the old one.
    ReadsBeforeFencing,
    /// The offset is sent before the records are delivered, on a producer that goes
    /// on after a request of it was repeated; and who is in doubt sees no records.
    OffsetBeforeDeliveries,
    /// A producer goes on after a request of it was repeated, and who is in doubt
    /// sees no records: what a late commit breaks would be repaired otherwise.
    SameProducerAfterRepetition,
    /// The changelog's records go with the next transaction.
    CommitBeforeChangelog,
    /// A commit without an answer counts as committed.
    TrustsLostAnswers,
    /// The watermarks of the position record are not restored.
    ForgetsWatermarks,
    /// A restore leaves out a centroid.
    LosesCentroid,
    /// A restore leaves out which pages have taken the place of canonical ones.
    ForgetsCanonicalPages,
    /// A restore leaves out which pages were crawled or withdrawn.
    ForgetsCrawls,
    /// Log time is not restored.
    ForgetsLogTime,
    /// Brokers delete one centroid more than they are asked to.
    DeletesUnexpired,
    /// A producer begins to number centroids one too high.
    NumbersOffByOne,
    /// A reader of the changelog leaves out the last centroid before its end.
    RestoreEndsBeforeFounded,
    /// Now and then a position says what had expired some positions before.
    BoundsFall,
    /// A standby reads what is not committed.
    StandbyAheadOfCommits,
    /// The group's offset is not part of the transaction.
    OffsetOutsideOfTransaction,
    /// No offset is committed.
    CommitsNoOffset,
    /// A reader skips a record when it begins.
    ReaderSkipsRecord,
    /// What became of a transaction is read from records that were aborted, too.
    DoubtReadsUncommitted,
    /// A producer's records are written twice when they are sent twice.
    NoIdempotence,
    /// Page offsets are committed when records are sent.
    PageOffsetsBeforeDeliveries,
    /// Log records name no predecessor.
    NamesNoPredecessor,
    /// A session goes on after a failed delivery.
    SessionOutlivesFailure,
    /// A reader of the changelog stops some records before its end.
    RestoreEndsEarly,
    /// A new producer commits what the old one has left open.
    CommitsWhatWasLeftOpen,
    /// A new owner does not see what brokers have left open
    /// of a transaction that they say has ended.
    OverlooksOpenRecords,
}
