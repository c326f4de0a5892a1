//! Reads the sizes in page headers, before the library decompresses a page.
//!
//! A header is a struct in Thrift's compact protocol. Only three of its numbers are needed; everything else is skipped.

use std::ops::Range;

use super::runs::{varint, zigzag};
use crate::source::location::Stored;

/// Number of bytes that are read at first. Headers are longer only if they contain long statistics.
const FIRST_BYTES: usize = 4 << 10;
/// Maximum length of a header.
const HEAD_BYTES_MAX: usize = 16 << 20;
/// Maximum depth of nested values.
const DEPTH_MAX: usize = 16;
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
            let mut input = Compact { bytes: &bytes, at: 0 };
            match input.head() {
                Some(head) => return Some((head, input.at)),
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

/// A reader of values in Thrift's compact protocol.
struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Compact<'_> {
    fn head(&mut self) -> Option<Head> {
        let mut head = Head::default();
        let mut field = 0;
        while let Some((number, kind)) = self.field(field)? {
            field = number;
            match number {
                1 => head.kind = self.integer()?,
                2 => head.uncompressed = self.integer()?,
                3 => head.compressed = self.integer()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(head)
    }

    /// Reads the number and type of the next field. `Some(None)` at the end of the struct, and `None` if the bytes
    /// end early.
    fn field(&mut self, before: i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        let number = match byte >> 4 {
            0 => self.integer()?,
            more => before.checked_add(i64::from(more))?,
        };
        Some(Some((number, byte & 15)))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match kind {
            // The type itself says if a boolean is true.
            1 | 2 => {}
            3 => self.pass(1)?,
            4..=6 => drop(self.varint()?),
            7 => self.pass(8)?,
            8 => {
                let length = self.varint()?;
                self.pass(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                for _ in 0..count {
                    // Booleans in lists are bytes.
                    let kind = if matches!(head & 15, 1 | 2) { 3 } else { head & 15 };
                    self.skip(kind, depth + 1)?;
                }
            }
            12 => {
                let mut field = 0;
                while let Some((number, kind)) = self.field(field)? {
                    field = number;
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        let at = self.at.checked_add(usize::try_from(count).ok()?)?;
        self.at = at;
        (at <= self.bytes.len()).then_some(())
    }

    fn varint(&mut self) -> Option<u64> {
        varint(self.bytes, &mut self.at)
    }

    fn integer(&mut self) -> Option<i64> {
        self.varint().map(zigzag)
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
        let mut input = Compact { bytes: &head, at: 0 };
        assert_eq!(input.head(), Some(Head { kind: 3, uncompressed: 300, compressed: 40 }));
        assert_eq!(input.at, head.len());
        for length in 0..head.len() {
            assert_eq!(Compact { bytes: &head[..length], at: 0 }.head(), None, "{length}");
        }
    }
}
