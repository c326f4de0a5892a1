//! Reads the sizes in page headers, before the library decompresses a page.
//!
//! A header is a struct in Thrift's compact protocol. Only three of its numbers are needed; everything else is skipped.

use std::ops::Range;

use super::compact::Compact;
use crate::source::location::Stored;

/// Number of bytes that are read at first. Headers are longer only if they contain long statistics.
const FIRST_BYTES: usize = 4 << 10;
/// Maximum length of a header.
const HEAD_BYTES_MAX: usize = 16 << 20;
/// The type of pages that readers skip.
const INDEX_PAGE: i64 = 1;

/// A reader of the page headers in a column chunk, in order.
#[derive(Debug)]
pub(super) struct Heads {
    file: Stored,
    rest: Range<u64>,
}

impl Heads {
    /// Creates a reader of the headers within these bytes of `file`.
    pub(super) fn new(file: Stored, chunk: Range<u64>) -> Self {
        Self { file, rest: chunk }
    }

    /// Returns the size of the next page when it is decompressed. `None` at the end of the chunk, or if there is no
    /// header, which the library will report.
    pub(super) fn next_bytes(&mut self) -> Option<u64> {
        loop {
            let (head, length) = self.head()?;
            let compressed = u64::try_from(head.compressed).ok()?;
            let next = self.rest.start.checked_add(length as u64)?.checked_add(compressed)?;
            self.rest.start = next.min(self.rest.end);
            if head.kind != INDEX_PAGE {
                return u64::try_from(head.uncompressed).ok();
            }
        }
    }

    /// Reads the next header, and returns it with its length.
    fn head(&self) -> Option<(Head, usize)> {
        let left = usize::try_from(self.rest.end.checked_sub(self.rest.start)?).unwrap_or(usize::MAX);
        let mut length = FIRST_BYTES;
        loop {
            let mut bytes = vec![0; length.min(left)];
            // The library reports errors when it reads the same bytes.
            if bytes.is_empty() || !self.file.read_at(&mut bytes, self.rest.start).ok()? {
                return None;
            }
            let mut input = Compact::new(&bytes);
            match Head::read(&mut input) {
                Some(head) => return Some((head, input.position())),
                None if length >= left || length >= HEAD_BYTES_MAX => return None,
                None => length *= 16,
            }
        }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Head {
    kind: i64,
    uncompressed: i64,
    compressed: i64,
}

impl Head {
    /// Reads a header. `None` if the bytes end early.
    fn read(input: &mut Compact<'_>) -> Option<Self> {
        let mut head = Self::default();
        let mut field = 0;
        while let Some((number, kind)) = input.field(field)? {
            field = number;
            match number {
                1 => head.kind = input.integer()?,
                2 => head.uncompressed = input.integer()?,
                3 => head.compressed = input.integer()?,
                _ => input.skip(kind)?,
            }
        }
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_between_fields_of_any_type() {
        // The kind 3, sizes 300 and 40, a number, and a struct with a string, a list, a boolean and a struct.
        let head = [
            0x15, 6, 0x15, 0xd8, 4, 0x15, 80, 0x15, 1, 0x3c, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x11,
            0x1c, 0, 0, 0,
        ];
        let mut input = Compact::new(&head);
        assert_eq!(Head::read(&mut input), Some(Head { kind: 3, uncompressed: 300, compressed: 40 }));
        assert_eq!(input.position(), head.len());
        for length in 0..head.len() {
            assert_eq!(Head::read(&mut Compact::new(&head[..length])), None, "{length}");
        }
    }
}
