//! Finds out if a transaction was committed when its commit failed or was never answered.
//!
//! This runs after a new producer has taken over. The old one is fenced and its transaction has ended, so the
//! answer cannot change. The group's committed offset alone is not proof. So the records are looked up where
//! they were delivered, as a `read_committed` consumer sees them:
//!
//! | committed offset | visible records | conclusion |
//! |---|---|---|
//! | after the batch | all | the transaction was committed |
//! | before the batch | none | it was aborted: write it again |
//! | after the batch | some | it was committed in part: write the rest |
//! | before the batch | some or all | it was committed in part: write the rest, and the offset |
//! | after the batch | none | another owner was active: drop the table |
//! | anywhere else | any | another owner was active: drop the table |
//!
//! A batch that does not move the offset is judged by its records alone. Brokers and this program prevent
//! transactions that are committed in part (`kafka/transactions.rs`). They are handled here as a safety net.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::outputs::Outputs;
use super::owned::OwnedPartition;
use super::transaction::outgoing;
use super::trouble::Trouble;
use crate::kafka::error::refused;
use crate::kafka::ports::{Delivered, ReadMode, Reader, Record};
use crate::worker::ports::World;
use leitong_cluster::changelog::POSITION_KEY;

/// Timeout for earlier transactions of other producers to end. Until then, they hide the records.
const VISIBLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which the end of a partition is checked again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Returns true if `parts`, whose records were delivered at `delivered`, were committed as a whole. Otherwise, the records
/// that remain in them must be written: if only a part of the records is visible, removes these from `parts`. `before`
/// is the offset that the group had committed before the transaction.
pub(super) fn resolve<W: World>(
    owned: &OwnedPartition<W>,
    log: &W::Reader,
    before: Option<u64>,
    parts: &mut [Outputs],
    delivered: &[Option<Delivered>],
) -> Result<bool, Trouble> {
    let Some(last) = parts.last() else { return Ok(true) };
    let end = Some(last.next_log_offset);
    let visible = find_visible(owned, parts, delivered)?;
    let committed = log.committed()?;
    let visible = with_deleted(&visible, committed == end && end != before);
    let count = visible.iter().filter(|visible| **visible).count();
    let all = count == outgoing(parts, &owned.config().kafka, owned.partition).count();
    match committed {
        committed if committed == end && all => Ok(true),
        committed if committed == end && end != before && count == 0 => Err(other_owner(committed)),
        committed if committed != before && committed != end => Err(other_owner(committed)),
        _ if count == 0 => Ok(false),
        committed => {
            tracing::error!(
                partition = owned.partition,
                visible = count,
                records = visible.len(),
                committed,
                "brokers committed only a part of a transaction; each verdict is published once, because only the rest \
                 is written again"
            );
            take_out(parts, &visible);
            Ok(false)
        }
    }
}

/// Returns the error for an owner whose partition another owner has continued.
pub(super) fn other_owner(committed: Option<u64>) -> Trouble {
    let committed = committed.map_or_else(|| "no offset".to_owned(), |offset| format!("offset {offset}"));
    Trouble::Fenced(format!("another instance has committed {committed} of the log in the meantime"))
}

/// Returns, for each record sent, true if a `read_committed` consumer saw it. Records that retention has deleted were
/// visible if another one of the transaction is. If all are deleted, the offset that was committed decides.
fn with_deleted(visible: &[Option<bool>], is_offset_committed: bool) -> Vec<bool> {
    let deleted = match visible.iter().any(Option::is_some) {
        true => visible.contains(&Some(true)),
        false => is_offset_committed,
    };
    visible.iter().map(|visible| visible.unwrap_or(deleted)).collect()
}

/// Returns, for each record sent, true if a `read_committed` consumer sees it. `None` if retention has deleted it.
fn find_visible<W: World>(
    owned: &OwnedPartition<W>,
    parts: &[Outputs],
    delivered: &[Option<Delivered>],
) -> Result<Vec<Option<bool>>, Trouble> {
    let config = &owned.config().kafka;
    let mut wanted: BTreeMap<(&str, u32), BTreeSet<u64>> = BTreeMap::new();
    let places: Vec<_> = outgoing(parts, config, owned.partition)
        .zip(delivered)
        .map(|(record, delivered)| delivered.map(|(partition, offset)| (record.topic, partition, offset)))
        .collect();
    for (topic, partition, offset) in places.iter().flatten() {
        wanted.entry((topic, *partition)).or_default().insert(*offset);
    }
    let (mut seen, mut starts) = (BTreeSet::new(), BTreeMap::new());
    for ((topic, partition), offsets) in wanted {
        let (found, start) = find_visible_in(owned, topic, partition, &offsets)?;
        seen.extend(found.into_iter().map(|offset| (topic, partition, offset)));
        starts.insert((topic, partition), start);
    }
    let is_visible = |place: &Option<(&str, u32, u64)>| {
        let Some((topic, partition, offset)) = *place else { return Some(false) };
        let is_deleted = starts.get(&(topic, partition)).is_some_and(|start| offset < *start);
        (!is_deleted).then(|| seen.contains(&(topic, partition, offset)))
    };
    Ok(places.iter().map(is_visible).collect())
}

/// Returns the `offsets` of one partition that a `read_committed` consumer sees, and the first offset that retention has
/// not deleted.
fn find_visible_in<W: World>(
    owned: &OwnedPartition<W>,
    topic: &str,
    partition: u32,
    offsets: &BTreeSet<u64>,
) -> Result<(BTreeSet<u64>, u64), Trouble> {
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Ok((BTreeSet::new(), 0));
    };
    let world = owned.world();
    let reader = world.reader(topic, partition, ReadMode::ToEnd)?;
    let began = world.now();
    // An open transaction of another producer may be before ours.
    let start = loop {
        let (start, end) = reader.bounds()?;
        if end > last {
            break start;
        }
        if world.now().duration_since(began) > VISIBLE_TIMEOUT {
            let name = reader.name();
            return Err(refused!(
                "{name} cannot be read up to offset {last}: an earlier transaction is still open"
            )
            .into());
        }
        if world.wait(&owned.stop, LOOK_AGAIN) {
            return Err(refused!("stopped").into());
        }
    };
    let mut found = BTreeSet::new();
    if start > first && topic == owned.config().kafka.topics.centroids {
        // This owner lets brokers delete only records before its last committed position.
        return Err(Trouble::Fenced(
            "another owner of this partition has deleted the records that this one wrote to the changelog"
                .to_owned(),
        ));
    }
    if start > last {
        return Ok((found, start));
    }
    let passed = std::cell::Cell::new(false);
    let read = reader.read_to_end(
        first.max(start),
        || passed.get() || owned.stop.is_requested(),
        |record: &dyn Record| {
            if offsets.contains(&record.offset()) {
                found.insert(record.offset());
            }
            passed.set(record.offset() >= last);
            Ok(())
        },
    )?;
    if !read && !passed.get() {
        return Err(refused!("stopped").into());
    }
    Ok((found, start))
}

/// Removes the visible records. `visible` is in the order of sending.
fn take_out(parts: &mut [Outputs], visible: &[bool]) {
    let mut visible = visible.iter().copied();
    let mut is_left = || !visible.next().unwrap_or(false);
    for part in &mut *parts {
        part.records.retain(|_| is_left());
    }
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.iter_mut().enumerate() {
        // Only the last position record was sent.
        part.changelog.retain(|record| (at != last && record.key == POSITION_KEY) || is_left());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deleted records count as visible only if another record of the transaction is visible. Otherwise an aborted
    /// transaction would seem to be committed in part, and only its rest would be written again.
    #[test]
    fn deleted_records_follow_those_that_are_left() {
        let (seen, hidden) = (Some(true), Some(false));
        for (visible, is_offset_committed, expected) in [
            (&[None, hidden][..], false, &[false, false][..]),
            (&[None, hidden], true, &[false, false]),
            (&[None, seen], true, &[true, true]),
            (&[None, seen, hidden], true, &[true, true, false]),
            (&[None, None], true, &[true, true]),
            (&[None, None], false, &[false, false]),
            (&[], true, &[]),
        ] {
            assert_eq!(with_deleted(visible, is_offset_committed), expected, "{visible:?}");
        }
    }
}
