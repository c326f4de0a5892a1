//! Decompresses lz4 files with any number of frames, such as appended logs, and with skippable frames among
//! them.
//!
//! `lz4_flex` stops at the end of each frame, and accepts a file that ends between two blocks of a frame as
//! complete. Here, a file that ends anywhere but between frames is an error. A frame marks its end, so its
//! decoder never needs data after it. If the decoder asks for data and there is none, the file was truncated.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

use super::frames::{LZ4, begins, skip_frames};
use super::look_back::{LookBack, Members};

/// Number of bytes in which the next frame is looked for after an error: more than the largest block.
pub(super) const BACK_MAX: usize = (4 << 20) + 1024;

/// A reader of the decompressed bytes of all frames.
pub(super) struct Lz4Frames<R: BufRead> {
    /// The decoder of the current frame. `None` only while its reader is passed on to the next one.
    frame: Option<FrameDecoder<CompressedReader<R>>>,
    /// True from the first byte of a frame to its last one.
    in_frame: bool,
}

impl<R: BufRead> Lz4Frames<R> {
    pub(super) fn new(compressed: LookBack<R>) -> Self {
        Self { frame: Some(decoder(compressed)), in_frame: false }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(frame) = self.frame.as_mut().filter(|_| !buffer.is_empty()) else { return Ok(0) };
        loop {
            if !self.in_frame {
                self.in_frame = skip_frames(&mut frame.get_mut().inner)?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            let bytes = frame.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            if frame.get_ref().met_end {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.in_frame = false;
            frame.get_mut().inner.mark();
        }
    }
}

impl<R: BufRead> Members for Lz4Frames<R> {
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(frame) = self.frame.take() else { return Ok(false) };
        let mut compressed = frame.into_inner().inner;
        let is_found = compressed.seek(|bytes| begins(bytes, &LZ4));
        self.frame = Some(decoder(compressed));
        self.in_frame = false;
        is_found
    }
}

fn decoder<R: BufRead>(compressed: LookBack<R>) -> FrameDecoder<CompressedReader<R>> {
    FrameDecoder::new(CompressedReader { inner: compressed, met_end: false })
}

/// A reader of the compressed bytes.
struct CompressedReader<R> {
    inner: LookBack<R>,
    /// True if more data was requested than there is.
    met_end: bool,
}

impl<R: BufRead> Read for CompressedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.met_end |= bytes == 0 && !buffer.is_empty();
        Ok(bytes)
    }
}
