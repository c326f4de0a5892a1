//! Takes over a partition from its former owner.
//!
//! In: the partition. Out: a producer under the partition's transactional id, which no other instance can use
//! any more: `init_transactions` has fenced the former owner and ended its transaction, and `unended.rs` has
//! ended transactions that some partitions still considered open.

use super::owned::OwnedPartition;
use super::ports::World;
use super::transaction::{TransactionError, TransactionalProducer};
use super::trouble::Trouble;
use super::unended;

/// Takes over the transactional id of the partition, which fences the former owner, and ends that owner's open
/// transactions.
pub(super) fn take_over<W: World>(
    owned: &OwnedPartition<W>,
    log: &W::Reader,
) -> Result<TransactionalProducer<W::Client>, Trouble> {
    let client = owned.role.world.transactions(owned.partition).map_err(TransactionError::from)?;
    let producer = TransactionalProducer::take_over(client, owned.partition, || owned.stop.is_requested())?;
    unended::end(owned, log, &producer)?;
    Ok(producer)
}
