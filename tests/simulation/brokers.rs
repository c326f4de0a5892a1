//! Simulated brokers: what they store, and what they promise.

use std::collections::{BTreeMap, BTreeSet};

use super::{MS, Mistake, Time};

/// A topic that transactions write to, or the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    Log,
    Centroids,
    Verdicts,
    DeadLetters,
}

/// A partition that a transaction writes to: of a topic, or the group's offsets of a log partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Topic(Topic, u32),
    Offsets,
}

/// A record to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    /// The origin header: the record of the log that the message comes from.
    pub(crate) origin: Option<String>,
}

/// The state of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// Part of the open transaction with this number.
    Open(u64),
    Committed,
    Aborted,
}

/// A record of a partition.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) offset: u64,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) value: Option<Vec<u8>>,
    pub(crate) origin: Option<String>,
    pub(crate) timestamp_ms: i64,
    pub(crate) status: Status,
    /// The number of the record's transaction; `None` in the log.
    pub(crate) transaction: Option<u64>,
}

/// One partition of a topic.
#[derive(Default)]
pub(crate) struct Partition {
    pub(crate) records: Vec<Stored>,
    pub(crate) next_offset: u64,
    pub(crate) start: u64,
    /// Offsets of the records of open transactions.
    open: BTreeSet<u64>,
    /// Time until which a new leader does not know the latest high watermark, and the one that it knows.
    stale: Option<(Time, u64)>,
}

impl Partition {
    pub(crate) fn append(&mut self, record: Stored) -> u64 {
        let offset = self.next_offset;
        if matches!(record.status, Status::Open(_)) {
            self.open.insert(offset);
        }
        self.records.push(Stored { offset, ..record });
        self.next_offset += 1;
        offset
    }

    /// Returns the offset up to which a consumer may read.
    pub(crate) fn end(&self, now: Time, committed_only: bool) -> u64 {
        let high = match self.stale {
            // A transaction whose marker is not below the high watermark is held back as a whole.
            Some((until, end)) if now < until => {
                let before = self.records.get(..self.find(end)).unwrap_or_default();
                let cut = before.iter().rev().take_while(|record| self.continues_transaction(record, end));
                cut.last().map_or(end, |record| record.offset)
            }
            _ => self.next_offset,
        };
        if !committed_only {
            return high;
        }
        self.open.first().map_or(high, |open| high.min(*open))
    }

    /// Elects a leader that knows only this high watermark until the time `until`, or a higher one if the log
    /// start requires it.
    pub(crate) fn elect(&mut self, until: Time, high_watermark: u64) {
        self.stale = Some((until, high_watermark.max(self.start)));
    }

    /// Returns true if the leader does not know everything that was committed.
    pub(crate) fn is_stale(&self, now: Time) -> bool {
        self.stale.is_some_and(|(until, _)| now < until)
    }

    /// Returns true if the transaction that wrote `record` continues at `end` or later.
    fn continues_transaction(&self, record: &Stored, end: u64) -> bool {
        record.transaction.is_some_and(|transaction| {
            let behind = &self.records[self.find(end)..];
            behind.first().is_some_and(|next| next.transaction == Some(transaction))
        })
    }

    /// Returns the index of the first record at or after `offset`.
    pub(crate) fn find(&self, offset: u64) -> usize {
        self.records.partition_point(|record| record.offset < offset)
    }

    /// Ends everything open of the producer `id`, including an earlier transaction whose marker never came.
    fn mark(&mut self, id: usize, committed: bool) {
        let status = if committed { Status::Committed } else { Status::Aborted };
        for offset in self.open.clone() {
            let at = self.find(offset);
            let Some(record) = self.records.get_mut(at).filter(|record| record.offset == offset) else {
                continue;
            };
            if matches!(record.status, Status::Open(number) if producer_of(number) == id) {
                record.status = status;
                self.open.remove(&offset);
            }
        }
        self.next_offset += 1; // the marker
    }

    /// Deletes the records before an offset, unless the leader does not know that they are committed.
    fn delete_before(&mut self, offset: u64, now: Time) -> Result<(), String> {
        if offset > self.end(now, false) {
            return Err(format!("offset {offset} is out of range"));
        }
        self.start = self.start.max(offset);
        let start = self.start;
        self.records.retain(|record| record.offset >= start);
        Ok(())
    }
}

/// Returns the number of a producer's transaction.
fn number_of(id: usize, transaction: u64) -> u64 {
    transaction * 1000 + id as u64
}

/// Returns the producer of a transaction.
fn producer_of(number: u64) -> usize {
    (number % 1000) as usize
}

/// Markers that never come, because their partition has no leader when the transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forgotten {
    None,
    /// Some markers of aborted transactions.
    Aborts,
    /// Some markers of the changelog and of the group's offsets.
    PositionsAndOffsets,
}

/// The state of a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionState {
    Empty,
    Ongoing,
    /// Decided; the markers are being written.
    Prepared {
        commit: bool,
    },
}

/// The coordinator's state of one transactional id, which belongs to a log partition.
pub(crate) struct Coordinator {
    pub(crate) epoch: u64,
    state: TransactionState,
    /// Number of the last transaction.
    number: u64,
    targets: Vec<Target>,
    pending_offset: Option<u64>,
    /// The group's offset is unknown, because the marker of a transaction that held one never came.
    hidden_offset: bool,
    last_ended: Option<bool>,
    began: Time,
    /// Appended offsets by sequence number, by target and epoch.
    appended: BTreeMap<(Topic, u32), (u64, Vec<u64>)>,
}

/// A request of a producer.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    InitProducerId,
    AddPartitions(Vec<Target>),
    /// Records of one partition, from a sequence number on.
    Produce {
        topic: Topic,
        partition: u32,
        sequence: u64,
        records: Vec<Message>,
    },
    /// The group's offset, sent by the process that is its member.
    TxnOffsetCommit {
        offset: u64,
        process: usize,
    },
    EndTxn {
        commit: bool,
    },
}

/// A broker's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Done,
    Epoch(u64),
    Appended(Vec<u64>),
    /// Try again: the last transaction has not ended yet.
    Concurrent,
    Fenced,
    Invalid(&'static str),
}

/// All brokers.
pub(crate) struct Brokers {
    pub(crate) partitions: BTreeMap<(Topic, u32), Partition>,
    pub(crate) coordinators: Vec<Coordinator>,
    /// The committed offset of the cluster stage's group, by log partition.
    pub(crate) committed: Vec<Option<u64>>,
    /// The process that the group has assigned each log partition to.
    pub(crate) assigned: Vec<Option<usize>>,
    /// Markers on their way: time, coordinator, target.
    pub(crate) markers: Vec<(Time, usize, Target)>,
    pub(crate) forgotten: Forgotten,
    pub(crate) mistake: Option<Mistake>,
}

impl Brokers {
    pub(crate) fn new(log_partitions: u32, verdict_partitions: u32, mistake: Option<Mistake>) -> Self {
        let mut partitions = BTreeMap::new();
        for partition in 0..log_partitions {
            partitions.insert((Topic::Log, partition), Partition::default());
            partitions.insert((Topic::Centroids, partition), Partition::default());
        }
        for partition in 0..verdict_partitions {
            partitions.insert((Topic::Verdicts, partition), Partition::default());
        }
        partitions.insert((Topic::DeadLetters, 0), Partition::default());
        let coordinator = |_| Coordinator {
            epoch: 0,
            state: TransactionState::Empty,
            number: 0,
            targets: Vec::new(),
            pending_offset: None,
            hidden_offset: false,
            last_ended: None,
            began: 0,
            appended: BTreeMap::new(),
        };
        Self {
            partitions,
            coordinators: (0..log_partitions).map(coordinator).collect(),
            committed: vec![None; log_partitions as usize],
            assigned: vec![None; log_partitions as usize],
            markers: Vec::new(),
            forgotten: Forgotten::None,
            mistake,
        }
    }

    pub(crate) fn partition(&mut self, topic: Topic, partition: u32) -> &mut Partition {
        self.partitions.get_mut(&(topic, partition)).expect("a partition of the simulation")
    }

    /// Deletes the records of a changelog before an offset.
    pub(crate) fn delete_changelog(&mut self, partition: u32, before: u64, now: Time) -> Result<(), String> {
        self.partition(Topic::Centroids, partition).delete_before(before, now)
    }

    /// Serves a request of the producer of this epoch. Markers arrive after delays given by `delay`.
    pub(crate) fn serve(
        &mut self,
        id: usize,
        epoch: u64,
        request: &Request,
        now: Time,
        delay: &mut dyn FnMut() -> Time,
    ) -> Reply {
        let fences = self.mistake != Some(Mistake::FencesNobody);
        if matches!(request, Request::InitProducerId) {
            return self.init(id, now, delay);
        }
        let coordinator = &mut self.coordinators[id];
        if fences && epoch != coordinator.epoch {
            return Reply::Fenced;
        }
        match request {
            Request::InitProducerId => Reply::Invalid("served above"),
            Request::AddPartitions(targets) => coordinator.add(targets, now),
            Request::Produce { topic, partition, sequence, records } => {
                self.produce(id, epoch, (*topic, *partition), *sequence, records)
            }
            Request::TxnOffsetCommit { offset, process } => {
                if self.assigned[id] != Some(*process) {
                    return Reply::Invalid("another generation of the group");
                }
                if self.mistake == Some(Mistake::OffsetOutsideOfTransaction) {
                    self.committed[id] = Some(*offset);
                    return Reply::Done;
                }
                let added = coordinator.targets.contains(&Target::Offsets);
                if coordinator.state != TransactionState::Ongoing || !added {
                    return Reply::Invalid("no transaction holds offsets");
                }
                if self.mistake != Some(Mistake::CommitsNoOffset) {
                    coordinator.pending_offset = Some(*offset);
                }
                Reply::Done
            }
            Request::EndTxn { commit } => match coordinator.state {
                TransactionState::Ongoing => {
                    self.end(id, *commit, now, delay);
                    Reply::Done
                }
                TransactionState::Prepared { commit: decided } if decided == *commit => Reply::Concurrent,
                TransactionState::Empty if coordinator.last_ended == Some(*commit) => Reply::Done,
                _ => Reply::Invalid("no transaction to end in this way"),
            },
        }
    }

    fn init(&mut self, id: usize, now: Time, delay: &mut dyn FnMut() -> Time) -> Reply {
        match self.coordinators[id].state {
            TransactionState::Prepared { .. } => Reply::Concurrent,
            TransactionState::Ongoing => {
                self.coordinators[id].epoch += 1;
                let commits = self.mistake == Some(Mistake::CommitsWhatWasLeftOpen);
                self.end(id, commits, now, delay);
                Reply::Concurrent
            }
            TransactionState::Empty => {
                self.coordinators[id].epoch += 1;
                Reply::Epoch(self.coordinators[id].epoch)
            }
        }
    }

    fn produce(
        &mut self,
        id: usize,
        epoch: u64,
        place: (Topic, u32),
        sequence: u64,
        records: &[Message],
    ) -> Reply {
        let idempotent = self.mistake != Some(Mistake::NoIdempotence);
        let coordinator = &mut self.coordinators[id];
        let (known, offsets) = coordinator.appended.entry(place).or_insert_with(|| (epoch, Vec::new()));
        if *known != epoch {
            (*known, *offsets) = (epoch, Vec::new());
        }
        if idempotent && sequence < offsets.len() as u64 {
            let at = sequence as usize;
            return Reply::Appended(offsets[at..(at + records.len()).min(offsets.len())].to_vec());
        }
        if idempotent && sequence > offsets.len() as u64 {
            return Reply::Invalid("out of order sequence number");
        }
        let is_part = coordinator.targets.contains(&Target::Topic(place.0, place.1));
        if coordinator.state != TransactionState::Ongoing || !is_part {
            return Reply::Invalid("the partition is not part of a transaction");
        }
        let number = number_of(id, coordinator.number);
        let (status, transaction) = (Status::Open(number), Some(number));
        let partition = self.partitions.get_mut(&place).expect("a partition of the simulation");
        // All replicas have the new records, so the leader now knows what was committed.
        partition.stale = None;
        let new: Vec<u64> = records
            .iter()
            .map(|Message { key, value, origin }| {
                partition.append(Stored {
                    offset: 0,
                    key: key.clone(),
                    value: value.clone(),
                    origin: origin.clone(),
                    timestamp_ms: 0,
                    status,
                    transaction,
                })
            })
            .collect();
        offsets.extend(&new);
        Reply::Appended(new)
    }

    /// Decides on the open transaction.
    fn end(&mut self, id: usize, commit: bool, now: Time, delay: &mut dyn FnMut() -> Time) {
        let coordinator = &mut self.coordinators[id];
        coordinator.state = TransactionState::Prepared { commit };
        for target in coordinator.targets.clone() {
            let at = now + delay();
            let may_be_forgotten = match self.forgotten {
                Forgotten::None => false,
                Forgotten::Aborts => !commit,
                Forgotten::PositionsAndOffsets => {
                    matches!(target, Target::Offsets | Target::Topic(Topic::Centroids, _))
                }
            };
            // Delays are random, so half of these markers never come.
            if may_be_forgotten && at % (2 * MS) < MS {
                coordinator.hidden_offset |=
                    target == Target::Offsets && coordinator.pending_offset.is_some();
            } else {
                self.markers.push((at, id, target));
            }
        }
        self.end_if_written(id);
    }

    /// Writes the transaction markers whose time has come.
    pub(crate) fn write_markers(&mut self, now: Time) {
        while let Some(at) = self.markers.iter().position(|(at, ..)| *at <= now) {
            let (_, id, target) = self.markers.swap_remove(at);
            let coordinator = &mut self.coordinators[id];
            let TransactionState::Prepared { commit } = coordinator.state else { continue };
            match target {
                Target::Offsets => {
                    coordinator.hidden_offset = false;
                    if let Some(offset) = coordinator.pending_offset.take()
                        && commit
                    {
                        self.committed[id] = Some(offset);
                    }
                }
                Target::Topic(topic, partition) => {
                    let partition = self.partitions.get_mut(&(topic, partition));
                    partition.expect("a partition of the simulation").mark(id, commit);
                }
            }
            self.end_if_written(id);
        }
    }

    /// Returns the group's committed offset; `None` if an open transaction hides it.
    pub(crate) fn committed(&self, log_partition: usize) -> Option<Option<u64>> {
        (!self.coordinators[log_partition].hidden_offset).then_some(self.committed[log_partition])
    }

    /// Breaks down the cluster at the worst moment: transactions with an offset are decided as committed, and
    /// some of their markers never come.
    pub(crate) fn break_down(&mut self, now: Time, delay: &mut dyn FnMut() -> Time) {
        self.forgotten = Forgotten::PositionsAndOffsets;
        for id in 0..self.coordinators.len() {
            let coordinator = &self.coordinators[id];
            if coordinator.state == TransactionState::Ongoing && coordinator.pending_offset.is_some() {
                self.end(id, true, now, delay);
            }
        }
        self.forgotten = Forgotten::None;
    }

    /// Ends a transaction whose markers are all written.
    fn end_if_written(&mut self, id: usize) {
        let coordinator = &mut self.coordinators[id];
        if let TransactionState::Prepared { commit } = coordinator.state
            && !self.markers.iter().any(|(_, of, _)| *of == id)
        {
            coordinator.state = TransactionState::Empty;
            coordinator.last_ended = Some(commit);
            coordinator.targets.clear();
            coordinator.pending_offset = None;
        }
    }

    /// Aborts transactions that are open for longer than `timeout`.
    pub(crate) fn expire(&mut self, now: Time, timeout: Time, delay: &mut dyn FnMut() -> Time) {
        for id in 0..self.coordinators.len() {
            let coordinator = &mut self.coordinators[id];
            if coordinator.state == TransactionState::Ongoing && now > coordinator.began + timeout {
                coordinator.epoch += 1;
                self.end(id, false, now, delay);
            }
        }
    }
}

impl Coordinator {
    fn add(&mut self, targets: &[Target], now: Time) -> Reply {
        match self.state {
            TransactionState::Prepared { .. } => return Reply::Concurrent,
            TransactionState::Empty => {
                self.state = TransactionState::Ongoing;
                self.number += 1;
                self.began = now;
                self.targets.clear();
                self.pending_offset = None;
            }
            TransactionState::Ongoing => {}
        }
        for target in targets {
            if !self.targets.contains(target) {
                self.targets.push(*target);
            }
        }
        Reply::Done
    }
}
