//! A worker of the fingerprint role: the product's own session, over simulated pages and a simulated log.

use std::collections::{BTreeMap, VecDeque};

use leitong_base::record::timestamp::Timestamp;
use leitong_base::record::{
    Cause, FingerprintRecord, LogRecord, Outcome, Place, Reason, TextDigest, Unreadable,
};
use leitong_cluster::log::entry::{self, Sent};
use leitong_cluster::log::session::{Session, Ticket};

use super::brokers::{Brokers, Status, Stored, Topic};
use super::{Mistake, Rng, Time};

/// The page topic, and the offsets that the fingerprint stage's group has committed.
#[derive(Default)]
pub(crate) struct Pages {
    /// Offsets of the pages of each source partition, with gaps.
    pub(crate) pages: Vec<Vec<u64>>,
    /// Number of different texts.
    pub(crate) texts: u64,
    pub(crate) committed: BTreeMap<usize, u64>,
}

/// Appends a record to the log, whose offsets may have gaps.
pub(crate) fn append(brokers: &mut Brokers, log_partition: usize, bytes: Vec<u8>, rng: &mut Rng, now: Time) {
    let log = brokers.partition(Topic::Log, log_partition as u32);
    if rng.once_in(10) {
        log.next_offset += rng.below(3);
    }
    log.append(Stored {
        origin: None,
        offset: 0,
        key: None,
        value: Some(bytes),
        timestamp_ms: (now / 1000) as i64,
        status: Status::Committed,
        transaction: None,
    });
}

/// Length of a fingerprint of the detector `simhash`.
const FINGERPRINT_BYTES: usize = 162;

/// A worker with its producer session.
#[derive(Default)]
pub(crate) struct Worker {
    pub(crate) session: Session,
    /// The next page of each source partition that the worker believes it owns.
    pub(crate) next: BTreeMap<usize, u64>,
    /// Records sent and not yet appended, in order, by log partition.
    pub(crate) in_flight: Vec<VecDeque<(Vec<u8>, Ticket)>>,
    /// Appended records whose answers are on their way.
    answers: VecDeque<Ticket>,
    /// The worker does nothing, and others do not know it yet.
    pub(crate) frozen: bool,
}

impl Worker {
    pub(crate) fn new(log_partitions: usize) -> Self {
        Self { in_flight: vec![VecDeque::new(); log_partitions], ..Self::default() }
    }

    pub(crate) fn assign(&mut self, partition: usize, pages: &Pages) {
        self.session.assign(partition as u32);
        self.next.insert(partition, pages.committed.get(&partition).copied().unwrap_or(0));
    }

    pub(crate) fn revoke(&mut self, partition: usize) {
        self.session.revoke(partition as u32);
        self.next.remove(&partition);
    }

    /// Reads the next page of one partition and sends its record.
    pub(crate) fn read(&mut self, pages: &mut Pages, rng: &mut Rng, mistake: Option<Mistake>) {
        let partitions: Vec<usize> = self.next.keys().copied().collect();
        let Some(&partition) = partitions.get(rng.index(partitions.len())) else { return };
        let next = self.next[&partition];
        let Some(&offset) = pages.pages[partition].iter().find(|offset| **offset >= next) else { return };
        self.next.insert(partition, offset + 1);
        let log_partition = log_partition_of(partition, offset, self.in_flight.len());
        let assignment = self.session.assignment(partition as u32).expect("leased");
        let Some((previous, ticket)) =
            self.session.send(assignment, partition as u32, offset, log_partition as u32)
        else {
            return;
        };
        let previous_offset = previous.filter(|_| mistake != Some(Mistake::NamesNoPredecessor));
        // Crawlers' clocks differ, so timestamps are not monotonic.
        let timestamp_ms = Some((offset * 10 + offset * 7 % 31) as i64);
        let sent = Sent { previous_offset, timestamp_ms, topic_id: None };
        let bytes = entry::encode(record(partition, offset, pages.texts), sent, "simhash");
        self.in_flight[log_partition].push_back((bytes, ticket));
        if mistake == Some(Mistake::PageOffsetsBeforeDeliveries) {
            pages.committed.insert(partition, offset + 1);
        }
    }

    /// Appends the oldest record in flight to one log partition. Its answer may come later, or never.
    pub(crate) fn append(&mut self, brokers: &mut Brokers, rng: &mut Rng, now: Time) {
        let log_partition = rng.index(self.in_flight.len());
        if let Some((bytes, ticket)) = self.in_flight[log_partition].pop_front() {
            append(brokers, log_partition, bytes, rng, now);
            self.answers.push_back(ticket);
        }
    }

    pub(crate) fn answer(&mut self) {
        if let Some(ticket) = self.answers.pop_front() {
            self.session.delivered(ticket);
        }
    }

    /// Loses the oldest record in flight. The worker learns of it after some later records are appended, and
    /// begins a new session.
    pub(crate) fn lose(
        &mut self,
        pages: &mut Pages,
        brokers: &mut Brokers,
        rng: &mut Rng,
        now: Time,
        mistake: Option<Mistake>,
    ) {
        let log_partition = rng.index(self.in_flight.len());
        let Some((_, ticket)) = self.in_flight[log_partition].pop_front() else { return };
        for _ in 0..rng.below(4) {
            self.append(brokers, rng, now);
            if rng.once_in(2) {
                self.answer();
            }
            if rng.once_in(2) {
                // The brokers still accept its commits until then.
                self.commit(pages);
            }
        }
        if mistake == Some(Mistake::SessionOutlivesFailure) {
            self.session.delivered(ticket);
            return;
        }
        self.in_flight.iter_mut().for_each(VecDeque::clear);
        self.answers.clear();
        let partitions: Vec<usize> = self.next.keys().copied().collect();
        partitions.into_iter().for_each(|partition| self.assign(partition, pages));
    }

    pub(crate) fn commit(&mut self, pages: &mut Pages) {
        for (partition, offset) in self.session.take_committable() {
            pages.committed.insert(partition as usize, offset);
        }
    }

    /// Returns everything in flight, for a zombie that still sends it.
    pub(crate) fn leftovers(self) -> Vec<VecDeque<Vec<u8>>> {
        self.in_flight.into_iter().map(|queue| queue.into_iter().map(|(bytes, _)| bytes).collect()).collect()
    }
}

/// Returns the log partition of a page. It depends only on the page, as a corpus does.
pub(crate) fn log_partition_of(partition: usize, offset: u64, log_partitions: usize) -> usize {
    (partition + offset as usize / 3) % log_partitions
}

/// Returns the record of a page: with one of some texts, or with something that is not a page.
pub(crate) fn record(partition: usize, offset: u64, texts: u64) -> LogRecord {
    let source = Place::Message { topic: "pages".into(), partition: partition as u32, offset, epoch: 0 };
    let number = partition as u64 * 1_000_003 + offset * 7919;
    if number % 11 == 5 {
        return LogRecord::Unreadable(Box::new(Unreadable {
            source,
            cause: Cause::BrokenJson,
            message: "no".into(),
            raw: Some(b"{".to_vec()),
            raw_bytes: 1,
            received: None,
        }));
    }
    let text = number % texts;
    let mut rng = Rng::new(text + 1);
    let mut fingerprint: Vec<u8> = (0..FINGERPRINT_BYTES).map(|_| rng.below(256) as u8).collect();
    // Terms of the sketch: enough for any required number of matches.
    fingerprint[8..10].copy_from_slice(&[1, 1]);
    let digest = TextDigest { digest: u128::from(text), chars: 100 + (offset * 7 % 13) as u32 };
    let is_withdrawn = number % 13 == 7;
    LogRecord::Page(Box::new(FingerprintRecord {
        source,
        page_id: format!("{partition}-{offset}"),
        // Most pages are crawled again, and some withdrawn.
        url: format!("http://a/{}", number / 7 % 30),
        corpus: "default".into(),
        fingerprint_hash: 1,
        fetched_at: None,
        // Some days pass, so that centroids expire.
        log_time: Timestamp::from_ms(offset as i64 * 6 * 3_600_000),
        passthrough: None,
        carried: None,
        credits: None,
        text: (!is_withdrawn).then_some(digest),
        outcome: match is_withdrawn {
            true => Outcome::Undecidable(Reason::Withdrawn),
            false => Outcome::Fingerprint(fingerprint.into()),
        },
    }))
}
