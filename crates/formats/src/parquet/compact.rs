//! Reads values of Thrift's compact protocol, in which page headers and the index of a Parquet file are written.

use super::runs::varint;
use leitong_base::varint::ZigZag;

/// Maximum depth of nested values.
const DEPTH_MAX: usize = 16;

/// A reader of values in Thrift's compact protocol.
#[derive(Debug)]
pub(super) struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Compact<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the number of bytes that were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Reads the number and type of the next field. `Some(None)` at the end of the struct, and `None` if the bytes
    /// end early.
    pub(super) fn field(&mut self, before: i64) -> Option<Option<(i64, u8)>> {
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

    /// Skips a value of this type. `None` if the bytes end early, or the value cannot be read.
    pub(super) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_at(kind, 0)
    }

    fn skip_at(&mut self, kind: u8, depth: usize) -> Option<()> {
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
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    self.skip_at(kind, depth + 1)?;
                }
            }
            12 => {
                let mut field = 0;
                while let Some((number, kind)) = self.field(field)? {
                    field = number;
                    self.skip_at(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads the beginning of a list. Returns the type and number of its elements.
    pub(super) fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // Booleans in lists are bytes.
        Some((if matches!(head & 15, 1 | 2) { 3 } else { head & 15 }, count))
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

    pub(super) fn integer(&mut self) -> Option<i64> {
        self.varint().map(|number| ZigZag(number).signed())
    }
}
