//! Reads an object in blocks, and fetches the next ones while one is processed.
//!
//! The most recently used blocks are kept in memory. Columns of Parquet files are read in parallel, and each
//! of them needs only few requests. The first block is small, because the first bytes show if an object is a
//! Parquet file or an HTML page. Memory: at most 16 MiB with [`Blocks::in_order`] and 64 MiB with
//! [`Blocks::at_any_place`].

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use super::Object;
use crate::source::fetch::Fetch;
use crate::source::machine_error::MachineError;

/// Size of the first block.
const FIRST_BYTES: u64 = 64 << 10;

/// An open object, with its cached blocks.
#[derive(Debug)]
pub(crate) struct Blocks {
    object: Arc<Object>,
    /// Size of each block except the first.
    block_bytes: u64,
    /// Number of blocks that are fetched ahead.
    ahead: u64,
    /// Maximum number of cached blocks.
    held_max: usize,
    state: Mutex<CachedBlocks>,
}

#[derive(Debug, Default)]
struct CachedBlocks {
    /// Cached blocks by number. The most recently used block is last.
    held: VecDeque<(u64, Block)>,
    /// The last error of the store.
    failure: Option<(io::ErrorKind, String)>,
}

#[derive(Debug)]
enum Block {
    Coming(Fetch),
    Here(Bytes),
}

impl Blocks {
    /// Prepares for reading from start to end.
    pub(crate) fn in_order(object: &Arc<Object>) -> Self {
        Self::new(object, 4 << 20, 2, 4)
    }

    /// Prepares for reading at several positions.
    pub(crate) fn at_any_place(object: &Arc<Object>) -> Self {
        Self::new(object, 1 << 20, 1, 64)
    }

    fn new(object: &Arc<Object>, block_bytes: u64, ahead: u64, held_max: usize) -> Self {
        Self { object: Arc::clone(object), block_bytes, ahead, held_max, state: Mutex::default() }
    }

    /// Returns the size of the object.
    pub(crate) fn bytes(&self) -> u64 {
        self.object.bytes()
    }

    /// Returns the last error of the store, if a block could not be read.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        let state = self.state();
        let (kind, problem) = state.failure.as_ref()?;
        Some(io::Error::new(*kind, MachineError::new(io::Error::new(*kind, problem.clone()))))
    }

    /// Returns the `length` bytes at `start`. They must be within the object.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) fn range(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let first = self.from(start)?;
        if first.len() >= length {
            return Ok(first.slice(..length));
        }
        let mut bytes = BytesMut::with_capacity(length);
        bytes.extend_from_slice(&first);
        while bytes.len() < length {
            let next = self.from(start + bytes.len() as u64)?;
            if next.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&next[..next.len().min(length - bytes.len())]);
        }
        Ok(bytes.freeze())
    }

    /// Returns the bytes from `start` to the end of its block. Empty at the end of the object.
    fn from(&self, start: u64) -> io::Result<Bytes> {
        if start >= self.bytes() {
            return Ok(Bytes::new());
        }
        let number = self.number_of(start);
        let block = self.block(number)?;
        let within = usize::try_from(start - self.span(number).start).map_err(io::Error::other)?;
        Ok(block.slice(within..))
    }

    /// Returns block `number`. If the previous block is cached, reading seems to be sequential, and the next
    /// blocks are fetched, too.
    fn block(&self, number: u64) -> io::Result<Bytes> {
        let mut state = self.state();
        let has = |state: &CachedBlocks, number: u64| state.held.iter().any(|(held, _)| *held == number);
        let is_read_on = number > 0 && has(&state, number - 1);
        if !has(&state, number) {
            let fetch = self.object.fetch(self.span(number))?;
            state.held.push_back((number, Block::Coming(fetch)));
        }
        let last = self.number_of(self.bytes() - 1);
        for next in number + 1..=(number + self.ahead).min(last) {
            if is_read_on && !has(&state, next) {
                let fetch = self.object.fetch(self.span(next))?;
                state.held.push_back((next, Block::Coming(fetch)));
            }
        }
        let Some(at) = state.held.iter().position(|(held, _)| *held == number) else {
            return Err(io::Error::other("a requested block is missing"));
        };
        let Some((_, block)) = state.held.remove(at) else {
            return Err(io::Error::other("a requested block is missing"));
        };
        let bytes = match block {
            Block::Here(bytes) => bytes,
            Block::Coming(fetch) => match fetch.wait() {
                Ok(bytes) => bytes,
                Err(error) => {
                    state.failure = Some((error.kind(), error.to_string()));
                    return Err(error);
                }
            },
        };
        state.held.push_back((number, Block::Here(bytes.clone())));
        while state.held.len() > self.held_max {
            state.held.pop_front();
        }
        Ok(bytes)
    }

    fn number_of(&self, at: u64) -> u64 {
        at.checked_sub(FIRST_BYTES).map_or(0, |offset| 1 + offset / self.block_bytes)
    }

    fn span(&self, number: u64) -> Range<u64> {
        let start = |number: u64| match number {
            0 => 0,
            number => FIRST_BYTES + (number - 1) * self.block_bytes,
        };
        start(number)..start(number + 1).min(self.bytes())
    }

    fn state(&self) -> MutexGuard<'_, CachedBlocks> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reader that starts at a given position.
pub(crate) struct BlocksReader {
    blocks: Arc<Blocks>,
    at: u64,
    /// The rest of the current block.
    rest: Bytes,
}

impl BlocksReader {
    /// Creates a reader that starts at `at`.
    pub(crate) fn new(blocks: Arc<Blocks>, at: u64) -> Self {
        Self { blocks, at, rest: Bytes::new() }
    }
}

impl Read for BlocksReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.blocks.from(self.at)?;
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest.split_to(count));
        self.at += count as u64;
        Ok(count)
    }
}
