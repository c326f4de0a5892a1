//! Stores decisions on disk until all are known.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use super::Decision;
use crate::error::Result;
use crate::sink::Extent;
use crate::sink::summed::Sum;

/// A writer of decisions.
pub(crate) struct Spool {
    file: BufWriter<File>,
    sum: Sum,
    line: Vec<u8>,
}

impl Spool {
    /// Creates a nameless file in `folder`, which is deleted when the process ends. It needs about 400 bytes
    /// per document.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let file = BufWriter::new(tempfile::tempfile_in(folder)?);
        Ok(Self { file, sum: Sum::default(), line: Vec::new() })
    }

    /// Opens the file at `path` and truncates it to `extent`. Without an extent, creates an empty file.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub(crate) fn at(path: &Path, extent: Option<Extent>) -> io::Result<Self> {
        let (file, sum) = Sum::open(path, extent)?;
        Ok(Self { file: BufWriter::new(file), sum, line: Vec::new() })
    }

    /// Syncs all decisions to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The decisions cannot be written.
    pub(crate) fn extent(&mut self) -> io::Result<Extent> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        Ok(self.sum.extent(self.file.stream_position()?))
    }

    /// Appends a decision.
    ///
    /// # Errors
    /// The decision cannot be written.
    pub(crate) fn push(&mut self, decision: &Decision) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, decision)?;
        self.line.push(b'\n');
        self.sum.add(&self.line);
        self.file.write_all(&self.line)
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
    /// Calls `take` with the byte offset of each decision in the file, and the decision.
    ///
    /// # Errors
    /// The first error of `take`, or an error in reading the file.
    pub(crate) fn each(&mut self, mut take: impl FnMut(u64, &Decision) -> Result<()>) -> Result<()> {
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

    /// Returns the decision at byte offset `at`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn at(&mut self, at: u64) -> Result<Decision> {
        let here = self.file.stream_position()?;
        // Seeking within the buffer is free.
        self.file.seek_relative(at.cast_signed() - here.cast_signed())?;
        let mut line = Vec::new();
        self.file.read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line)?)
    }
}
