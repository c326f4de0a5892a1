//! A long run of `dedup` that goes on where it was when it was killed.
//!
//! Now and then all outputs are brought to disk, with the table and a note of how long each output
//! is: the *checkpoint*. The next run with the same inputs and options cuts its outputs back to these
//! lengths, loads that table and passes over the records it knows, so that no document is lost and
//! none is twice in the outputs. Once a run is through, its checkpoint goes.
//!
//! Where old centroids are on disk, a checkpoint's table is what is in no block, and names the blocks
//! of the table's own folder.
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

use crate::cluster::Clusterer;
use crate::keep::parts;
use crate::sink::Extents;
use crate::snapshot::{TableDir, TableSettings, forget_mark, replace};

pub use milestones::Milestones;
pub use sink::CheckpointSink;

/// The format of `checkpoint.json`.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// What a run is, apart from how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunId {
    /// Names and bytes of the inputs, in order.
    pub inputs: Vec<(String, u64)>,
    /// The options that say what is written where.
    pub options: Vec<String>,
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
}

/// The folder of a run's checkpoints, locked for this process.
pub struct CheckpointDir {
    folder: PathBuf,
    _lock: TableDir,
    on_disk: Option<OnDisk>,
}

/// A table whose old centroids are in blocks of its own folder.
struct OnDisk {
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
        Ok(Self { folder: folder.to_owned(), _lock: TableDir::open(folder)?, on_disk: None })
    }

    /// Has the tables of checkpoints share the blocks of `table`, which was opened for that.
    pub fn share_blocks(&mut self, table: Arc<TableDir>) {
        self.on_disk = Some(OnDisk { table, numbers: Mutex::default() });
    }

    /// Begins a run of which there is no checkpoint.
    ///
    /// # Errors
    /// The table's folder cannot be written.
    pub fn begin(&self) -> anyhow::Result<()> {
        match &self.on_disk {
            Some(OnDisk { table, .. }) => Ok(table.begin_checkpoints(&self.folder)?),
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
        let checkpoint: Checkpoint = serde_json::from_slice(&json)
            .with_context(|| format!("{}: is no checkpoint; remove it to begin anew", path.display()))?;
        let found = checkpoint.format_version;
        ensure!(
            found == FORMAT_VERSION,
            "{}: has format {found}, and this is {FORMAT_VERSION}",
            path.display()
        );
        if checkpoint.run != *run {
            bail!(
                "{}: is of another run, {}; repeat that run to finish it, or remove the folder to begin anew",
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
        let table = match &self.on_disk {
            Some(OnDisk { table, .. }) => table.load_checkpoint((&self.folder, &folder), settings)?,
            None => TableDir::open(&folder)?.load(settings)?,
        };
        table.with_context(|| {
            format!("{}: there is no table; remove the checkpoint to begin anew", folder.display())
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
        match &self.on_disk {
            Some(OnDisk { table: dir, numbers }) => {
                let number = dir.save_checkpoint(&folder, table, settings)?;
                numbers.lock().unwrap_or_else(PoisonError::into_inner).insert(sequence, number);
            }
            None => TableDir::open(&folder)?.save(table, settings)?,
        }
        Ok(())
    }

    /// Makes `checkpoint` the one that counts.
    fn commit(&self, checkpoint: &Checkpoint) -> anyhow::Result<()> {
        let (path, new) = (self.path(), self.folder.join("checkpoint.new"));
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec_pretty(checkpoint)?)?;
            file.sync_all()?;
            replace(&path, &new)
        };
        write().with_context(|| format!("cannot write {}", path.display()))?;
        self.remove_parts(Some(&checkpoint.extents))?;
        self.remove_tables_before(checkpoint.sequence)?;
        if let Some(OnDisk { table, numbers }) = &self.on_disk
            && let Some(number) =
                numbers.lock().unwrap_or_else(PoisonError::into_inner).remove(&checkpoint.sequence)
        {
            table.checkpoint_counts(number);
        }
        Ok(())
    }

    /// Takes the checkpoint away: the run is through.
    ///
    /// # Errors
    /// It cannot be taken away.
    pub fn finish(&self) -> anyhow::Result<()> {
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
        self.remove_tables_before(u64::MAX)?;
        if let Some(OnDisk { table, .. }) = &self.on_disk {
            table.end_checkpoints()?;
        }
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
        run.inputs.get(at).map_or("none".to_owned(), |(name, bytes)| format!("{name} of {bytes} bytes"))
    };
    let inputs = 0..found.inputs.len().max(wanted.inputs.len());
    match inputs.into_iter().find(|at| found.inputs.get(*at) != wanted.inputs.get(*at)) {
        Some(at) => format!("whose input {} was {} and is {}", at + 1, input(found, at), input(wanted, at)),
        None => {
            format!("whose options were {:?} and are {:?}", found.options.join(" "), wanted.options.join(" "))
        }
    }
}
