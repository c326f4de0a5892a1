//! The simulation as a process sees it: the ports of the product's owners.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::brokers::{Brokers, Request};
use super::client::SimClient;
use super::faults::Faults;
use super::reader::{self, SimReader};
use super::{MS, Mistake, Rng, SECOND, Time};
use crate::kafka::client::ClientError;
use crate::kafka::open_ranges::OpenRange;
use crate::log::identity::{Replaced, TopicIds};
use crate::record::timestamp::Timestamp;
use crate::worker::ports::World;
use crate::worker::stop::Stop;

/// When the simulated clocks begin.
pub(crate) const EPOCH_MS: i64 = 1_700_000_000_000;
/// For how long the changelog keeps tombstones.
pub(crate) const TOMBSTONE_RETENTION: Time = 10 * SECOND;

/// A process of a worker.
pub(crate) struct Process {
    pub(crate) alive: bool,
    pub(crate) frozen_until: Time,
}

/// A request that arrives after its sender has given it up.
pub(crate) struct Late {
    pub(crate) at: Time,
    pub(crate) id: usize,
    pub(crate) epoch: u64,
    pub(crate) request: Request,
}

/// Everything that actors share.
pub(crate) struct Shared {
    pub(crate) now: Time,
    pub(crate) rng: Rng,
    pub(crate) steps: u64,
    pub(crate) brokers: Brokers,
    pub(crate) processes: Vec<Process>,
    pub(crate) late: Vec<Late>,
    pub(crate) faults: Faults,
    /// One line a request, for comparing runs and for reading a failure.
    pub(crate) trace: Vec<String>,
    pub(crate) traced: bool,
}

impl Shared {
    pub(crate) fn trace(&mut self, line: impl FnOnce() -> String) {
        if self.traced {
            let line = format!("{:>10.3} ms {}", self.now as f64 / 1000.0, line());
            self.trace.push(line);
        }
    }
}

/// The world of one process.
#[derive(Clone)]
pub(crate) struct SimWorld {
    pub(crate) shared: Arc<Mutex<Shared>>,
    pub(crate) process: usize,
    /// The instant at which the simulation began.
    pub(crate) start: Instant,
    /// Built into its ports.
    pub(crate) mistake: Option<Mistake>,
}

impl SimWorld {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets `time` go by. False: the process is dead, and nothing that it does has any effect.
    #[expect(
        deprecated,
        reason = "the product's code in between knows nothing of generators and their scopes"
    )]
    pub(crate) fn sleep(&self, time: Time) -> bool {
        let until = {
            let mut shared = self.lock();
            shared.steps += 1;
            if !shared.processes[self.process].alive {
                return false;
            }
            shared.now + time
        };
        generator::yield_with(until);
        loop {
            let frozen_until = {
                let shared = self.lock();
                let process = &shared.processes[self.process];
                if !process.alive {
                    return false;
                }
                if process.frozen_until <= shared.now {
                    return true;
                }
                process.frozen_until
            };
            generator::yield_with(frozen_until);
        }
    }

    /// The way to a broker and back, mostly short.
    pub(crate) fn latency(&self) -> Time {
        let mut shared = self.lock();
        if shared.rng.once_in(50) { shared.rng.below(80) * MS } else { 200 + shared.rng.below(2 * MS) }
    }
}

impl World for SimWorld {
    type Reader = SimReader;
    type Client = SimClient;
    type Group = usize;

    fn reader(&self, topic: &str, partition: u32) -> anyhow::Result<SimReader> {
        SimReader::new(self, topic, partition)
    }

    fn uncommitted_reader(&self, topic: &str, partition: u32) -> anyhow::Result<SimReader> {
        SimReader::uncommitted(self, topic, partition)
    }

    fn outputs(&self, log_partition: u32) -> anyhow::Result<Vec<(String, u32)>> {
        Ok(reader::outputs(self, log_partition))
    }

    fn open_ranges(&self, log_partition: u32) -> anyhow::Result<Vec<OpenRange>> {
        reader::open_ranges(self, log_partition)
    }

    fn transactions(&self, log_partition: u32) -> Result<SimClient, ClientError> {
        Ok(SimClient::new(self, log_partition))
    }

    fn group(&self) -> Option<usize> {
        Some(self.process)
    }

    fn tombstone_retention(&self) -> anyhow::Result<Duration> {
        let retention = match self.mistake {
            Some(Mistake::SnapshotWithoutAge) => 1_000_000 * SECOND,
            _ => TOMBSTONE_RETENTION,
        };
        Ok(Duration::from_micros(retention))
    }

    fn topic_ids(&self) -> TopicIds {
        TopicIds::default()
    }

    fn ask_topic_ids(&self) -> anyhow::Result<()> {
        Ok(())
    }

    fn verify_table(&self) -> Result<(), Replaced> {
        Ok(())
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_micros(self.lock().now)
    }

    fn timestamp(&self) -> Timestamp {
        let ms = EPOCH_MS + (self.lock().now / MS) as i64;
        Timestamp::from_ms(ms).expect("a time")
    }

    fn wait(&self, stop: &Stop, time: Duration) -> bool {
        let wait = time.as_micros() as Time;
        let until = self.lock().now + wait;
        // In steps, since the flag may be raised meanwhile.
        while !stop.is_requested() {
            let now = self.lock().now;
            if now >= until || !self.sleep((until - now).min(50 * MS)) {
                break;
            }
        }
        stop.is_requested()
    }
}
