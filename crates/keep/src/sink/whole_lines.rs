//! Writes JSON lines to a file or standard output. A file never ends with a partial line.
//!
//! Lines are buffered and written together. If a write fails midway, such as on a full disk, a regular file
//! is truncated to its last complete line.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::summed::SummedFile;
use super::{Extent, part};

/// Size at which the buffer is written.
const BUFFER_BYTES: usize = 256 * 1024;

/// A buffered writer of complete lines.
pub struct WholeLines {
    file: SummedFile,
    buffer: Vec<u8>,
    /// Number of bytes in the file after its last complete line.
    begun: usize,
}

impl WholeLines {
    /// Returns the name under which the output `path` is written until it is complete: `NAME.part`, next to the file
    /// that `path` leads to. Returns `None` for `-`, pipes and devices.
    #[must_use]
    pub fn part_of(path: &Path) -> Option<PathBuf> {
        part::part_of(path)
    }

    /// Returns the absolute path of an output without links, also if the file does not exist yet.
    #[must_use]
    pub fn resolved(path: &Path) -> PathBuf {
        part::resolved(path)
    }

    /// Begins the output `path` as its [`part`]; `-` is standard output.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: SummedFile::create(path)?, buffer: Vec::new(), begun: 0 })
    }

    /// Opens the part of the output `path`, truncates it to `extent`, and appends to it.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub fn resume(path: &Path, extent: Extent) -> io::Result<Self> {
        Ok(Self { file: SummedFile::resume(path, extent)?, buffer: Vec::new(), begun: 0 })
    }

    /// Syncs all lines to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The lines cannot be written.
    pub fn extent(&mut self) -> io::Result<Extent> {
        self.flush()?;
        self.file.extent()
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

    /// Appends text. If it ends within a line, the caller must append the rest of the line later.
    ///
    /// # Errors
    /// Buffered lines cannot be written.
    pub fn push_text(&mut self, text: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(text.as_bytes());
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all buffered lines.
    ///
    /// # Errors
    /// Some lines cannot be written. Those that were written are complete.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Err((written, error)) = self.file.append(&self.buffer) {
            return Err(self.cut_back(written, error));
        }
        self.begun = self.begun_after(self.buffer.len());
        self.buffer.clear();
        Ok(())
    }

    /// Returns the number of bytes after the last complete line, once the first `written` bytes of the buffer are in the
    /// file.
    fn begun_after(&self, written: usize) -> usize {
        match memchr::memrchr(b'\n', &self.buffer[..written]) {
            Some(line_end) => written - line_end - 1,
            None => self.begun + written,
        }
    }

    /// Removes the partial line at the end of a regular file, if there is one. Returns the error to report.
    fn cut_back(&mut self, written: usize, error: io::Error) -> io::Error {
        let half = self.begun_after(written);
        self.buffer.clear();
        self.begun = 0;
        self.file.cut_back(half, "line", error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::part::part_of;

    /// Returns what was written to the part of the output `path`, which has no file of its name yet.
    fn written(path: &Path) -> String {
        assert!(!path.exists());
        std::fs::read_to_string(part_of(path).expect("a file")).expect("read")
    }

    #[test]
    fn writes_complete_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        let mut lines = WholeLines::create(&path).expect("a file");
        for i in 0..100_000 {
            lines.push(&i).expect("written");
        }
        lines.flush().expect("written");
        let text = written(&path);
        assert_eq!(text.lines().count(), 100_000);
        assert!(text.ends_with("99999\n"));
    }

    /// A line that is longer than the buffer, such as a cluster of many pages, must not stay half-written on a full
    /// disk.
    #[test]
    fn a_long_line_that_cannot_be_completed_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("clusters.jsonl");
        let mut lines = WholeLines::create(&path).expect("a file");
        lines.push_text("[\"a\"]\n").expect("gathered");
        for member in ["[\"b\"", ",\"c\""] {
            lines.push_text(member).expect("gathered");
            lines.push_text(&" ".repeat(BUFFER_BYTES)).expect("written");
        }
        lines.push_text("]\n").expect("gathered");
        let error = lines.cut_back(0, io::ErrorKind::StorageFull.into());
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(written(&path), "[\"a\"]\n");
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
        let kept = lines.buffer.len() - 3;
        lines.file.append(&lines.buffer[..kept]).expect("written");
        lines.cut_back(kept, io::ErrorKind::StorageFull.into());
        assert_eq!(written(&path), "\"one\"\n");
    }
}
