//! Variable-length integers, as protobuf has them: 7 bits per byte, lowest bits first. The top bit of a byte is set if
//! more bytes follow.

use prost::encoding::{decode_varint, encode_varint};

/// Appends `value` to `bytes`.
pub fn push_varint(value: impl Into<u64>, bytes: &mut Vec<u8>) {
    encode_varint(value.into(), bytes);
}

/// Reads a number from the front of `bytes` and advances past it. Returns `None` if the bytes end too early
/// or the number does not fit into `N`.
pub fn take_varint<N: TryFrom<u64>>(bytes: &mut &[u8]) -> Option<N> {
    decode_varint(bytes).ok().and_then(|value| N::try_from(value).ok())
}

/// A signed number as an unsigned one, so that numbers close to 0 remain small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZigZag(pub u64);

impl ZigZag {
    /// Returns the signed number.
    #[must_use]
    pub fn signed(self) -> i64 {
        (self.0 >> 1).cast_signed() ^ -((self.0 & 1).cast_signed())
    }
}

impl From<i64> for ZigZag {
    fn from(number: i64) -> Self {
        Self(((number << 1) ^ (number >> 63)).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_of_either_sign_remain_small() {
        let numbers = [0, -1, 1, -2, i64::MAX, i64::MIN];
        assert_eq!(numbers.map(|number| ZigZag::from(number).0), [0, 1, 2, 3, u64::MAX - 1, u64::MAX]);
        assert!((-300..300).chain(numbers).all(|number| ZigZag::from(number).signed() == number));
    }

    #[test]
    fn rejects_numbers_that_are_too_large_or_cut_off() {
        assert_eq!(take_varint::<u64>(&mut &[0x80; 3][..]), None);
        assert_eq!(take_varint::<u64>(&mut &[0xff; 11][..]), None);
        let above_64_bits = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2];
        assert_eq!(take_varint::<u64>(&mut &above_64_bits[..]), None);
        let mut bytes = Vec::new();
        push_varint(1_u64 << 32, &mut bytes);
        assert_eq!(take_varint::<u32>(&mut &bytes[..]), None);
        assert_eq!(take_varint::<u64>(&mut &bytes[..]), Some(1 << 32));
    }
}
