//! Decompresses gzip files with any number of members, such as WARC files and appended logs.
//!
//! The multi-member reader of `flate2` accepts a file that ends within the header of a member as complete.
//! Here, a file that ends anywhere but between members is an error, because input must never be lost
//! silently. Zeros and line ends after the last member are ignored: tapes and disk images fill files up to a block.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of every member.
const MAGIC: u8 = 0x1f;

/// A reader of the decompressed bytes of all members.
pub(super) struct GzipMembers<R> {
    /// The current member. `None` only while its reader is passed on to the next one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(compressed: R) -> Self {
        Self { member: Some(GzDecoder::new(compressed)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            if is_filled_up(member.get_mut())? {
                return Ok(0);
            }
            if member.get_mut().fill_buf()?.first() != Some(&MAGIC) {
                let problem = "data that is not gzip follows a complete member";
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(0)
    }
}

/// Skips zeros and line ends. Returns true if nothing else follows.
fn is_filled_up(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| matches!(byte, 0 | b'\r' | b'\n')).count();
        match bytes.is_empty() {
            true => return Ok(true),
            false if zeros == 0 => return Ok(false),
            false => reader.consume(zeros),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decompressed(compressed: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        GzipMembers::new(compressed).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn every_cut_inside_a_member_is_an_error() {
        let members = [gzip("one "), gzip(""), gzip("two")];
        let file = members.concat();
        assert_eq!(decompressed(&file).expect("whole"), "one two");
        let ends = [members[0].len(), members[0].len() + members[1].len(), file.len()];
        for cut in 1..=file.len() {
            assert_eq!(decompressed(&file[..cut]).is_ok(), ends.contains(&cut), "cut after {cut} bytes");
        }
    }

    /// A file that was filled up with zeros counted as broken, with the advice to fetch it again.
    #[test]
    fn zeros_after_the_last_member_are_ignored_and_garbage_is_an_error() {
        assert_eq!(decompressed(&[&gzip("one")[..], &[0; 1000]].concat()).expect("whole"), "one");
        assert_eq!(decompressed(&[&gzip("one")[..], b"\r\n"].concat()).expect("whole"), "one");
        // Short garbage was once reported as a member that ends early.
        for garbage in [&b"g"[..], b"garbage", b"\0\0garbage", b"\ngarbage"] {
            let error = decompressed(&[&gzip("one")[..], garbage].concat()).expect_err("garbage").to_string();
            assert_eq!(error, "data that is not gzip follows a complete member");
        }
    }
}
