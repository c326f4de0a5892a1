//! Bytes of an input, of which some may be looked at before they are
//! taken: a reader that finds out late that it was misled can go back.
//!
//! Memory: what was asked for at once, and one buffer of the reader.

use std::io::{self, BufRead, BufReader, Read};

/// A view into what comes next.
pub(super) struct Window<R> {
    reader: BufReader<R>,
    bytes: Vec<u8>,
    /// Where in `bytes` the input stands; what is before it is taken.
    at: usize,
    /// Bytes taken so far.
    taken: u64,
    /// Nothing comes behind `bytes`.
    ended: bool,
    /// What looking ahead has met; told when the input is read on.
    failure: Option<io::Error>,
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: BufReader<R>) -> Self {
        Self { reader, bytes: Vec::new(), at: 0, taken: 0, ended: false, failure: None }
    }

    /// Bytes of the input that are taken or passed over.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// What is at hand without reading.
    pub(super) fn held(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Bytes that can be had without waiting for the input.
    pub(super) fn at_hand(&self) -> usize {
        self.held().len() + self.reader.buffer().len()
    }

    /// Reads until at least `count` bytes are held, or all there are.
    pub(super) fn hold(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.held().len() < count && self.read_on()? {}
        Ok(self.held())
    }

    /// The same, but an error is kept for whoever reads on.
    pub(super) fn hold_ahead(&mut self, count: usize) -> &[u8] {
        while self.failure.is_none() && self.held().len() < count {
            match self.read_on() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => self.failure = Some(error),
            }
        }
        self.held()
    }

    /// Whether looking ahead has met an error.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Takes `count` of the bytes that are held.
    pub(super) fn take(&mut self, count: usize) {
        self.at += count;
        self.taken += count as u64;
        debug_assert!(self.at <= self.bytes.len(), "only what is held can be taken");
        // Each byte is moved at most once for as many bytes that were taken.
        if self.at * 2 > self.bytes.len() {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
    }

    /// Passes over `count` bytes, or what there is of them, and says how many there were.
    pub(super) fn pass_over(&mut self, count: u64) -> io::Result<u64> {
        let held = usize::try_from(count).unwrap_or(usize::MAX).min(self.held().len());
        self.take(held);
        let unheld = count - held as u64;
        if unheld == 0 {
            return Ok(count);
        }
        self.tell_failure()?;
        let passed = io::copy(&mut (&mut self.reader).take(unheld), &mut io::sink())?;
        self.taken += passed;
        self.ended |= passed < unheld;
        Ok(held as u64 + passed)
    }

    /// Holds more; false at the end of the input.
    pub(super) fn read_on(&mut self) -> io::Result<bool> {
        self.tell_failure()?;
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

    fn tell_failure(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }
}
