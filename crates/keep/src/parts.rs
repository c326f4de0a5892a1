//! Parts of a table that is still being written.
//!
//! A Parquet file, for example, can only be read once its index is written after all rows, so it cannot be truncated to its
//! state at a checkpoint. With `--checkpoint`, the rows up to each checkpoint are therefore written to a
//! separate file in the checkpoint folder: a part. When the output is complete, its parts are joined. Parts are kept as long as a checkpoint needs them. So a continued run
//! finds the parts of the checkpoint, whenever the earlier run was killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Context, Error, Result};
use crate::sink::summed::{Sum, changed};
use crate::sink::{Extent, Extents};

/// The parts of an output file.
pub(crate) struct Parts {
    /// The checkpoint folder.
    folder: PathBuf,
    /// The name of the output in [`Extents`].
    output: &'static str,
    /// For an output that is a folder, the index of the file in it.
    file: usize,
    /// Number of complete parts.
    count: u64,
    /// Total size of the complete parts, in bytes.
    bytes: u64,
    /// The hash of the hashes of the complete parts.
    sum: Sum,
}

impl Parts {
    /// Creates an empty list of parts for file `file` of `output`.
    pub(crate) fn new(folder: &Path, output: &'static str, file: usize) -> Self {
        Self { folder: folder.to_owned(), output, file, count: 0, bytes: 0, sum: Sum::default() }
    }

    /// Restores the parts that existed at the checkpoint with this `extent`.
    ///
    /// # Errors
    /// A part is missing, or was changed.
    pub(crate) fn resume(folder: &Path, output: &'static str, extent: Extent) -> Result<Self> {
        let mut parts = Self::new(folder, output, extent.file);
        while parts.count < extent.parts {
            let path = parts.next_path();
            let sum = File::open(&path).and_then(|part| Sum::read(&part, part.metadata()?.len()));
            parts.end_one(sum.with_context(|| format!("cannot read {}", path.display()))?.digest())?;
        }
        if parts.bytes != extent.bytes {
            return Err(Error::refused(format_args!(
                "{}: the parts of {output} have {} bytes, but had {} at the checkpoint; remove the folder of checkpoints \
             to begin again",
                folder.display(),
                parts.bytes,
                extent.bytes
            )));
        }
        if extent.sum.is_some_and(|sum| sum != parts.sum.digest()) {
            return Err(changed()).with_context(|| format!("a part of {output} in {}", folder.display()));
        }
        Ok(parts)
    }

    /// Returns the path of the next part.
    pub(crate) fn next_path(&self) -> PathBuf {
        self.path(self.count)
    }

    /// Registers the next part, which is complete and on disk, with the hash of its bytes.
    ///
    /// # Errors
    /// The part is missing.
    pub(crate) fn end_one(&mut self, hash: u64) -> Result<()> {
        let path = self.next_path();
        self.bytes += fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
        self.count += 1;
        self.sum.add(&hash.to_be_bytes());
        Ok(())
    }

    /// Returns the number and size of the parts.
    pub(crate) fn extent(&self) -> Extent {
        Extent { file: self.file, parts: self.count, ..self.sum.extent(self.bytes) }
    }

    /// Returns the paths of all complete parts.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        (0..self.count).map(|part| self.path(part)).collect()
    }

    fn path(&self, part: u64) -> PathBuf {
        self.folder.join(format!("{}-{}-{part}.part", self.output, self.file))
    }
}

/// Removes the parts in `folder` that belong to files that were complete at the checkpoint with these `extents`.
/// Without extents, removes all parts.
///
/// # Errors
/// The parts cannot be removed.
pub(crate) fn remove(folder: &Path, extents: Option<&Extents>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = name.strip_suffix(".part") else { continue };
        let words: Vec<&str> = name.split('-').collect();
        let [output @ ("keep" | "drop"), file, part] = words[..] else { continue };
        let (Ok(file), Ok(_)) = (file.parse::<usize>(), part.parse::<u64>()) else { continue };
        let is_ended = |extents: &Extents| extents.get(output).is_some_and(|extent| file < extent.file);
        if extents.is_none_or(is_ended) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
