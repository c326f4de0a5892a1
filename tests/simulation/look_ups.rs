//! Look-ups at any moment in any process, zombies included: each answer must follow from the log up to the
//! offset in the answer.

use std::sync::Arc;

use super::brokers::{Brokers, Topic};
use super::world::SimWorld;
use super::{Rng, checks};
use crate::worker::log_partition::LogPartition;
use crate::worker::ports::World;
use crate::worker::role::ClusterRole;
use crate::worker::tables::WorkerTables;
use leitong_base::record::{FingerprintRecord, LogRecord, Timestamp};
use leitong_cluster::log::{Entry, LogPlace};
use leitong_cluster::verdict::Verdict;
use leitong_cluster::{ClusterRules, PreviewOptions, Scratch};
use leitong_http::api::{AsOf, HeldAs, LookedUp};
use leitong_pipeline::ClusterStage;

/// The look-ups of one run, and their answers.
pub(crate) struct LookUps {
    /// A separate generator, so a seed's run does not depend on look-ups.
    rng: Rng,
    scratch: Scratch,
    answers: Vec<Answer>,
    /// Refused look-ups: the table is elsewhere, or not there yet.
    pub(crate) refused: usize,
}

struct Answer {
    page: FingerprintRecord,
    now: Timestamp,
    as_of: AsOf,
    verdict: String,
}

impl LookUps {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed ^ 0x1007), scratch: Scratch::default(), answers: Vec::new(), refused: 0 }
    }

    /// Returns the number of look-ups that were answered from a table held in this way.
    pub(crate) fn answered(&self, held_as: HeldAs) -> usize {
        self.answers.iter().filter(|answer| answer.as_of.held_as == Some(held_as)).count()
    }

    /// Occasionally chooses one of the processes, and a page of one of its partitions, as if it came again.
    pub(crate) fn choose(
        &mut self,
        processes: usize,
        log_partitions: u32,
        brokers: &mut Brokers,
    ) -> Option<(usize, u32, FingerprintRecord)> {
        if processes == 0 || !self.rng.once_in(4) {
            return None;
        }
        let process = self.rng.index(processes);
        let partition = self.rng.below(u64::from(log_partitions)) as u32;
        let records = &brokers.partition(Topic::Log, partition).records;
        let record = records.get(self.rng.index(records.len().max(1)))?;
        match Entry::decode(record.value.as_deref().unwrap_or_default(), &*checks::detector()).ok()?.record {
            LogRecord::Page(page) => {
                Some((process, partition, FingerprintRecord { page_id: "asked".to_owned(), ..*page }))
            }
            LogRecord::Unreadable(_) => None,
        }
    }

    /// Asks the tables of a process for the current verdict on this page.
    pub(crate) fn ask(&mut self, role: &Arc<ClusterRole<SimWorld>>, partition: u32, page: FingerprintRecord) {
        let (tables, now) = (WorkerTables::new(Arc::clone(role)), role.world.timestamp());
        match tables.look_up_in(partition, page.clone(), PreviewOptions::default(), now, &mut self.scratch) {
            Ok(LookedUp { verdict, as_of, .. }) => {
                self.answers.push(Answer { page, now, as_of, verdict: timeless_fields(&verdict) });
            }
            Err(_) => self.refused += 1,
        }
    }

    /// Compares all answers with the log.
    pub(crate) fn check(
        &self,
        brokers: &mut Brokers,
        log_partitions: u32,
        rules: &ClusterRules,
    ) -> Result<(), String> {
        for partition in 0..log_partitions {
            let mut answers: Vec<&Answer> =
                self.answers.iter().filter(|answer| answer.as_of.log_partition == partition).collect();
            answers.sort_by_key(|answer| answer.as_of.log_offset);
            let mut state = checks::empty(partition, log_partitions, rules);
            let mut records = brokers.partition(Topic::Log, partition).records.iter();
            for answer in answers {
                while state.next_offset() < answer.as_of.log_offset {
                    let Some(record) = records.next() else {
                        return Err(format!("an answer as of {:?}, where there is no log", answer.as_of));
                    };
                    let place = LogPlace { offset: record.offset, timestamp_ms: Some(record.timestamp_ms) };
                    let entry =
                        Entry::decode(record.value.as_deref().unwrap_or_default(), &*checks::detector());
                    state.decide_batch(vec![(place, entry)], 0, answer.now).expect("in memory");
                }
                answer.compare(&state)?;
            }
        }
        Ok(())
    }
}

impl Answer {
    fn compare(&self, state: &LogPartition) -> Result<(), String> {
        if state.next_offset() != self.as_of.log_offset {
            return Err(format!("an answer as of {:?}, within a record", self.as_of));
        }
        let page = FingerprintRecord { log_time: Some(self.now), ..self.page.clone() };
        let preview = |stage: &ClusterStage| {
            let view = stage.view();
            let previewed = view.preview(page, PreviewOptions::default(), self.now, &mut Scratch::default());
            let (mut verdict, _) = previewed.expect("in memory");
            if view.clusterer.position().log_generation == 0 {
                // The ids of its clusters are not known yet.
                verdict.cluster_id = None;
            }
            timeless_fields(&verdict)
        };
        let expected = preview(&state.reader().read().expect("its owner is here"));
        match expected == self.verdict {
            true => Ok(()),
            false => Err(format!(
                "a look-up as of {:?}: {} where the log gives {expected}",
                self.as_of, self.verdict
            )),
        }
    }
}

/// Returns the fields of a verdict that do not depend on time and place.
fn timeless_fields(verdict: &Verdict) -> String {
    let Verdict { kind, canonical_page_id, related_page_id, distance, cluster_id, .. } = verdict;
    let cluster = cluster_id.map(|id| id.log_offset);
    format!("{kind:?} of {canonical_page_id:?} in {cluster:?}, {distance:?}, related {related_page_id:?}")
}
