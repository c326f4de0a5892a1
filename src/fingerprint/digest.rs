//! Document → [`TextDigest`]: tells texts that are equal, but for white space, from all others.

use super::letters;
use super::secret::DigestHash;
use crate::extract::Document;
use crate::record::TextDigest;

/// The digest of the main text's characters without white space, so that line breaks, indentation
/// and the division into paragraphs do not matter. `buffer` is scratch space. Linear.
pub fn text_digest(document: &Document, hash: &DigestHash, buffer: &mut Vec<u8>) -> TextDigest {
    buffer.clear();
    for paragraph in &document.paragraphs {
        push_without_white_space(&paragraph.text, buffer);
    }
    // Every byte that continues no character begins one.
    let chars = buffer.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    TextDigest { digest: hash.hash(buffer), chars: u32::try_from(chars).unwrap_or(u32::MAX) }
}

/// As how many letters a text without white space counts, which is UTF-8: an ideograph as three, since
/// a poem of twenty says as much as a line of sixty letters.
#[must_use]
pub fn letters(text: &[u8]) -> u32 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.chars().map(|c| letters::size(c).unwrap_or(1)).sum()
}

/// The bytes with which white space begins, in Unicode: few
/// enough that text can be scanned without decoding.
const BEGINS_WHITE_SPACE: [bool; 256] = {
    let mut begins = [false; 256];
    let first_bytes = [b'\t', b'\n', 0x0b, 0x0c, b'\r', b' ', 0xc2, 0xe1, 0xe2, 0xe3];
    let mut i = 0;
    while i < first_bytes.len() {
        begins[first_bytes[i] as usize] = true;
        i += 1;
    }
    begins
};

fn push_without_white_space(text: &str, buffer: &mut Vec<u8>) {
    let mut rest = text;
    let mut at = 0;
    while let Some(offset) =
        rest.as_bytes()[at..].iter().position(|byte| BEGINS_WHITE_SPACE[usize::from(*byte)])
    {
        at += offset;
        let c = rest[at..].chars().next().unwrap_or_default();
        if c.is_whitespace() {
            buffer.extend_from_slice(&rest.as_bytes()[..at]);
            rest = &rest[at + c.len_utf8()..];
            at = 0;
        } else {
            at += c.len_utf8();
        }
    }
    buffer.extend_from_slice(rest.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> TextDigest {
        text_digest(&Document::from_text(None, text), &DigestHash::default(), &mut Vec::new())
    }

    #[test]
    fn white_space_does_not_matter_and_all_else_does() {
        let one = digest("春天来了。\n\n万物 复苏。");
        assert_eq!(one, digest("春天　来了。万物\t复苏。\n"));
        assert_eq!(one.chars, 10);
        assert_ne!(one, digest("春天来了。万物复苏！"));
        assert_ne!(digest("ABC"), digest("ＡＢＣ"));
    }

    #[test]
    fn is_fixed_for_ever() {
        assert_eq!(format!("{:032x}", digest("雷同").digest), "41581c06173ddf55788fda384e0d321e");
    }

    #[test]
    fn all_white_space_of_unicode_goes_and_nothing_else() {
        for c in '\0'..=char::MAX {
            let mut buffer = Vec::new();
            push_without_white_space(&format!("{c}a{c}中{c}"), &mut buffer);
            let expected = if c.is_whitespace() { "a中".to_owned() } else { format!("{c}a{c}中{c}") };
            assert_eq!(buffer, expected.as_bytes(), "{c:?}");
        }
    }
}
