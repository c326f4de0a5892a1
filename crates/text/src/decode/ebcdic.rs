//! Decodes EBCDIC, the charsets of mainframes, which the Encoding Standard lacks.
//!
//! In: bytes. Out: the text, if EBCDIC is declared, or the bytes have its spaces and letters. In ASCII its space is `@`,
//! and its letters are above 0x7f. Cost: reads the first bytes of other pages.

use super::tables::{self, CodePage};

/// Number of bytes that are examined to detect EBCDIC.
const LOOKED_AT: usize = 1024;

/// Returns the charset if `bytes` are EBCDIC. Most pages are in the first code page; the markup may declare another.
pub(super) fn detect(bytes: &[u8]) -> Option<&'static CodePage> {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let count = |wanted: fn(u8) -> bool| head.iter().filter(|byte| wanted(**byte)).count();
    let is_letter = |byte| matches!(byte, 0x81..=0x89 | 0x91..=0x99 | 0xa2..=0xa9 | 0xc1..=0xc9 | 0xd1..=0xd9 | 0xe2..=0xe9);
    let is_space = |byte| matches!(byte, 0x40 | 0x15 | 0x25);
    let is_of_ascii = |byte| matches!(byte, b' ' | b'\n' | b'a'..=b'z');
    // Few pages have that many letters, so for most of them only these are counted.
    let is_ebcdic = head.len() >= 8
        && count(is_letter) * 2 >= head.len()
        && count(is_space) * 20 >= head.len()
        && count(is_of_ascii) * 10 <= head.len();
    is_ebcdic.then(|| tables::with_code_page(37)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_mainframe_is_found() {
        // <html><p>The ferry is late
        let bytes = b"\x4c\x88\xa3\x94\x93\x6e\x4c\x97\x6e\xe3\x88\x85\x40\x86\x85\x99\x99\xa8\x40\x89\xa2\x40\x93\x81\xa3\x85";
        let table = detect(bytes).expect("EBCDIC");
        assert_eq!(table.decode(bytes), "<html><p>The ferry is late");
        for other in
            ["<html><p>The ferry is late, and nobody knows why", "渡轮将在十月底停运，港务局表示。@ @"]
        {
            assert!(
                detect(other.as_bytes()).is_none() && detect(&encoding_rs::GBK.encode(other).0).is_none()
            );
        }
        assert!(detect(b"").is_none());
    }
}
