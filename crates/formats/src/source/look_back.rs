//! Reads compressed files with several members (gzip) or frames (zstd, lz4), and goes on after damage.
//!
//! Each member begins with the same bytes, so the next one can be found. But the decompressor of a damaged member may
//! have taken the beginning of the next one for its own data. So [`LookBack`] holds the last bytes that were read, and
//! the next member is looked for in them first. Memory: twice the number of bytes to look back. Cost: bytes are read
//! at most [`AGAIN_MAX`] times more often than they occur, whatever the input is.

use std::io::{self, BufRead, Read};

use super::machine_error::is_machine_error;

/// Maximum number of bytes that are read again, as a multiple of the bytes of the input. If there are more, a damaged
/// member may cost the next one.
const AGAIN_MAX: u64 = 4;

/// A reader that can go back to a mark, or as far as it holds bytes.
pub(super) struct LookBack<R> {
    inner: R,
    /// Number of bytes to look back.
    back_max: usize,
    /// The bytes read from `inner` last.
    held: Vec<u8>,
    /// The position of the mark in `held`.
    mark: usize,
    /// The position in `held` of the next byte to read.
    at: usize,
    /// Number of bytes read from `inner`.
    first_read: u64,
    /// Number of bytes read again.
    read_again: u64,
}

impl<R: BufRead> LookBack<R> {
    pub(super) fn new(inner: R, back_max: usize) -> Self {
        Self { inner, back_max, held: Vec::new(), mark: 0, at: 0, first_read: 0, read_again: 0 }
    }

    /// Looks back by another number of bytes.
    pub(super) fn looking_back(self, back_max: usize) -> Self {
        Self { back_max, ..self }
    }

    /// Marks the beginning of a member, which is the next byte. Nothing before it is read again.
    pub(super) fn mark(&mut self) {
        self.mark = self.at;
        // Removing bytes moves the rest, so it is done only when at least as many are removed as are moved.
        if self.mark * 2 >= self.held.len() {
            self.forget(self.mark);
        }
    }

    /// Goes back by `count` bytes, which must have been read since the mark.
    pub(super) fn go_back(&mut self, count: usize) {
        self.at -= count;
    }

    /// Goes to the next bytes after the mark for which `begins` is true, and marks them. `begins` must also be true
    /// for a slice that ends too early. Returns false at the end of the input.
    pub(super) fn seek(&mut self, begins: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
        let back = (self.at - self.mark) as u64;
        if self.read_again + back <= AGAIN_MAX * self.first_read {
            self.read_again += back;
            self.at = self.mark;
        }
        // The member that failed begins here.
        let mut skipped = 1;
        loop {
            let bytes = self.fill_buf()?;
            if bytes.is_empty() {
                return Ok(false);
            }
            let next = (skipped.min(bytes.len())..bytes.len()).find(|at| begins(&bytes[*at..]));
            let count = next.unwrap_or(bytes.len());
            self.consume(count);
            if next.is_some() {
                self.mark();
                return Ok(true);
            }
            skipped = 0;
        }
    }

    fn forget(&mut self, count: usize) {
        self.held.drain(..count);
        self.mark = self.mark.saturating_sub(count);
        self.at -= count;
    }
}

impl<R: BufRead> BufRead for LookBack<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at < self.held.len() { Ok(&self.held[self.at..]) } else { self.inner.fill_buf() }
    }

    fn consume(&mut self, count: usize) {
        if self.at == self.held.len() {
            // The buffer has these bytes, so this reads nothing.
            if let Ok(bytes) = self.inner.fill_buf() {
                self.held.extend_from_slice(&bytes[..count]);
            }
            self.inner.consume(count);
            self.first_read += count as u64;
        }
        self.at += count;
        if self.at == self.held.len() && self.at >= 2 * self.back_max {
            self.forget(self.at - self.back_max);
        }
    }
}

impl<R: BufRead> Read for LookBack<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

/// A decompressor of all members of a file. It returns an error if a member is damaged.
pub(super) trait Members: Read {
    /// Goes to what may be the beginning of the next member. Returns false at the end of the input.
    fn next_member(&mut self) -> io::Result<bool>;
}

/// A reader of the decompressed bytes of all members. After an error, reading continues at the next member.
pub(super) struct Resuming<M> {
    members: M,
    state: Soundness,
    /// The error that the first read returns.
    error: Option<io::Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Soundness {
    Sound,
    /// An error occurred, and the beginning of the next member is not found yet.
    Failed,
    /// A member after an error has begun, but has not returned any bytes. A new error belongs to the same damage.
    Resumed,
}

impl<M: Members> Resuming<M> {
    pub(super) fn new(members: M) -> Self {
        Self { members, state: Soundness::Sound, error: None }
    }

    /// Returns a reader whose input begins with damage.
    pub(super) fn after(error: io::Error, members: M) -> Self {
        Self { members, state: Soundness::Sound, error: Some(error) }
    }

    fn read_once(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.error.take().map_or(Ok(()), Err)?;
        if self.state == Soundness::Failed {
            if !self.members.next_member()? {
                return Ok(0);
            }
            self.state = Soundness::Resumed;
        }
        let bytes = self.members.read(buffer)?;
        if bytes > 0 {
            self.state = Soundness::Sound;
        }
        Ok(bytes)
    }
}

impl<M: Members> Read for Resuming<M> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_once(buffer) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted && !is_machine_error(&error) => {
                    let is_known = self.state == Soundness::Resumed;
                    self.state = Soundness::Failed;
                    if !is_known {
                        return Err(error);
                    }
                }
                read => return read,
            }
        }
    }
}

/// Checks of all formats.
#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wait::cpu_time;

    /// Reads everything. Returns the text and the number of errors.
    fn read_all(mut members: impl Read) -> (String, usize) {
        let (mut text, mut errors) = (Vec::new(), 0);
        let mut part = vec![0; 1 << 20];
        loop {
            match members.read(&mut part) {
                Ok(0) => return (String::from_utf8_lossy(&text).into_owned(), errors),
                Ok(bytes) => text.extend_from_slice(&part[..bytes]),
                Err(_) => errors += 1,
            }
            assert!(errors < 1000, "errors without end");
        }
    }

    /// Asserts that damage to one member, or a cut in it, costs only that member. `pack` compresses a member with a
    /// checksum, and `open` opens a file with one of the `buffers`, in bytes.
    pub(in crate::source) fn damage_costs_one_member<M: Read>(
        pack: impl Fn(&[u8]) -> Vec<u8>,
        buffers: &[usize],
        open: impl Fn(Vec<u8>, usize) -> M,
    ) {
        let texts: Vec<String> = (0..5)
            .map(|number| (0..400).map(|word| format!("{} ", word * word % 97 + number)).collect())
            .collect();
        let members: Vec<Vec<u8>> = texts.iter().map(|text| pack(text.as_bytes())).collect();
        let rest = texts[2..].concat();
        let check = |damaged: &[u8], what: &str| {
            let file = [&members[0], damaged, &members[2..].concat()].concat();
            for buffer in buffers {
                let (text, errors) = read_all(open(file.clone(), *buffer));
                assert!(text.starts_with(&texts[0]), "{what}, buffer {buffer}");
                assert!(text.ends_with(&rest), "{what}, buffer {buffer}");
                // Some bits have no meaning.
                assert!(errors > 0 || text == texts.concat(), "{what}, buffer {buffer}");
            }
        };
        for at in 0..members[1].len() {
            let mut damaged = members[1].clone();
            damaged[at] ^= 0x55;
            check(&damaged, &format!("damaged at {at}"));
            if at > 0 {
                check(&members[1][..at], &format!("cut after {at}"));
            }
        }
        check(&[&members[1][..], b"garbage"].concat(), "garbage");
    }

    /// Asserts that a file of nothing but beginnings of members is read in linear time.
    pub(in crate::source) fn false_members_take_linear_time<M: Read>(
        beginning: &[u8],
        open: impl Fn(Vec<u8>, usize) -> M,
    ) {
        let file = beginning.repeat((4 << 20) / beginning.len());
        let began = cpu_time();
        read_all(open(file, 1 << 20));
        let took = cpu_time() - began;
        assert!(took.as_secs() < 60, "{took:?}");
    }
}
