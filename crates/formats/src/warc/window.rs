//! A buffer for reading ahead: bytes of the input can be examined before they are taken. So a parser that
//! notices an error late can go back.
//!
//! Memory: the largest range examined at once, and one buffer of the reader.

use std::io::{self, BufRead, BufReader, Read};

/// A reader that can look ahead.
pub(super) struct Window<R> {
    reader: BufReader<R>,
    bytes: Vec<u8>,
    /// The position of the input in `bytes`. Bytes before it are taken.
    at: usize,
    /// Number of bytes taken so far.
    taken: u64,
    /// True if the input ends after `bytes`.
    ended: bool,
    /// An error found by looking ahead. It is returned when reading reaches it.
    failure: Option<io::Error>,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: BufReader<R>) -> Self {
        Self { reader, bytes: Vec::new(), at: 0, taken: 0, ended: false, failure: None }
    }

    /// Returns the number of bytes of the input that were taken or skipped.
    pub(super) fn bytes_taken(&self) -> u64 {
        self.taken
    }

    /// Returns the bytes that are available without reading.
    pub(super) fn held(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Returns the number of bytes that are available without waiting for the input.
    pub(super) fn at_hand(&self) -> usize {
        self.held().len() + self.reader.buffer().len()
    }

    /// Reads until at least `count` bytes are held, or the input ends.
    pub(super) fn hold(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.held().len() < count && self.read_more()? {}
        Ok(self.held())
    }

    /// Does the same as [`Self::hold`], but stores an error for the next read.
    pub(super) fn hold_ahead(&mut self, count: usize) -> &[u8] {
        while self.failure.is_none() && self.held().len() < count {
            match self.read_more() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.failure = Some(error),
            }
        }
        self.held()
    }

    /// Returns true if looking ahead has found an error.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Takes `count` of the bytes that are held.
    pub(super) fn take(&mut self, count: usize) {
        self.at += count;
        self.taken += count as u64;
        debug_assert!(self.at <= self.bytes.len(), "only held bytes can be taken");
        // Removing bytes moves the rest, so it is done only when at least as many are removed as are moved.
        if self.at * 2 > self.bytes.len() {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }

    /// Takes all bytes that are held.
    pub(super) fn take_held(&mut self) {
        self.take(self.held().len());
    }

    /// Skips `count` bytes, or fewer if the input ends. Returns the number of skipped bytes.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let held = usize::try_from(count).unwrap_or(usize::MAX).min(self.held().len());
        self.take(held);
        let unheld = count - held as u64;
        if unheld == 0 {
            return Ok(count);
        }
        self.return_failure()?;
        let passed = io::copy(&mut (&mut self.reader).take(unheld), &mut io::sink())?;
        self.taken += passed;
        self.ended |= passed < unheld;
        Ok(held as u64 + passed)
    }

    /// Reads and holds more bytes. Returns false at the end of the input.
    pub(super) fn read_more(&mut self) -> io::Result<bool> {
        self.return_failure()?;
        while !self.ended {
            match self.reader.fill_buf() {
                Ok([]) => self.ended = true,
                Ok(available) => {
                    let count = available.len();
                    self.bytes.extend_from_slice(available);
                    self.reader.consume(count);
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn return_failure(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}
