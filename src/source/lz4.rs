//! Lz4 with any number of frames, as appended logs have them.
//!
//! `lz4_flex` ends at each frame's end, and takes a file that is cut between two blocks of a frame for
//! a whole one; here every file that is cut anywhere but between frames is an error. A frame says
//! where it ends, so that nothing behind it is asked for: whoever asked and got nothing was cut off.

use std::io::{self, BufRead, Read};

use lz4_flex::frame::FrameDecoder;

/// The unpacked bytes of all frames.
pub(super) struct Lz4Frames<R: Read> {
    frames: FrameDecoder<Packed<R>>,
    /// There is nothing behind the last frame.
    has_ended: bool,
}

impl<R: BufRead> Lz4Frames<R> {
    pub(super) fn new(packed: R) -> Self {
        Self { frames: FrameDecoder::new(Packed { inner: packed, met_end: false }), has_ended: false }
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
            self.has_ended = packed.inner.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}

/// The packed bytes.
struct Packed<R> {
    inner: R,
    /// More was asked for than there is.
    met_end: bool,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.met_end |= bytes == 0 && !buffer.is_empty();
        Ok(bytes)
    }
}
