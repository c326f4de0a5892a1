//! Parts of a Parquet file that is still being written.
//!
//! A Parquet file is readable once its index is written behind all rows, so it cannot be cut back to
//! where a checkpoint was. With `--checkpoint`, what is written up to a checkpoint is therefore a file
//! of its own in the checkpoint's folder; when the output is ended, its parts are joined, column chunk
//! by column chunk as they are. Until the checkpoint goes, so do not its parts: whatever is killed
//! when, the run that goes on finds those of the checkpoint.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::writer::SerializedFileWriter;

use crate::sink::{Extent, Extents};

/// Where the parts of an output are.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The checkpoint's folder.
    folder: PathBuf,
    /// The output, as it is called among [`Extents`].
    output: &'static str,
    /// Of an output that is a folder, which of its files.
    file: usize,
    /// Parts that are whole.
    count: u64,
    /// Bytes of these.
    bytes: u64,
}

impl Parts {
    /// Of the file `file` of `output`; there are none yet.
    #[must_use]
    pub fn new(folder: &Path, output: &'static str, file: usize) -> Self {
        Self { folder: folder.to_owned(), output, file, count: 0, bytes: 0 }
    }

    /// Those that were there when the checkpoint with this `extent` was made.
    ///
    /// # Errors
    /// One of them is gone.
    pub fn resume(folder: &Path, output: &'static str, extent: Extent) -> anyhow::Result<Self> {
        let mut parts = Self::new(folder, output, extent.file);
        while parts.count < extent.parts {
            parts.end_one()?;
        }
        ensure!(
            parts.bytes == extent.bytes,
            "the parts in {} have {} bytes, and had {} at the checkpoint; remove the folder to begin again",
            folder.display(),
            parts.bytes,
            extent.bytes
        );
        Ok(parts)
    }

    /// The file of the next part.
    #[must_use]
    pub fn next_path(&self) -> PathBuf {
        self.path(self.count)
    }

    /// The next part is whole, and on disk.
    ///
    /// # Errors
    /// It is not there.
    pub fn end_one(&mut self) -> anyhow::Result<()> {
        let path = self.next_path();
        self.bytes += fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
        self.count += 1;
        Ok(())
    }

    /// How far they have come.
    #[must_use]
    pub fn extent(&self) -> Extent {
        Extent { file: self.file, bytes: self.bytes, parts: self.count }
    }

    /// Adds all parts to `writer`, as they are.
    ///
    /// # Errors
    /// They cannot be read, or it cannot be written.
    pub fn join<W: io::Write + Send>(&self, writer: &mut SerializedFileWriter<W>) -> anyhow::Result<()> {
        for part in 0..self.count {
            let path = self.path(part);
            let mut add = || -> anyhow::Result<()> { append(&File::open(&path)?, writer) };
            add().with_context(|| format!("cannot add {}", path.display()))?;
        }
        Ok(())
    }

    fn path(&self, part: u64) -> PathBuf {
        self.folder.join(format!("{}-{}-{part}.part", self.output, self.file))
    }
}

/// Adds the row groups of `part`.
fn append<W: io::Write + Send>(part: &File, writer: &mut SerializedFileWriter<W>) -> anyhow::Result<()> {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    let index = reader.parse_and_finish(part)?;
    let pages = index.page_index();
    for (number, group) in index.row_groups().iter().enumerate() {
        let mut added = writer.next_row_group()?;
        for (at, column) in group.columns().iter().enumerate() {
            let closed = ColumnCloseResult {
                bytes_written: u64::try_from(column.compressed_size())?,
                rows_written: u64::try_from(group.num_rows())?,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: pages.and_then(|pages| pages.column_index(number, at)).cloned(),
                offset_index: pages.and_then(|pages| pages.offset_index(number, at)).cloned(),
            };
            added.append_column(part, closed)?;
        }
        added.close()?;
    }
    Ok(())
}

/// Removes the parts in `folder` of files that are ended in each of `extents`; without any, all parts.
///
/// # Errors
/// They cannot be removed.
pub fn remove(folder: &Path, extents: Option<&Extents>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = name.strip_suffix(".part") else { continue };
        let mut words = name.split('-');
        let (Some(output), Some(file)) =
            (words.next(), words.next().and_then(|file| file.parse::<usize>().ok()))
        else {
            continue;
        };
        let is_ended = |extents: &Extents| extents.get(output).is_some_and(|extent| file < extent.file);
        if extents.is_none_or(is_ended) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
