//! What look-ups of this process may read of its owners: their tables, and the verdicts that they
//! have committed last. The tables of standbys are where the standbys have them (standby.rs).
//!
//! ```text
//! owner ─► restored ─► LookUps::serve ─► … decides, commits ─► LookUps::keep … ─► Served is dropped
//! ```
//! Invariants: a table is here as long as its owner works on it; a verdict is here once it is
//! committed, and until its owner ends, since another one may say otherwise from then on. Memory:
//! `api.recent_bytes_max`, shared out over the partitions of the log; nothing where there is no API.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::api::recent::{Named, Recent};
use crate::config::Config;
use crate::pipeline::log_partition::LogPartition;
use crate::pipeline::shared_stage::StageReader;
use leitong_cluster::verdict::Verdict;

/// The tables and verdicts of this process' owners, by partition of the log.
#[derive(Default)]
pub(crate) struct LookUps {
    /// Bytes of the verdicts of one partition; none where nobody looks anything up.
    recent_bytes_max: Option<usize>,
    owned: RwLock<BTreeMap<u32, Arc<Owned>>>,
}

/// What one owner lets look-ups read.
pub(super) struct Owned {
    pub(super) table: StageReader,
    pub(super) recent: RwLock<Recent>,
}

/// A verdict as it is kept: by which names, and as JSON.
pub(crate) type KeptVerdict = (Named, Box<[u8]>);

/// An owner's table is looked up as long as this lives.
pub(super) struct Served<'a> {
    look_ups: &'a LookUps,
    partition: u32,
    owned: Option<Arc<Owned>>,
}

impl LookUps {
    /// None yet; `log_partitions` share the room for verdicts.
    pub(crate) fn new(config: &Config, log_partitions: u32) -> Self {
        let is_on = !config.api.address.is_empty();
        let each = config.api.recent_bytes_max / log_partitions.max(1) as usize;
        Self { recent_bytes_max: is_on.then_some(each), owned: RwLock::default() }
    }

    /// Whether anybody may look anything up.
    pub(crate) fn is_on(&self) -> bool {
        self.recent_bytes_max.is_some()
    }

    /// Has look-ups read this table, in place of one that an owner before has.
    pub(super) fn serve(&self, partition: u32, state: &mut LogPartition) -> Served<'_> {
        let owned = self.recent_bytes_max.map(|bytes_max| {
            state.insert_pending();
            Arc::new(Owned { table: state.reader(), recent: RwLock::new(Recent::new(bytes_max)) })
        });
        if let Some(owned) = &owned {
            self.owned.write().insert(partition, Arc::clone(owned));
        }
        Served { look_ups: self, partition, owned }
    }

    /// A verdict, to be kept once it is committed; none where nobody asks.
    pub(super) fn kept(&self, verdict: &Verdict, json: Option<&[u8]>) -> Option<KeptVerdict> {
        self.is_on().then(|| {
            let json = match json {
                Some(json) => json.into(),
                None => serde_json::to_vec(verdict).expect("maps have texts for keys").into(),
            };
            (Named::of(verdict), json)
        })
    }

    /// What the owner of `partition` has let look-ups read, if it is at work.
    pub(super) fn owned(&self, partition: u32) -> Option<Arc<Owned>> {
        self.owned.read().get(&partition).map(Arc::clone)
    }

    /// Partitions of which an owner is at work here.
    pub(super) fn partitions(&self) -> Vec<u32> {
        self.owned.read().keys().copied().collect()
    }
}

impl Served<'_> {
    /// Keeps verdicts that are committed.
    pub(super) fn keep(&self, verdicts: Vec<KeptVerdict>) {
        if let Some(owned) = &self.owned {
            let mut recent = owned.recent.write();
            verdicts.into_iter().for_each(|(named, json)| recent.push(named, json));
        }
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let Some(own) = &self.owned else { return };
        let mut owned = self.look_ups.owned.write();
        // An owner that is late in ending must not take the next one's away.
        if owned.get(&self.partition).is_some_and(|served| Arc::ptr_eq(served, own)) {
            owned.remove(&self.partition);
        }
    }
}
