//! Variable-length integers: 7 bits per byte, lowest bits first. The top bit of a byte is set if more bytes
//! follow.

/// Appends `value` to `bytes`.
pub fn push_varint(value: impl Into<u64>, bytes: &mut Vec<u8>) {
    let mut value = value.into();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a number from the front of `bytes` and advances past it. Returns `None` if the bytes end too early
/// or the number does not fit into `N`.
pub fn take_varint<N: TryFrom<u64>>(bytes: &mut &[u8]) -> Option<N> {
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if *byte < 0x80 {
            return N::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_what_it_writes(value: u64, shift in 0..64) {
            let mut bytes = Vec::new();
            push_varint(value >> shift, &mut bytes);
            bytes.push(7);
            let mut rest = &bytes[..];
            prop_assert_eq!(take_varint(&mut rest), Some(value >> shift));
            prop_assert_eq!(rest, &[7]);
            prop_assert_eq!(take_varint::<u32>(&mut &bytes[..]), u32::try_from(value >> shift).ok());
        }
    }

    #[test]
    fn rejects_numbers_that_are_too_large_or_cut_off() {
        assert_eq!(take_varint::<u64>(&mut &[0x80; 3][..]), None);
        assert_eq!(take_varint::<u64>(&mut &[0xff; 11][..]), None);
        assert_eq!(
            take_varint::<u64>(&mut &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2][..]),
            None
        );
    }
}
