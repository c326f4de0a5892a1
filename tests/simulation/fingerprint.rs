//! A worker of the fingerprint role: the product's own graph and session, between simulated pages and a
//! simulated log. The stages of the graph run on the simulation's thread, in an order that the seed decides.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::kafka::error::{Error, Result};
use crate::kafka::session::{AssignmentId, Session, Ticket};
use leitong_base::record::{
    Cause, FingerprintRecord, LogRecord, Outcome, Place, Reason, TextDigest, Timestamp, Unreadable,
};
use leitong_cluster::log::{Entry, MessageOrigin};
use leitong_graph::OneThread;
use leitong_graph::{Cpu, Priority};
use leitong_graph::{Flow, graph};
use leitong_graph::{Load, Permit};
use leitong_graph::{SinkEnd, SourceEnd};
use leitong_pipeline::config::PipelineConfig;

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
const FINGERPRINT_BYTES: usize = 146;

/// Number of threads and pages of a graph: so few that it is full at times.
const GRAPH: PipelineConfig = PipelineConfig { threads: 2, queue_pages: 16, queue_bytes: 1 << 20 };

/// The CPU threads of all graphs make records out of pages.
static CPU: LazyLock<Cpu<fn(), MakeRecord>> = LazyLock::new(|| Cpu {
    threads: GRAPH.threads,
    priority: Priority::Normal,
    activity: Arc::default(),
    workspace: || (),
    process: |page, ()| (page, record(page.partition, page.offset, page.texts)),
});

/// A page that was read under an assignment.
#[derive(Clone, Copy)]
struct PageRead {
    partition: usize,
    offset: u64,
    assignment: AssignmentId,
    texts: u64,
    mistake: Option<Mistake>,
}

type Made = (PageRead, LogRecord);

type MakeRecord = fn(PageRead, &mut ()) -> Made;

/// The source end of a worker's graph.
struct FromPages(UnboundedReceiver<PageRead>);

impl SourceEnd for FromPages {
    type Page = PageRead;
    type Error = Error;

    fn bytes(_: &PageRead) -> usize {
        100
    }

    async fn read(&mut self, limit: Load) -> Result<Option<Vec<PageRead>>> {
        let Some(first) = self.0.recv().await else { return Ok(None) };
        let more = std::iter::from_fn(|| self.0.try_recv().ok()).take(limit.pages - 1);
        Ok(Some(std::iter::once(first).chain(more).collect()))
    }
}

/// The sink end of a worker's graph.
struct ToLog(Arc<Mutex<Sending>>);

impl SinkEnd<Made> for ToLog {
    type Error = Error;

    async fn take(&mut self, made: Vec<Made>, _until_sent: Permit) -> Result<bool> {
        let mut sending = self.0.lock().expect("nothing panics while it has it");
        made.into_iter().for_each(|(page, record)| sending.send(page, record));
        Ok(true)
    }
}

/// A producer session, and what it has sent.
struct Sending {
    session: Session,
    /// Records sent and not yet appended, in order, by log partition.
    in_flight: Vec<VecDeque<(Vec<u8>, Ticket)>>,
}

impl Sending {
    fn send(&mut self, page: PageRead, record: LogRecord) {
        let PageRead { partition, offset, assignment, mistake, .. } = page;
        let log_partition = log_partition_of(partition, offset, self.in_flight.len());
        let Some((previous, ticket)) =
            self.session.send(assignment, partition as u32, offset, log_partition as u32)
        else {
            return;
        };
        let previous_offset = previous.filter(|_| mistake != Some(Mistake::NamesNoPredecessor));
        // Crawlers' clocks differ, so timestamps are not monotonic.
        let timestamp_ms = Some((offset * 10 + offset * 7 % 31) as i64);
        let origin = MessageOrigin { previous_offset, timestamp_ms, topic_id: None };
        let bytes = Entry::encode(record, origin, "simhash");
        self.in_flight[log_partition].push_back((bytes, ticket));
    }
}

/// A worker with its producer session.
pub(crate) struct Worker {
    sending: Arc<Mutex<Sending>>,
    graph: OneThread<'static, Error>,
    to_graph: UnboundedSender<PageRead>,
    /// The next page of each source partition that the worker believes it owns.
    next: BTreeMap<usize, u64>,
    /// Appended records whose answers are on their way.
    answers: VecDeque<Ticket>,
    /// True if the worker does nothing, and the other workers do not know this yet.
    pub(crate) frozen: bool,
}

/// Returns a graph without pages, and where it gets them from.
fn new_graph(sending: &Arc<Mutex<Sending>>) -> (OneThread<'static, Error>, UnboundedSender<PageRead>) {
    let (to_graph, pages) = unbounded_channel();
    let stages = graph(&Flow::new(&GRAPH), FromPages(pages), &*CPU, ToLog(Arc::clone(sending)));
    (OneThread::new(stages), to_graph)
}

impl Worker {
    pub(crate) fn new(log_partitions: usize) -> Self {
        let in_flight = vec![VecDeque::new(); log_partitions];
        let sending = Arc::new(Mutex::new(Sending { session: Session::default(), in_flight }));
        let (graph, to_graph) = new_graph(&sending);
        let (next, answers) = (BTreeMap::new(), VecDeque::new());
        Self { sending, graph, to_graph, next, answers, frozen: false }
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().expect("nothing panics while it has it")
    }

    pub(crate) fn assign(&mut self, partition: usize, pages: &Pages) {
        self.sending().session.assign(partition as u32);
        self.next.insert(partition, pages.committed.get(&partition).copied().unwrap_or(0));
    }

    pub(crate) fn revoke(&mut self, partition: usize) {
        self.sending().session.revoke(partition as u32);
        self.next.remove(&partition);
    }

    /// Reads the next page of one partition into the graph, and runs the graph a little.
    pub(crate) fn read(&mut self, pages: &mut Pages, rng: &mut Rng, mistake: Option<Mistake>) {
        self.read_page(pages, rng, mistake);
        let mut steps = rng.below(16);
        while steps > 0 && self.graph.step(|ready| rng.index(ready)) {
            steps -= 1;
        }
    }

    fn read_page(&mut self, pages: &mut Pages, rng: &mut Rng, mistake: Option<Mistake>) {
        let partitions: Vec<usize> = self.next.keys().copied().collect();
        let Some(&partition) = partitions.get(rng.index(partitions.len())) else { return };
        let next = self.next[&partition];
        let Some(&offset) = pages.pages[partition].iter().find(|offset| **offset >= next) else { return };
        self.next.insert(partition, offset + 1);
        let assignment = self.sending().session.assignment(partition as u32).expect("leased");
        let page = PageRead { partition, offset, assignment, texts: pages.texts, mistake };
        assert!(self.to_graph.send(page).is_ok(), "the graph runs");
        if mistake == Some(Mistake::PageOffsetsBeforeDeliveries) {
            pages.committed.insert(partition, offset + 1);
        }
    }

    /// Appends the oldest record in flight to one log partition. Its answer may come later, or never.
    pub(crate) fn append(&mut self, brokers: &mut Brokers, rng: &mut Rng, now: Time) {
        let (log_partition, oldest) = self.oldest(rng);
        if let Some((bytes, ticket)) = oldest {
            append(brokers, log_partition, bytes, rng, now);
            self.answers.push_back(ticket);
        }
    }

    /// Returns one log partition, and takes the oldest record in flight to it.
    fn oldest(&self, rng: &mut Rng) -> (usize, Option<(Vec<u8>, Ticket)>) {
        let in_flight = &mut self.sending().in_flight;
        let log_partition = rng.index(in_flight.len());
        (log_partition, in_flight[log_partition].pop_front())
    }

    pub(crate) fn answer(&mut self) {
        if let Some(ticket) = self.answers.pop_front() {
            self.sending().session.delivered(ticket);
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
        let (_, Some((_, ticket))) = self.oldest(rng) else { return };
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
            self.sending().session.delivered(ticket);
            return;
        }
        (self.graph, self.to_graph) = new_graph(&self.sending);
        self.sending().in_flight.iter_mut().for_each(VecDeque::clear);
        self.answers.clear();
        let partitions: Vec<usize> = self.next.keys().copied().collect();
        partitions.into_iter().for_each(|partition| self.assign(partition, pages));
    }

    pub(crate) fn commit(&mut self, pages: &mut Pages) {
        for (partition, offset) in self.sending().session.take_committable() {
            pages.committed.insert(partition as usize, offset);
        }
    }

    /// Returns everything in flight, for a zombie that still sends it.
    pub(crate) fn leftovers(self) -> Vec<VecDeque<Vec<u8>>> {
        let in_flight = std::mem::take(&mut self.sending().in_flight);
        in_flight.into_iter().map(|queue| queue.into_iter().map(|(bytes, _)| bytes).collect()).collect()
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
        // Some days pass, so centroids expire.
        log_time: Timestamp::from_ms(offset as i64 * 6 * 3_600_000),
        passthrough: None,
        carried: None,
        metadata: None,
        text: (!is_withdrawn).then_some(digest),
        outcome: match is_withdrawn {
            true => Outcome::Undecidable(Reason::Withdrawn),
            false => Outcome::Fingerprint(fingerprint.into()),
        },
    }))
}
