//! Lines of JSON to a file or standard output, such that no
//! reader ever sees half a line in the end.
//!
//! Lines are gathered and written in one go. If a write fails midway
//! (a full disk), a regular file is cut back to its last whole line.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::path::Path;

use serde::Serialize;

use super::Extent;

/// Gathered bytes from which on a write pays.
const BUFFER_BYTES: usize = 256 * 1024;

/// Writes whole lines.
pub struct WholeLines {
    file: File,
    buffer: Vec<u8>,
}

/// Cuts a file to its first `bytes` bytes, and goes to its end.
///
/// # Errors
/// What the operating system says; also where the file is shorter.
pub fn cut(file: &mut File, bytes: u64) -> io::Result<()> {
    if file.metadata()?.len() < bytes {
        let problem = format!("has fewer than the {bytes} bytes that were written");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
    }
    file.set_len(bytes)?;
    file.seek(io::SeekFrom::End(0)).map(drop)
}

impl WholeLines {
    /// Writes to `path`, whose former contents go; `-` is standard output.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = match path.to_str() {
            Some("-") => File::from(io::stdout().as_fd().try_clone_to_owned()?),
            _ => File::create(path)?,
        };
        Ok(Self { file, buffer: Vec::new() })
    }

    /// Goes on behind the first `bytes` bytes of `path`; what stands there goes.
    ///
    /// # Errors
    /// What the operating system says; also where the file is shorter.
    pub fn resume(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        cut(&mut file, bytes)?;
        Ok(Self { file, buffer: Vec::new() })
    }

    /// Brings all lines to disk, and says how long the file is.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn extent(&mut self) -> io::Result<Extent> {
        self.flush()?;
        self.file.sync_data()?;
        Ok(Extent { file: 0, bytes: self.file.stream_position()?, parts: 0 })
    }

    /// Adds `value` as one line.
    ///
    /// # Errors
    /// Gathered lines cannot be written.
    pub fn push(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, value)?;
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Adds text of whole lines.
    ///
    /// # Errors
    /// Gathered lines cannot be written.
    pub fn push_text(&mut self, lines: &str) -> io::Result<()> {
        self.buffer.extend_from_slice(lines.as_bytes());
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes all gathered lines.
    ///
    /// # Errors
    /// They cannot be written; those that were written are whole.
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
        self.buffer.clear();
        Ok(())
    }

    /// Takes the half line at the end of the file away, if there is one and it can be taken away.
    fn cut_back(&mut self, written: usize, error: io::Error) -> io::Error {
        let half = written - memchr::memrchr(b'\n', &self.buffer[..written]).map_or(0, |at| at + 1);
        self.buffer.clear();
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        if half > 0
            && is_file
            && let Ok(end) = self.file.stream_position()
            && let Err(cut_error) = self.file.set_len(end - half as u64)
        {
            return io::Error::new(error.kind(), format!("{error}; the last line is broken ({cut_error})"));
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_arrive_whole() {
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
    fn half_a_line_is_cut_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        let mut lines = WholeLines::create(&path).expect("a file");
        lines.push(&"one").expect("gathered");
        lines.push(&"two").expect("gathered");
        // As if the disk had filled up in the middle of the second line.
        let written = lines.buffer.len() - 3;
        lines.file.write_all(&lines.buffer[..written]).expect("written");
        lines.cut_back(written, io::ErrorKind::StorageFull.into());
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "\"one\"\n");
    }
}
