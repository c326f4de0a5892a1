//! The CPU threads, one per core by default, which run the fingerprint stage on batches of pages.
//!
//! Input: batches. Output: for each batch a [`Pending`] with one result per page, in order. Invariant: a
//! panic fails its batch, and the thread goes on with the next one. Memory: the submitted batches and one
//! workspace per thread; callers bound the number of batches.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, Scope};
use std::time::Instant;

use anyhow::Context;

use super::fingerprint_stage::{FingerprintStage, Fingerprinted, Workspace};
use crate::telemetry::health::Activity;
use crate::telemetry::metrics;

/// The nice value of background threads. Threads begin with 0; 19 is the lowest priority.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;

/// Returns the number of threads for a setting. 0 means one per core.
#[must_use]
pub fn thread_count(configured: usize) -> usize {
    match configured {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

/// The priority of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The ordinary priority.
    Normal,
    /// A lower priority, so threads that serve requests go first. It is a nice value of 10 on Linux, and the
    /// same as `Normal` elsewhere.
    Background,
}

impl Priority {
    /// Sets the priority of the calling thread. If this is not allowed, nothing changes, because only delays
    /// depend on it.
    fn take(self) {
        #[cfg(target_os = "linux")]
        if self == Self::Background {
            let thread = Some(rustix::thread::gettid());
            // Root may raise priorities too, and the whole program may have been started with a lower one.
            let is_below =
                rustix::process::getpriority_process(thread).is_ok_and(|nice| nice >= BACKGROUND_NICE);
            if !is_below {
                let _ = rustix::process::setpriority_process(thread, BACKGROUND_NICE);
            }
        }
    }
}

/// Scoped threads that run the stateless stage on batches of `T`, which may borrow from outside the scope.
/// They end when this is dropped.
pub struct CpuStages<T> {
    jobs: Sender<Job<T>>,
    activity: Arc<Activity>,
}

struct Job<T> {
    batch: Vec<T>,
    results: SyncSender<Vec<Fingerprinted>>,
    asked: Weak<()>,
}

/// The pending results of a batch. If this is dropped, the batch is not processed.
pub struct Pending {
    results: Receiver<Vec<Fingerprinted>>,
    _asked: Arc<()>,
}

impl<T: Send> CpuStages<T> {
    /// Starts this many threads; 0 means one per core. `process` runs the stage on one item. `activity` is
    /// informed of each item that begins, and that is finished or dropped.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn start<'scope, F>(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        priority: Priority,
        stage: &'scope FingerprintStage,
        activity: &Arc<Activity>,
        process: F,
    ) -> anyhow::Result<Self>
    where
        T: 'scope,
        F: Fn(&FingerprintStage, T, &mut Workspace) -> Fingerprinted + Copy + Send + 'scope,
    {
        let threads = thread_count(threads);
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..threads {
            let waiting = Arc::clone(&waiting);
            let activity = Arc::clone(activity);
            thread::Builder::new()
                .name("leitong-cpu".to_owned())
                .spawn_scoped(scope, move || {
                    priority.take();
                    work(&waiting, stage, &activity, process);
                })
                .context("cannot start threads")?;
        }
        activity.begin_anew();
        Ok(Self { jobs, activity: Arc::clone(activity) })
    }

    /// Starts processing a batch.
    pub fn submit(&self, batch: Vec<T>) -> Pending {
        let (results, pending) = mpsc::sync_channel(1);
        let asked = Arc::new(());
        self.activity.begins(batch.len());
        let job = Job { batch, results, asked: Arc::downgrade(&asked) };
        // If no thread runs, `Pending::wait` returns an error.
        let _ = self.jobs.send(job);
        Pending { results: pending, _asked: asked }
    }
}

impl Pending {
    /// Waits for the results, one for each item of the batch, in its order.
    ///
    /// # Errors
    /// A thread has failed.
    pub fn wait(self) -> anyhow::Result<Vec<Fingerprinted>> {
        self.results.recv().context("a CPU stage has failed")
    }
}

fn work<T>(
    jobs: &Mutex<Receiver<Job<T>>>,
    stage: &FingerprintStage,
    activity: &Activity,
    process: impl Fn(&FingerprintStage, T, &mut Workspace) -> Fingerprinted,
) {
    let mut workspace = stage.workspace();
    loop {
        // One thread waits for the next job, the others for the lock.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { batch, results, asked }) = job else { return };
        if asked.strong_count() == 0 {
            activity.done(batch.len());
            continue;
        }
        let began = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| {
            let each = |item| {
                let result = process(stage, item, &mut workspace);
                activity.done(1);
                result
            };
            batch.into_iter().map(each).collect()
        }));
        metrics::stage("fingerprint", began.elapsed());
        match done {
            // The caller may have stopped waiting.
            Ok(done) => _ = results.send(done),
            // The panic hook has logged the panic. `Pending::wait` returns an error.
            Err(_) => workspace = stage.workspace(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;
    use leitong_text::page::json::{self, Rules};

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_in_the_background_let_others_go_first() {
        let niceness = |priority: Priority| {
            let of_thread = move || {
                priority.take();
                rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("a priority")
            };
            thread::spawn(of_thread).join().expect("no panic")
        };
        let normal = niceness(Priority::Normal);
        assert_eq!(niceness(Priority::Background), normal.max(BACKGROUND_NICE));
        assert_eq!(niceness(Priority::Normal), normal, "only the thread itself");
    }

    /// From outside, a worker whose stages hung on one page seemed alive and ready.
    #[test]
    fn a_stage_that_finishes_nothing_is_noticed() {
        let stage = FingerprintStage::new(Config::default()).expect("defaults");
        let activity = Arc::default();
        let (go_on, gate) = mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        thread::scope(|scope| {
            let process = |stage: &FingerprintStage, item: u64, workspace: &mut Workspace| {
                gate.lock().expect("no panic").recv().expect("the test goes on");
                let rules = Rules { page_bytes_max: 100, url_required: true };
                let page = json::parse(br#"{"url": "http://x/", "text": "t"}"#, rules).expect("a page");
                let place = leitong_base::record::Place::Line { input: "test".into(), line: item };
                stage.process_page(place, page, workspace)
            };
            let cpu = CpuStages::start(scope, 1, Priority::Background, &stage, &activity, process)
                .expect("threads");
            assert_eq!(activity.stalled(Duration::ZERO), None, "without work nothing stalls");
            let pending = cpu.submit(vec![1, 2]);
            assert_eq!(activity.stalled(Duration::ZERO).map(|(waiting, _)| waiting), Some(2));
            assert_eq!(activity.stalled(Duration::from_secs(3600)), None);
            for _ in 0..2 {
                go_on.send(()).expect("the stage waits");
            }
            assert_eq!(pending.wait().expect("no fault").len(), 2);
            assert_eq!(activity.stalled(Duration::ZERO), None);
            drop(cpu);
        });
    }
}
