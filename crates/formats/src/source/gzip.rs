//! Decompresses gzip files with any number of members, such as WARC files and appended logs.
//!
//! The multi-member reader of `flate2` accepts a file that ends within the header of a member as complete.
//! Here, a file that ends anywhere but between members is an error, because input must never be lost
//! silently. Zeros and line ends after the last member are ignored: tapes and disk images fill files up to a block.
//! After damage, the members after it can still be read: each begins with the same bytes.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::look_back::{LookBack, Members, Resuming};

/// The first bytes of every member: two magic bytes, and the number of the only compression method.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// The flags that no header sets. The flags are in the byte after [`MAGIC`].
const RESERVED_FLAGS: u8 = 0xe0;
/// Number of bytes in which the next member is looked for after an error: more than the largest block without
/// compression, whose wrong length is noticed at its end.
const BACK_MAX: usize = 128 * 1024;

/// Returns a reader of the decompressed bytes of all members. After an error, reading continues at the next member.
pub(super) fn decompressed<R: BufRead>(compressed: R) -> Resuming<impl Members + use<R>> {
    let member = GzDecoder::new(LookBack::new(compressed, BACK_MAX));
    Resuming::new(GzipMembers { member: Some(member) })
}

struct GzipMembers<R> {
    /// The current member. `None` only while its reader is passed on to the next one.
    member: Option<GzDecoder<LookBack<R>>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn begin_member(&mut self) {
        self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(member) = &mut self.member else { return Ok(0) };
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let compressed = member.get_mut();
            compressed.mark();
            if is_filled_up(compressed)? {
                return Ok(0);
            }
            compressed.mark();
            if compressed.fill_buf()?.first() != Some(&MAGIC[0]) {
                let problem = "data that is not gzip follows a complete member";
                return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
            }
            self.begin_member();
        }
    }
}

impl<R: BufRead> Members for GzipMembers<R> {
    fn next_member(&mut self) -> io::Result<bool> {
        let Some(member) = &mut self.member else { return Ok(false) };
        let begins_member = |bytes: &[u8]| {
            let is_magic = bytes.iter().zip(MAGIC).all(|(byte, magic)| *byte == magic);
            is_magic && bytes.get(MAGIC.len()).is_none_or(|flags| flags & RESERVED_FLAGS == 0)
        };
        let is_found = member.get_mut().seek(begins_member)?;
        if is_found {
            self.begin_member();
        }
        Ok(is_found)
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
    use crate::source::look_back::tests::{damage_costs_one_member, false_members_take_linear_time};

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decompressed(compressed: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        super::decompressed(compressed).read_to_string(&mut text).map(|_| text)
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

    /// A damaged member costs only itself, even if its last bytes are missing.
    #[test]
    fn reading_continues_at_the_next_member() {
        let open =
            |file, buffer| super::decompressed(io::BufReader::with_capacity(buffer, io::Cursor::new(file)));
        let pack = |text: &[u8]| gzip(std::str::from_utf8(text).expect("text"));
        damage_costs_one_member(pack, &[1 << 20], open);
        false_members_take_linear_time(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\xff\xff\0\0", open);
    }

    /// A file that is filled up with zeros is whole.
    #[test]
    fn zeros_after_the_last_member_are_ignored_and_garbage_is_an_error() {
        assert_eq!(decompressed(&[&gzip("one")[..], &[0; 1000]].concat()).expect("whole"), "one");
        assert_eq!(decompressed(&[&gzip("one")[..], b"\r\n"].concat()).expect("whole"), "one");
        // Even short garbage must not be reported as a member that ends early.
        for garbage in [&b"g"[..], b"garbage", b"\0\0garbage", b"\ngarbage"] {
            let error = decompressed(&[&gzip("one")[..], garbage].concat()).expect_err("garbage").to_string();
            assert_eq!(error, "data that is not gzip follows a complete member");
        }
    }
}
