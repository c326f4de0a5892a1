//! Decodes UTF-16 without a byte order mark, and UTF-32, which the Encoding Standard lacks.
//!
//! In: bytes. Out: the text, if zero bytes are where only these encodings have them. Markup is mostly ASCII, so every
//! second byte of UTF-16 (three of four of UTF-32) is zero. Cost: reads the first bytes of other pages.

use std::borrow::Cow;

use encoding_rs::{UTF_16BE, UTF_16LE};

use super::plausible::COMMON;
use super::{Decoded, How, decode_as, decoded_as};

/// Number of bytes that are examined to detect the encoding.
const LOOKED_AT: usize = 1024;

/// Minimum share of [usual](is_usual) characters in UTF-16 without many zeros, in percent. Random bytes have 6.
const USUAL_PERCENT_MIN: usize = 35;

/// Returns true if `bytes` begin with a UTF-32 byte order mark. Its little-endian form begins like UTF-16's.
pub(super) fn is_utf32_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff")
}

/// Returns the text of `bytes`, if they are UTF-32, or UTF-16 without a mark.
pub(super) fn decode(bytes: &[u8]) -> Option<Decoded<'_>> {
    if is_utf32_mark(bytes) {
        return Some(utf32(&bytes[4..], bytes[0] == 0, How::Bom));
    }
    // Pages with little markup have few zeros, but the first tag shows where they are.
    match bytes {
        [b'<', 0, b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z', 0, _, 0, ..] => {
            return Some(decode_as(UTF_16LE, How::Detected, bytes));
        }
        [0, b'<', 0, b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z', 0, ..] => {
            return Some(decode_as(UTF_16BE, How::Detected, bytes));
        }
        _ => {}
    }
    let head = &bytes[..bytes.len().min(LOOKED_AT) & !3];
    let zeros: [usize; 4] =
        std::array::from_fn(|lane| head.iter().skip(lane).step_by(4).filter(|b| **b == 0).count());
    let quarter = head.len() / 4;
    if quarter < 4 || zeros.iter().all(|&zeros| zeros == 0) {
        return None;
    }
    // Characters above U+FFFF use only the third byte of UTF-32 in addition; its fourth is always zero.
    let mostly = |lane: usize| zeros[lane] * 10 >= quarter * 9;
    let rarely = |lane: usize| zeros[lane] * 10 <= quarter;
    if mostly(3) && mostly(2) && rarely(0) {
        return Some(utf32(bytes, false, How::Detected));
    }
    if mostly(0) && mostly(1) && rarely(3) {
        return Some(utf32(bytes, true, How::Detected));
    }
    // Half of the characters are below U+0100: zeros on one side, and none on the other.
    let half = |lane: usize| zeros[lane] * 2 >= quarter;
    if half(1) && half(3) && rarely(0) && rarely(2) {
        return Some(decode_as(UTF_16LE, How::Detected, bytes));
    }
    if half(0) && half(2) && rarely(1) && rarely(3) {
        return Some(decode_as(UTF_16BE, How::Detected, bytes));
    }
    None
}

/// Returns the text of `bytes`, which have too many control bytes for a text, if they are UTF-16 without many zeros: text
/// without markup in another script than Latin.
pub(super) fn decode_without_zeros(bytes: &[u8]) -> Option<Decoded<'_>> {
    let head = &bytes[..bytes.len().min(LOOKED_AT) & !1];
    let is_read = |encoding: &'static encoding_rs::Encoding| {
        let text = encoding.decode_without_bom_handling(head).0;
        let usual = text.chars().filter(|c| is_usual(*c)).count();
        head.len() >= 16 && usual * 100 >= USUAL_PERCENT_MIN * text.chars().count()
    };
    let encoding = [UTF_16LE, UTF_16BE].into_iter().find(|encoding| is_read(encoding))?;
    Some(decode_as(encoding, How::Detected, bytes))
}

/// Returns true for letters of small alphabets, punctuation, and the most common characters of East Asian scripts.
pub(super) fn is_usual(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{a0}'..='\u{6ff}' | '\u{900}'..='\u{e7f}')
        || matches!(c, '\u{2010}'..='\u{2044}' | '\u{3000}'..='\u{30ff}' | '\u{ff01}'..='\u{ff5e}')
        || COMMON.contains(c)
}

fn utf32(bytes: &[u8], big_endian: bool, how: How) -> Decoded<'static> {
    let units = bytes.chunks(4).map(|unit| {
        let code = <[u8; 4]>::try_from(unit)
            .ok()
            .map(|unit| if big_endian { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) });
        code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    });
    let text: String = units.collect();
    let charset = if big_endian { "UTF-32BE" } else { "UTF-32LE" };
    decoded_as(Cow::Owned(text), charset, how)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Chinese page with little markup is accepted, although most of its characters have no zero byte.
    #[test]
    fn a_page_with_little_markup_is_utf_16_by_its_first_tag() {
        let page = format!("<p>{}</p>", "渡轮将在十月底停运，港务局表示。".repeat(20));
        let little: Vec<u8> = page.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = page.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            assert_eq!(decode(&bytes).expect("UTF-16").text, page);
        }
    }

    /// Text without markup was refused, because the bytes of its letters are control bytes.
    #[test]
    fn text_without_markup_is_utf_16_by_its_letters() {
        for text in [
            "渡轮将在十月底停运，港务局表示，这是大家都知道的事。",
            "Паром перестанет ходить в конце октября.",
        ] {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            for bytes in [little, big] {
                assert_eq!(decode_without_zeros(&bytes).expect("UTF-16").text, text);
            }
        }
        let binary: Vec<u8> = (0..2000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert_eq!(decode_without_zeros(&binary), None);
    }

    #[test]
    fn utf_32_and_utf_16_are_distinguished() {
        let text = "<html><body>Some text, 一些字</body></html>";
        let utf32le: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        let utf32be: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        let utf16le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (bytes, charset) in
            [(utf32le, "UTF-32LE"), (utf32be, "UTF-32BE"), (utf16le, "UTF-16LE"), (utf16be, "UTF-16BE")]
        {
            let decoded = decode(&bytes);
            assert_eq!(decoded.map(|d| (d.text.into_owned(), d.charset)), Some((text.to_owned(), charset)));
        }
        assert_eq!(decode(b"<html>plain bytes without any zero</html>"), None);
        assert_eq!(decode(b""), None);
    }
}
