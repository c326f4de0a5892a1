//! Decodes two encodings of whole numbers in pages, as far as the sizes of values need them: the hybrid of runs and
//! packed bits, and `DELTA_BINARY_PACKED` (Parquet's specification, Encodings.md).
//!
//! Numbers are those that the library (parquet 60) decodes: values must never take less memory here than there. So what
//! the library's own decoders read in several ways, and no writer writes, is `None`, like the end of the bytes and damage.
//! Each step reads a byte or returns a number.

use bytes::{Buf as _, Bytes};
use leitong_base::varint::ZigZag;

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
            debug_assert_eq!(count, 1, "packed numbers come one by one");
            *bit += self.width as usize;
        }
    }

    fn begin_run(&mut self) -> Option<()> {
        // The library passes over a head of 0, with or without a number behind it.
        let head = varint(&self.bytes, &mut self.at).filter(|head| (1..=1 << 32).contains(head))?;
        if head & 1 == 0 {
            let length = self.width.div_ceil(8) as usize;
            let number = self.bytes.get(self.at..self.at.checked_add(length)?)?;
            let number = number.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte));
            self.at += length;
            (self.left, self.run) = (head >> 1, Run::Repeated(number));
        } else {
            self.left = head >> 1 << 3;
            self.run = if self.width == 0 { Run::Repeated(0) } else { Run::Packed(self.at * 8) };
            self.at = self.at.checked_add(self.left as usize / 8 * self.width as usize)?;
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
    /// The number that is returned first, until it is.
    first: Option<i64>,
    /// The number that was returned last.
    number: i64,
    /// The smallest difference in this block. Only what a difference has more is stored.
    smallest: i64,
    /// The widths of the parts of this block that are left.
    widths: Bytes,
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
    /// Creates a decoder: reads the header of the encoding. `None` if it is damaged, or claims more than `numbers_max`
    /// numbers: the library allocates memory for all of them.
    pub(super) fn new(bytes: Bytes, numbers_max: u64) -> Option<Self> {
        let mut at = 0;
        let block = varint(&bytes, &mut at)?;
        let parts = usize::try_from(varint(&bytes, &mut at)?).ok().filter(|parts| *parts > 0)?;
        let left = varint(&bytes, &mut at).filter(|left| *left <= numbers_max)?;
        let number = ZigZag(varint(&bytes, &mut at)?).signed();
        let part_numbers = block / parts as u64;
        let is_valid = block <= 1 << 32 && block.is_multiple_of(128) && part_numbers.is_multiple_of(32);
        (is_valid && part_numbers > 0).then_some(Self {
            bytes,
            at,
            part_numbers,
            parts,
            left,
            first: Some(number),
            number,
            smallest: 0,
            widths: Bytes::new(),
            part: Part::default(),
        })
    }

    /// Returns the next number, of which the library keeps 32 bits. `None` at the end, or if the bytes are damaged.
    pub(super) fn next(&mut self) -> Option<i32> {
        self.left = self.left.checked_sub(1)?;
        if let Some(first) = self.first.take() {
            return i32::try_from(first).ok();
        }
        if self.part.left == 0 {
            self.begin_part()?;
        }
        let Part { left, bit, width } = &mut self.part;
        let delta = bits(&self.bytes, *bit, *width)?;
        *left -= 1;
        *bit += *width as usize;
        self.number = self.number.wrapping_add(self.smallest).wrapping_add(delta.cast_signed());
        Some(self.number as i32)
    }

    /// Returns the bytes after these numbers. Passes over all blocks that are left, by their widths.
    pub(super) fn after(&self) -> Option<Bytes> {
        let mut rest = self.clone();
        rest.left = rest.left.saturating_sub(u64::from(rest.first.is_some()));
        rest.left = rest.left.saturating_sub(rest.part.left);
        while rest.left > 0 {
            rest.begin_part()?;
            rest.left = rest.left.saturating_sub(rest.part_numbers);
        }
        (rest.at <= rest.bytes.len()).then(|| rest.bytes.slice(rest.at..))
    }

    fn begin_part(&mut self) -> Option<()> {
        if self.widths.is_empty() {
            self.smallest = ZigZag(varint(&self.bytes, &mut self.at)?).signed();
            let end = self.at.checked_add(self.parts).filter(|end| *end <= self.bytes.len())?;
            self.widths = self.bytes.slice(self.at..end);
            self.at = end;
        }
        let width = Some(u32::from(self.widths.try_get_u8().ok()?)).filter(|width| *width <= 64)?;
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

/// Reads the variable-length number at `at`, and advances past it. Bits above the 64th are lost, as in the library.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
pub(super) use tests::delta_packed;

#[cfg(test)]
mod tests {
    use leitong_base::varint::push_varint;

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
        let many = Bytes::from_static(&[0xfe, 0xff, 0xff, 0xff, 0x0f]);
        assert_eq!(Hybrid::new(many, 0).peek().map(|run| run.1), Some(0));
    }

    #[test]
    fn deltas_of_written_bytes_are_decoded() {
        // Blocks of 128 in 4 parts, 5 numbers: 7, then deltas 1, 2, 1, 2 with smallest 1 and a width of 1.
        let mut bytes = vec![0x80, 1, 4, 5, 14, 2, 1, 0, 0, 0, 0b1010, 0, 0, 0];
        bytes.extend_from_slice(b"rest");
        let mut deltas = Deltas::new(Bytes::from(bytes), 5).expect("numbers");
        for number in [7, 8, 10, 11, 13] {
            assert_eq!(deltas.after().as_deref(), Some(&b"rest"[..]));
            assert_eq!(deltas.next(), Some(number));
        }
        assert_eq!((deltas.next(), deltas.after().as_deref()), (None, Some(&b"rest"[..])));
    }

    /// Appends numbers of `width` bits, lowest bits first, as the specification says.
    fn pack(numbers: &[u64], width: u32, bytes: &mut Vec<u8>) {
        let bits: Vec<u8> =
            numbers.iter().flat_map(|n| (0..width).map(move |bit| (n >> bit & 1) as u8)).collect();
        bytes.extend(bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |byte, bit| byte << 1 | bit)));
    }

    /// Encodes numbers in blocks of 128 differences, in 4 parts.
    pub(crate) fn delta_packed(numbers: &[i32]) -> Vec<u8> {
        let mut bytes = vec![0x80, 1, 4];
        push_varint(numbers.len() as u64, &mut bytes);
        push_varint(ZigZag::from(i64::from(numbers.first().copied().unwrap_or(0))).0, &mut bytes);
        let deltas: Vec<i64> =
            numbers.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect();
        for block in deltas.chunks(128) {
            let smallest = *block.iter().min().expect("a difference");
            push_varint(ZigZag::from(smallest).0, &mut bytes);
            let mut more: Vec<u64> = block.iter().map(|d| d.wrapping_sub(smallest).cast_unsigned()).collect();
            more.resize(128, 0);
            let width_of = |part: &[u64]| part.iter().map(|n| 64 - n.leading_zeros()).max().unwrap_or(0);
            bytes.extend(more.chunks(32).map(|part| width_of(part) as u8));
            // Parts without numbers have no bytes.
            let parts = more.chunks(32).take(block.len().div_ceil(32));
            parts.for_each(|part| pack(part, width_of(part), &mut bytes));
        }
        bytes
    }

    proptest::proptest! {
        #[test]
        fn deltas_are_decoded_and_end_where_the_next_bytes_begin(
            small in proptest::collection::vec(-9_i32..9, 0..300),
            any in proptest::collection::vec(proptest::num::i32::ANY, 0..40),
        ) {
            for numbers in [small.clone(), any.clone(), [small, any].concat()] {
                let bytes = [&*delta_packed(&numbers), b"rest"].concat();
                let rest = Some(Bytes::from_static(b"rest"));
                let mut deltas = Deltas::new(Bytes::from(bytes), 400).expect("numbers");
                for number in numbers {
                    proptest::prop_assert_eq!(&deltas.after(), &rest);
                    proptest::prop_assert_eq!(deltas.next(), Some(number));
                }
                proptest::prop_assert_eq!((deltas.next(), deltas.after()), (None, rest));
            }
        }

        #[test]
        fn packed_numbers_of_every_width_are_decoded(numbers: [u64; 8], width in 0..65_u32) {
            let numbers = numbers.map(|number| number & u64::MAX.checked_shr(64 - width).unwrap_or(0));
            let mut bytes = vec![3];
            pack(&numbers, width, &mut bytes);
            let mut hybrid = Hybrid::new(Bytes::from(bytes), width);
            for number in numbers {
                let (_, found) = hybrid.peek().expect("a number");
                proptest::prop_assert_eq!(found, number);
                hybrid.pass(1);
            }
            proptest::prop_assert_eq!(hybrid.peek(), None);
        }

        #[test]
        fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(0_u8.., 0..40), width in 0..65_u32) {
            let mut hybrid = Hybrid::new(Bytes::from(bytes.clone()), width);
            // A run of zero bits may claim any number of numbers.
            while let Some((count, _)) = hybrid.peek() {
                proptest::prop_assert!(count > 0);
                hybrid.pass(count);
            }
            if let Some(mut deltas) = Deltas::new(Bytes::from(bytes), 1 << 40) {
                let _ = deltas.after();
                (0..10_000).map_while(|_| deltas.next()).for_each(drop);
            }
        }
    }
}
