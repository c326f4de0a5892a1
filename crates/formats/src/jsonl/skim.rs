//! Shortens a JSON line that is too long to hold in memory: long strings are cut, and a parser can still read
//! all fields.
//!
//! In: a line, whose beginning was already read. Out: a [`Read`] of the shortened line, and the length of the
//! whole line. Memory: no buffer of its own.

use std::io::{self, BufRead, Read};

use leitong_base::limits::{JSON_DEPTH_MAX, URL_BYTES_MAX};

/// Number of characters after which a string is cut. It exceeds every limit for a field, so a value above its
/// limit is still recognised.
const STRING_UNITS_MAX: usize = URL_BYTES_MAX + 1;
/// Maximum size of the shortened line: ten strings of the longest escapes.
const SKIMMED_BYTES_MAX: usize = 10 * 6 * STRING_UNITS_MAX;

/// A reader of one JSON line with shortened strings. It stops before the line feed.
pub(super) struct Skim<'a, R> {
    line: RestOfLine<'a, R>,
    cut: StringCutter,
    passed: usize,
}

impl<'a, R: BufRead> Skim<'a, R> {
    /// Creates a reader of a line. `held` is its beginning, and `reader` continues after that.
    pub(super) fn new(held: &'a [u8], reader: &'a mut R) -> Self {
        Self { line: RestOfLine { held, reader, bytes: 0 }, cut: StringCutter::default(), passed: 0 }
    }

    /// Skips the rest of the line. Returns the length of the whole line.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        loop {
            let bytes = self.line.remaining()?.len();
            if bytes == 0 {
                return Ok(self.line.bytes);
            }
            self.line.consume(bytes);
        }
    }
}

impl<R: BufRead> Read for &mut Skim<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written == 0 && !buffer.is_empty() {
            let chunk = self.line.remaining()?;
            if chunk.is_empty() {
                return Ok(0);
            }
            let mut taken = 0;
            for &byte in chunk {
                if written == buffer.len() {
                    break;
                }
                if self.cut.keeps(byte)? {
                    buffer[written] = byte;
                    written += 1;
                }
                taken += 1;
            }
            self.line.consume(taken);
        }
        self.passed += written;
        if self.passed > SKIMMED_BYTES_MAX {
            let message = format!("more than {SKIMMED_BYTES_MAX} bytes even without its long strings");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(written)
    }
}

/// A reader of the bytes of one line.
struct RestOfLine<'a, R> {
    held: &'a [u8],
    reader: &'a mut R,
    /// Number of bytes consumed so far.
    bytes: u64,
}

impl<R: BufRead> RestOfLine<'_, R> {
    /// Returns the next bytes. Empty at the end of the line.
    fn remaining(&mut self) -> io::Result<&[u8]> {
        if !self.held.is_empty() {
            return Ok(self.held);
        }
        let available = self.reader.fill_buf()?;
        Ok(memchr::memchr(b'\n', available).map_or(available, |end| &available[..end]))
    }

    fn consume(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.held.is_empty() {
            self.reader.consume(bytes);
        } else {
            self.held = &self.held[bytes..];
        }
    }
}

/// The state that decides for each byte of a JSON text if it is kept.
#[derive(Default)]
struct StringCutter {
    in_string: bool,
    /// Number of characters and escapes in the string so far.
    units: usize,
    /// Number of bytes left in the current character or escape, which is kept or cut as a whole.
    unit_left: u8,
    /// True directly after a backslash, before the kind of escape is known.
    escape: bool,
    keep_unit: bool,
    depth: usize,
}

impl StringCutter {
    fn keeps(&mut self, byte: u8) -> io::Result<bool> {
        if self.unit_left > 0 {
            self.unit_left -= 1;
            if std::mem::take(&mut self.escape) && byte == b'u' {
                self.unit_left = 4;
            }
            return Ok(self.keep_unit);
        }
        match (self.in_string, byte) {
            (true, b'"') => self.in_string = false,
            (true, _) => {
                self.keep_unit = self.units < STRING_UNITS_MAX;
                self.units += 1;
                self.escape = byte == b'\\';
                self.unit_left = match byte {
                    b'\\' | 0xc0..=0xdf => 1,
                    0xe0..=0xef => 2,
                    0xf0..=0xff => 3,
                    _ => 0,
                };
                return Ok(self.keep_unit);
            }
            (false, b'"') => (self.in_string, self.units) = (true, 0),
            (false, b'[' | b'{') => self.depth += 1,
            (false, b']' | b'}') => self.depth = self.depth.saturating_sub(1),
            (false, _) => {}
        }
        if self.depth > JSON_DEPTH_MAX {
            let message = format!("nested more than {JSON_DEPTH_MAX} levels deep");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the shortened `line`, read in chunks of `chunk` bytes, and its length.
    fn skimmed(line: &[u8], held: usize, chunk: usize) -> (io::Result<String>, u64) {
        let mut reader = io::BufReader::with_capacity(chunk, &line[held..]);
        let mut skim = Skim::new(&line[..held], &mut reader);
        let mut text = String::new();
        let result = (&mut skim).read_to_string(&mut text).map(|_| text);
        (result, skim.finish().expect("slices can be read"))
    }

    #[test]
    fn short_lines_pass_unchanged() {
        let line = r#"{"url":"http://a/\u00e4\"\\","n":[1,{"x":"中文"}]}"#;
        for held in [0, 7, line.len()] {
            let (text, bytes) = skimmed(format!("{line}\nnext").as_bytes(), held, 3);
            assert_eq!((text.expect("right").as_str(), bytes), (line, line.len() as u64));
        }
    }

    #[test]
    fn long_strings_are_cut_between_characters() {
        for unit in ["a", "中", "\\n", "\\u4e2d", "😀"] {
            let line = format!(r#"{{"html":"{}","url":"http://a/"}}"#, unit.repeat(50_000));
            let (text, bytes) = skimmed(line.as_bytes(), 100, 7);
            let text = text.expect("right");
            let value: serde_json::Value = serde_json::from_str(&text).expect("still JSON");
            assert_eq!(value["url"], "http://a/", "{unit}");
            assert_eq!(value["html"].as_str().expect("a string").chars().count(), STRING_UNITS_MAX, "{unit}");
            assert_eq!(bytes, line.len() as u64);
        }
    }

    #[test]
    fn lines_that_are_too_deep_or_too_long_are_refused() {
        let (text, bytes) = skimmed("[".repeat(100_000).as_bytes(), 0, 64);
        assert!(text.expect_err("too deep").to_string().contains("128 levels deep"));
        assert_eq!(bytes, 100_000);
        let (text, bytes) = skimmed("[1],".repeat(200_000).as_bytes(), 0, 64);
        assert!(text.expect_err("too much").to_string().contains("bytes even without"));
        assert_eq!(bytes, 800_000);
    }
}
