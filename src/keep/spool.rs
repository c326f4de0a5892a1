//! Decisions on disk, until all are known.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use super::Decision;
use crate::sink::Extent;
use crate::sink::whole_lines::cut;

/// Takes decisions one after the other.
pub struct Spool {
    file: BufWriter<File>,
}

impl Spool {
    /// A file without a name in `folder`, which goes with the process. It
    /// should lie where there is room: some 400 bytes a document.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile_in(folder)?) })
    }

    /// The file at `path`, of which the first `bytes` bytes are kept, or a new one.
    ///
    /// # Errors
    /// What the operating system says; also where the file is shorter.
    pub fn at(path: &Path, bytes: Option<u64>) -> io::Result<Self> {
        if bytes.is_none() {
            File::create(path)?;
        }
        let mut file = File::options().read(true).write(true).open(path)?;
        cut(&mut file, bytes.unwrap_or(0))?;
        Ok(Self { file: BufWriter::new(file) })
    }

    /// Brings all decisions to disk, and says how many bytes they have.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn extent(&mut self) -> io::Result<Extent> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        Ok(Extent { file: 0, bytes: self.file.stream_position()?, parts: 0 })
    }

    /// Adds a decision.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn push(&mut self, decision: &Decision) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, decision)?;
        self.file.write_all(b"\n")
    }

    /// All that was added, to be read as often as one likes.
    ///
    /// # Errors
    /// The last of it cannot be written.
    pub fn finish(self) -> io::Result<Spooled> {
        Ok(Spooled { file: BufReader::new(self.file.into_inner().map_err(io::IntoInnerError::into_error)?) })
    }
}

/// Decisions that can be read.
pub struct Spooled {
    file: BufReader<File>,
}

impl Spooled {
    /// Calls `take` with each decision and where it stands in the file.
    ///
    /// # Errors
    /// The first that `take` gives, or the file cannot be read.
    pub fn each(&mut self, mut take: impl FnMut(u64, &Decision) -> anyhow::Result<()>) -> anyhow::Result<()> {
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

    /// The decision that stands at `at`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn at(&mut self, at: u64) -> anyhow::Result<Decision> {
        let here = self.file.stream_position()?;
        // Steps within the buffer are free.
        self.file.seek_relative(i64::try_from(at)? - i64::try_from(here)?)?;
        let mut line = Vec::new();
        self.file.read_until(b'\n', &mut line)?;
        Ok(serde_json::from_slice(&line)?)
    }
}
