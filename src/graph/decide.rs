//! The sink end: decides on pages, and passes conclusions on to be written.

use anyhow::anyhow;

use super::write::Decided;
use leitong_base::record::{Place, Timestamp};
use leitong_graph::{Permit, Sender, SinkEnd};
use leitong_keep::sink::Milestone;
use leitong_pipeline::{ClusterStage, Fingerprinted};

/// Sink end that runs the cluster stage on batches.
pub(super) struct Decide<'a, O, M> {
    pub(super) cluster_stage: &'a mut ClusterStage,
    pub(super) observe: O,
    pub(super) milestone: M,
    pub(super) to_write: Sender<Decided>,
}

impl<O, M> SinkEnd<Fingerprinted> for Decide<'_, O, M>
where
    O: FnMut(&Fingerprinted) + Send,
    M: FnMut(&ClusterStage, Place) -> anyhow::Result<Option<Milestone>> + Send,
{
    type Error = anyhow::Error;

    async fn take(&mut self, results: Vec<Fingerprinted>, permit: Permit) -> anyhow::Result<bool> {
        let now = Timestamp::now();
        results.iter().for_each(&mut self.observe);
        let records = results.into_iter().filter_map(|fingerprinted| fingerprinted.record.ok()).collect();
        let conclusions = self.cluster_stage.decide_batch(records, now);
        let conclusions = conclusions.map_err(|fault| anyhow!("cannot decide: {fault}"))?;
        let last = conclusions.last().map(|conclusion| conclusion.source().clone());
        let milestone = last.map(|last| (self.milestone)(self.cluster_stage, last)).transpose()?.flatten();
        let load = permit.load();
        let sent = self.to_write.send(Decided { conclusions, milestone, permit }, load).await;
        Ok(sent.is_ok()) // otherwise the sink has ended, and says why
    }
}
