//! Merges tables that were built separately into one table.
//!
//! The first table is taken as it is, with the ids of its clusters. The centroids of the other tables
//! [follow](leitong_cluster::Clusterer::merge_batch), table by table, at the log offsets that their pages
//! would have had in a single run. So their clusters get other ids. Cost: one look-up per centroid of the
//! other tables.

use std::path::Path;

use super::SnapshotError;
use super::file::begin;
use super::inspect::Saved;
use super::ours::FILE_NAME;
use super::table_dir::{SameSettings, TableDir, TableSettings, check_usable};
use leitong_base::proto;
use leitong_base::record::Timestamp;
use leitong_cluster::{
    Bounds, Canonical, Centroid, ClusterId, Clusterer, Merged, Position, SavedCentroid, SeenText, SeenTexts,
    TableFault, TextBounds,
};

/// Number of centroids that are looked up together.
const BATCH: usize = 1_024;

/// A table that other tables are merged into.
pub struct Merge<'a> {
    settings: &'a TableSettings,
    clusterer: Clusterer,
    /// The finished runs in the merged tables.
    runs: Vec<proto::FinishedRun>,
    tables: usize,
}

impl<'a> Merge<'a> {
    /// Creates an empty table, which will be saved into `output`.
    ///
    /// # Errors
    /// [`SnapshotError`] if `output` has a table that cannot be loaded.
    pub fn into_empty(output: &TableDir, settings: &'a TableSettings) -> Result<Self, SnapshotError> {
        Ok(Self { settings, clusterer: output.load_or_begin(settings)?, runs: Vec::new(), tables: 0 })
    }

    /// Merges the table in `folder`, to which no other process may write at the same time. Calls `each` with
    /// the former id of each of its clusters, and the result for it. Memory: some centroids in addition to
    /// the table.
    ///
    /// # Errors
    /// [`SnapshotError`] if there is no table, or if it cannot be read, is damaged, was made with other
    /// settings, belongs to a worker or has crawls. The merged table is then incomplete.
    pub fn take_in(
        &mut self,
        folder: &Path,
        mut each: impl FnMut(ClusterId, Merged),
    ) -> Result<(), SnapshotError> {
        let path = folder.join(FILE_NAME);
        let saved = self.mergeable(folder, &path)?;
        let damaged = |problem: String| SnapshotError::Damaged { path: path.clone(), problem };
        let is_first = self.tables == 0;
        let start = self.clusterer.position();
        let position = Position::from_message(&saved);
        // The number of the first centroid in the table that is taken in, and, for each of its centroids, the
        // number of the cluster in the merged table.
        let first = saved.founded.unwrap_or_default().saturating_sub(TableDir::unexpired(&saved));
        let mut numbers = Vec::new();
        if is_first {
            self.clusterer.set_position(position);
            self.clusterer.begin_at(first);
        } else {
            self.clusterer.name_log(saved.log_generation);
        }
        let mut batch = Vec::with_capacity(BATCH);
        let mut problem: Option<SnapshotError> = None;
        let mut each = |former, merged: Merged| {
            numbers.push(merged.number);
            each(former, merged);
        };
        let mut seen = Vec::new();
        let mut take = |saved: &proto::Position, what: Saved| {
            let message = match what {
                _ if problem.is_some() => return,
                Saved::Crawl(_) => return,
                Saved::Texts(texts) => return seen.push(texts),
                Saved::Centroid(message) => message,
            };
            match self.centroid(saved, message) {
                Ok(centroid) if is_first => {
                    let cluster_id = ClusterId::in_table(saved, centroid.centroid.log_offset);
                    if let Err(fault) = self.restore(&centroid) {
                        problem = Some(fault.into());
                        return;
                    }
                    let number = self.clusterer.founded() - 1;
                    each(cluster_id, Merged { cluster_id, number, joined: false });
                }
                Ok(centroid) => batch.push(centroid),
                Err(what) => problem = Some(damaged(what)),
            }
            if batch.len() == BATCH {
                let merged = self.merge(saved, start.next_log_offset, &mut batch, &mut each);
                problem = problem.take().or(merged.err().map(Into::into));
            }
        };
        TableDir::inspect_all(folder, |_| Ok(()), &mut take)?;
        if let Some(problem) = problem {
            return Err(problem);
        }
        self.merge(&saved, start.next_log_offset, &mut batch, &mut each)?;
        if is_first {
            if !self.restore_texts(&saved, seen) {
                return Err(damaged("texts are missing".to_owned()));
            }
        } else {
            let end = start.next_log_offset + saved.next_log_offset;
            self.clusterer.merged_up_to(end, position.log_time);
            self.merge_texts(seen, first, &numbers)?;
        }
        self.tables += 1;
        self.runs.extend(saved.runs);
        Ok(())
    }

    /// Returns the position of the table in the file `path` of `folder`, if the table can be merged.
    fn mergeable(&self, folder: &Path, path: &Path) -> Result<proto::Position, SnapshotError> {
        let path = path.to_owned();
        let Some((_, saved)) = begin(&path)? else {
            return Err(SnapshotError::NoTable { path: folder.to_owned() });
        };
        check_usable(&path, &saved, self.settings, SameSettings::All)?;
        if saved.crawls.is_some() {
            return Err(SnapshotError::HasCrawls { path });
        }
        let before = self.clusterer.position().next_log_offset;
        if before.checked_add(saved.next_log_offset).is_none_or(|end| end > i64::MAX as u64) {
            return Err(SnapshotError::Damaged {
                path,
                problem: "its number of records is invalid".to_owned(),
            });
        }
        Ok(saved)
    }

    /// Restores bounds and texts of the first table. Returns false if texts are missing.
    fn restore_texts(&mut self, saved: &proto::Position, seen: Vec<SeenTexts>) -> bool {
        self.clusterer.restore_bounds(Bounds::from_position(saved));
        for SeenTexts { first, texts } in seen {
            self.clusterer.restore_texts(first, texts.into_iter());
        }
        let bounds = TextBounds::from_position(saved);
        self.clusterer.restore_text_bounds(bounds);
        self.clusterer.has_all_texts(bounds)
    }

    /// Merges texts of another table. `numbers` are the numbers that its centroids, from number `first` on,
    /// have in the merged table.
    fn merge_texts(&mut self, seen: Vec<SeenTexts>, first: u64, numbers: &[u64]) -> Result<(), TableFault> {
        let here = |text: SeenText| {
            let at = usize::try_from(text.cluster.checked_sub(first)?).ok()?;
            Some(SeenText { cluster: *numbers.get(at)?, ..text })
        };
        for SeenTexts { texts, .. } in seen {
            let texts: Vec<SeenText> = texts.into_iter().filter_map(here).collect();
            self.clusterer.merge_texts(&texts)?;
        }
        Ok(())
    }

    /// Saves the merged table into `output`, without expired centroids. Returns the number of its centroids.
    ///
    /// # Errors
    /// [`SnapshotError`] if the table cannot be written.
    pub fn save(mut self, output: &TableDir) -> Result<usize, SnapshotError> {
        self.clusterer.evict_expired()?;
        output.set_runs(self.runs);
        output.save(&self.clusterer, self.settings)?;
        Ok(self.clusterer.centroid_count())
    }

    fn centroid(
        &self,
        saved: &proto::Position,
        mut message: proto::Centroid,
    ) -> Result<SavedCentroid, String> {
        if message.log_offset >= saved.next_log_offset {
            return Err(format!("centroid {} is after the end of its log", message.log_offset));
        }
        let canonical = Canonical::from_message(&message)?;
        let mut centroid = Centroid::from_message(&mut message, &*self.settings.detector)?;
        // If the table has blocks, centroids founded before any page had a time get the first known time.
        let first_time = || saved.blocks.as_ref()?.first_time_ms.and_then(Timestamp::from_ms);
        centroid.log_time = centroid.log_time.or_else(first_time);
        let (corpus, fingerprint_hash) = (message.corpus.into(), message.fingerprint_hash);
        Ok(SavedCentroid { corpus, fingerprint_hash, centroid, canonical })
    }

    fn restore(&mut self, saved: &SavedCentroid) -> Result<(), TableFault> {
        self.clusterer.restore(&saved.corpus, saved.fingerprint_hash, &saved.centroid)?;
        self.clusterer.restore_canonical(self.clusterer.founded() - 1, saved.canonical.clone());
        Ok(())
    }

    /// Merges the centroids in `batch`, and empties it. Their table's log begins at offset `start` here.
    fn merge(
        &mut self,
        saved: &proto::Position,
        start: u64,
        batch: &mut Vec<SavedCentroid>,
        each: &mut impl FnMut(ClusterId, Merged),
    ) -> Result<(), TableFault> {
        let former: Vec<ClusterId> =
            batch.iter().map(|centroid| ClusterId::in_table(saved, centroid.centroid.log_offset)).collect();
        batch.iter_mut().for_each(|centroid| centroid.centroid.log_offset += start);
        let merged = self.clusterer.merge_batch(batch)?;
        former.into_iter().zip(merged).for_each(|(former, merged)| each(former, merged));
        batch.clear();
        Ok(())
    }
}
