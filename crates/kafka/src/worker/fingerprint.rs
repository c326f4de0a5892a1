//! The fingerprint stage over Kafka. It runs one producer session after another, each with its own consumer
//! and its own [graph](leitong_graph):
//!
//! ```text
//! page topic ─► PageTopic ─► read ─► fingerprint ─► deliver ─► ToLog ─► log
//!   commit ◄─ page_topic.rs  └────── the graph ────────┘   deliveries ◄──┘
//! ```
//! Invariants: records of a page partition go to the log in order; an offset is committed when all records
//! before it are delivered; `[pipeline]` bounds the pages and bytes in flight. A session with an error is
//! discarded as a whole, and the next one begins at the committed offsets.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::page_topic::PageTopic;
use super::positions;
use super::stop::Stop;
use crate::kafka::error::{Error, Result};
use crate::kafka::identity::TopicWatch;
use crate::kafka::log_writer::LogProducer;
use crate::kafka::page_session::Shared;
use crate::kafka::pages::{Assigned, PageConsumer, PageOrigin};
use leitong_base::error::StepError;
use leitong_graph::Permit;
use leitong_graph::SinkEnd;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::traces::page::{PageTrace, Seen};
use leitong_graph::telemetry::{metrics, traces};
use leitong_graph::{Cpu, Priority};
use leitong_graph::{Flow, graph};
use leitong_pipeline::config::Config;
use leitong_pipeline::marks::now;
use leitong_pipeline::{FingerprintStage, Fingerprinted, Workspace};

/// Pause before a new session.
const SESSION_PAUSE: Duration = Duration::from_secs(1);

/// The fingerprint stage of a worker.
pub(crate) struct PageSessions<'a> {
    pub config: &'a Config,
    pub stage: &'a FingerprintStage,
    pub log_partitions: u32,
    pub topics: &'a Arc<TopicWatch>,
    pub(crate) health: &'a Arc<StageHealth>,
    pub stop: &'a Stop,
}

impl PageSessions<'_> {
    /// Runs sessions until `stop` is raised. If a topic was replaced by another one of its name, no more sessions
    /// begin, and the stage halts and reports it.
    ///
    /// # Errors
    /// Clients cannot be created.
    pub(crate) fn run(&self) -> Result<()> {
        let known = positions::known_ids(self.config, self.log_partitions)?.for_pages();
        let refused = match known.verify(&self.topics.ids()) {
            Ok(()) => self.run_sessions()?,
            Err(replaced) => Some(replaced.into()),
        };
        if let Some(why) = refused {
            metrics::halted("pages", true);
            self.health.refuse(StepError::with_causes(&why));
            while !self.stop.is_requested() {
                tracing::error!("pages are not read: {}", StepError::with_causes(&why));
                self.health.tick();
                self.stop.wait(Duration::from_secs(60));
            }
        }
        Ok(())
    }

    /// Runs one session after another. Returns the reason why no more may begin, or `None` if `stop` was raised.
    fn run_sessions(&self) -> Result<Option<Error>> {
        let kafka = &self.config.kafka;
        while !self.stop.is_requested() {
            let shared = Arc::new(Shared::default());
            let detector = self.stage.detector().name();
            let producer = LogProducer::new(kafka, self.log_partitions, detector, &shared)?;
            let consumer = PageConsumer::new(kafka, &shared, self.topics, self.health)?;
            let flow = Flow::new(&self.config.pipeline);
            let source = PageTopic {
                config: self.config,
                consumer: &consumer,
                producer: &producer,
                topics: self.topics,
                health: self.health,
                shared: &shared,
                flow: &flow,
                stop: self.stop,
                committed: Instant::now(),
                full_since: None,
                paused: false,
                early: Vec::new(),
            };
            let result = self.run_session(&flow, source, ToLog(&producer));
            if result.is_err() {
                shared.fail("a stage has failed".to_owned());
            }
            shared.lock().closing = true;
            result?;
            let refused = shared.lock().refused.take();
            if refused.is_some() {
                return Ok(refused);
            }
            if let Some(why) = &shared.lock().broken {
                tracing::warn!(
                    "pages since the last commit are read again (they count once), because the producer session has \
                     ended: {why}"
                );
            }
            drop(consumer);
            self.stop.wait(SESSION_PAUSE);
        }
        Ok(None)
    }

    /// Runs one session to its end.
    fn run_session(&self, flow: &Flow, source: PageTopic<'_>, sink: ToLog<'_>) -> Result<()> {
        metrics::PAGES_PAUSED.set(0.0);
        let (config, stage) = (self.config, self.stage);
        let cpu = Cpu {
            threads: config.pipeline.threads,
            // A crawler waits for each look-up, but not for pages of the topic.
            priority: match config.api.address.is_empty() {
                true => Priority::Normal,
                false => Priority::Background,
            },
            activity: Arc::clone(self.health.activity()),
            workspace: || stage.workspace(),
            process: |page: Assigned<'_>, workspace: &mut Workspace| process(stage, &page, workspace),
        };
        graph(flow, source, &cpu, sink).run()
    }
}

/// A message that the stage has read.
struct Read {
    done: Fingerprinted,
    /// The trace of the page, if later stages continue it.
    trace: Option<Box<PageTrace>>,
    origin: PageOrigin,
}

/// Runs the stage on one message, and traces it.
fn process(stage: &FingerprintStage, page: &Assigned<'_>, workspace: &mut Workspace) -> Read {
    let tracer = traces::tracer();
    let began_at = tracer.map_or(0, |_| now());
    let done = stage.process_message(&page.place, || page.message(), workspace);
    let trace = tracer.and_then(|tracer| {
        tracer.seen(&Seen {
            place: &page.place,
            timestamp_ms: page.origin.timestamp_ms,
            said: page.trace_context(),
            read_at: page.read_at,
            began_at,
            marks: workspace.marks(),
            record: done.record.as_ref().map_err(|why| *why),
        })
    });
    Read { done, trace, origin: page.origin }
}

/// The sink end: sends records to the log.
struct ToLog<'a>(&'a LogProducer);

impl SinkEnd<Read> for ToLog<'_> {
    type Error = Error;

    /// Returns false if the session has ended.
    async fn take(&mut self, results: Vec<Read>, _until_sent: Permit) -> Result<bool> {
        for Read { done, trace, origin } in results {
            match done.record {
                Ok(record) => {
                    if !self.0.send(record, origin, trace) {
                        return Ok(false);
                    }
                }
                Err(why) => {
                    metrics::MESSAGES_SKIPPED.add_as(why.as_str(), 1);
                    self.0.pass_over(origin);
                }
            }
        }
        Ok(true)
    }
}
