//! Decodes two encodings of whole numbers in pages, as far as the sizes of values need them: the hybrid of runs and packed
//! bits, and `DELTA_BINARY_PACKED` (Parquet's specification, Encodings.md).
//!
//! Bytes are not trusted: damaged ones give `None`, and never a panic. Each step reads a byte or returns a number.

use bytes::Bytes;
use leitong_base::varint::take_varint;

/// Numbers in the hybrid of runs and packed bits: levels, and indexes into a dictionary.
#[derive(Debug, Clone)]
pub(super) struct Hybrid {
    bytes: Bytes,
    at: usize,
    width: u32,
    /// Count of numbers left in the current run.
    left: u64,
    run: Run,
}

#[derive(Debug, Clone, Copy)]
enum Run {
    /// The number that is repeated.
    Repeated(u64),
    /// The position of the next number, in bits.
    Packed(usize),
}

impl Hybrid {
    /// Creates a decoder of numbers of `width` bits.
    pub(super) fn new(bytes: Bytes, width: u32) -> Self {
        Self { bytes, at: 0, width, left: 0, run: Run::Repeated(0) }
    }

    /// Returns how often the next number is repeated, and the number. `None` at the end, or if the bytes are damaged.
    pub(super) fn peek(&mut self) -> Option<(u64, u64)> {
        while self.left == 0 {
            self.begin_run()?;
        }
        match self.run {
            Run::Repeated(number) => Some((self.left, number)),
            Run::Packed(bit) => Some((1, bits(&self.bytes, bit, self.width)?)),
        }
    }

    /// Moves on by `count` numbers, from 1 to as many as [`Self::peek`] has returned.
    pub(super) fn pass(&mut self, count: u64) {
        self.left -= count;
        if let Run::Packed(bit) = &mut self.run {
            *bit += self.width as usize;
        }
    }

    fn begin_run(&mut self) -> Option<()> {
        let head = varint(&self.bytes, &mut self.at)?;
        if head & 1 == 0 {
            let length = self.width.div_ceil(8) as usize;
            let number = self.bytes.get(self.at..self.at.checked_add(length)?)?;
            let number = number.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte));
            self.at += length;
            (self.left, self.run) = (head >> 1, Run::Repeated(number));
        } else {
            let groups = head >> 1;
            let length = usize::try_from(groups.checked_mul(u64::from(self.width))?).ok()?;
            (self.left, self.run) = (groups.checked_mul(8)?, Run::Packed(self.at * 8));
            if self.width == 0 {
                self.run = Run::Repeated(0);
            }
            self.at = self.at.checked_add(length)?;
        }
        Some(())
    }
}

/// Numbers in the delta encoding: lengths of strings.
#[derive(Debug, Clone)]
pub(super) struct Deltas {
    bytes: Bytes,
    at: usize,
    /// Count of numbers in each part of a block.
    part_numbers: u64,
    /// Count of parts in a block.
    parts: usize,
    /// Count of numbers left, in all blocks.
    left: u64,
    /// The number that was returned last, or that is returned first.
    number: i64,
    is_first: bool,
    /// The smallest difference in this block. Only what a difference has more is stored.
    smallest: i64,
    /// The widths of the parts of this block that are left.
    widths: std::vec::IntoIter<u8>,
    part: Part,
}

/// A part of a block.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Count of differences left.
    left: u64,
    /// The position of the next difference, in bits.
    bit: usize,
    /// The size of each difference, in bits.
    width: u32,
}

impl Deltas {
    /// Creates a decoder: reads the header of the encoding.
    pub(super) fn new(bytes: Bytes) -> Option<Self> {
        let mut at = 0;
        let block = varint(&bytes, &mut at)?;
        let parts =
            usize::try_from(varint(&bytes, &mut at)?).ok().filter(|parts| (1..=1 << 16).contains(parts))?;
        let left = varint(&bytes, &mut at)?;
        let number = zigzag(varint(&bytes, &mut at)?);
        let part_numbers = block / parts as u64;
        (part_numbers > 0 && part_numbers.is_multiple_of(8)).then_some(Self {
            bytes,
            at,
            part_numbers,
            parts,
            left,
            number,
            is_first: true,
            smallest: 0,
            widths: Vec::new().into_iter(),
            part: Part::default(),
        })
    }

    /// Returns the next number. `None` at the end, or if the bytes are damaged.
    pub(super) fn next(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1)?;
        if std::mem::take(&mut self.is_first) {
            return Some(self.number);
        }
        if self.part.left == 0 {
            self.begin_part()?;
        }
        let Part { left, bit, width } = &mut self.part;
        let delta = if *width == 0 { 0 } else { bits(&self.bytes, *bit, *width)? };
        *left -= 1;
        *bit += *width as usize;
        self.number = self.number.wrapping_add(self.smallest).wrapping_add(delta.cast_signed());
        Some(self.number)
    }

    /// Returns the bytes after these numbers.
    pub(super) fn after(&self) -> Option<Bytes> {
        let mut rest = self.clone();
        rest.left = rest.left.saturating_sub(u64::from(rest.is_first));
        rest.left = rest.left.saturating_sub(rest.part.left);
        while rest.left > 0 {
            rest.begin_part()?;
            rest.left = rest.left.saturating_sub(rest.part_numbers);
        }
        (rest.at <= rest.bytes.len()).then(|| rest.bytes.slice(rest.at..))
    }

    fn begin_part(&mut self) -> Option<()> {
        if self.widths.len() == 0 {
            self.smallest = zigzag(varint(&self.bytes, &mut self.at)?);
            let widths = Vec::from(self.bytes.get(self.at..self.at.checked_add(self.parts)?)?);
            self.widths = widths.into_iter();
            self.at += self.parts;
        }
        let width = u32::from(self.widths.next()?);
        if width > 64 {
            return None;
        }
        self.part = Part { left: self.part_numbers, bit: self.at.checked_mul(8)?, width };
        let length = usize::try_from(self.part_numbers.checked_mul(u64::from(width))? / 8).ok()?;
        self.at = self.at.checked_add(length)?;
        Some(())
    }
}

/// Returns the number of `width` bits at the position `bit`, lowest bits first.
fn bits(bytes: &[u8], bit: usize, width: u32) -> Option<u64> {
    let (first, shift) = (bit / 8, bit % 8);
    let count = (shift + width as usize).div_ceil(8);
    let bytes = bytes.get(first..first.checked_add(count)?)?;
    let number = bytes.iter().rev().fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    Some(((number >> shift) as u64) & mask)
}

/// Reads the variable-length number at `at`, and advances past it.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut rest = bytes.get(*at..)?;
    let number = take_varint(&mut rest)?;
    *at = bytes.len() - rest.len();
    Some(number)
}

/// Returns the signed number that is encoded as `number`: the lowest bit is the sign.
pub(super) fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_numbers_are_decoded() {
        // Five times 3, then eight numbers of three bits: 0 to 7.
        let bytes = Bytes::from_static(&[10, 3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        let mut hybrid = Hybrid::new(bytes, 3);
        assert_eq!(hybrid.peek(), Some((5, 3)));
        hybrid.pass(2);
        assert_eq!(hybrid.peek(), Some((3, 3)));
        hybrid.pass(3);
        for number in 0..8 {
            assert_eq!(hybrid.peek(), Some((1, number)));
            hybrid.pass(1);
        }
        assert_eq!(hybrid.peek(), None);
        assert_eq!(
            Hybrid::new(Bytes::from_static(&[0xfe, 0xff, 0xff, 0xff, 0x0f]), 0).peek().map(|run| run.1),
            Some(0)
        );
    }

    #[test]
    fn deltas_are_decoded_and_end_where_the_next_bytes_begin() {
        // Blocks of 128 in 4 parts, 5 numbers: 7, then deltas 1, 2, 1, 2 with smallest 1 and a width of 1.
        let mut bytes = vec![0x80, 1, 4, 5, 14, 2, 1, 0, 0, 0, 0b1010, 0, 0, 0];
        bytes.extend_from_slice(b"rest");
        let mut deltas = Deltas::new(Bytes::from(bytes)).expect("numbers");
        for number in [7, 8, 10, 11, 13] {
            assert_eq!(deltas.after().as_deref(), Some(&b"rest"[..]));
            assert_eq!(deltas.next(), Some(number));
        }
        assert_eq!((deltas.next(), deltas.after().as_deref()), (None, Some(&b"rest"[..])));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(0_u8.., 0..40), width in 0..65_u32) {
            let mut hybrid = Hybrid::new(Bytes::from(bytes.clone()), width);
            // A run of zero bits may claim any number of numbers.
            while let Some((count, _)) = hybrid.peek() {
                proptest::prop_assert!(count > 0);
                hybrid.pass(count);
            }
            if let Some(mut deltas) = Deltas::new(Bytes::from(bytes)) {
                let _ = deltas.after();
                (0..10_000).map_while(|_| deltas.next()).for_each(drop);
            }
        }
    }
}
