//! Completes transactions that brokers have ended, but whose end marker some partitions lack.
//!
//! To end a transaction, its coordinator writes a marker to each of the transaction's partitions. Kafka 4.3
//! skips partitions that have no leader at that moment (KAFKA-20734), as happens when all brokers of a
//! cluster restart. In these partitions, the records stay *open*. Readers do not see them, and the next
//! transaction under the same id includes them. Its commit would then publish records that were aborted, and
//! verdicts would appear twice. `init_transactions` does not report this.
//!
//! So an owner that has taken over looks for open records of its own, where there must be none. The table
//! shows how the owner finds out up to which log offset the transaction was committed. An *outcome* is a
//! verdict or a dead letter. A *position record* is the last record of each transaction, in the changelog; it
//! has the log offset after the transaction.
//!
//! | the group's committed offset | the changelog's end | committed up to |
//! |---|---|---|
//! | known | | the committed offset |
//! | unknown: its own marker is missing | known | the last position record |
//! | unknown | open too | the open position record, if any outcome after the last visible position is visible; otherwise the last visible position |
//!
//! Open outcomes after that log offset were aborted. To end them, another transaction is aborted in their
//! partitions. Open outcomes before it were committed, and become visible with the next commit to their
//! partition. Open position records and offsets that were committed are committed again, which only makes
//! them visible.

use std::time::Duration;

use prost::Message as _;

use super::owned::OwnedPartition;
use super::transaction::TransactionalProducer;
use super::trouble::Trouble;
use crate::kafka::error::refused;
use crate::kafka::ports::{OpenRange, Outgoing, ReadMode, Reader, Record, Step};
use crate::worker::ports::World;
use crate::worker::positions;
use leitong_base::proto;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::verdict_message::log_origin::LogOrigin;

/// Timeout for open transactions of other owners that hide records: longer than transactions may stay open.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval at which open records are looked for again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Timeout for reading one open record, and for the mark to become visible.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of offsets at the end of a partition that are searched for committed outcomes.
const TAIL: u64 = 50_000;

/// The key of records that serve only to end a transaction in a partition.
const MARK: &[u8] = b"unended";

/// The open records of a transaction that has ended: those in the changelog, and in each partition of outcomes, with the
/// log offset of the first one's record.
type Leftovers = (Option<OpenRange>, Vec<(OpenRange, u64)>);

/// The open records of the changelog.
struct OpenChangelog {
    range: OpenRange,
    /// The value of the last position record among the open records.
    position: Option<Vec<u8>>,
    /// The next log offset in that record.
    next_log_offset: Option<u64>,
}

/// The state of the open transaction, as far as it is known.
struct OpenTransaction {
    /// Open outcomes that were aborted.
    aborted: Vec<OpenRange>,
    changelog: Option<OpenChangelog>,
    /// True if the group's committed offset is unknown, because its own marker is missing.
    pending: bool,
    /// The log offset up to which everything is committed, or `None` if nothing is.
    done: Option<u64>,
}

/// Completes transactions that are still open under this transactional id. Called right after a take-over.
///
/// # Errors
/// [`Trouble`], also if a transaction had to be completed. The owner then takes over again, until it finds
/// none.
pub(super) fn complete<W: World>(
    owned: &OwnedPartition<W>,
    log: &W::Reader,
    producer: &TransactionalProducer<W::Client>,
) -> Result<(), Trouble> {
    let leftovers = find_leftovers(owned)?;
    // While the group's offset is open, the client retries and then reports only a timeout. So an error means
    // here that the offset is open.
    let committed = log.committed().or_else(|_| log.committed());
    if leftovers.0.is_none() && leftovers.1.is_empty() && committed.is_ok() {
        return Ok(());
    }
    let found = find_out(owned, producer, leftovers, committed.ok())?;
    let group = owned.world().group();
    let group = group.ok_or_else(|| refused!("this instance has left its group"))?;
    let was_committed =
        |open: &OpenChangelog| open.next_log_offset.is_some_and(|next| Some(next) <= found.done);
    let (position, open) = match &found.changelog {
        Some(open) if was_committed(open) => (open.position.as_ref(), None),
        Some(open) => (None, Some(&open.range)),
        None => (None, None),
    };
    let nothing_was_committed = found.pending && found.done.is_none();
    if found.aborted.is_empty() && open.is_none() && !nothing_was_committed {
        let Some(done) = found.done.filter(|_| found.pending || position.is_some()) else {
            return Ok(());
        };
        let centroids = &owned.config().kafka.topics.centroids;
        let key = POSITION_KEY.to_vec();
        let position = position.map(|value| record(centroids, owned.partition, &key, Some(value)));
        producer.commit_again(position, done, &group)?;
    } else {
        let (open, key) = (found.aborted.iter().chain(open), MARK.to_vec());
        let touched = open.map(|range| record(&range.topic, range.partition, &key, None));
        // A committed offset that is not visible yet must not be aborted with the other partitions. It is
        // committed after the next take-over, when the transaction has ended in those partitions.
        producer.abort_again(touched, nothing_was_committed.then_some(&group))?;
    }
    metrics::TRANSACTIONS_UNENDED.add(1);
    tracing::warn!(
        partition = owned.partition,
        partitions = ?found.aborted.iter().map(|range| (&range.topic, range.partition)).collect::<Vec<_>>(),
        changelog = found.changelog.is_some(),
        offset = found.pending,
        "readers were held up by a transaction that brokers had ended in some partitions only; it is ended in the \
         others now"
    );
    Err(refused!("a transaction was still open in some partitions; taking over again").into())
}

fn record<'a>(topic: &'a str, partition: u32, key: &'a Vec<u8>, value: Option<&'a Vec<u8>>) -> Outgoing<'a> {
    Outgoing { topic, partition: Some(partition), key: Some(key), value, headers: &[] }
}

/// Finds out what was decided about the transaction of the leftovers. `committed` is `None` if the group's
/// committed offset is unknown.
fn find_out<W: World>(
    owned: &OwnedPartition<W>,
    producer: &TransactionalProducer<W::Client>,
    (changelog, outcomes): Leftovers,
    committed: Option<Option<u64>>,
) -> Result<OpenTransaction, Trouble> {
    let changelog = match changelog {
        Some(range) => {
            let position = last_position(owned, &range)?;
            let next_log_offset = position.as_deref().and_then(next_log_offset);
            Some(OpenChangelog { range, position, next_log_offset })
        }
        None => None,
    };
    let done = match (committed, &changelog) {
        (Some(committed), _) => committed,
        (None, open) => {
            let centroids = &owned.config().kafka.topics.centroids;
            let mut mark_offset = None;
            if open.is_none() {
                // A leader that was just elected may hide the last position record. So a mark is written:
                // once the mark is visible, everything before it is.
                let key = MARK.to_vec();
                let mark = record(centroids, owned.partition, &key, None);
                producer.abort_again(std::iter::once(mark), None)?;
                mark_offset = producer.delivered().last().copied().flatten().map(|(_, offset)| offset);
            }
            let reader = owned.world().reader(centroids, owned.partition, ReadMode::ToEnd)?;
            let visible = position_up_to(owned, &reader, mark_offset)?;
            let visible = visible.map(|position| position.next_log_offset);
            match open {
                Some(OpenChangelog { next_log_offset: next @ Some(_), .. })
                    if any_visible(owned, visible.unwrap_or(0))? =>
                {
                    *next
                }
                _ => visible,
            }
        }
    };
    let was_aborted = |(_, offset): &(OpenRange, u64)| done.is_none_or(|done| *offset >= done);
    let aborted = outcomes.into_iter().filter(was_aborted).map(|(range, _)| range).collect();
    Ok(OpenTransaction { aborted, changelog, pending: committed.is_none(), done })
}

/// Waits until everything up to the offset `mark` is visible, and returns the last position record. A leader
/// that was elected after the mark was written may not know yet what was committed before it.
fn position_up_to<W: World>(
    owned: &OwnedPartition<W>,
    reader: &W::Reader,
    mark: Option<u64>,
) -> Result<Option<proto::Position>, Trouble> {
    let world = owned.world();
    let began = world.now();
    let shows_mark = || mark.is_none_or(|mark| reader.bounds().is_ok_and(|(_, end)| end > mark));
    loop {
        if shows_mark() {
            let position = positions::last_of(reader)?;
            if shows_mark() {
                return Ok(position);
            }
        }
        if world.now().duration_since(began) > READ_TIMEOUT {
            return Err(refused!("{} does not yet show everything that was committed", reader.name()).into());
        }
        if world.wait(&owned.stop, LOOK_AGAIN) {
            return Err(refused!("stopped").into());
        }
    }
}

/// Returns the open records of this owner's transactional id. After a take-over, there should be none. Waits
/// for open transactions of other owners, because they may hide more of these records.
fn find_leftovers<W: World>(owned: &OwnedPartition<W>) -> Result<Leftovers, Trouble> {
    let world = owned.world();
    let began = world.now();
    let first = world.open_ranges(owned.partition)?;
    let mut ranges = first.clone();
    loop {
        let (mut changelog, mut outcomes, mut of_others) = (None, Vec::new(), false);
        for range in ranges {
            if range.topic == owned.config().kafka.topics.centroids {
                changelog = Some(range);
                continue;
            }
            match origin_of_first(owned, &range)? {
                Some(origin) if origin.partition == owned.partition => outcomes.push((range, origin.offset)),
                _ => of_others = true,
            }
        }
        if !of_others || world.now().duration_since(began) > OTHERS_TIMEOUT {
            return Ok((changelog, outcomes));
        }
        if world.wait(&owned.stop, LOOK_AGAIN) {
            return Err(refused!("stopped").into());
        }
        ranges = world.open_ranges(owned.partition)?;
        // Records that were written since the first look are not ours.
        ranges.retain(|now| {
            first.iter().any(|then| {
                (&now.topic, now.partition) == (&then.topic, then.partition) && now.from < then.to
            })
        });
    }
}

/// Returns the origin of the first record in an open range, if the record has one.
fn origin_of_first<W: World>(
    owned: &OwnedPartition<W>,
    range: &OpenRange,
) -> Result<Option<LogOrigin>, Trouble> {
    let reader = owned.world().reader(&range.topic, range.partition, ReadMode::Uncommitted)?;
    reader.begin(range.from)?;
    let began = owned.world().now();
    while owned.world().now().duration_since(began) < READ_TIMEOUT && !owned.stop.is_requested() {
        match reader.next(LOOK_AGAIN)? {
            Step::Record(record) => {
                // Another record means that the transaction has ended meanwhile.
                let is_first = record.offset() == range.from;
                return Ok(record.origin().filter(|_| is_first));
            }
            Step::End => return Ok(None),
            Step::Nothing => {}
        }
    }
    Err(refused!("no answer from the broker about the open records of {}", reader.name()).into())
}

/// Returns the value of the last position record in an open range of the changelog.
fn last_position<W: World>(owned: &OwnedPartition<W>, range: &OpenRange) -> Result<Option<Vec<u8>>, Trouble> {
    let reader = owned.world().reader(&range.topic, range.partition, ReadMode::Uncommitted)?;
    let mut last = None;
    let is_whole = reader.read_to_end(
        range.from,
        || owned.stop.is_requested(),
        |record: &dyn Record| {
            if record.key() == Some(POSITION_KEY) {
                last = record.value().map(<[u8]>::to_vec);
            }
            Ok(())
        },
    )?;
    // The position of an earlier transaction must not be taken for the last one.
    if is_whole { Ok(last) } else { Err(refused!("stopped").into()) }
}

fn next_log_offset(position: &[u8]) -> Option<u64> {
    Some(proto::Position::decode(position).ok()?.next_log_offset)
}

/// Returns true if an outcome of this owner's log partition at or after `offset` is visible.
fn any_visible<W: World>(owned: &OwnedPartition<W>, offset: u64) -> Result<bool, Trouble> {
    let world = owned.world();
    for (topic, partition) in world.outputs(owned.partition)? {
        if topic == owned.config().kafka.topics.centroids {
            continue;
        }
        let reader = world.reader(&topic, partition, ReadMode::ToEnd)?;
        let (start, end) = reader.bounds()?;
        let mut found = false;
        if start < end {
            let is_whole = reader.read_to_end(
                start.max(end.saturating_sub(TAIL)),
                || owned.stop.is_requested(),
                |record: &dyn Record| {
                    let origin = record.origin().filter(|origin| origin.partition == owned.partition);
                    found |= origin.is_some_and(|origin| origin.offset >= offset);
                    Ok(())
                },
            )?;
            if !is_whole && !found {
                return Err(refused!("stopped").into());
            }
        }
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
