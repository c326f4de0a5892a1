//! The place of a partition's snapshot on disk.
//!
//! A new snapshot is written next to the present one, by one process at a time, and replaces it in one step.
//! An unusable snapshot is renamed and kept for inspection.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use prost::Message;

use super::{ChangelogSnapshot, MAGIC, Unusable};
use crate::snapshot::checksummed::ChecksummedWriter;
use crate::snapshot::folder::{self, Unfinished};
use leitong_base::proto;

/// The place of one partition's snapshot.
#[derive(Debug, Clone)]
pub struct SnapshotPlace {
    folder: PathBuf,
    name: String,
}

impl SnapshotPlace {
    /// Format version of a worker's local snapshot. Since version 3 it holds texts of pages that joined clusters.
    pub const FORMAT_VERSION: u32 = 3;

    /// Returns the place in `folder` for `log_partition` of the installation `app`.
    #[must_use]
    pub fn new(folder: &Path, app: &str, log_partition: u32) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let app: String = app.chars().map(plain).collect();
        Self { folder: folder.to_owned(), name: format!("{app}-{log_partition}") }
    }

    /// Returns the snapshot's file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.with("snapshot")
    }

    /// Returns the folder in which the table is if tables are on disk.
    #[must_use]
    pub fn table_folder(&self) -> PathBuf {
        self.with("table")
    }

    fn with(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// Locks the snapshot for writing. Returns `None` if another process has locked it.
    ///
    /// # Errors
    /// The folder cannot be created or written to.
    pub fn lock(&self) -> io::Result<Option<File>> {
        folder::lock(&self.with("lock"))
    }

    /// Opens the snapshot, if there is one. It was complete when it was written. Later damage is found only
    /// by reading all of it.
    ///
    /// # Errors
    /// [`Unusable`] if the snapshot cannot be used.
    pub fn open(&self) -> Result<Option<ChangelogSnapshot>, Unusable> {
        folder::if_there(File::open(self.path()))?.map(ChangelogSnapshot::open).transpose()
    }

    /// Begins a new snapshot next to the present one.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(&self) -> io::Result<SnapshotWriter> {
        let new = Unfinished::new(self.with("new"));
        let mut file = ChecksummedWriter::create(new.path())?;
        file.all(MAGIC)?;
        Ok(SnapshotWriter { file, place: self.clone(), entries: 0, new })
    }

    /// Renames the present snapshot and returns its new path. A snapshot that was renamed earlier is
    /// replaced.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.with("set-aside");
        fs::rename(self.path(), &aside)?;
        Ok(aside)
    }
}

/// Writes a snapshot. If it is dropped before [`Self::finish`], it leaves no file.
pub struct SnapshotWriter {
    file: ChecksummedWriter,
    place: SnapshotPlace,
    entries: u64,
    new: Unfinished,
}

impl SnapshotWriter {
    /// Appends a centroid, which must be younger than those before.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub fn add(&mut self, log_offset: u64, value: &[u8]) -> io::Result<()> {
        let length = u32::try_from(value.len()).map_err(io::Error::other)?;
        self.file.all(&log_offset.to_be_bytes())?;
        self.file.all(&length.to_be_bytes())?;
        self.entries += 1;
        self.file.all(value)
    }

    /// Replaces the present snapshot in one step. `footer` describes the new one.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full. The present snapshot remains.
    pub fn finish(mut self, mut footer: proto::Snapshot) -> io::Result<()> {
        (footer.format_version, footer.entries) = (SnapshotPlace::FORMAT_VERSION, self.entries);
        let bytes = footer.encode_to_vec();
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.file.all(&bytes)?;
        self.file.all(&length.to_be_bytes())?;
        self.file.finish()?;
        self.new.replace(&self.place.path())
    }
}
