//! A producer whose delivery reports are received by a thread of its own.
//!
//! rdkafka's `ThreadedProducer` does the same in steps of 100 ms, and spins in the last millisecond of each.
//! That takes one percent of a core for every producer, busy or idle. Here the steps are longer.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, Producer, ProducerContext, PurgeConfig};

use super::client;
use super::error::ClientError;

/// Duration of one step of polling. A dropped producer lives on for at most this time, without messages.
const STEP: Duration = Duration::from_secs(1);

/// A producer, and the thread that polls it.
pub(crate) struct PolledProducer<C: ProducerContext + 'static> {
    producer: Arc<BaseProducer<C>>,
    stop: Arc<AtomicBool>,
}

impl<C: ProducerContext + 'static> PolledProducer<C> {
    /// Starts the client and the thread.
    ///
    /// # Errors
    /// [`ClientError`].
    pub(crate) fn new(config: &ClientConfig, context: C) -> Result<Self, ClientError> {
        let producer: Arc<BaseProducer<C>> = Arc::new(client::create(config, context)?);
        let stop = Arc::new(AtomicBool::new(false));
        let (polled, stopped) = (Arc::clone(&producer), Arc::clone(&stop));
        thread::Builder::new()
            .name("leitong-polls".to_owned())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    polled.poll(STEP);
                }
            })
            .map_err(ClientError::Thread)?;
        Ok(Self { producer, stop })
    }
}

impl<C: ProducerContext + 'static> Deref for PolledProducer<C> {
    type Target = BaseProducer<C>;

    fn deref(&self) -> &BaseProducer<C> {
        &self.producer
    }
}

impl<C: ProducerContext + 'static> Drop for PolledProducer<C> {
    fn drop(&mut self) {
        // Undelivered messages are given up now. The thread is the last owner of the client, and ends after
        // its step.
        self.producer.purge(PurgeConfig::default().queue().inflight());
        self.stop.store(true, Ordering::Relaxed);
    }
}
