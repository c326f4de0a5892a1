//! Takes over a partition of the log from its former owner. This is the first step of a new owner (mod.rs);
//! the next one is to restore the table (../restore/).
//!
//! In: the partition. Out: a producer under the partition's transactional id, which no other instance can use
//! any more. There are two steps:
//!
//! 1. `init_transactions` under that id. Brokers end the former owner's open transaction, and reject its later
//!    requests, even if it is alive and does not know yet that it lost the partition.
//! 2. `unended.rs` completes transactions that brokers have ended, but whose end marker some partitions lack. If
//!    there was such a transaction, taking over fails with a transient error. The owner then waits a second and
//!    takes over again.
//!
//! Cost: a few requests; 0.16 s when measured, for an owner that had died in a transaction.

use super::owned::OwnedPartition;
use super::transaction::TransactionalProducer;
use super::trouble::Trouble;
use super::unended;
use crate::worker::ports::World;

/// Takes over the transactional id of the partition, which fences the former owner, and ends that owner's
/// open transactions. Also fails if a transaction had to be completed; see the module's comment.
pub(super) fn take_over<W: World>(
    owned: &OwnedPartition<W>,
    log: &W::Reader,
) -> Result<TransactionalProducer<W::Client>, Trouble> {
    let client = owned.world().transactions(owned.partition)?;
    let producer = TransactionalProducer::take_over(client, owned.partition, || owned.stop.is_requested())?;
    unended::complete(owned, log, &producer)?;
    Ok(producer)
}
