//! Lz4 with any number of frames, as appended logs have them.
//!
//! `lz4_flex` ends at each frame's end, and takes a file that ends right behind a frame's first four
//! bytes for a whole one; here every file that is cut anywhere but between frames is an error.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

/// Bytes by which a frame is known.
const MAGIC_BYTES: u64 = 4;

/// The unpacked bytes of all frames.
pub(super) struct Lz4Frames<R: Read> {
    frames: FrameDecoder<Counted<R>>,
    /// Where in the packed bytes the frame begins.
    start: u64,
}

impl<R: BufRead> Lz4Frames<R> {
    pub(super) fn new(packed: R) -> Self {
        Self { frames: FrameDecoder::new(Counted { inner: packed, bytes: 0 }), start: 0 }
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.frames.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let packed = self.frames.get_mut();
            if packed.bytes - self.start == MAGIC_BYTES {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if packed.inner.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.start = packed.bytes;
        }
    }
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.bytes += bytes as u64;
        Ok(bytes)
    }
}
