//! Computes the [`TextDigest`] of a document. Texts that differ only in white space or in the width of
//! characters have the same digest.

use super::letters;
use super::secret::DigestHash;
use leitong_base::record::TextDigest;
use leitong_text::extract::Document;

/// Returns the digest of the main text's characters without white space: line breaks, indentation and the
/// division into paragraphs do not matter. Full-width and half-width forms of a character are equal; letter
/// case matters. `buffer` is scratch space. Linear.
pub fn text_digest(document: &Document, hash: &DigestHash, buffer: &mut Vec<u8>) -> TextDigest {
    buffer.clear();
    for paragraph in &document.paragraphs {
        push_folded(&paragraph.text, buffer);
    }
    // Every byte that is not a continuation byte begins a character.
    let chars = buffer.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    TextDigest { digest: hash.hash(buffer), chars: u32::try_from(chars).unwrap_or(u32::MAX) }
}

/// Returns the length of a UTF-8 text without white space, in letters. An ideograph counts as three: a poem
/// of twenty ideographs says as much as a line of sixty letters.
#[must_use]
pub fn letters(text: &[u8]) -> u32 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.chars().map(|c| letters::size(c).unwrap_or(1)).sum()
}

/// The first UTF-8 bytes of white space and of full-width and half-width forms. They are few enough to scan
/// text without decoding.
const BEGINS_FOLDED: [bool; 256] = {
    let mut begins = [false; 256];
    let first_bytes = [b'\t', b'\n', 0x0b, 0x0c, b'\r', b' ', 0xc2, 0xe1, 0xe2, 0xe3, 0xef];
    let mut i = 0;
    while i < first_bytes.len() {
        begins[first_bytes[i] as usize] = true;
        i += 1;
    }
    begins
};

/// Appends `text` without white space, with each character in its usual width.
fn push_folded(text: &str, buffer: &mut Vec<u8>) {
    let mut rest = text;
    let mut at = 0;
    while let Some(offset) = rest.as_bytes()[at..].iter().position(|byte| BEGINS_FOLDED[usize::from(*byte)]) {
        at += offset;
        let c = rest[at..].chars().next().unwrap_or_default();
        let is_space = c.is_whitespace();
        let folded = usual_width(c);
        at += c.len_utf8();
        if !is_space && folded == c {
            continue;
        }
        buffer.extend_from_slice(&rest.as_bytes()[..at - c.len_utf8()]);
        rest = &rest[at..];
        at = 0;
        if is_space {
            continue;
        }
        if let Some(mark) = voicing_mark(c)
            && let Some(voiced) = last_char(buffer).and_then(|base| voiced(base, mark))
        {
            buffer.truncate(buffer.len() - VOICED_BYTES);
            push(voiced, buffer);
        } else {
            push(folded, buffer);
        }
    }
    buffer.extend_from_slice(rest.as_bytes());
}

fn push(c: char, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Returns the character of usual width for a full-width or half-width form, by Unicode's `<wide>` and
/// `<narrow>` decompositions; all other characters are returned as they are.
fn usual_width(c: char) -> char {
    let at = |table: &'static str, first: u32| table.chars().nth((u32::from(c) - first) as usize);
    let usual = match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{ff5f}'..='\u{ff60}' => at("⦅⦆", 0xff5f),
        '\u{ff61}'..='\u{ff9f}' => at(KATAKANA, 0xff61),
        '\u{ffa0}' => Some('\u{3164}'),
        '\u{ffa1}'..='\u{ffbe}' => char::from_u32(u32::from(c) - 0xffa1 + 0x3131),
        // Vowels, in groups of six.
        '\u{ffc2}'..='\u{ffc7}' => char::from_u32(u32::from(c) - 0xffc2 + 0x314f),
        '\u{ffca}'..='\u{ffcf}' => char::from_u32(u32::from(c) - 0xffca + 0x3155),
        '\u{ffd2}'..='\u{ffd7}' => char::from_u32(u32::from(c) - 0xffd2 + 0x315b),
        '\u{ffda}'..='\u{ffdc}' => char::from_u32(u32::from(c) - 0xffda + 0x3161),
        '\u{ffe0}'..='\u{ffe6}' => at("¢£¬¯¦¥₩", 0xffe0),
        '\u{ffe8}'..='\u{ffee}' => at("│←↑→↓■○", 0xffe8),
        _ => None,
    };
    usual.unwrap_or(c)
}

/// The characters for the half-width forms from U+FF61 on.
const KATAKANA: &str = "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u{3099}\u{309a}";
/// Number of bytes of a kana.
const VOICED_BYTES: usize = 3;

/// Returns the offset that a half-width voicing mark adds to a kana: 1 if voiced, 2 if half voiced. In
/// half-width text, such a mark is a separate character.
fn voicing_mark(c: char) -> Option<u32> {
    match c {
        '\u{ff9e}' => Some(1),
        '\u{ff9f}' => Some(2),
        _ => None,
    }
}

/// Returns the kana for this one followed by a voicing mark, if it exists.
fn voiced(base: char, mark: u32) -> Option<char> {
    let voiced = match (base, mark) {
        ('ウ', 1) => return Some('ヴ'),
        ('ワ', 1) => return Some('ヷ'),
        ('ヲ', 1) => return Some('ヺ'),
        ('カ' | 'キ' | 'ク' | 'ケ' | 'コ' | 'サ' | 'シ' | 'ス' | 'セ' | 'ソ', 1)
        | ('タ' | 'チ' | 'ツ' | 'テ' | 'ト', 1)
        | ('ハ' | 'ヒ' | 'フ' | 'ヘ' | 'ホ', 1 | 2) => u32::from(base) + mark,
        _ => return None,
    };
    char::from_u32(voiced)
}

/// Returns the last character written, if it has as many bytes as a kana.
fn last_char(buffer: &[u8]) -> Option<char> {
    let (_, last) = buffer.split_last_chunk::<VOICED_BYTES>()?;
    str::from_utf8(last).ok()?.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> TextDigest {
        text_digest(&Document::from_text(None, text), &DigestHash::default(), &mut Vec::new())
    }

    #[test]
    fn only_white_space_does_not_matter() {
        let one = digest("春天来了。\n\n万物 复苏。");
        assert_eq!(one, digest("春天　来了。万物\t复苏。\n"));
        assert_eq!(one.chars, 10);
        assert_ne!(one, digest("春天来了。万物复苏！"));
        assert_ne!(digest("abc"), digest("Abc"));
    }

    #[test]
    fn the_digest_of_a_text_never_changes() {
        assert_eq!(format!("{:032x}", digest("雷同").digest), "41581c06173ddf55788fda384e0d321e");
    }

    #[test]
    fn full_width_and_half_width_forms_are_equal() {
        assert_eq!(digest("ABC,123!"), digest("ＡＢＣ，１２３！"));
        assert_eq!(digest("ガギパピ、ヴァイオリン"), digest("ｶﾞｷﾞﾊﾟﾋﾟ､ｳﾞｧｲｵﾘﾝ"));
        assert_eq!(digest("ㄱㅏ￦"), digest("ﾡￂ₩"));
        assert_ne!(digest("ガ"), digest("カ"));
        assert_ne!(digest("ｶﾞ"), digest("ｶﾟ"));
    }

    #[test]
    fn only_white_space_and_widths_change() {
        use unicode_normalization::UnicodeNormalization;
        for c in '\0'..=char::MAX {
            let mut buffer = Vec::new();
            push_folded(&format!("{c}a{c}中{c}"), &mut buffer);
            let is_form = matches!(c, '\u{ff01}'..='\u{ffee}');
            let folded = match c {
                c if c.is_whitespace() => String::new(),
                // Unicode decomposes these characters further.
                '\u{ffe3}' => "¯".to_owned(),
                '\u{ffa0}'..='\u{ffdc}' => {
                    let usual = usual_width(c);
                    assert!(usual.nfkc().eq(std::iter::once(c).nfkc()), "{c:?} is {usual:?}");
                    usual.to_string()
                }
                c if is_form => std::iter::once(c).nfkc().collect(),
                c => c.to_string(),
            };
            let expected = format!("{folded}a{folded}中{folded}");
            assert_eq!(buffer, expected.as_bytes(), "{c:?}");
        }
    }

    #[test]
    fn half_width_kana_become_those_of_unicode_normalisation() {
        use unicode_normalization::UnicodeNormalization;
        for base in '\u{ff61}'..='\u{ff9d}' {
            for mark in ['\u{ff9e}', '\u{ff9f}'] {
                let text = format!("x{base}{mark}y");
                let mut buffer = Vec::new();
                push_folded(&text, &mut buffer);
                assert_eq!(buffer, text.nfkc().collect::<String>().into_bytes(), "{text:?}");
            }
        }
    }
}
