//! Writes JSON lines to a file or standard output. A file never ends with a partial line.
//!
//! Lines are buffered and written together. If a write fails midway, such as on a full disk, a regular file
//! is truncated to its last complete line.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::path::Path;

use serde::Serialize;

use super::Extent;
use super::summed::Sum;

/// Size at which the buffer is written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A buffered writer of complete lines.
pub struct WholeLines {
    file: File,
    /// The hash of what was written.
    sum: Sum,
    buffer: Vec<u8>,
}

impl WholeLines {
    /// Creates or overwrites `path`; `-` is standard output.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = match path.to_str() {
            Some("-") => File::from(io::stdout().as_fd().try_clone_to_owned()?),
            _ => File::create(path)?,
        };
        Ok(Self { file, sum: Sum::default(), buffer: Vec::new() })
    }

    /// Truncates `path` to what it had at `extent`, and appends to it.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub fn resume(path: &Path, extent: Extent) -> io::Result<Self> {
        let (file, sum) = Sum::open(path, Some(extent))?;
        Ok(Self { file, sum, buffer: Vec::new() })
    }

    /// Syncs all lines to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The lines cannot be written.
    pub fn extent(&mut self) -> io::Result<Extent> {
        self.flush()?;
        self.file.sync_data()?;
        Ok(self.sum.extent(self.file.stream_position()?))
    }

    /// Appends `value` as one line.
    ///
    /// # Errors
    /// Buffered lines cannot be written.
    pub fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, value)?;
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Appends text that consists of complete lines.
    ///
    /// # Errors
    /// Buffered lines cannot be written.
    pub fn push_text(&mut self, lines: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(lines.as_bytes());
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all buffered lines.
    ///
    /// # Errors
    /// Some lines cannot be written. Those that were written are complete.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut written = 0;
        while written < self.buffer.len() {
            match self.file.write(&self.buffer[written..]) {
                Ok(0) => return Err(self.cut_back(written, io::ErrorKind::WriteZero.into())),
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.cut_back(written, error)),
            }
        }
        self.sum.add(&self.buffer);
        self.buffer.clear();
        Ok(())
    }

    /// Removes the partial line at the end of a regular file, if there is one. Returns the error to report.
    fn cut_back(&mut self, written: usize, error: io::Error) -> io::Error {
        let half = written - memchr::memrchr(b'\n', &self.buffer[..written]).map_or(0, |at| at + 1);
        self.buffer.clear();
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        if half > 0
            && is_file
            && let Ok(end) = self.file.stream_position()
            && let Err(cut_error) = self.file.set_len(end - half as u64)
        {
            return io::Error::new(
                error.kind(),
                format!("{error}; the last line is incomplete and could not be removed ({cut_error})"),
            );
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_complete_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        let mut lines = WholeLines::create(&path).expect("a file");
        for i in 0..100_000 {
            lines.push(&i).expect("written");
        }
        lines.flush().expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text.lines().count(), 100_000);
        assert!(text.ends_with("99999\n"));
    }

    #[test]
    #[cfg_attr(not(target_os = "linux"), ignore = "only Linux has /dev/full")]
    fn a_full_device_is_an_error() {
        let mut lines = WholeLines::create(Path::new("/dev/full")).expect("open");
        lines.push(&"a verdict").expect("gathered");
        assert_eq!(lines.flush().expect_err("full").kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_partial_line_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        let mut lines = WholeLines::create(&path).expect("a file");
        lines.push(&"one").expect("gathered");
        lines.push(&"two").expect("gathered");
        // Simulate a disk that fills up in the middle of the second line.
        let written = lines.buffer.len() - 3;
        lines.file.write_all(&lines.buffer[..written]).expect("written");
        lines.cut_back(written, io::ErrorKind::StorageFull.into());
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "\"one\"\n");
    }
}
