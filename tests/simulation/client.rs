//! A transactional client that behaves like librdkafka: it repeats unanswered requests under the same epoch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use prost::Message as _;
use xxhash_rust::xxh3::xxh3_64;

use super::brokers::{Message, Reply, Request, Target, Topic};
use super::faults::Fault;
use super::reader::topic_of;
use super::world::{Late, SimWorld};
use super::{MS, Mistake};
use crate::kafka::ports::{Delivered, Outgoing, RequestError, TransactionClient};
use leitong_base::proto;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_pipeline::verdict_message::log_origin::LOG_ORIGIN;

/// Partitions of the verdict topic.
pub(crate) const VERDICT_PARTITIONS: u32 = 2;
/// Maximum number of repetitions of a request.
const REPETITIONS_MAX: u32 = 12;

/// A client of one process, for one log partition.
pub(crate) struct SimClient {
    world: SimWorld,
    log_partition: u32,
    state: RefCell<ClientState>,
    /// For each position sent: the number of the first unexpired centroid, and the log offset where it was
    /// founded.
    positions: RefCell<Vec<(u64, Option<u64>)>>,
}

#[derive(Default)]
struct ClientState {
    epoch: u64,
    disturbance: Option<String>,
    /// Records sent and not yet delivered, with their numbers, by partition.
    waiting: BTreeMap<(Topic, u32), Vec<(usize, Message)>>,
    /// Records that a mistake keeps for the next transaction.
    kept: Vec<(usize, (Topic, u32), Message)>,
    delivered: Vec<Option<Delivered>>,
    added: Vec<Target>,
    /// The next sequence number, by partition.
    sequences: BTreeMap<(Topic, u32), u64>,
}

impl SimClient {
    pub(crate) fn new(world: &SimWorld, log_partition: u32) -> Self {
        Self { world: world.clone(), log_partition, state: RefCell::default(), positions: RefCell::default() }
    }

    /// Sends a request until it is answered or given up.
    fn call(&self, request: &Request) -> Result<Reply, RequestError> {
        let dead = || RequestError::Failed("this process is dead".to_owned());
        for _ in 0..REPETITIONS_MAX {
            if !self.world.sleep(self.world.latency()) {
                return Err(dead());
            }
            let fault = {
                let shared = &mut *self.world.lock();
                shared.faults.draw(&mut shared.rng)
            };
            let reply = self.arrive(request, fault);
            if !self.world.sleep(self.world.latency()) {
                return Err(dead());
            }
            match reply {
                None => {
                    self.state.borrow_mut().disturbance.get_or_insert_with(|| format!("{fault:?}"));
                    // Some requests time out before they are repeated, whether they were served or not.
                    let (backoff, gives_up) = {
                        let mut shared = self.world.lock();
                        (shared.rng.below(150) * MS, shared.rng.once_in(6))
                    };
                    if gives_up {
                        return Err(RequestError::Failed("timed out".to_owned()));
                    }
                    if !self.world.sleep(backoff) {
                        return Err(dead());
                    }
                }
                Some(Reply::Concurrent) => _ = self.world.sleep(5 * MS),
                Some(Reply::Fenced) => return Err(RequestError::Fenced("an old epoch".to_owned())),
                Some(Reply::Invalid(why)) => return Err(RequestError::Failed(why.to_owned())),
                Some(reply) => return Ok(reply),
            }
        }
        Err(RequestError::Retriable("no answer".to_owned()))
    }

    /// Delivers a request; returns the answer, if one arrives.
    fn arrive(&self, request: &Request, fault: Fault) -> Option<Reply> {
        let (id, epoch) = (self.log_partition as usize, self.state.borrow().epoch);
        let shared = &mut *self.world.lock();
        let name = request_name(request);
        let process = self.world.process;
        shared.trace(|| format!("process {process} log {id} epoch {epoch}: {name} {fault:?}"));
        let now = shared.now;
        let rng = &mut shared.rng;
        let mut serve = || {
            let mut delay = || rng.below(30 * MS);
            shared.brokers.serve(id, epoch, request, now, &mut delay)
        };
        match fault {
            Fault::None => Some(serve()),
            Fault::Twice => {
                serve();
                Some(serve())
            }
            Fault::LostRequest => None,
            Fault::LostAnswer => {
                serve();
                None
            }
            Fault::Late(after) => {
                shared.late.push(Late { at: now + after, id, epoch, request: request.clone() });
                None
            }
        }
    }

    /// Changes a record of the changelog if a mistake requires it.
    fn mistaken(&self, topic: Topic, key: Option<&Vec<u8>>, value: Vec<u8>) -> Vec<u8> {
        let is_position = key.is_some_and(|key| key == POSITION_KEY);
        let mut positions = self.positions.borrow_mut();
        let sent = positions.len();
        match self.world.mistake {
            _ if topic != Topic::Centroids => value,
            Some(Mistake::NumbersOffByOne | Mistake::BoundsFall) if is_position => {
                let mut position = proto::Position::decode(&*value).expect("a position");
                let founded = position.founded.unwrap_or_default();
                positions.push((founded - position.centroid_count, position.oldest_log_offset));
                if self.world.mistake == Some(Mistake::BoundsFall) && sent >= 40 && sent.is_multiple_of(4) {
                    let (first, oldest_log_offset) = positions[sent - 40];
                    position.centroid_count = founded - first;
                    position.oldest_log_offset = oldest_log_offset;
                }
                position.encode_to_vec()
            }
            Some(Mistake::NumbersOffByOne) if sent > 20 => {
                let mut centroid = proto::Centroid::decode(&*value).expect("a centroid");
                centroid.number = centroid.number.map(|number| number + 1);
                centroid.encode_to_vec()
            }
            _ => value,
        }
    }

    fn add(&self, targets: Vec<Target>) -> Result<(), RequestError> {
        let new: Vec<Target> = {
            let state = self.state.borrow();
            targets.into_iter().filter(|target| !state.added.contains(target)).collect()
        };
        if !new.is_empty() {
            self.call(&Request::AddPartitions(new.clone()))?;
            self.state.borrow_mut().added.extend(new);
        }
        Ok(())
    }

    /// Delivers everything that was sent.
    fn deliver(&self) -> Result<(), RequestError> {
        let mut waiting: Vec<_> = std::mem::take(&mut self.state.borrow_mut().waiting).into_iter().collect();
        while !waiting.is_empty() {
            let at = self.world.lock().rng.index(waiting.len());
            let ((topic, partition), records) = waiting.swap_remove(at);
            self.add(vec![Target::Topic(topic, partition)])?;
            let sequence = *self.state.borrow_mut().sequences.entry((topic, partition)).or_default();
            let (numbers, records): (Vec<usize>, Vec<Message>) = records.into_iter().unzip();
            let count = records.len() as u64;
            let reply = self.call(&Request::Produce { topic, partition, sequence, records })?;
            let mut state = self.state.borrow_mut();
            *state.sequences.entry((topic, partition)).or_default() += count;
            if let Reply::Appended(offsets) = reply {
                for (number, offset) in numbers.into_iter().zip(offsets) {
                    if let Some(delivered) = state.delivered.get_mut(number) {
                        *delivered = Some((partition, offset));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the value of the last header with this name.
fn text(record: &Outgoing<'_>, name: &str) -> Option<String> {
    let (_, value) = record.headers.iter().rfind(|(known, _)| known == name)?;
    Some(String::from_utf8_lossy(value.as_deref()?).into_owned())
}

/// Returns partition and offset of the page that a dead letter is about.
fn place_of(record: &Outgoing<'_>) -> String {
    let number = |name| text(record, name).unwrap_or_default();
    format!("{}@{}", number("__connect.errors.partition"), number("__connect.errors.offset"))
}

fn request_name(request: &Request) -> &'static str {
    match request {
        Request::InitProducerId => "InitProducerId",
        Request::AddPartitions(_) => "AddPartitionsToTxn",
        Request::Produce { .. } => "Produce",
        Request::TxnOffsetCommit { .. } => "TxnOffsetCommit",
        Request::EndTxn { .. } => "EndTxn",
    }
}

impl TransactionClient for SimClient {
    type Group = usize;

    fn init_transactions(&self, _: Duration) -> Result<(), RequestError> {
        if self.world.mistake == Some(Mistake::ReadsBeforeFencing) {
            return Ok(());
        }
        if let Reply::Epoch(epoch) = self.call(&Request::InitProducerId)? {
            let mut state = self.state.borrow_mut();
            (state.epoch, state.disturbance) = (epoch, None);
        }
        Ok(())
    }

    fn begin(&self) -> Result<(), RequestError> {
        if self.world.mistake == Some(Mistake::ReadsBeforeFencing)
            && self.state.borrow().epoch == 0
            && let Reply::Epoch(epoch) = self.call(&Request::InitProducerId)?
        {
            self.state.borrow_mut().epoch = epoch;
        }
        let mut state = self.state.borrow_mut();
        state.delivered.clear();
        state.added.clear();
        let kept = std::mem::take(&mut state.kept);
        for (number, place, message) in kept {
            state.waiting.entry(place).or_default().push((number, message));
        }
        Ok(())
    }

    fn send(&self, record: &Outgoing<'_>) -> Result<(), RequestError> {
        let topic = topic_of(record.topic);
        let partition = record.partition.unwrap_or_else(|| match topic {
            Topic::Verdicts => {
                let key = xxh3_64(record.key.map_or(&[], Vec::as_slice));
                (key % u64::from(VERDICT_PARTITIONS)) as u32
            }
            _ => 0,
        });
        let mut state = self.state.borrow_mut();
        let number = state.delivered.len();
        state.delivered.push(None);
        // Dead letters identify their page in headers, which the simulated brokers do not keep.
        let key = match topic {
            Topic::DeadLetters => Some(place_of(record).into_bytes()),
            _ => record.key.cloned(),
        };
        let origin = text(record, LOG_ORIGIN);
        let value = record.value.cloned().map(|value| self.mistaken(topic, record.key, value));
        let message = Message { key, value, origin };
        if topic == Topic::Centroids && self.world.mistake == Some(Mistake::CommitBeforeChangelog) {
            state.kept.push((usize::MAX, (topic, partition), message));
        } else {
            state.waiting.entry((topic, partition)).or_default().push((number, message));
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), RequestError> {
        match self.world.mistake {
            Some(Mistake::OffsetBeforeDeliveries) => Ok(()),
            _ => self.deliver(),
        }
    }

    fn delivered(&self) -> Vec<Option<Delivered>> {
        self.state.borrow().delivered.clone()
    }

    fn send_offset(&self, _: u32, offset: u64, process: &usize) -> Result<(), RequestError> {
        self.add(vec![Target::Offsets])?;
        self.call(&Request::TxnOffsetCommit { offset, process: *process })?;
        if self.world.mistake == Some(Mistake::OffsetBeforeDeliveries) {
            // The former behaviour: the offset first, then the rest, whose failure does not prevent the
            // commit.
            let _ = self.deliver();
        }
        Ok(())
    }

    fn commit(&self) -> Result<(), RequestError> {
        let result = self.call(&Request::EndTxn { commit: true }).map(drop);
        match (&result, self.world.mistake) {
            (Err(RequestError::Retriable(_)), Some(Mistake::TrustsLostAnswers)) => Ok(()),
            _ if self.state.borrow().disturbance.is_some()
                && self.world.mistake == Some(Mistake::TrustsLostAnswers) =>
            {
                Ok(())
            }
            _ => result,
        }
    }

    fn abort(&self) -> Result<(), RequestError> {
        self.call(&Request::EndTxn { commit: false }).map(drop)
    }

    fn disturbance(&self) -> Option<String> {
        match self.world.mistake {
            Some(Mistake::SameProducerAfterRepetition | Mistake::OffsetBeforeDeliveries) => None,
            _ => self.state.borrow().disturbance.clone(),
        }
    }
}
