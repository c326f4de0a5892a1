//! A long run of `dedup` that goes on where it was when it was killed.
//!
//! Now and then all outputs are brought to disk, with the table and a note of how long each output
//! is: the *checkpoint*. The next run with the same inputs and options cuts its outputs back to these
//! lengths, loads that table and passes over the records it knows, so that no document is lost and
//! none is twice in the outputs. Once a run is through, its checkpoint goes.
//!
//! Where old centroids are on disk, a checkpoint's table is what is in no block, and names the blocks
//! of the table's own folder. If another run has opened the table since, the checkpoint is refused.
//!
//! In the folder: `checkpoint.json`, replaced in one step; `table-N`, the table of checkpoint `N`;
//! `decisions`, where documents are chosen when all are known ([`keep`](crate::keep)); `referents`, for revisit records;
//! `….part`, what
//! is written so far of Parquet files, which cannot be cut back ([`parts`]).

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

use crate::cluster::Clusterer;
use crate::keep::parts;
use crate::record::timestamp::Timestamp;
use crate::sink::Extents;
use crate::snapshot::{TableDir, TableSettings, Unfinished, forget_mark};
use crate::source::reading::{self, ReadPart};

pub use milestones::Milestones;
pub use sink::CheckpointSink;

/// The format of `checkpoint.json`.
pub(crate) const FORMAT_VERSION: u32 = 2;

/// What a run is, apart from how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunId {
    /// The inputs, in order.
    pub inputs: Vec<RunInput>,
    /// The options that say what is written where.
    pub options: Vec<String>,
}

/// An input as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInput {
    /// Its name, with the version of an object.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written last, in seconds and nanoseconds; `None` for an object.
    pub modified: Option<(i64, i64)>,
}

/// How far a run has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    format_version: u32,
    run: RunId,
    /// The last record that is decided on: an input and a number in it.
    pub last: (usize, u64),
    /// Where in the log the run began.
    pub begun_at: u64,
    /// The number of the table.
    sequence: u64,
    /// How long each output is.
    pub extents: Extents,
    /// What was read of the inputs up to the one that `last` is in.
    pub read: Vec<ReadPart>,
    /// XXH3-64 of the JSON of all this with an empty checksum, as hex digits: outputs are cut by what it says.
    checksum: String,
}

impl Checkpoint {
    /// The checksum that belongs to the rest.
    fn sum(&self) -> anyhow::Result<String> {
        let bytes = serde_json::to_vec(&Self { checksum: String::new(), ..self.clone() })?;
        Ok(format!("{:016x}", xxh3_64(&bytes)))
    }

    /// Refuses to go on if an input that was read is another one by now; `paths` are those of the inputs.
    ///
    /// # Errors
    /// It is another one, or cannot be read.
    pub fn check_inputs(&self, paths: &[PathBuf]) -> anyhow::Result<()> {
        for (path, part) in paths.iter().zip(&self.read) {
            let is_as_read = reading::is_as_read(path, part);
            ensure!(
                is_as_read.with_context(|| format!("cannot read {}", path.display()))?,
                "{}: was replaced or changed since this run read it; put the former file back and repeat the command, or \
                 remove the folder of checkpoints to begin again",
                path.display()
            );
        }
        Ok(())
    }
}

/// The version of any checkpoint.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// The folder of a run's checkpoints, locked for this process.
pub struct CheckpointDir {
    folder: PathBuf,
    _lock: TableDir,
    run_table: Option<RunTable>,
}

/// The table that the run saves at its end. Its folder has the blocks that checkpoints name.
struct RunTable {
    table: Arc<TableDir>,
    /// What the table calls the checkpoints that do not count yet, by their sequence.
    numbers: Mutex<BTreeMap<u64, u64>>,
}

impl CheckpointDir {
    /// Locks `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// Another run has it, or it cannot be had.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self { folder: folder.to_owned(), _lock: TableDir::open(folder)?, run_table: None })
    }

    /// Makes these the checkpoints of a run with `table`, which was opened for checkpoints.
    pub fn set_table(&mut self, table: Arc<TableDir>) {
        self.run_table = Some(RunTable { table, numbers: Mutex::default() });
    }

    /// Begins a run of which there is no checkpoint.
    ///
    /// # Errors
    /// The table's folder cannot be written.
    pub fn begin(&self) -> anyhow::Result<()> {
        match &self.run_table {
            Some(RunTable { table, .. }) => Ok(table.begin_checkpoints(&self.folder)?),
            None => Ok(()),
        }
    }

    /// The checkpoint that an earlier process has left of this run; none if there is none.
    ///
    /// # Errors
    /// It is of another run, or cannot be read.
    pub fn load(&self, run: &RunId) -> anyhow::Result<Option<Checkpoint>> {
        let path = self.path();
        let json = match fs::read(&path) {
            Ok(json) => json,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let is_none = || format!("{}: not a checkpoint; remove the folder to begin again", path.display());
        let Version { format_version: found } = serde_json::from_slice(&json).with_context(is_none)?;
        ensure!(
            found == FORMAT_VERSION,
            "{}: has format {found}, and this version of Leitong knows {FORMAT_VERSION}; finish the run with the version \
             that began it, or remove the folder to begin again",
            path.display()
        );
        let checkpoint: Checkpoint = serde_json::from_slice(&json).with_context(is_none)?;
        ensure!(
            checkpoint.sum()? == checkpoint.checksum,
            "{}: damaged: its checksum does not fit its contents; restore it from a copy, or remove the folder to begin again",
            path.display()
        );
        if checkpoint.run != *run {
            bail!(
                "{}: is of another run, {}; repeat that run to finish it, or remove the folder to begin again",
                path.display(),
                difference(&checkpoint.run, run)
            );
        }
        Ok(Some(checkpoint))
    }

    /// The table of a checkpoint.
    ///
    /// # Errors
    /// It is not there, damaged, or made with other settings.
    pub fn table(&self, checkpoint: &Checkpoint, settings: &TableSettings) -> anyhow::Result<Clusterer> {
        let folder = self.table_folder(checkpoint.sequence);
        let table = match &self.run_table {
            Some(RunTable { table, .. }) => table.load_checkpoint((&self.folder, &folder), settings)?,
            None => TableDir::open(&folder)?.load(settings)?,
        };
        table.with_context(|| {
            format!("{}: there is no table; remove the checkpoint to begin again", folder.display())
        })
    }

    /// Saves the table of the checkpoint `sequence`, before it is the one that counts.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save_table(
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

    /// Makes `checkpoint` the one that counts.
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

    /// Removes the checkpoint: the run is through, and its table is saved. Checkpoints of the same table in other
    /// folders stay usable.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn finish(&self) -> anyhow::Result<()> {
        self.remove()?;
        if let Some(RunTable { table, .. }) = &self.run_table {
            table.end_checkpoints(&self.folder)?;
        }
        self.forget_mark()
    }

    /// Removes the checkpoint of a run whose table is not saved. The saved table stays as it was.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn give_up(&self) -> anyhow::Result<()> {
        self.remove()?;
        if let Some(RunTable { table, .. }) = &self.run_table {
            table.forget_checkpoints()?;
        }
        self.forget_mark()
    }

    fn remove(&self) -> anyhow::Result<()> {
        for name in ["checkpoint.json", "decisions", "referents"] {
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

    fn forget_mark(&self) -> anyhow::Result<()> {
        forget_mark(&self.folder).with_context(|| format!("cannot clear {}", self.folder.display()))
    }

    /// Where outputs are in parts until they are whole.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn remove_parts(&self, extents: Option<&Extents>) -> anyhow::Result<()> {
        let removed = parts::remove(&self.folder, extents);
        removed.with_context(|| format!("cannot remove old parts of {}", self.folder.display()))
    }

    /// Where decisions are spooled.
    #[must_use]
    pub fn decisions(&self) -> PathBuf {
        self.folder.join("decisions")
    }

    /// What revisit records say of the documents that stay.
    #[must_use]
    pub fn referents(&self) -> PathBuf {
        self.folder.join("referents")
    }

    fn path(&self) -> PathBuf {
        self.folder.join("checkpoint.json")
    }

    fn table_folder(&self, sequence: u64) -> PathBuf {
        self.folder.join(format!("table-{sequence}"))
    }

    /// Removes the tables of earlier checkpoints: later ones may be there already, and count soon.
    fn remove_tables_before(&self, sequence: u64) -> anyhow::Result<()> {
        let remove = || {
            for entry in fs::read_dir(&self.folder)? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let number = name.strip_prefix("table-").and_then(|number| number.parse::<u64>().ok());
                if number.is_some_and(|number| number < sequence) {
                    fs::remove_dir_all(&path)?;
                }
            }
            io::Result::Ok(())
        };
        remove().with_context(|| format!("cannot remove old tables of {}", self.folder.display()))
    }
}

/// In what another run differs.
fn difference(found: &RunId, wanted: &RunId) -> String {
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
        Some(at) => format!("whose input {} was {} and is {}", at + 1, input(found, at), input(wanted, at)),
        None => {
            format!("whose options were {:?} and are {:?}", found.options.join(" "), wanted.options.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Position;
    use crate::config::Config;
    use crate::pipeline::fingerprint_stage::FingerprintStage;
    use crate::proto::FinishedRun;

    /// A run that leaves no mark itself, such as one over objects without versions, went on at its checkpoint, and the
    /// saved table had none of the earlier marks.
    #[test]
    fn marks_of_finished_runs_stay_when_a_run_without_one_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config::default();
        let stage = FingerprintStage::new(config.clone()).expect("settings");
        let settings = TableSettings::of(&config, stage.detector(), stage.fingerprint_hash());
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
            format_version: FORMAT_VERSION,
            run: RunId { inputs: Vec::new(), options: Vec::new() },
            last: (0, 0),
            begun_at: 0,
            sequence: 0,
            extents: Extents::new(),
            read: Vec::new(),
            checksum: String::new(),
        };
        let clusterer = checkpoints.table(&checkpoint, &settings).expect("the checkpoint's table");
        table.save(&clusterer, &settings).expect("saved");
        checkpoints.finish().expect("removed");
        assert!(table.finished_run(7).expect("sound").is_some());
    }
}
