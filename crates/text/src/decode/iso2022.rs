//! Decodes the charsets with the escape codes of ISO 2022: ISO-2022-JP (the Encoding Standard has only its first
//! version), ISO-2022-KR and ISO-2022-CN.
//!
//! In: ASCII bytes with escape codes. Out: the text. An escape code says which set of characters the bytes after it
//! are in. Each run of bytes of one set is decoded as the EUC form of the set, in which the bytes have their high
//! bits. Cost: linear.

use encoding_rs::{EUC_JP, EUC_KR, Encoding, GBK, ISO_8859_7, WINDOWS_1252};

use super::cns11643;

/// A text, and the name of its charset.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) charset: &'static str,
    /// Number of characters that are not ASCII.
    pub(super) characters: usize,
}

/// A set of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Ascii,
    /// ASCII with `¥` and `‾` instead of the backslash and tilde.
    Roman,
    /// Two bytes per character, as in this encoding.
    Pairs(&'static Encoding),
    /// JIS X 0212.
    Supplement,
    /// Katakana of half width.
    Katakana,
    /// A plane of CNS 11643.
    Plane(usize),
    /// The upper half of this encoding.
    UpperHalf(&'static Encoding),
}

/// An escape code: where it puts which set.
struct Escape {
    code: &'static [u8],
    slot: usize,
    set: Set,
    /// The charset, if the code is in only one.
    charset: Option<&'static str>,
}

const JAPANESE: Option<&str> = Some("ISO-2022-JP");
const KOREAN: Option<&str> = Some("ISO-2022-KR");
const CHINESE: Option<&str> = Some("ISO-2022-CN");

/// The sets of slots 0 (used at once), 1 (between SO and SI), and 2 (for one character after `ESC N`).
#[rustfmt::skip]
static ESCAPES: [Escape; 15] = [
    Escape { code: b"(B", slot: 0, set: Set::Ascii, charset: None },
    Escape { code: b"(J", slot: 0, set: Set::Roman, charset: JAPANESE },
    Escape { code: b"(I", slot: 0, set: Set::Katakana, charset: JAPANESE },
    Escape { code: b"$B", slot: 0, set: Set::Pairs(EUC_JP), charset: JAPANESE },
    Escape { code: b"$@", slot: 0, set: Set::Pairs(EUC_JP), charset: JAPANESE },
    Escape { code: b"$(B", slot: 0, set: Set::Pairs(EUC_JP), charset: JAPANESE },
    Escape { code: b"$(D", slot: 0, set: Set::Supplement, charset: JAPANESE },
    Escape { code: b"$A", slot: 0, set: Set::Pairs(GBK), charset: JAPANESE },
    Escape { code: b"$(C", slot: 0, set: Set::Pairs(EUC_KR), charset: JAPANESE },
    Escape { code: b"$)C", slot: 1, set: Set::Pairs(EUC_KR), charset: KOREAN },
    Escape { code: b"$)A", slot: 1, set: Set::Pairs(GBK), charset: CHINESE },
    Escape { code: b"$)G", slot: 1, set: Set::Plane(1), charset: CHINESE },
    Escape { code: b"$*H", slot: 2, set: Set::Plane(2), charset: CHINESE },
    Escape { code: b".A", slot: 2, set: Set::UpperHalf(WINDOWS_1252), charset: JAPANESE },
    Escape { code: b".F", slot: 2, set: Set::UpperHalf(ISO_8859_7), charset: JAPANESE },
];

/// Returns the text of `bytes`, or `None` if they have no escape code that chooses other characters than ASCII.
pub(super) fn decode(bytes: &[u8]) -> Option<Text> {
    let mut charset = None;
    let mut decoder = Decoder::default();
    let (mut slots, mut is_shifted) = ([Set::Ascii; 3], false);
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let (set, width) = match byte {
            0x1b if bytes.get(at + 1) == Some(&b'N') => {
                at += 2;
                (slots[2], slots[2].width())
            }
            0x1b => {
                if let Some(escape) = ESCAPES.iter().find(|escape| bytes[at + 1..].starts_with(escape.code)) {
                    slots[escape.slot] = escape.set;
                    charset = charset.or(escape.charset);
                    at += 1 + escape.code.len();
                    continue;
                }
                (Set::Ascii, 1)
            }
            0x0e | 0x0f => {
                is_shifted = byte == 0x0e;
                at += 1;
                continue;
            }
            b'\n' | b'\r' => {
                // A line begins in ASCII.
                (slots[0], is_shifted) = (Set::Ascii, false);
                (Set::Ascii, 1)
            }
            0x21..=0x7e => {
                let set = slots[usize::from(is_shifted)];
                (set, set.width())
            }
            _ => (Set::Ascii, 1),
        };
        let end = bytes.len().min(at + width);
        decoder.take(set, &bytes[at..end]);
        at = end;
    }
    let (text, characters) = decoder.finish();
    Some(Text { text, charset: charset?, characters })
}

impl Set {
    /// Returns the number of bytes of a character.
    fn width(self) -> usize {
        match self {
            Self::Ascii | Self::Roman | Self::Katakana | Self::UpperHalf(_) => 1,
            Self::Pairs(_) | Self::Supplement | Self::Plane(_) => 2,
        }
    }

    /// Returns the encoding in which the bytes of this set are decoded.
    fn encoding(self) -> Option<&'static Encoding> {
        match self {
            Self::Ascii | Self::Roman | Self::Plane(_) => None,
            Self::Pairs(encoding) | Self::UpperHalf(encoding) => Some(encoding),
            Self::Supplement | Self::Katakana => Some(EUC_JP),
        }
    }
}

/// Collects runs of bytes of one set, and decodes each.
#[derive(Default)]
struct Decoder {
    text: String,
    run: Vec<u8>,
    encoding: Option<&'static Encoding>,
    characters: usize,
}

impl Decoder {
    /// Takes the bytes of one character.
    fn take(&mut self, set: Set, bytes: &[u8]) {
        if set.encoding() != self.encoding {
            self.flush();
            self.encoding = set.encoding();
        }
        self.characters += usize::from(!matches!(set, Set::Ascii | Set::Roman));
        match set {
            // Bytes above ASCII are in no set.
            Set::Ascii | Set::Roman => self.text.extend(bytes.iter().map(|byte| match byte {
                b'\\' if set == Set::Roman => '¥',
                b'~' if set == Set::Roman => '‾',
                byte if byte.is_ascii() => char::from(*byte),
                _ => char::REPLACEMENT_CHARACTER,
            })),
            Set::Plane(plane) => match bytes {
                [row, cell] => self.text.push_str(&cns11643::character(plane, *row, *cell)),
                _ => self.text.push(char::REPLACEMENT_CHARACTER),
            },
            Set::Pairs(_) | Set::UpperHalf(_) | Set::Supplement | Set::Katakana => {
                self.run.extend(match set {
                    Set::Supplement => Some(0x8f),
                    Set::Katakana => Some(0x8e),
                    _ => None,
                });
                self.run.extend(bytes.iter().map(|byte| byte | 0x80));
            }
        }
    }

    fn flush(&mut self) {
        if let Some(encoding) = self.encoding {
            self.text.push_str(&encoding.decode_without_bom_handling(&self.run).0);
            self.run.clear();
        }
    }

    fn finish(mut self) -> (String, usize) {
        self.flush();
        (self.text, self.characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Option<(String, &'static str)> {
        decode(bytes).map(|found| (found.text, found.charset))
    }

    #[test]
    fn sets_of_all_versions_are_read() {
        for (bytes, text, charset) in [
            (&b"a \x1b$B$3$s\x1b(B b"[..], "a こん b", "ISO-2022-JP"),
            (b"\x1b$A0!\x1b$(C0!\x1b$(D0!\x1b(B\x1b.A\x1bNi", "啊가丂é", "ISO-2022-JP"),
            (b"\x1b(I1\x1b(J\\\x1b(B\\", "ｱ¥\\", "ISO-2022-JP"),
            (b"\x1b$)C\n\x0e?*;g@{\x0f x", "\n역사적 x", "ISO-2022-KR"),
            (b"\x1b$)A\x0eVPND\x0f \x1b$)G\x0eD!\x0f\x1b$*H\x1bN!!", "中文 一乂", "ISO-2022-CN"),
        ] {
            assert_eq!(read(bytes), Some((text.to_owned(), charset)));
        }
    }

    #[test]
    fn escape_codes_of_terminals_are_not_read() {
        assert_eq!(read(b"\x1b[31mred\x1b(B\x1b[m"), None);
        assert_eq!(read(b"\x1b"), None);
    }
}
