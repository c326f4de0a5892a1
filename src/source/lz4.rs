//! Lz4 with any number of frames, as appended logs have them, and skippable frames among them.
//!
//! `lz4_flex` ends at each frame's end, and takes a file that is cut between two blocks of a frame for
//! a whole one; here every file that is cut anywhere but between frames is an error. A frame says
//! where it ends, so that nothing behind it is asked for: whoever asked and got nothing was cut off.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

use super::frames::pass_over_skippable;

/// The unpacked bytes of all frames.
pub(super) struct Lz4Frames<R: Read> {
    frames: FrameDecoder<Packed<R>>,
    /// There is nothing behind the last frame.
    has_ended: bool,
}

impl<R: BufRead> Lz4Frames<R> {
    pub(super) fn new(packed: R) -> Self {
        let packed = Packed { inner: packed, magic: [0; 4], held: 0, met_end: false };
        Self { frames: FrameDecoder::new(packed), has_ended: false }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_ended && !buffer.is_empty() {
            let bytes = self.frames.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            let packed = self.frames.get_mut();
            if packed.met_end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match pass_over_skippable(&mut packed.inner)? {
                Some(magic) => (packed.magic, packed.held) = (magic, magic.len()),
                None => self.has_ended = true,
            }
        }
        Ok(0)
    }
}

/// The packed bytes.
struct Packed<R> {
    inner: R,
    /// The first bytes of a frame, and how many of them are still to be given.
    magic: [u8; 4],
    held: usize,
    /// More was asked for than there is.
    met_end: bool,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.held > 0 {
            let held = &self.magic[self.magic.len() - self.held..];
            let count = held.len().min(buffer.len());
            buffer[..count].copy_from_slice(&held[..count]);
            self.held -= count;
            return Ok(count);
        }
        let bytes = self.inner.read(buffer)?;
        self.met_end |= bytes == 0 && !buffer.is_empty();
        Ok(bytes)
    }
}
