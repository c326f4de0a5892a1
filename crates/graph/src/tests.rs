//! The graph with pages and results that are only numbers. Most tests run it on one thread, in the orders of
//! many seeds.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Semaphore, oneshot};

use super::ends::{SinkEnd, SourceEnd};
use super::one_thread::OneThread;
use super::threads::Stages;
use super::{Flow, graph};
use crate::budget::{Budget, Load, Permit};
use crate::cpu::{Cpu, Priority};
use crate::telemetry::health::Activity;
use leitong_base::random::Random;
use leitong_pipeline::config::PipelineConfig;

const SEEDS: std::ops::Range<u64> = 0..50;

/// A page whose processing panics.
const PANICS: u64 = u64::MAX;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Pages of 1 KiB each.
struct Source {
    pages: UnboundedReceiver<u64>,
    read: Arc<AtomicUsize>,
    /// The number of the page at which reading fails.
    fails_at: Option<u64>,
}

impl SourceEnd for Source {
    type Page = u64;
    type Error = AnyError;

    fn bytes(_: &u64) -> usize {
        1024
    }

    async fn read(&mut self, limit: Load) -> Result<Option<Vec<u64>>, AnyError> {
        let Some(first) = self.pages.recv().await else { return Ok(None) };
        let mut pages = vec![first];
        while pages.len() < limit.pages && pages.len() * 1024 < limit.bytes {
            let Ok(page) = self.pages.try_recv() else { break };
            pages.push(page);
        }
        if self.fails_at.is_some_and(|page| pages.contains(&page)) {
            return Err("the source has failed".into());
        }
        self.read.fetch_add(pages.len(), Ordering::Relaxed);
        Ok(Some(pages))
    }
}

/// A sink that takes a batch whenever the test lets it.
struct Sink {
    open: Arc<Semaphore>,
    taken: Arc<Mutex<Vec<u64>>>,
    /// The number of the page at which the sink fails.
    fails_at: Option<u64>,
}

impl SinkEnd<u64> for Sink {
    type Error = AnyError;

    async fn take(&mut self, results: Vec<u64>, _permit: Permit) -> Result<bool, AnyError> {
        self.open.acquire().await?.forget();
        if self.fails_at.is_some_and(|page| results.contains(&page)) {
            return Err("the sink has failed".into());
        }
        self.taken.lock().expect("no panic").extend(results);
        Ok(true)
    }
}

/// The test's view of both ends.
struct Ends {
    pages: UnboundedSender<u64>,
    read: Arc<AtomicUsize>,
    open: Arc<Semaphore>,
    taken: Arc<Mutex<Vec<u64>>>,
}

impl Ends {
    /// Creates ends. The first `open` batches are taken by the sink at once.
    fn new(open: usize) -> (Self, Source, Sink) {
        let (pages, received) = unbounded_channel();
        let (read, taken, open) = (Arc::default(), Arc::default(), Arc::new(Semaphore::new(open)));
        let source = Source { pages: received, read: Arc::clone(&read), fails_at: None };
        let sink = Sink { open: Arc::clone(&open), taken: Arc::clone(&taken), fails_at: None };
        (Self { pages, read, open, taken }, source, sink)
    }

    fn offer(&self, pages: impl IntoIterator<Item = u64>) {
        pages.into_iter().for_each(|page| self.pages.send(page).expect("the source is there"));
    }

    fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }

    fn taken(&self) -> Vec<u64> {
        self.taken.lock().expect("no panic").clone()
    }
}

fn flow(queue_pages: usize, queue_bytes: usize) -> Flow {
    Flow::new(&PipelineConfig { threads: 3, queue_pages, queue_bytes })
}

fn load(pages: usize) -> Load {
    Load { pages, bytes: pages * 1024 }
}

/// Returns three CPU threads, which pass pages on unchanged.
fn cpu() -> Cpu<impl Fn() + Sync, impl Fn(u64, &mut ()) -> u64 + Sync> {
    let process = |page, (): &mut ()| {
        assert_ne!(page, PANICS, "this page cannot be processed");
        page
    };
    Cpu { threads: 3, priority: Priority::Normal, activity: Arc::default(), workspace: || (), process }
}

/// Stages that run on one thread, in an order that a seed decides.
struct Run<'a> {
    stages: OneThread<'a, AnyError>,
    random: Random,
}

impl<'a> Run<'a> {
    fn new(stages: Stages<'a, AnyError>, seed: u64) -> Self {
        Self { stages: OneThread::new(stages), random: Random::from_seed(seed) }
    }

    /// Runs until no stage can continue.
    fn until_stalled(&mut self) {
        self.until_stalled_without("");
    }

    /// Runs until no stage can continue, except those of this name.
    fn until_stalled_without(&mut self, name: &str) {
        while self.stages.step_all_but(name, |ready| self.random.below(ready)) {}
    }
}

/// Runs the graph with a stopped sink, and returns the number of pages that were read. Then opens the sink,
/// and checks that everything arrives.
fn read_while_stopped(flow: &Flow, offered: u64, seed: u64) -> usize {
    let (ends, source, sink) = Ends::new(0);
    let cpu = cpu();
    let mut run = Run::new(graph(flow, source, &cpu, sink), seed);
    ends.offer(0..offered);
    run.until_stalled();
    let read = ends.read();
    assert_eq!(flow.budget.in_use(), load(read));
    // All pages that were read are processed. One batch is at the sink, and the others wait behind it.
    assert_eq!([flow.read.load(), flow.cpu.load()], [Load::default(); 2]);
    let waiting = flow.order.load();
    assert!(waiting.pages < read && read - waiting.pages <= 256, "{waiting:?} of {read}");

    ends.open.add_permits(1);
    run.until_stalled();
    let taken = ends.taken().len();
    let most = u64::try_from(read + taken).expect("small").min(offered);
    assert_eq!(ends.read() as u64, most, "as much as was taken is read in addition");
    ends.open.add_permits(Semaphore::MAX_PERMITS / 2);
    run.until_stalled();
    assert_eq!(ends.taken(), (0..offered).collect::<Vec<_>>());
    assert_eq!(flow.budget.in_use(), Load::default());
    assert_eq!(flow.order.load(), Load::default());
    drop(ends);
    run.until_stalled();
    run.stages.result().expect("no error");
    read
}

#[test]
fn a_stopped_sink_stops_the_source_at_exactly_the_pages_of_the_budget() {
    for seed in SEEDS {
        assert_eq!(read_while_stopped(&flow(1024, 1 << 30), 5000, seed), 1024);
        assert_eq!(read_while_stopped(&flow(1, 1 << 30), 9, seed), 1);
    }
}

#[test]
fn a_stopped_sink_stops_the_source_at_exactly_the_bytes_of_the_budget() {
    for seed in SEEDS {
        assert_eq!(read_while_stopped(&flow(1_000_000, 1 << 20), 5000, seed), 1024);
        // There is no room for one more batch of an eighth of the budget, which is 13 pages.
        assert_eq!(read_while_stopped(&flow(1_000_000, 100_000), 1000, seed), 7 * 13);
    }
}

#[test]
fn a_page_larger_than_the_budget_is_processed_alone() {
    for seed in SEEDS {
        assert_eq!(read_while_stopped(&flow(1000, 500), 5, seed), 1);
    }
}

#[test]
fn a_page_alone_is_answered_although_nothing_else_comes() {
    for seed in SEEDS {
        let (ends, source, sink) = Ends::new(Semaphore::MAX_PERMITS / 2);
        let (flow, cpu) = (flow(1024, 1 << 30), cpu());
        let mut run = Run::new(graph(&flow, source, &cpu, sink), seed);
        for page in 0..3 {
            ends.offer([page]);
            run.until_stalled();
            assert_eq!(ends.taken(), (0..=page).collect::<Vec<_>>());
            assert_eq!(flow.budget.in_use(), Load::default());
        }
    }
}

/// Without an order of its own, the graph would deliver whichever batch is processed first.
#[test]
fn results_are_delivered_in_the_order_of_the_source_whichever_thread_is_faster() {
    let (ends, source, sink) = Ends::new(Semaphore::MAX_PERMITS / 2);
    let flow = flow(64, 1 << 30);
    // The first page is processed only after the third one.
    let (third, first) = oneshot::channel();
    let (third, first) = (Mutex::new(Some(third)), Mutex::new(Some(first)));
    let process = |page, (): &mut ()| {
        if page == 0 {
            let waits = first.lock().expect("no panic").take().expect("one page");
            waits.blocking_recv().expect("the third page comes");
        } else if page == 2 {
            let goes_on = third.lock().expect("no panic").take().expect("one page");
            goes_on.send(()).expect("the first page waits");
        }
        page
    };
    let cpu =
        Cpu { threads: 3, priority: Priority::Normal, activity: Arc::default(), workspace: || (), process };
    // One page at a time, so each is a batch of its own.
    struct OneByOne(Source);
    impl SourceEnd for OneByOne {
        type Page = u64;
        type Error = AnyError;
        fn bytes(page: &u64) -> usize {
            Source::bytes(page)
        }
        async fn read(&mut self, _: Load) -> Result<Option<Vec<u64>>, AnyError> {
            self.0.read(Load { pages: 1, bytes: 1 }).await
        }
    }
    ends.offer(0..1000);
    let Ends { pages, taken, .. } = ends;
    drop(pages);
    graph(&flow, OneByOne(source), &cpu, sink).run().expect("no error");
    assert_eq!(*taken.lock().expect("no panic"), (0..1000).collect::<Vec<_>>());
}

/// Runs a graph of 10,000 pages, and returns its error.
fn error_of(seed: u64, change: impl Fn(&mut Source, &mut Sink), is_offered: impl Fn(u64) -> u64) -> String {
    let (ends, mut source, mut sink) = Ends::new(Semaphore::MAX_PERMITS / 2);
    change(&mut source, &mut sink);
    let (flow, cpu) = (flow(2048, 1 << 30), cpu());
    let mut run = Run::new(graph(&flow, source, &cpu, sink), seed);
    ends.offer((0..10_000).map(is_offered));
    // The source goes on, so it is only the error that ends the others.
    let _more = ends.pages.clone();
    run.until_stalled();
    assert_eq!(flow.budget.in_use(), Load::default(), "nothing is in flight any more");
    let taken = ends.taken();
    assert_eq!(taken, (0..taken.len() as u64).collect::<Vec<_>>(), "what was delivered before is in order");
    assert!(taken.len() < 10_000);
    run.stages.result().expect_err("an error").to_string()
}

#[test]
fn an_error_of_any_stage_ends_all_others_and_is_returned() {
    for seed in SEEDS {
        let error = error_of(seed, |source, _| source.fails_at = Some(3000), |page| page);
        assert_eq!(error, "the source has failed");
        let error = error_of(seed, |_, sink| sink.fails_at = Some(3000), |page| page);
        assert_eq!(error, "the sink has failed");
        let both = |source: &mut Source, sink: &mut Sink| {
            source.fails_at = Some(9000);
            sink.fails_at = Some(100);
        };
        assert_eq!(error_of(seed, both, |page| page), "the sink has failed");
    }
    let panics = |page| if page == 3000 { PANICS } else { page };
    assert_eq!(error_of(1, |_, _| {}, panics), "a CPU stage has failed");
}

/// A worker whose stages hang on one page must not seem alive and ready from outside.
#[test]
fn pages_that_no_thread_finishes_are_noticed() {
    let (ends, source, sink) = Ends::new(Semaphore::MAX_PERMITS / 2);
    let (flow, cpu) = (flow(1024, 1 << 30), cpu());
    let activity = Arc::clone(&cpu.activity);
    let stalled = |activity: &Activity| activity.stalled(Duration::ZERO).map(|(waiting, _)| waiting);
    let mut run = Run::new(graph(&flow, source, &cpu, sink), 1);
    run.until_stalled_without("leitong-cpu");
    assert_eq!(stalled(&activity), None, "without work nothing stalls");
    ends.offer([0, 1]);
    run.until_stalled_without("leitong-cpu");
    assert_eq!(stalled(&activity), Some(2));
    assert_eq!(activity.stalled(Duration::from_secs(3600)), None);
    assert_eq!([flow.cpu.load(), flow.order.load()], [load(2), Load::default()], "deliver awaits the batch");
    run.until_stalled();
    assert_eq!(stalled(&activity), None);
    assert_eq!(ends.taken(), [0, 1]);
}

#[test]
fn permits_bound_pages_and_bytes() {
    let budget = Budget::new(Load { pages: 3, bytes: 10_000 });
    let has_room = |pages, bytes| {
        let room = std::pin::pin!(budget.room_for(Load { pages, bytes }));
        room.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())).is_ready()
    };
    let two = budget.take(Load { pages: 2, bytes: 100 });
    assert!(!has_room(2, 100), "too many pages");
    assert!(!has_room(1, 10_000), "too many bytes");
    assert!(has_room(1, 9_900));
    let one = budget.take(Load { pages: 1, bytes: 20_000 });
    assert_eq!(budget.in_use(), Load { pages: 3, bytes: 20_100 });
    drop(two);
    assert!(!has_room(1, 1), "a large page takes more than there is");
    drop(one);
    assert!(has_room(3, 10_000), "everything is free again");
}
