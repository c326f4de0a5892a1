//! Runs the worker's own owner, writer, restore, standby, snapshots and fingerprint sessions over simulated
//! brokers in simulated time. A seed decides every delay, fault and crash, and reproduces the run to the
//! byte.
//!
//! ```text
//! seed ─► Run ─► actors (the product's code, each on a stack of its own) ─► SimWorld (the ports)
//!           └► events: crashes, rebalances, late requests, stale leaders …     └► Brokers
//! ```
//! Whenever the product calls a port, it yields to the scheduler, which decides who continues and what time
//! it is. After a period of faults everything is healed and the log is drained. Then [`checks`] compares what
//! a `read_committed` consumer sees with the log: one outcome per page, and the outcomes that follow from the
//! log. Answers to look-ups during the run are compared with the log as well ([`look_ups`]).
//!
//! The brokers promise what Kafka promises, and no more: transaction markers arrive one after another; a new
//! leader may not know yet what was committed; a request or its answer may be lost, or a request may arrive
//! long after its repetition was served. A [`Mistake`] built into the ports shows that a broken promise is
//! found.

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

/// Random numbers from a seed, which is enough to repeat a run.
#[derive(Clone)]
pub(crate) struct Rng(Random);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::from_seed(seed))
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_bits() % bound.max(1)
    }

    /// Returns true once in `n` times, on average.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns one of `0..len`.
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

/// A mistake built into the ports or the brokers, to test that the checks find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// Brokers serve producers of older epochs.
    FencesNobody,
    /// A new owner reads before it has fenced the old one.
    ReadsBeforeFencing,
    /// The offset is sent before the records are delivered, on a producer that continues after one of its
    /// requests was repeated. An owner in doubt about a transaction sees no records.
    OffsetBeforeDeliveries,
    /// A producer continues after one of its requests was repeated. An owner in doubt about a transaction
    /// sees no records, since it would otherwise repair the damage of a late commit.
    SameProducerAfterRepetition,
    /// The changelog's records are written in the next transaction.
    CommitBeforeChangelog,
    /// A commit without an answer counts as committed.
    TrustsLostAnswers,
    /// The watermarks of the position record are not restored.
    ForgetsWatermarks,
    /// A restore omits a centroid.
    LosesCentroid,
    /// A restore omits which pages have replaced canonical ones.
    ForgetsCanonicalPages,
    /// A restore omits which pages were crawled or withdrawn.
    ForgetsCrawls,
    /// Log time is not restored.
    ForgetsLogTime,
    /// Brokers delete one centroid more than requested.
    DeletesUnexpired,
    /// A producer starts numbering centroids one too high.
    NumbersOffByOne,
    /// A reader of the changelog omits the last centroid before its end.
    RestoreEndsBeforeFounded,
    /// Occasionally a position contains the expiry bound of an earlier position.
    BoundsFall,
    /// A standby reads uncommitted records.
    StandbyAheadOfCommits,
    /// The group's offset is not part of the transaction.
    OffsetOutsideOfTransaction,
    /// No offset is committed.
    CommitsNoOffset,
    /// A reader skips a record when it begins.
    ReaderSkipsRecord,
    /// The outcome of a transaction is read from aborted records too.
    DoubtReadsUncommitted,
    /// A producer's records are written twice if they are sent twice.
    NoIdempotence,
    /// Page offsets are committed when records are sent.
    PageOffsetsBeforeDeliveries,
    /// Log records name no predecessor.
    NamesNoPredecessor,
    /// A session continues after a failed delivery.
    SessionOutlivesFailure,
    /// A reader of the changelog stops some records before its end.
    RestoreEndsEarly,
    /// A new producer commits what the old one has left open.
    CommitsWhatWasLeftOpen,
    /// A new owner does not see what brokers have left open of a transaction that they report as ended.
    OverlooksOpenRecords,
}
