//! The source end of the fingerprint stage: reads the page topic, and commits what is delivered to the log.
//!
//! Everything here runs on the thread of the reading stage, and so do rebalances, inside
//! [`PageConsumer::poll`]. While there is no room for pages, polling continues with paused partitions, so the
//! member stays in its group.

use std::mem;
use std::time::{Duration, Instant};

use super::stop::Stop;
use crate::backoff::backoff;
use crate::kafka::error::{Error, Result};
use crate::kafka::identity::TopicWatch;
use crate::kafka::log_writer::LogProducer;
use crate::kafka::page_session::Shared;
use crate::kafka::pages::{Assigned, PageConsumer};
use leitong_cluster::log::{Replaced, Which};
use leitong_graph::Flow;
use leitong_graph::Load;
use leitong_graph::SourceEnd;
use leitong_graph::telemetry::health::StageHealth;
use leitong_graph::telemetry::metrics;
use leitong_pipeline::config::Config;

/// Interval between commits of offsets.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for records in flight at a stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// Reads pages for one session.
pub(super) struct PageTopic<'a> {
    pub(super) config: &'a Config,
    pub(super) consumer: &'a PageConsumer,
    pub(super) producer: &'a LogProducer,
    pub(super) topics: &'a TopicWatch,
    pub(super) health: &'a StageHealth,
    pub(super) shared: &'a Shared,
    pub(super) flow: &'a Flow,
    pub(super) stop: &'a Stop,
    /// The time of the last commit.
    pub(super) committed: Instant,
    /// The time since which there has been no room for pages.
    pub(super) full_since: Option<Instant>,
    pub(super) paused: bool,
    /// Pages that were read while there was no room.
    pub(super) early: Vec<Assigned<'a>>,
}

impl<'a> PageTopic<'a> {
    /// Commits offsets and reports figures when the interval for them has passed. Returns false if the
    /// session ends.
    fn goes_on(&mut self) -> bool {
        if self.stop.is_requested() || !self.is_usable() {
            return false;
        }
        self.health.tick();
        if self.committed.elapsed() >= COMMIT_INTERVAL {
            if let Err(replaced) = self.topics.verify_pages() {
                self.refuse(replaced);
                return false;
            }
            self.consumer.commit();
            self.flow.export();
            metrics::STALLED_SECONDS.set(self.health.activity().still_for().as_secs_f64());
            metrics::PARTITIONS_OWNED.set_of("fingerprint", self.health.partitions() as f64);
            self.committed = Instant::now();
        }
        true
    }

    /// Returns true while the session can continue. After retention has deleted unread pages, the session
    /// continues until the pages in hand are sent, because they cannot be read again.
    fn is_usable(&self) -> bool {
        let state = self.shared.lock();
        state.broken.is_none() && !(state.overtaken && self.early.is_empty())
    }

    /// Ends the session, and prevents further ones. If the page topic was replaced, pages that were read
    /// still get verdicts. If the log was replaced, nothing more can be written, so the session fails at
    /// once.
    fn refuse(&self, replaced: Replaced) {
        self.shared.lock().refused = Some(replaced.into());
        if replaced.which == Which::Log {
            self.shared.fail(replaced.to_string());
        }
    }

    fn poll(&self, timeout: Duration) -> Result<Option<Assigned<'a>>> {
        let page = self.consumer.poll(timeout)?;
        if let Some(page) = &page {
            metrics::PAGES_READ.add(1);
            metrics::PAGE_BYTES_READ.add(page.value_bytes() as u64);
        }
        Ok(page)
    }

    fn room_again(&mut self) -> Result<()> {
        self.full_since = None;
        if self.paused {
            self.consumer.resume()?;
            self.paused = false;
            metrics::PAGES_PAUSED.set(0.0);
        }
        Ok(())
    }
}

impl<'a> SourceEnd for PageTopic<'a> {
    type Page = Assigned<'a>;
    type Error = Error;

    fn bytes(page: &Assigned<'a>) -> usize {
        page.bytes()
    }

    async fn read(&mut self, limit: Load) -> Result<Option<Vec<Assigned<'a>>>> {
        if !self.goes_on() {
            return Ok(None);
        }
        self.room_again()?;
        let mut pages = mem::take(&mut self.early);
        let mut bytes: usize = pages.iter().map(Assigned::bytes).sum();
        while bytes < limit.bytes && pages.len() < limit.pages {
            let timeout = Duration::from_millis(if pages.is_empty() { 100 } else { 0 });
            let Some(page) = self.poll(timeout)? else { break };
            bytes += page.bytes();
            pages.push(page);
        }
        Ok(Some(pages))
    }

    /// Waits a little. If there was no room for `kafka.pages.pause_after_ms`, pauses the partitions and
    /// continues polling.
    async fn while_full(&mut self) -> Result<bool> {
        if !self.goes_on() {
            return Ok(false);
        }
        let full_since = *self.full_since.get_or_insert_with(Instant::now);
        if full_since.elapsed() < Duration::from_millis(self.config.kafka.pages.pause_after_ms) {
            backoff(Duration::from_millis(5));
            return Ok(true);
        }
        if !self.paused {
            tracing::info!("reading of the page topic is paused, because the queue stays full");
            self.paused = true;
            metrics::PAGES_PAUSED.set(1.0);
        }
        // Repeated, because a rebalance may have brought partitions that are not paused.
        self.consumer.pause()?;
        // There is rarely a page: one that was fetched before the pause took effect.
        let page = self.poll(Duration::from_millis(50))?;
        self.early.extend(page);
        Ok(true)
    }

    /// Waits until everything that was read is delivered, and commits its offsets.
    async fn end(&mut self) {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        let done = || self.flow.budget.in_use() == Load::default() && self.producer.in_flight() == 0;
        while !done() && Instant::now() < deadline && self.shared.lock().broken.is_none() {
            self.health.tick();
            backoff(Duration::from_millis(10));
        }
        if !done() {
            // Nothing is lost: uncommitted messages are read again.
            self.shared.fail("stopped with records in flight".to_owned());
        }
        self.consumer.commit_and_wait();
    }
}
