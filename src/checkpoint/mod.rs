//! Checkpoints: a long run of `dedup` that was killed can continue where it was.
//!
//! At intervals, all outputs are synced to disk, together with the table and a note of each output's length:
//! the *checkpoint*. The next run with the same inputs and options truncates its outputs to these lengths,
//! loads that table, and skips the records that it already knows. So no document is lost, and none is written
//! twice. A run that completes removes its checkpoint.
//!
//! If old centroids are on disk, the table of a checkpoint contains only the centroids that are in no block,
//! and names the blocks in the folder of the run's own table. If another run has opened that table since, the
//! checkpoint is refused.
//!
//! The folder contains:
//! * `checkpoint.json`, replaced atomically;
//! * `table-N`, the table of checkpoint `N`;
//! * `decisions`, if documents are chosen only at the end of the run ([`keep`](leitong_keep));
//! * `referents`, for revisit records;
//! * `texts`, the compressed texts that are needed at the end of the run;
//! * `….part`, the finished parts of Parquet files, which cannot be truncated.

mod milestones;
mod sink;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use leitong_base::record::Timestamp;
use leitong_cluster::Clusterer;
use leitong_formats::source::ReadPart;
use leitong_keep::Checkpoints;
use leitong_keep::sink::{Counts, Extents};
use leitong_store::snapshot::{TableDir, TableSettings, Unfinished};

pub(crate) use milestones::Milestones;
pub(crate) use sink::CheckpointSink;

/// The format version of `checkpoint.json`.
pub(crate) const FORMAT_VERSION: u32 = 5;

/// The identity of a run, independent of its progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunId {
    /// The inputs, in order.
    pub inputs: Vec<RunInput>,
    /// The command-line options that determine the outputs.
    pub options: Vec<String>,
}

impl RunId {
    /// Returns a number by which another process recognises the run. Returns `None` if an input cannot be recognised,
    /// such as standard input: it may have other contents each time.
    pub(crate) fn recognisable(&self) -> Option<u64> {
        self.inputs.iter().all(|input| input.modified.is_some()).then(|| self.number())
    }

    /// Returns a number that other runs do not have.
    pub(crate) fn number(&self) -> u64 {
        xxh3_64(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// An input as it was at the start of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunInput {
    /// The name of the input, with the version if it is an object in a store.
    pub name: String,
    /// The size of the input.
    pub bytes: u64,
    /// The time of the last modification, in seconds since 1970 and nanoseconds. `None` for an object in a
    /// store.
    pub modified: Option<(i64, i64)>,
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    format_version: u32,
    run: RunId,
    /// The last record that was decided: the index of its input, and its number in that input.
    pub last: (usize, u64),
    /// The log offset at which the run began.
    pub begun_at: u64,
    /// The time at which the run began.
    pub started_at: Timestamp,
    /// The number of the saved table.
    sequence: u64,
    /// The length of each output.
    pub extents: Extents,
    /// The part of each input that was read, up to the input of `last`.
    pub read: Vec<ReadPart>,
    /// Counts of records and documents that the run could not read or write so far.
    #[serde(default, skip_serializing_if = "Faults::are_none")]
    pub faults: Faults,
    /// A hash of the metadata of each WARC file that was read through an index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub warc_files: BTreeMap<String, u64>,
    /// XXH3-64 of the JSON with an empty checksum, in hex. Outputs are truncated according to this file, so
    /// damage must be noticed.
    checksum: String,
}

/// Counts of records and documents that a run could not read or write. They decide its exit status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Faults {
    /// Number of dead letters.
    pub dead_letters: u64,
    /// Number of documents that are in no output.
    pub left_out: u64,
    /// Number of records without a body.
    pub without_body: u64,
    /// Number of all records.
    pub records: u64,
}

impl Faults {
    /// Returns the sum of these counts and those of the process that has resumed the run.
    pub(crate) fn and(self, counts: &Counts) -> Self {
        let of_other_languages: u64 = counts.languages().values().map(|language| language.skipped).sum();
        Self {
            dead_letters: self.dead_letters + counts.dead_letters(),
            left_out: self.left_out + counts.left_out(),
            without_body: self.without_body + counts.without_body(),
            records: self.records + counts.records() + of_other_languages,
        }
    }

    fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Checkpoint {
    /// Computes the checksum of the other fields.
    fn sum(&self) -> anyhow::Result<String> {
        let bytes = serde_json::to_vec(&Self { checksum: String::new(), ..self.clone() })?;
        Ok(format!("{:016x}", xxh3_64(&bytes)))
    }

    /// Checks that no input has changed since it was read. `paths` are the paths of the inputs.
    ///
    /// # Errors
    /// An input has changed, or cannot be read.
    pub(crate) fn check_inputs(&self, paths: &[PathBuf]) -> anyhow::Result<()> {
        for (path, part) in paths.iter().zip(&self.read) {
            let is_as_read = part.is_unchanged(path);
            ensure!(
                is_as_read.with_context(|| format!("cannot read {}", path.display()))?,
                "{}: the file was replaced or changed since this run read it; restore it and repeat the \
                 command, or remove the folder of checkpoints to begin again",
                path.display()
            );
        }
        Ok(())
    }
}

/// The part of a checkpoint that every version can read.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// The checkpoint folder of a run, locked for this process.
pub(crate) struct CheckpointDir {
    folder: PathBuf,
    _lock: TableDir,
    run_table: Option<RunTable>,
}

/// The table that the run saves at its end. Its folder contains the blocks that checkpoints name.
struct RunTable {
    table: Arc<TableDir>,
    /// Number in the table of each checkpoint that is saved but not yet committed, by sequence.
    numbers: Mutex<BTreeMap<u64, u64>>,
}

impl CheckpointDir {
    /// Locks `folder`, creating it if needed.
    ///
    /// # Errors
    /// Another run has locked the folder, or it cannot be opened.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self { folder: folder.to_owned(), _lock: TableDir::open(folder)?, run_table: None })
    }

    /// Connects these checkpoints with the table of the run. The table must have been opened for checkpoints.
    pub(crate) fn set_table(&mut self, table: Arc<TableDir>) {
        self.run_table = Some(RunTable { table, numbers: Mutex::default() });
    }

    /// Starts a run that has no checkpoint yet.
    ///
    /// # Errors
    /// The folder of the table cannot be written.
    pub(crate) fn begin(&self) -> anyhow::Result<()> {
        match &self.run_table {
            Some(RunTable { table, .. }) => Ok(table.begin_checkpoints(&self.folder)?),
            None => Ok(()),
        }
    }

    /// Returns the checkpoint of an earlier process for this run, or `None`.
    ///
    /// # Errors
    /// The checkpoint belongs to another run, or cannot be read.
    pub(crate) fn load(&self, run: &RunId) -> anyhow::Result<Option<Checkpoint>> {
        let path = self.path();
        let json = match fs::read(&path) {
            Ok(json) => json,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let not_a_checkpoint =
            || format!("{}: not a checkpoint; remove the folder to begin again", path.display());
        let Version { format_version: found } =
            serde_json::from_slice(&json).with_context(not_a_checkpoint)?;
        ensure!(
            found == FORMAT_VERSION,
            "{}: the checkpoint has format {found}, but this version of Leitong reads {FORMAT_VERSION}; finish the run with the version \
             that began it, or remove the folder to begin again",
            path.display()
        );
        let checkpoint: Checkpoint = serde_json::from_slice(&json).with_context(not_a_checkpoint)?;
        ensure!(
            checkpoint.sum()? == checkpoint.checksum,
            "{}: the file is damaged (its checksum does not match); restore it from a copy, or remove the folder to begin again",
            path.display()
        );
        if checkpoint.run != *run {
            bail!(
                "{}: the checkpoint belongs to another run, {}; repeat that run to finish it, or remove the folder to begin again",
                path.display(),
                describe_difference(&checkpoint.run, run)
            );
        }
        Ok(Some(checkpoint))
    }

    /// Loads the table of a checkpoint.
    ///
    /// # Errors
    /// The table is missing or damaged, or it was made with other settings.
    pub(crate) fn table(
        &self,
        checkpoint: &Checkpoint,
        settings: &TableSettings,
    ) -> anyhow::Result<Clusterer> {
        let folder = self.table_folder(checkpoint.sequence);
        let table = match &self.run_table {
            Some(RunTable { table, .. }) => table.load_checkpoint((&self.folder, &folder), settings)?,
            None => TableDir::open(&folder)?.load(settings)?,
        };
        table.with_context(|| {
            format!(
                "{}: the table of the checkpoint is missing; remove the folder of checkpoints to begin again",
                folder.display()
            )
        })
    }

    /// Saves the table for checkpoint `sequence`, before that checkpoint is committed.
    ///
    /// # Errors
    /// The table cannot be written.
    pub(crate) fn save_table(
        &self,
        sequence: u64,
        table: &Clusterer,
        settings: &TableSettings,
    ) -> anyhow::Result<()> {
        let folder = self.table_folder(sequence);
        match &self.run_table {
            Some(RunTable { table: dir, numbers }) => {
                let number = dir.save_checkpoint(&folder, table, settings)?;
                numbers.lock().unwrap_or_else(PoisonError::into_inner).insert(sequence, number);
            }
            None => TableDir::open(&folder)?.save(table, settings)?,
        }
        Ok(())
    }

    /// Makes `checkpoint` the current one, and removes the files of earlier ones.
    fn commit(&self, checkpoint: &Checkpoint) -> anyhow::Result<()> {
        let path = self.path();
        let checksum = checkpoint.sum()?;
        let checkpoint = Checkpoint { checksum, ..checkpoint.clone() };
        let write = || {
            let new = Unfinished::new(self.folder.join("checkpoint.new"));
            let mut file = File::create(new.path())?;
            file.write_all(&serde_json::to_vec_pretty(&checkpoint)?)?;
            file.sync_all()?;
            new.replace(&path)
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
        self.remove_parts(Some(&checkpoint.extents))?;
        self.remove_tables_before(checkpoint.sequence)?;
        if let Some(RunTable { table, numbers }) = &self.run_table
            && let Some(number) =
                numbers.lock().unwrap_or_else(PoisonError::into_inner).remove(&checkpoint.sequence)
        {
            table.checkpoint_counts(number);
        }
        Ok(())
    }

    /// Removes the checkpoint of a run that has ended. If its table `is_saved`, checkpoints of the same table in other
    /// folders remain usable; otherwise, the previously saved table remains unchanged.
    ///
    /// # Errors
    /// The checkpoint cannot be removed.
    pub(crate) fn end(&self, is_saved: bool) -> anyhow::Result<()> {
        self.remove()?;
        match &self.run_table {
            Some(RunTable { table, .. }) if is_saved => table.end_checkpoints(&self.folder)?,
            Some(RunTable { table, .. }) => table.remove_checkpoints()?,
            None => {}
        }
        TableDir::remove_mark(&self.folder).with_context(|| format!("cannot clear {}", self.folder.display()))
    }

    fn remove(&self) -> anyhow::Result<()> {
        for name in ["checkpoint.json", "checkpoint.new", "decisions", "referents", "texts"] {
            match fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error)
                        .with_context(|| format!("cannot remove {name} of {}", self.folder.display()));
                }
                _ => {}
            }
        }
        self.remove_parts(None)?;
        self.remove_tables_before(u64::MAX)
    }

    /// Returns the folder, which also contains the parts of outputs that are not yet complete.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn remove_parts(&self, extents: Option<&Extents>) -> anyhow::Result<()> {
        let removed = Checkpoints::remove_parts(&self.folder, extents);
        removed.with_context(|| format!("cannot remove old parts of {}", self.folder.display()))
    }

    fn path(&self) -> PathBuf {
        self.folder.join("checkpoint.json")
    }

    fn table_folder(&self, sequence: u64) -> PathBuf {
        self.folder.join(format!("table-{sequence}"))
    }

    /// Removes the tables of earlier checkpoints. Tables of later checkpoints may already exist, and will
    /// soon be committed.
    fn remove_tables_before(&self, sequence: u64) -> anyhow::Result<()> {
        let remove = || {
            for entry in fs::read_dir(&self.folder)? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let number = name.strip_prefix("table-").and_then(|number| number.parse::<u64>().ok());
                if number.is_some_and(|number| number < sequence) {
                    TableDir::remove_checkpoint(&path)?;
                }
            }
            io::Result::Ok(())
        };
        remove().with_context(|| format!("cannot remove old tables of {}", self.folder.display()))
    }
}

/// Describes the first difference between two runs, for the error message.
fn describe_difference(found: &RunId, wanted: &RunId) -> String {
    let input = |run: &RunId, at: usize| {
        run.inputs.get(at).map_or("none".to_owned(), |RunInput { name, bytes, modified }| {
            let modified = modified.and_then(|(seconds, nanoseconds)| {
                Timestamp::from_ms(seconds.checked_mul(1_000)? + nanoseconds / 1_000_000)
            });
            let written = modified.map(|time| format!(", written at {time}")).unwrap_or_default();
            format!("{name} of {bytes} bytes{written}")
        })
    };
    let inputs = 0..found.inputs.len().max(wanted.inputs.len());
    match inputs.into_iter().find(|at| found.inputs.get(*at) != wanted.inputs.get(*at)) {
        Some(at) => {
            format!("whose input {} was {} and is now {}", at + 1, input(found, at), input(wanted, at))
        }
        None => {
            format!(
                "whose options were {:?} and are now {:?}",
                found.options.join(" "),
                wanted.options.join(" ")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::proto::FinishedRun;
    use leitong_cluster::Position;
    use leitong_pipeline::FingerprintStage;
    use leitong_pipeline::config::Config;

    /// A run over objects without versions leaves no mark of its own. If it is continued from its checkpoint,
    /// the table that it saves must keep the marks of earlier runs.
    #[test]
    fn marks_of_finished_runs_survive_a_continued_run_without_a_mark() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config::default();
        let stage = FingerprintStage::new(config.clone()).expect("settings");
        let settings = config.table_settings(stage.detector(), stage.fingerprint_hash());
        let open = || {
            let table =
                TableDir::open_for_checkpoints(&folder.path().join("table")).expect("a table's folder");
            let table = Arc::new(table);
            let mut checkpoints = CheckpointDir::open(&folder.path().join("checkpoints")).expect("a folder");
            checkpoints.set_table(Arc::clone(&table));
            (table, checkpoints)
        };
        let (table, checkpoints) = open();
        table.add_finished_run(FinishedRun { id: 7, ..FinishedRun::default() });
        let empty = Clusterer::new(Arc::clone(stage.detector()), settings.rules.clone(), Position::default());
        table.save(&empty, &settings).expect("saved");
        drop((table, checkpoints));

        let (table, checkpoints) = open();
        checkpoints.begin().expect("begun");
        let clusterer = table.load(&settings).expect("sound").expect("a table");
        checkpoints.save_table(0, &clusterer, &settings).expect("saved");
        drop((table, checkpoints));

        let (table, checkpoints) = open();
        let checkpoint = Checkpoint {
            faults: Faults::default(),
            format_version: FORMAT_VERSION,
            run: RunId { inputs: Vec::new(), options: Vec::new() },
            last: (0, 0),
            begun_at: 0,
            started_at: Timestamp::now(),
            sequence: 0,
            extents: Extents::new(),
            read: Vec::new(),
            warc_files: BTreeMap::new(),
            checksum: String::new(),
        };
        let clusterer = checkpoints.table(&checkpoint, &settings).expect("the checkpoint's table");
        table.save(&clusterer, &settings).expect("saved");
        checkpoints.end(true).expect("removed");
        assert_eq!(table.finished_runs().expect("sound").len(), 1);
    }
}
