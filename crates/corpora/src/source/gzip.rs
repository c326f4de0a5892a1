//! Decompresses gzip files with any number of members, such as WARC files and appended logs.
//!
//! The multi-member reader of `flate2` accepts a file that ends within the header of a member as complete.
//! Here, a file that ends anywhere but between members is an error, because input must never be lost
//! silently. Zeros and line ends after the last member are ignored: tapes and disk images fill files up to a block.
//! After damage, the members after it can still be read: each begins with the same bytes.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::machine_error::is_machine_error;

/// The first bytes of every member: two magic bytes, and the number of the only compression method.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// The flags that no header sets. The flags are in the byte after [`MAGIC`].
const RESERVED_FLAGS: u8 = 0xe0;

/// A reader of the decompressed bytes of all members. After an error, reading continues at the next member.
pub(super) struct GzipMembers<R> {
    /// The current member. `None` only while its reader is passed on to the next one.
    member: Option<GzDecoder<R>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Sound,
    /// An error occurred, and the beginning of the next member is not found yet.
    Failed,
    /// A member after an error has begun, but has not returned any bytes. A new error belongs to the same damage.
    Resumed,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(compressed: R) -> Self {
        Self { member: Some(GzDecoder::new(compressed)), state: State::Sound }
    }

    fn begin_member(&mut self) {
        self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
    }

    /// Reads from the current member, or begins the next one. Returns `None` if it has to be called again.
    fn read_once(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(member) = &mut self.member else { return Ok(Some(0)) };
        if self.state == State::Failed {
            if !skip_to_member(member.get_mut())? {
                return Ok(Some(0));
            }
            self.state = State::Resumed;
            self.begin_member();
            return Ok(None);
        }
        let bytes = member.read(buffer)?;
        if bytes > 0 || buffer.is_empty() {
            self.state = State::Sound;
            return Ok(Some(bytes));
        }
        if is_filled_up(member.get_mut())? {
            return Ok(Some(0));
        }
        if member.get_mut().fill_buf()?.first() != Some(&MAGIC[0]) {
            let problem = "data that is not gzip follows a complete member";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        self.begin_member();
        Ok(None)
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.read_once(buffer) {
                Ok(Some(bytes)) => return Ok(bytes),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted || is_machine_error(&error) => {
                    return Err(error);
                }
                Err(error) => {
                    let is_known = self.state == State::Resumed;
                    self.state = State::Failed;
                    if !is_known {
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// Skips bytes up to the next member, or what may be its first bytes at the end of the buffer. Returns false at the
/// end of the input.
fn skip_to_member(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let begins_member = |at: &usize| {
            let head = &bytes[*at..];
            let is_magic = head.iter().zip(MAGIC).all(|(byte, magic)| *byte == magic);
            is_magic && head.get(MAGIC.len()).is_none_or(|flags| flags & RESERVED_FLAGS == 0)
        };
        let next = memchr::memchr_iter(MAGIC[0], bytes).find(begins_member);
        let skipped = next.unwrap_or(bytes.len());
        reader.consume(skipped);
        if next.is_some() {
            return Ok(true);
        }
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

    /// A damaged member cost all members after it.
    #[test]
    fn reading_continues_at_the_next_member() {
        let texts: Vec<String> = (0..5).map(|number| format!("{number} ").repeat(1000)).collect();
        let members: Vec<Vec<u8>> = texts.iter().map(|text| gzip(text)).collect();
        let read = |file: &[u8], buffer: usize| {
            let mut members = GzipMembers::new(io::BufReader::with_capacity(buffer, file));
            let (mut text, mut errors) = (Vec::new(), 0);
            let mut part = [0; 700];
            loop {
                match members.read(&mut part) {
                    Ok(0) => return (String::from_utf8_lossy(&text).into_owned(), errors),
                    Ok(bytes) => text.extend_from_slice(&part[..bytes]),
                    Err(_) => errors += 1,
                }
            }
        };
        for at in 0..members[1].len() {
            let mut damaged = members.clone();
            damaged[1][at] ^= 0x55;
            for file in [damaged.concat(), [&damaged[0][..], b"garbage\x1f", &damaged[2..].concat()].concat()]
            {
                let (text, errors) = read(&file, 1 << 20);
                assert!(text.ends_with(&texts[2..].concat()), "damaged at {at}");
                // Any time and padding is valid.
                assert!(errors == 1 || text == texts.concat(), "damaged at {at}: {errors}");
                assert!(read(&file, 5).0.ends_with(&texts[3..].concat()), "damaged at {at}");
            }
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
