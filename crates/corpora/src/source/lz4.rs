//! Decompresses lz4 files with any number of frames, such as appended logs, and with skippable frames among
//! them.
//!
//! `lz4_flex` stops at the end of each frame, and accepts a file that ends between two blocks of a frame as
//! complete. Here, a file that ends anywhere but between frames is an error. A frame marks its end, so its
//! decoder never needs data after it. If the decoder asks for data and there is none, the file was truncated.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

use super::frames::skip_frames;

/// A reader of the decompressed bytes of all frames.
pub(super) struct Lz4Frames<R: Read> {
    frames: FrameDecoder<CompressedReader<R>>,
    /// True after the last frame.
    has_ended: bool,
}

impl<R: BufRead> Lz4Frames<R> {
    pub(super) fn new(compressed: R) -> Self {
        let compressed = CompressedReader { inner: compressed, magic: [0; 4], held: 0, met_end: false };
        Self { frames: FrameDecoder::new(compressed), has_ended: false }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_ended && !buffer.is_empty() {
            let bytes = self.frames.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            let compressed = self.frames.get_mut();
            if compressed.met_end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match skip_frames(&mut compressed.inner)? {
                Some(magic) => (compressed.magic, compressed.held) = (magic, magic.len()),
                None => self.has_ended = true,
            }
        }
        Ok(0)
    }
}

/// A reader of the compressed bytes.
struct CompressedReader<R> {
    inner: R,
    /// The first bytes of a frame. The last `held` of them have not been returned yet.
    magic: [u8; 4],
    held: usize,
    /// True if more data was requested than there is.
    met_end: bool,
}

impl<R: Read> Read for CompressedReader<R> {
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
