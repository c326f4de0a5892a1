//! Decompresses zstd and lz4 files: any number of frames, with skippable frames before and between them. After damage,
//! reading continues at the next frame.
//!
//! A skippable frame has no meaning to the decompressor. `pzstd` and other programs store notes in them. In
//! WARC files, according to the WARC specification for Zstandard, the first one may contain a dictionary that
//! all frames of the file need. Memory: the dictionary, at most [`DICTIONARY_BYTES_MAX`], and the bytes to look back.

use std::io::{self, BufRead, Read};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::stream::read::Decoder as ZstdReader;

use super::look_back::{LookBack, Members, Resuming};
use super::lz4::{self, Lz4Frames};

const ZSTD: [u8; 4] = *b"\x28\xb5\x2f\xfd";
pub(super) const LZ4: [u8; 4] = *b"\x04\x22\x4d\x18";
/// Magic number of the skippable frame with a dictionary
/// (<https://iipc.github.io/warc-specifications/specifications/warc-zstd/>).
const DICTIONARY: [u8; 4] = *b"\x5d\x2a\x4d\x18";
/// Maximum size of a dictionary. Common dictionaries have 100 KiB to 1 MiB.
const DICTIONARY_BYTES_MAX: u64 = 16 << 20;
/// Number of bytes in which the next zstd frame is looked for after an error: more than the largest block.
const ZSTD_BACK_MAX: usize = 256 * 1024;

/// Returns true if the input begins with zstd, lz4 or a skippable frame.
pub(crate) fn may_begin(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|magic| [ZSTD, LZ4].contains(magic) || is_skippable(magic))
}

/// Returns the name of the format if `problem`, an error of the decompressor, says that the input is not broken
/// but needs more memory or a dictionary. `None` if the input is broken.
pub(crate) fn needs(problem: &str) -> Option<&'static str> {
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
/// read.
pub(crate) fn decompressed(compressed: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
    let mut compressed = LookBack::new(compressed, ZSTD_BACK_MAX);
    match begin(&mut compressed) {
        Ok(Begun::Empty) => Box::new(io::empty()),
        Ok(Begun::Lz4) => Box::new(Resuming::new(Lz4Frames::new(compressed.looking_back(lz4::BACK_MAX)))),
        Ok(Begun::Zstd(dictionary)) => Box::new(Resuming::new(ZstdFrames::new(compressed, dictionary))),
        // The frames after it are probably those of zstd, whose programs write skippable frames.
        Err(error) => Box::new(Resuming::after(error, ZstdFrames::new(compressed, Vec::new()))),
    }
}

/// Returns a reader of the first frame of zstd in `compressed`, or of all frames of lz4.
pub(crate) fn first<'c>(compressed: &'c [u8]) -> io::Result<Box<dyn Read + 'c>> {
    let mut rest = LookBack::new(compressed, ZSTD_BACK_MAX);
    Ok(match begin(&mut rest)? {
        Begun::Empty => Box::new(io::empty()),
        Begun::Lz4 => Box::new(Lz4Frames::new(rest)),
        Begun::Zstd(dictionary) => Box::new(ZstdReader::with_dictionary(rest, &dictionary)?.single_frame()),
    })
}

/// The first frame that is not skippable.
enum Begun {
    Empty,
    Lz4,
    /// A frame of zstd, and the dictionary before it. The dictionary may be empty.
    Zstd(Vec<u8>),
}

fn begin<R: BufRead>(compressed: &mut LookBack<R>) -> io::Result<Begun> {
    let mut dictionary = Vec::new();
    loop {
        let Some(magic) = next_magic(compressed)? else { return Ok(Begun::Empty) };
        if !is_skippable(&magic) {
            compressed.go_back(magic.len());
            compressed.mark();
            return match magic {
                ZSTD => Ok(Begun::Zstd(dictionary)),
                LZ4 => Ok(Begun::Lz4),
                _ => Err(invalid(
                    "the skippable frame at its beginning is followed by neither zstd nor lz4 data",
                )),
            };
        }
        let length = frame_length(compressed)?;
        if magic == DICTIONARY && dictionary.is_empty() {
            dictionary = read_dictionary(compressed, length)?;
        } else {
            skip_frame(compressed, length)?;
        }
    }
}

/// A reader of the decompressed bytes of all zstd frames.
struct ZstdFrames<R> {
    compressed: LookBack<R>,
    /// The decoder, which is created by the first read.
    decoder: Option<Decoder<'static>>,
    /// The dictionary that all frames need; empty if they need none. If it is damaged, each frame fails.
    dictionary: Vec<u8>,
    /// True from the first byte of a frame to its last one.
    in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(compressed: LookBack<R>, dictionary: Vec<u8>) -> Self {
        Self { compressed, decoder: None, dictionary, in_frame: false }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            let decoder = match &mut self.decoder {
                Some(decoder) => decoder,
                none => none.insert(Decoder::with_dictionary(&self.dictionary)?),
            };
            let bytes = self.compressed.fill_buf()?;
            let has_ended = bytes.is_empty();
            if has_ended && !self.in_frame {
                break;
            }
            let (mut input, mut output) = (InBuffer::around(bytes), OutBuffer::around(&mut *buffer));
            let left = decoder.run(&mut input, &mut output);
            let (taken, given) = (input.pos(), output.pos());
            self.compressed.consume(taken);
            self.in_frame = left? > 0;
            if !self.in_frame {
                self.compressed.mark();
            }
            if given > 0 {
                return Ok(given);
            }
            if has_ended && self.in_frame {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "incomplete frame"));
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> Members for ZstdFrames<R> {
    fn next_member(&mut self) -> io::Result<bool> {
        self.decoder.as_mut().map_or(Ok(()), Operation::reinit)?;
        self.in_frame = false;
        self.compressed.seek(|bytes| begins(bytes, &ZSTD))
    }
}

/// Returns true if `bytes` begins with `magic`, or may do so after the end of the slice.
pub(crate) fn begins(bytes: &[u8], magic: &[u8; 4]) -> bool {
    bytes.iter().zip(magic).all(|(byte, magic)| byte == magic)
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
    ZstdReader::new(&*dictionary)?.take(DICTIONARY_BYTES_MAX + 1).read_to_end(&mut decompressed)?;
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

/// Skips skippable frames. Returns false at the end of the input; otherwise the next frame is marked.
pub(super) fn skip_frames<R: BufRead>(compressed: &mut LookBack<R>) -> io::Result<bool> {
    while let Some(magic) = next_magic(compressed)? {
        if !is_skippable(&magic) {
            compressed.go_back(magic.len());
            compressed.mark();
            return Ok(true);
        }
        let length = frame_length(compressed)?;
        skip_frame(compressed, length)?;
    }
    Ok(false)
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::source::look_back::tests::{damage_costs_one_member, false_members_take_linear_time};

    fn skippable(kind: u8, contents: &[u8]) -> Vec<u8> {
        let length = u32::try_from(contents.len()).expect("a short frame");
        [&[0x50 + kind, 0x2a, 0x4d, 0x18], &length.to_le_bytes()[..], contents].concat()
    }

    fn lz4(text: &str) -> Vec<u8> {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).expect("memory")
    }

    fn open(file: Vec<u8>, buffer: usize) -> Box<dyn Read + Send> {
        decompressed(io::BufReader::with_capacity(buffer, io::Cursor::new(file)))
    }

    /// After damage to one frame, the frames after it are still read.
    #[test]
    fn reading_continues_at_the_next_frame() {
        let lz4 = |bytes: &[u8]| {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        };
        let zstd = |bytes: &[u8]| {
            let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
            encoder.include_checksum(true).expect("a valid setting");
            encoder.write_all(bytes).expect("memory");
            encoder.finish().expect("memory")
        };
        let buffers = [5, 97, 1 << 20];
        damage_costs_one_member(lz4, &buffers, open);
        damage_costs_one_member(zstd, &buffers, open);
        false_members_take_linear_time(&[&ZSTD[..], b"\0\x58\0\0\x10"].concat(), open);
        false_members_take_linear_time(&[&LZ4[..], b"\x40\x70\xdf\xff\xff\0\0"].concat(), open);
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

    /// Files that begin with a skippable frame must not be read as JSON lines.
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
