//! Where the snapshots of a partition are, and how a new one is written.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use prost::Message;

use super::{ChangelogSnapshot, MAGIC, Unusable};
use crate::snapshot::checksummed::ChecksummedWriter;
use crate::snapshot::folder::{self, Unfinished};
use leitong_base::proto::{self, SNAPSHOT_FORMAT_VERSION};

/// Where the snapshots of one partition are.
#[derive(Debug, Clone)]
pub struct SnapshotPlace {
    folder: PathBuf,
    name: String,
}

impl SnapshotPlace {
    /// Of `log_partition` of the installation `app`, in `folder`.
    #[must_use]
    pub fn new(folder: &Path, app: &str, log_partition: u32) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let app: String = app.chars().map(plain).collect();
        Self { folder: folder.to_owned(), name: format!("{app}-{log_partition}") }
    }

    /// The snapshot's file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.with("snapshot")
    }

    /// The folder of the table, where tables are on disk.
    #[must_use]
    pub fn table_folder(&self) -> PathBuf {
        self.with("table")
    }

    fn with(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// The lock for writing; none while another process writes.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub fn lock(&self) -> io::Result<Option<File>> {
        folder::lock(&self.with("lock"))
    }

    /// Opens the snapshot, if there is one. It was whole when it was
    /// written; what has become of it since is known when all of it is read.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn open(&self) -> Result<Option<ChangelogSnapshot>, Unusable> {
        match File::open(self.path()) {
            Ok(file) => ChangelogSnapshot::open(file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins a new snapshot, beside the present one.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(&self) -> io::Result<SnapshotWriter> {
        let new = Unfinished::new(self.with("new"));
        let mut file = ChecksummedWriter::create(new.path())?;
        file.all(MAGIC)?;
        Ok(SnapshotWriter { file, place: self.clone(), entries: 0, new })
    }

    /// Puts the present snapshot out of the way, in place of the one before; where it is now.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.with("set-aside");
        fs::rename(self.path(), &aside)?;
        Ok(aside)
    }
}

/// Writes a snapshot. Dropped unfinished, it leaves nothing.
pub struct SnapshotWriter {
    file: ChecksummedWriter,
    place: SnapshotPlace,
    entries: u64,
    new: Unfinished,
}

impl SnapshotWriter {
    /// Adds a centroid, younger than all before.
    ///
    /// # Errors
    /// The disk is full, and the like.
    pub fn add(&mut self, log_offset: u64, value: &[u8]) -> io::Result<()> {
        let length = u32::try_from(value.len()).map_err(io::Error::other)?;
        self.file.all(&log_offset.to_be_bytes())?;
        self.file.all(&length.to_be_bytes())?;
        self.entries += 1;
        self.file.all(value)
    }

    /// Puts the snapshot in place of the last one, in one step; `footer` says what it is.
    ///
    /// # Errors
    /// The disk is full, and the like; the last one is still there.
    pub fn finish(mut self, mut footer: proto::Snapshot) -> io::Result<()> {
        (footer.format_version, footer.entries) = (SNAPSHOT_FORMAT_VERSION, self.entries);
        let bytes = footer.encode_to_vec();
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.file.all(&bytes)?;
        self.file.all(&length.to_be_bytes())?;
        self.file.finish()?;
        self.new.replace(&self.place.path())
    }
}
