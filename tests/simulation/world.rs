//! The simulation as a process sees it: the ports of the product's owners.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::brokers::{Brokers, Request};
use super::client::SimClient;
use super::faults::{Fault, Faults};
use super::reader::{self, SimReader};
use super::{MS, Mistake, Rng, Time};
use crate::kafka::error::{ClientError, Result, refused};
use crate::kafka::ports::{OpenRange, ReadMode, Reader as _, Record, Step};
use crate::worker::ports::{TableFolder, World};
use crate::worker::stop::Stop;
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::POSITION_KEY;
use leitong_cluster::log::{Replaced, TopicIds};
use leitong_store::blocks::{SimFolder, StoreOptions};

/// Start of the simulated clocks.
pub(crate) const EPOCH_MS: i64 = 1_700_000_000_000;

/// A process of a worker.
pub(crate) struct Process {
    pub(crate) alive: bool,
    pub(crate) frozen_until: Time,
}

/// A request that arrives after its sender has given up on it.
pub(crate) struct Late {
    pub(crate) at: Time,
    pub(crate) id: usize,
    pub(crate) epoch: u64,
    pub(crate) request: Request,
}

/// A request to delete records of the changelog that arrives after its sender has given up on it.
pub(crate) struct LateDeletion {
    pub(crate) at: Time,
    pub(crate) log_partition: u32,
    pub(crate) before: u64,
}

/// Everything that actors share.
pub(crate) struct Shared {
    pub(crate) now: Time,
    pub(crate) rng: Rng,
    pub(crate) steps: u64,
    pub(crate) brokers: Brokers,
    pub(crate) processes: Vec<Process>,
    pub(crate) late: Vec<Late>,
    pub(crate) late_deletions: Vec<LateDeletion>,
    pub(crate) faults: Faults,
    /// The folders of tables on disk, by machine and partition of the log.
    pub(crate) disks: BTreeMap<(usize, u32), SimFolder>,
    /// One line per request, to compare runs and to analyse a failure.
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
    /// The machine whose disk the process has; no other process has it meanwhile.
    pub(crate) machine: usize,
    /// The instant at which the simulation began.
    pub(crate) start: Instant,
    /// The mistake built into its ports.
    pub(crate) mistake: Option<Mistake>,
}

impl SimWorld {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances `time`. Returns false if the process is dead; nothing that it does then has any effect.
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

    /// Returns a random delay to a broker and back, usually short.
    pub(crate) fn latency(&self) -> Time {
        let mut shared = self.lock();
        if shared.rng.once_in(50) { shared.rng.below(80) * MS } else { 200 + shared.rng.below(2 * MS) }
    }
}

impl SimWorld {
    /// Returns the offset after the first centroid at or after `offset`.
    fn after_next_centroid(&self, log_partition: u32, offset: u64) -> Result<u64> {
        let reader = self.reader("leitong.centroids", log_partition, ReadMode::ToEnd)?;
        reader.begin(offset)?;
        while let Step::Record(record) = reader.next(Duration::ZERO)? {
            let record: &dyn Record = &record;
            if record.key() != Some(POSITION_KEY) {
                return Ok(record.offset() + 1);
            }
        }
        Ok(offset)
    }
}

impl World for SimWorld {
    type Reader = SimReader;
    type Client = SimClient;
    type Group = usize;

    fn reader(&self, topic: &str, partition: u32, mode: ReadMode) -> Result<SimReader> {
        Ok(SimReader::new(self, topic, partition, mode))
    }

    fn outputs(&self, log_partition: u32) -> Result<Vec<(String, u32)>> {
        Ok(reader::outputs(self, log_partition))
    }

    fn open_ranges(&self, log_partition: u32) -> Result<Vec<OpenRange>> {
        reader::open_ranges(self, log_partition)
    }

    fn transactions(&self, log_partition: u32) -> Result<SimClient, ClientError> {
        Ok(SimClient::new(self, log_partition))
    }

    fn group(&self) -> Option<usize> {
        Some(self.process)
    }

    fn delete_changelog(&self, log_partition: u32, before: u64) -> Result<()> {
        let before = match self.mistake {
            Some(Mistake::DeletesUnexpired) => self.after_next_centroid(log_partition, before)?,
            _ => before,
        };
        if !self.sleep(self.latency()) {
            return Err(refused!("this process is dead"));
        }
        let shared = &mut *self.lock();
        let (now, fault) = (shared.now, shared.faults.draw(&mut shared.rng));
        shared.trace(|| format!("changelog {log_partition}: delete before {before} {fault:?}"));
        match fault {
            Fault::LostRequest => return Err(refused!("no answer")),
            Fault::Late(after) => {
                shared.late_deletions.push(LateDeletion { at: now + after, log_partition, before });
                return Err(refused!("no answer"));
            }
            _ => {}
        }
        let done = shared.brokers.delete_changelog(log_partition, before, now);
        match fault {
            Fault::LostAnswer => Err(refused!("no answer")),
            _ => done.map_err(|why| refused!("{why}")),
        }
    }

    fn table_folder(&self, log_partition: u32) -> Result<Option<TableFolder>> {
        let mut shared = self.lock();
        if !shared.processes[self.process].alive {
            return Err(refused!("this process is dead"));
        }
        let machine = self.machine;
        let folder = shared.disks.entry((machine, log_partition)).or_default().locked();
        let files = folder.as_ref().map(SimFolder::all_names);
        shared.trace(|| format!("machine {machine}: table of log {log_partition} is opened: {files:?}"));
        let (portion, waiting_max) = (4, 128);
        let options = StoreOptions {
            block: 32,
            fan: 2,
            span_max: 128,
            readers: 0,
            portion,
            waiting_max,
            check_bytes_per_second: 0,
            advice: "",
        };
        Ok(folder.map(|files| TableFolder { files: Arc::new(files), options }))
    }

    fn random(&self) -> u64 {
        self.lock().rng.below(u64::MAX)
    }

    fn topic_ids(&self) -> TopicIds {
        TopicIds::default()
    }

    fn ask_topic_ids(&self) -> Result<()> {
        Ok(())
    }

    fn verify_table(&self) -> Result<(), Replaced> {
        Ok(())
    }

    /// One after the other, in either order: the two share nothing but brokers.
    fn both<A: Send, B>(&self, beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
        if self.lock().rng.once_in(2) {
            let here = here();
            (beside(), here)
        } else {
            (beside(), here())
        }
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
