//! Stores decisions on disk until all are known.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use super::Decision;
use crate::sink::Extent;
use crate::sink::whole_lines::create_or_cut;

/// A writer of decisions.
pub(crate) struct Spool {
    file: BufWriter<File>,
}

impl Spool {
    /// Creates a nameless file in `folder`, which is deleted when the process ends. It needs about 400 bytes
    /// per document.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile_in(folder)?) })
    }

    /// Opens the file at `path` and keeps its first `bytes` bytes, or creates it.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short.
    pub(crate) fn at(path: &Path, bytes: Option<u64>) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(create_or_cut(path, bytes)?) })
    }

    /// Syncs all decisions to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The decisions cannot be written.
    pub(crate) fn extent(&mut self) -> io::Result<Extent> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        Ok(Extent { file: 0, bytes: self.file.stream_position()?, parts: 0 })
    }

    /// Appends a decision.
    ///
    /// # Errors
    /// The decision cannot be written.
    pub(crate) fn push(&mut self, decision: &Decision) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, decision)?;
        self.file.write_all(b"\n")
    }

    /// Ends writing. The decisions can then be read any number of times.
    ///
    /// # Errors
    /// The last decisions cannot be written.
    pub(crate) fn finish(self) -> io::Result<Spooled> {
        Ok(Spooled { file: BufReader::new(self.file.into_inner().map_err(io::IntoInnerError::into_error)?) })
    }
}

/// A reader of spooled decisions.
pub(crate) struct Spooled {
    file: BufReader<File>,
}

impl Spooled {
    /// Calls `take` with the place in the file of each decision, and the decision.
    ///
    /// # Errors
    /// The first error of `take`, or an error in reading the file.
    pub(crate) fn each(
        &mut self,
        mut take: impl FnMut(u64, &Decision) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut at = 0;
        let mut line = Vec::new();
        while self.file.read_until(b'\n', &mut line)? > 0 {
            take(at, &serde_json::from_slice(&line)?)?;
            at += line.len() as u64;
            line.clear();
        }
        Ok(())
    }

    /// Returns the decision at the place `at`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn at(&mut self, at: u64) -> anyhow::Result<Decision> {
        let here = self.file.stream_position()?;
        // Seeking within the buffer is free.
        self.file.seek_relative(i64::try_from(at)? - i64::try_from(here)?)?;
        let mut line = Vec::new();
        self.file.read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line)?)
    }
}
