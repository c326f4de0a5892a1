//! Gzip with any number of members, as WARC files and appended logs have them.
//!
//! `flate2`'s own reader of several members takes a file that ends inside
//! a member's head for a whole one; here every file that is cut anywhere
//! but between members is an error, as nothing must be lost silently.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The unpacked bytes of all members.
pub(super) struct GzipMembers<R> {
    /// None only while a member's end gives its reader back.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let bytes = member.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            if member.get_mut().fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        }
        Ok(0)
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

    fn unpacked(packed: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        GzipMembers::new(packed).read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn every_cut_inside_a_member_is_an_error() {
        let members = [gzip("one "), gzip(""), gzip("two")];
        let file = members.concat();
        assert_eq!(unpacked(&file).expect("whole"), "one two");
        let ends = [members[0].len(), members[0].len() + members[1].len(), file.len()];
        for cut in 1..=file.len() {
            assert_eq!(unpacked(&file[..cut]).is_ok(), ends.contains(&cut), "cut after {cut} bytes");
        }
    }

    #[test]
    fn garbage_behind_the_last_member_is_an_error() {
        assert!(unpacked(&[&gzip("one")[..], b"garbage"].concat()).is_err());
    }
}
