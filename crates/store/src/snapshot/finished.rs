//! The list of finished runs of `dedup` in a saved table.
//!
//! A repeated run would find each of its pages in the table, call it a duplicate of itself, and overwrite
//! good outputs. It finds itself in this list instead. The list is in the table's file, so even after a crash
//! a run is listed if and only if its pages are in the table. The run's outputs were complete before that.

use super::SnapshotError;
use super::file::begin_verified;
use super::ours::FILE_NAME;
use super::table_dir::TableDir;
use leitong_base::proto::FinishedRun;

impl TableDir {
    /// Reads the runs that the saved table has finished, the oldest first. The next saved table lists them as well.
    ///
    /// # Errors
    /// [`SnapshotError`] if the table cannot be read or is damaged.
    pub fn finished_runs(&self) -> Result<Vec<FinishedRun>, SnapshotError> {
        let path = self.folder().join(FILE_NAME);
        let runs = begin_verified(&path)?.map(|(_, saved)| saved.runs).unwrap_or_default();
        self.set_runs(runs.clone());
        Ok(runs)
    }

    /// Lists `run` in the next saved table. The run's outputs must be complete and on disk.
    pub fn add_finished_run(&self, run: FinishedRun) {
        let mut runs = self.runs();
        runs.push(run);
        self.set_runs(runs);
    }
}
