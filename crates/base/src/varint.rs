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

/// Maps signed numbers to unsigned ones: those close to 0 remain small.
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

/// Returns the number that [`zigzag`] maps to `number`.
pub fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_of_either_sign_remain_small() {
        assert_eq!([0, -1, 1, -2, i64::MAX, i64::MIN].map(zigzag), [0, 1, 2, 3, u64::MAX - 1, u64::MAX]);
        assert!((-300..300).chain([i64::MIN, i64::MAX]).all(|number| unzigzag(zigzag(number)) == number));
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
