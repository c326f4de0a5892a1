//! The state right of the log for one log partition: corpora, expiry, position.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::table::{Centroid, Table};
use super::{Centre, ClusterId, Decision};
use crate::config::ExpiryConfig;
use crate::fingerprint::Detector;
use crate::fingerprint::record::{FingerprintRecord, Outcome};
use crate::page::timestamp::Timestamp;

const MS_PER_DAY: i64 = 24 * 60 * 60 * 1000;
/// Centres freed for their age at one record: more than are founded at one, so that the table catches up, and
/// few enough that a leap of log time does not free millions at once. Until then their age keeps them from
/// matching.
const AGED_FREED_PER_RECORD: usize = 16;

/// How far a table has read its log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Tells one log from another of the same name.
    pub log_generation: u32,
    /// Partition of the log.
    pub log_partition: u32,
    /// The first offset that is not yet part of the table.
    pub next_log_offset: u64,
    /// The running maximum of the records' times.
    pub log_time: Option<Timestamp>,
}

/// What keeps pages apart: corpus, and the settings that made the fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TableKey {
    corpus: Box<str>,
    fingerprint_hash: u64,
}

/// Decides, record by record, in log order.
pub struct Clusterer {
    detector: Arc<dyn Detector>,
    expiry: ExpiryConfig,
    position: Position,
    tables: HashMap<Arc<TableKey>, Table>,
    /// The table of each centre, in order of founding.
    founded: VecDeque<Arc<TableKey>>,
    /// What has changed since it was last asked for; none where nobody asks.
    journal: Option<Vec<Change>>,
    /// Scratch space.
    keys: Vec<u64>,
    slots: Vec<u32>,
}

/// A change of the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A cluster was founded.
    Founded {
        /// Its corpus.
        corpus: Box<str>,
        /// Of the settings that made the fingerprint.
        fingerprint_hash: u64,
        /// Its centre.
        centroid: Centroid,
    },
    /// The centre that was founded at this offset was let go.
    Expired {
        /// Offset of its page in the log.
        log_offset: u64,
    },
}

impl Clusterer {
    /// An empty table at `position`.
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, expiry: ExpiryConfig, position: Position) -> Self {
        Self {
            detector,
            expiry,
            position,
            tables: HashMap::new(),
            founded: VecDeque::new(),
            journal: None,
            keys: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// Notes every change from now on, for [`Self::take_changes`].
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// What has changed since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        self.journal.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// How far the log was read.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Takes the table to be as far as `position`.
    pub fn set_position(&mut self, position: Position) {
        self.position = position;
    }

    /// Goes on at `log_offset`: the offsets of a topic have gaps.
    pub fn skip_to(&mut self, log_offset: u64) {
        self.position.next_log_offset = log_offset;
    }

    /// Centres in all corpora.
    #[must_use]
    pub fn centroid_count(&self) -> usize {
        self.founded.len()
    }

    /// Names a log that has no name yet, so that its clusters are told from those of another log.
    pub fn name_log(&mut self, log_generation: u32) {
        if self.position.log_generation == 0 {
            self.position.log_generation = log_generation;
        }
    }

    /// Corpora that have centres.
    #[cfg(test)]
    pub(super) fn table_count(&self) -> usize {
        self.tables.len()
    }

    /// Decides on the record at the next offset of the log; none for a record that could not be read, which
    /// takes an offset and nothing else.
    pub fn decide(&mut self, record: Option<&FingerprintRecord>) -> Decision {
        let log_offset = self.position.next_log_offset;
        self.position.next_log_offset += 1;
        let Some(record) = record else { return Decision::Undecidable };
        self.advance(record.log_time);
        let (Outcome::Fingerprint(fingerprint), Some(text)) = (&record.outcome, record.text) else {
            return Decision::Undecidable;
        };
        self.expire();
        let key =
            TableKey { corpus: record.corpus.as_str().into(), fingerprint_hash: record.fingerprint_hash };
        let nearest = self.tables.get(&key).and_then(|table| {
            let age = Age { expiry: &self.expiry, now: self.position.log_time };
            let alive = |centroid: &Centroid| !age.too_old(centroid.log_time);
            table.nearest(fingerprint, &*self.detector, &mut self.keys, &mut self.slots, alive)
        });
        if let Some((near, centroid)) = nearest {
            return Decision::Joined(Centre {
                cluster_id: self.cluster_id(near.log_offset),
                page_id: centroid.page_id.to_string(),
                url: centroid.url.to_string(),
                fingerprint: centroid.fingerprint.clone(),
                distance: near.distance,
                exact: centroid.text_digest == text.digest,
            });
        }
        let centroid = Centroid {
            log_offset,
            log_time: self.position.log_time,
            fingerprint: fingerprint.clone(),
            text_digest: text.digest,
            page_id: record.page_id.as_str().into(),
            url: record.url.as_str().into(),
        };
        if let Some(journal) = &mut self.journal {
            let (corpus, fingerprint_hash) = (key.corpus.clone(), key.fingerprint_hash);
            journal.push(Change::Founded { corpus, fingerprint_hash, centroid: centroid.clone() });
        }
        self.found(key, centroid);
        // The new centre counts from the next decision on; letting the surplus go now bounds the memory.
        self.expire();
        Decision::Founded(self.cluster_id(log_offset))
    }

    /// Puts back a centre of a saved table; centres come oldest first.
    pub fn restore(&mut self, corpus: &str, fingerprint_hash: u64, centroid: Centroid) {
        self.found(TableKey { corpus: corpus.into(), fingerprint_hash }, centroid);
    }

    /// All centres in order of founding, each with its corpus and fingerprint hash.
    pub fn centroids(&self) -> impl Iterator<Item = (&str, u64, &Centroid)> {
        let mut tables: HashMap<&Arc<TableKey>, _> =
            self.tables.iter().map(|(key, table)| (key, table.iter())).collect();
        self.founded.iter().filter_map(move |key| {
            let centroid = tables.get_mut(key)?.next()?;
            Some((&*key.corpus, key.fingerprint_hash, centroid))
        })
    }

    /// Log time is the running maximum. Centres from before the first record with a time count from then on:
    /// so founding times never fall from a centre to a younger one.
    fn advance(&mut self, log_time: Option<Timestamp>) {
        if self.position.log_time.is_none() && log_time.is_some() {
            self.tables.values_mut().for_each(|table| table.set_log_time(log_time));
        }
        self.position.log_time = self.position.log_time.max(log_time);
    }

    fn found(&mut self, key: TableKey, centroid: Centroid) {
        // One shared key a table, not one a centre.
        let key = match self.tables.get_key_value(&key) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::new(key),
        };
        let table = self.tables.entry(Arc::clone(&key)).or_default();
        table.insert(centroid, &*self.detector, &mut self.keys);
        self.founded.push_back(key);
    }

    /// Takes the oldest centre out if it was founded at `log_offset`; false if it was not.
    pub fn forget_oldest(&mut self, log_offset: u64) -> bool {
        let is_oldest = self.oldest().is_some_and(|oldest| oldest.log_offset == log_offset);
        if is_oldest {
            self.remove_oldest();
        }
        is_oldest
    }

    /// Lets go of at most `max` centres that are beyond the count, where a table was restored with a smaller
    /// one; how many.
    pub fn trim(&mut self, max: usize) -> usize {
        let surplus = (self.founded.len() as u64).saturating_sub(self.expiry.centroids_max);
        let surplus = usize::try_from(surplus).unwrap_or(usize::MAX).min(max);
        (0..surplus).for_each(|_| self.remove_oldest());
        surplus
    }

    /// The oldest centre.
    #[must_use]
    pub fn oldest(&self) -> Option<&Centroid> {
        self.founded.front().and_then(|key| self.tables.get(key)).and_then(Table::oldest)
    }

    /// Lets go of centres that are too many, and of some that are too old by log time. Both rules take the
    /// oldest first: log time never falls, so it orders centres as their founding does.
    fn expire(&mut self) {
        for aged in 0.. {
            let Some(oldest) = self.oldest() else { return };
            let too_many = self.founded.len() as u64 > self.expiry.centroids_max;
            let age = Age { expiry: &self.expiry, now: self.position.log_time };
            if !too_many && (aged >= AGED_FREED_PER_RECORD || !age.too_old(oldest.log_time)) {
                return;
            }
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        let Some(key) = self.founded.pop_front() else { return };
        let Some(table) = self.tables.get_mut(&key) else { return };
        if let (Some(journal), Some(oldest)) = (&mut self.journal, table.oldest()) {
            journal.push(Change::Expired { log_offset: oldest.log_offset });
        }
        table.remove_oldest(&*self.detector, &mut self.keys);
        if table.is_empty() {
            self.tables.remove(&key);
        }
    }

    fn cluster_id(&self, log_offset: u64) -> ClusterId {
        ClusterId {
            log_generation: self.position.log_generation,
            log_partition: self.position.log_partition,
            log_offset,
        }
    }
}

/// Tells by log time who is too old.
struct Age<'a> {
    expiry: &'a ExpiryConfig,
    now: Option<Timestamp>,
}

impl Age<'_> {
    fn too_old(&self, founded_at: Option<Timestamp>) -> bool {
        let (Some(days), Some(now), Some(founded_at)) = (self.expiry.max_age_days, self.now, founded_at)
        else {
            return false;
        };
        now.as_ms() - founded_at.as_ms() > i64::from(days) * MS_PER_DAY
    }
}
