//! Decompresses zstd and lz4 files: any number of frames, with skippable frames before and between them.
//!
//! A skippable frame has no meaning to the decompressor. `pzstd` and other programs store notes in them. In
//! WARC files, according to the WARC specification for Zstandard, the first one may contain a dictionary that
//! all frames of the file need. Memory: the dictionary, at most [`DICTIONARY_BYTES_MAX`].

use std::io::{self, BufRead, Read};

use zstd::stream::read::Decoder as ZstdDecoder;

use super::lz4::Lz4Frames;
use super::machine_error::is_machine_error;

const ZSTD: [u8; 4] = *b"\x28\xb5\x2f\xfd";
const LZ4: [u8; 4] = *b"\x04\x22\x4d\x18";
/// Magic number of the skippable frame with a dictionary
/// (<https://iipc.github.io/warc-specifications/specifications/warc-zstd/>).
const DICTIONARY: [u8; 4] = *b"\x5d\x2a\x4d\x18";
/// Maximum size of a dictionary. Common dictionaries have 100 KiB to 1 MiB.
const DICTIONARY_BYTES_MAX: u64 = 16 << 20;

/// Returns true if the input begins with zstd, lz4 or a skippable frame.
pub(super) fn may_begin(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|magic| [ZSTD, LZ4].contains(magic) || is_skippable(magic))
}

/// Returns the name of the format if `problem`, an error of the decompressor, says that the input is not broken
/// but needs more memory or a dictionary. `None` if the input is broken.
pub(super) fn needs(problem: &str) -> Option<&'static str> {
    // The messages of libzstd are fixed.
    if problem.contains("Frame requires too much memory") {
        return Some(
            "compressed with zstd in a window of more than 128 MiB (`zstd -dc --long=31 FILE | leitong dedup -` reads it)",
        );
    }
    problem.contains("Dictionary mismatch").then_some(
        "compressed with a zstd dictionary that is not in the file (`zstd -dc -D DICTIONARY FILE | leitong dedup -` reads it)",
    )
}

fn is_skippable(magic: &[u8; 4]) -> bool {
    matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// Decompresses an input for which [`may_begin`] is true. An error at its beginning is returned by the first
/// read. After an error, nothing more is read.
pub(super) fn decompressed(compressed: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
    let frames = begin(compressed).unwrap_or_else(|error| Box::new(Failed(Some(error))));
    Box::new(UpToError(Some(frames)))
}

fn begin(mut compressed: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut dictionary = None;
    let magic = loop {
        let Some(magic) = next_magic(&mut compressed)? else { return Ok(Box::new(io::empty())) };
        if !is_skippable(&magic) {
            break magic;
        }
        let length = frame_length(&mut compressed)?;
        if magic == DICTIONARY && dictionary.is_none() {
            dictionary = Some(read_dictionary(&mut compressed, length)?);
        } else {
            skip_frame(&mut compressed, length)?;
        }
    };
    let compressed = Begun { magic, given: 0, rest: compressed };
    match magic {
        ZSTD => Ok(match dictionary {
            Some(dictionary) => {
                Box::new(ZstdDecoder::with_dictionary(io::BufReader::new(compressed), &dictionary)?)
            }
            None => Box::new(ZstdDecoder::new(compressed)?),
        }),
        LZ4 => Ok(Box::new(Lz4Frames::new(io::BufReader::new(compressed)))),
        _ => Err(invalid("the skippable frame at its beginning is followed by neither zstd nor lz4 data")),
    }
}

/// Reads the dictionary from a frame of `length` bytes. It may be compressed with zstd.
fn read_dictionary(compressed: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > DICTIONARY_BYTES_MAX {
        return Err(invalid("its dictionary is larger than 16 MiB"));
    }
    let mut dictionary = Vec::new();
    if compressed.take(length).read_to_end(&mut dictionary)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if !dictionary.starts_with(&ZSTD) {
        return Ok(dictionary);
    }
    let mut decompressed = Vec::new();
    ZstdDecoder::new(&*dictionary)?.take(DICTIONARY_BYTES_MAX + 1).read_to_end(&mut decompressed)?;
    match decompressed.len() as u64 > DICTIONARY_BYTES_MAX {
        true => Err(invalid("its dictionary is larger than 16 MiB")),
        false => Ok(decompressed),
    }
}

/// Reads the magic number of the next frame. Returns `None` at the end of the input.
fn next_magic(compressed: &mut impl BufRead) -> io::Result<Option<[u8; 4]>> {
    let mut magic = [0; 4];
    if compressed.fill_buf()?.is_empty() {
        return Ok(None);
    }
    compressed.read_exact(&mut magic)?;
    Ok(Some(magic))
}

/// Reads the length that follows the first bytes of a skippable frame.
fn frame_length(compressed: &mut impl Read) -> io::Result<u64> {
    let mut length = [0; 4];
    compressed.read_exact(&mut length)?;
    Ok(u32::from_le_bytes(length).into())
}

fn skip_frame(compressed: &mut impl Read, length: u64) -> io::Result<()> {
    match io::copy(&mut compressed.take(length), &mut io::sink())? == length {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Skips skippable frames. Returns the magic number of the next other frame, or `None` at the end of the input.
pub(super) fn skip_frames(compressed: &mut impl BufRead) -> io::Result<Option<[u8; 4]>> {
    loop {
        match next_magic(compressed)? {
            Some(magic) if is_skippable(&magic) => {
                let length = frame_length(compressed)?;
                skip_frame(compressed, length)?;
            }
            magic => return Ok(magic),
        }
    }
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

/// A reader of a frame whose magic number was already taken from the input.
struct Begun<R> {
    magic: [u8; 4],
    given: usize,
    rest: R,
}

impl<R: Read> Read for Begun<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let held = &self.magic[self.given..];
        if held.is_empty() {
            return self.rest.read(buffer);
        }
        let count = held.len().min(buffer.len());
        buffer[..count].copy_from_slice(&held[..count]);
        self.given += count;
        Ok(count)
    }
}

/// A reader that ends after the first error of the format.
struct UpToError(Option<Box<dyn Read + Send>>);

impl Read for UpToError {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.as_mut().map_or(Ok(0), |frames| frames.read(buffer));
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
            && !is_machine_error(error)
        {
            self.0 = None;
        }
        read
    }
}

/// A reader that only returns an error.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skippable(kind: u8, contents: &[u8]) -> Vec<u8> {
        let length = u32::try_from(contents.len()).expect("a short frame");
        [&[0x50 + kind, 0x2a, 0x4d, 0x18], &length.to_le_bytes()[..], contents].concat()
    }

    fn lz4(text: &str) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).expect("memory")
    }

    /// Reads through buffers of different sizes.
    fn read(file: &[u8]) -> io::Result<String> {
        let mut results = [1, 3, 1000].map(|buffer| {
            let mut text = String::new();
            let compressed = io::BufReader::with_capacity(buffer, io::Cursor::new(file.to_vec()));
            decompressed(compressed).read_to_string(&mut text).map(|_| text)
        });
        let first = results[0].as_ref().ok().cloned();
        assert!(results.iter().all(|result| result.as_ref().ok() == first.as_ref()));
        std::mem::replace(&mut results[2], Ok(String::new()))
    }

    /// Files that begin with a skippable frame were read as JSON lines.
    #[test]
    fn skippable_frames_are_skipped() {
        for pack in [zstd, lz4] {
            let note = skippable(0, b"\x5a\x02\0\0");
            let file = [&note[..], &pack("one "), &note, &skippable(15, b""), &pack("two"), &note].concat();
            assert!(may_begin(&file));
            assert_eq!(read(&file).expect("two frames"), "one two");
            for cut in [2, 6, 10, 14, note.len() + 6, file.len() - 5] {
                assert!(read(&file[..cut]).is_err(), "cut after {cut}");
                let mut cut = decompressed(io::Cursor::new(file[..cut].to_vec()));
                let mut errors = 0;
                while cut.read(&mut [0; 100]).map_or_else(|_| true, |bytes| bytes > 0) {
                    errors += 1;
                    assert!(errors < 10, "the error is repeated");
                }
            }
        }
        assert_eq!(read(&skippable(3, b"alone")).expect("nothing"), "");
        let other = read(&[&skippable(3, b"a")[..], b"{\"url\": 1}"].concat()).expect_err("JSON").to_string();
        assert!(other.contains("neither zstd nor lz4"), "{other}");
    }

    /// The archives of the Archive Team have such a dictionary and cannot be decompressed without it.
    #[test]
    fn a_dictionary_in_the_first_frame_is_used() {
        let dictionary = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/".repeat(2);
        let records = ["1", "2"].map(|number| format!("WARC/1.0\r\nWARC-Type: response\r\n{number}\r\n"));
        let mut packer = zstd::bulk::Compressor::with_dictionary(3, &dictionary).expect("memory");
        let mut pack = |text: &str| packer.compress(text.as_bytes()).expect("memory");
        let frames = [pack(&records[0]), pack(&records[1])].concat();
        let compressed = zstd::encode_all(&*dictionary, 1).expect("memory");
        for held in [&dictionary, &compressed] {
            let file = [&skippable(13, held)[..], &frames].concat();
            assert_eq!(read(&file).expect("two frames"), records.concat());
        }
        assert!(read(&frames).is_err(), "it is needed");
    }
}
