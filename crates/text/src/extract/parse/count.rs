//! Counts characters of a text by class, without copying it.
//!
//! In: the source bytes between two tags. Out: [`Counts`], added up. Full stops count only before white space or the
//! end, so numbers and addresses have none. Cost: about 1 ns per byte of text.

/// Counts of a text, in bytes of UTF-8, except that letters of all alphabets count once. A Chinese character counts 3
/// and an English or Russian word about 5, roughly in proportion to their information.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::extract) struct Counts {
    /// Number of bytes that are not white space. A letter of an alphabet counts as one byte.
    pub(in crate::extract) bytes: u32,
    /// Number of words, as separated by white space.
    pub(in crate::extract) words: u32,
    /// Number of commas, semicolons and colons of any script.
    pub(in crate::extract) commas: u16,
    /// Number of ends of sentences.
    pub(in crate::extract) stops: u16,
    /// Number of ASCII digits.
    pub(in crate::extract) digits: u16,
    /// Number of ASCII capital letters.
    pub(in crate::extract) capitals: u16,
}

/// Byte classes.
mod class {
    pub(in crate::extract) const PLAIN: u8 = 0;
    pub(in crate::extract) const WHITE: u8 = 1;
    pub(in crate::extract) const DIGIT: u8 = 2;
    pub(in crate::extract) const CAPITAL: u8 = 3;
    pub(in crate::extract) const COMMA: u8 = 4;
    pub(in crate::extract) const STOP: u8 = 5;
    /// The first byte of a two-byte letter. It counts together with the second byte, so a word in a European, Arabic or
    /// Hebrew script counts as much as an English one.
    pub(in crate::extract) const LEAD: u8 = 6;
    /// The first byte of a three-byte letter, such as an ideograph or a Hangul syllable.
    pub(in crate::extract) const THREE: u8 = 7;
    /// The first byte of a character that may be punctuation or white space, or `&`.
    pub(in crate::extract) const LOOK: u8 = 8;
}

static CLASSES: [u8; 256] = {
    let mut classes = [class::PLAIN; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c | 0 => class::WHITE,
            b'0'..=b'9' => class::DIGIT,
            b'A'..=b'Z' => class::CAPITAL,
            b',' | b';' | b':' => class::COMMA,
            b'.' | b'!' | b'?' => class::STOP,
            0xc3..=0xd7 | 0xd9..=0xdf => class::LEAD,
            0xe1 | 0xe4..=0xed => class::THREE,
            // U+00A0, U+060C, U+061F, U+0964, U+2000–U+200F, U+2026, U+3000–U+3002, U+FF01–U+FF1F begin with these.
            0xc2 | 0xd8 | 0xe0 | 0xe2 | 0xe3 | 0xef | b'&' => class::LOOK,
            _ => class::PLAIN,
        };
        byte += 1;
    }
    classes
};

/// Returns true if `byte` is white space in HTML, or NUL, which counts as such here.
#[inline]
pub(in crate::extract) fn is_white(byte: u8) -> bool {
    CLASSES[byte as usize] == class::WHITE
}

/// Adds the counts of `text` to `counts`.
pub(in crate::extract) fn count(text: &[u8], counts: &mut Counts) {
    let mut at = 0;
    let mut in_word = false;
    let (mut bytes, mut words, mut commas, mut stops, mut digits, mut capitals) =
        (0_u32, 0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
    while let Some(&byte) = text.get(at) {
        let class = CLASSES[byte as usize];
        if class >= class::THREE {
            let (length, class) = if class == class::THREE { (3, class::PLAIN) } else { look(&text[at..]) };
            at += length;
            if class == class::WHITE {
                in_word = false;
                continue;
            }
            // Indic and Thai letters (0xe0) have three bytes, but carry no more information than a Latin letter.
            bytes += match byte {
                b'&' => 2,
                0xc2 | 0xd8 | 0xe0 => 1,
                _ => length as u32,
            };
            commas += u32::from(class == class::COMMA);
            stops += u32::from(class == class::STOP);
            words += u32::from(!in_word);
            in_word = true;
            continue;
        }
        at += 1;
        let solid = u32::from(class != class::WHITE);
        bytes += solid & u32::from(class != class::LEAD);
        words += solid & u32::from(!in_word);
        in_word = solid != 0;
        commas += u32::from(class == class::COMMA);
        digits += u32::from(class == class::DIGIT);
        capitals += u32::from(class == class::CAPITAL);
        if class == class::STOP {
            stops +=
                u32::from(text.get(at).is_none_or(|&next| is_white(next) || next == b'"' || next >= 0x80));
        }
    }
    counts.bytes = counts.bytes.saturating_add(bytes);
    counts.words = counts.words.saturating_add(words);
    let add = |sum: &mut u16, more: u32| *sum = sum.saturating_add(u16::try_from(more).unwrap_or(u16::MAX));
    add(&mut counts.commas, commas);
    add(&mut counts.stops, stops);
    add(&mut counts.digits, digits);
    add(&mut counts.capitals, capitals);
}

/// Returns the length and class of the character or reference at the start of `text`.
fn look(text: &[u8]) -> (usize, u8) {
    match *text {
        [b'&', ..] => reference(text),
        [0xc2, 0xa0, ..] => (2, class::WHITE),
        [0xe3, 0x80, 0x80, ..] => (3, class::WHITE),
        [0xe2, 0x80, 0x80..=0x8f, ..] => (3, class::WHITE),
        // 。 । ！ ？ ．
        [0xe3, 0x80, 0x82, ..] | [0xe0, 0xa5, 0xa4, ..] => (3, class::STOP),
        [0xef, 0xbc, 0x81 | 0x9f | 0x8e, ..] => (3, class::STOP),
        // … is at the end of many sentences; ؟ too.
        [0xe2, 0x80, 0xa6, ..] => (3, class::STOP),
        [0xd8, 0x9f, ..] => (2, class::STOP),
        // 、 ， ： ； ،
        [0xe3, 0x80, 0x81, ..] | [0xef, 0xbc, 0x8c | 0x9a | 0x9b, ..] => (3, class::COMMA),
        [0xd8, 0x8c, ..] => (2, class::COMMA),
        [0xc2 | 0xd8, _, ..] => (2, class::PLAIN),
        [_, _, _, ..] => (3, class::PLAIN),
        _ => (text.len().max(1), class::PLAIN),
    }
}

/// Returns the length and class of a text that begins with `&`: white space for `&nbsp;` and the like, else a plain
/// character.
fn reference(text: &[u8]) -> (usize, u8) {
    for white in
        ["&nbsp;", "&#160;", "&emsp;", "&ensp;", "&#12288;", "&#8203;", "&thinsp;", "&#xa0;", "&nbsp"]
    {
        if text.starts_with(white.as_bytes()) {
            return (white.len(), class::WHITE);
        }
    }
    let end = text.iter().take(12).position(|b| *b == b';');
    (end.map_or(1, |end| end + 1), class::PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        let mut counts = Counts::default();
        count(text.as_bytes(), &mut counts);
        counts
    }

    #[test]
    fn english_and_chinese_are_counted_alike() {
        let english = counts("Hello, World! Version 1.25 is out.");
        assert_eq!((english.bytes, english.words, english.commas, english.stops), (29, 6, 1, 2));
        assert_eq!((english.digits, english.capitals), (3, 3));
        let chinese = counts("你好，世界！今天、明天。");
        assert_eq!((chinese.bytes, chinese.commas, chinese.stops), (36, 2, 2));
    }

    #[test]
    fn a_word_counts_the_same_in_every_alphabet() {
        assert_eq!(counts("погода, ветер").bytes, counts("pogoda, veter").bytes);
        assert_eq!(counts("مرحبا").bytes, 5);
        assert_eq!(counts("สวัสดี").bytes, 6);
        assert_eq!(counts("große").bytes, 5);
    }

    #[test]
    fn blanks_of_every_kind_are_not_counted() {
        assert_eq!(counts(" \n\t\u{a0}\u{3000}&nbsp;&#160;\0"), Counts::default());
        assert_eq!(counts("&copy;").bytes, 2);
        assert_eq!(counts("&").bytes, 2);
        for broken in [&[0xe3][..], &[0xc2], &[0xe2, 0x80], &[0xef]] {
            count(broken, &mut Counts::default());
        }
    }
}
