//! Folds characters that are written in several ways but read as one: digits of all scripts, capitals, and letters of
//! Latin, Greek, Arabic, Persian, Hebrew, Malayalam and Bengali.
//!
//! In: a character in NFKC. Out: the characters that represent it, appended. Only letters and signs outside of ASCII
//! become others, so codes such as `O0` and `l1` stay apart. Cost: one comparison for most characters.
//!
//! Sources: Unicode 16, files `UnicodeData.txt` (decimal digits, names with `SMALL CAPITAL` and `NEGATIVE`,
//! decompositions of Greek letters, as ICU has them), `CaseFolding.txt` (ß, final sigma, İ and ı, which become one
//! letter in all languages), `confusables.txt` (apostrophes), and `DoNotEmit.txt` (Malayalam chillus, khanda ta; the
//! joiner has been removed). A letter with a cedilla becomes the one with a comma, as Romanian has it since Unicode 3.
//! Lucene's `ArabicNormalizer` and `PersianNormalizer` for forms of alef, yeh, kaf and heh, tatweel and vowel signs.
//! Waw and yeh with a hamza lose it, because it is often omitted in writing.

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};

/// The digit zero of each script; the other nine follow it. Scripts whose digits NFKC folds are omitted.
const ZEROS: [char; 70] = [
    '\u{660}',
    '\u{6f0}',
    '\u{7c0}',
    '\u{966}',
    '\u{9e6}',
    '\u{a66}',
    '\u{ae6}',
    '\u{b66}',
    '\u{be6}',
    '\u{c66}',
    '\u{ce6}',
    '\u{d66}',
    '\u{de6}',
    '\u{e50}',
    '\u{ed0}',
    '\u{f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{104a0}',
    '\u{10d30}',
    '\u{10d40}',
    '\u{11066}',
    '\u{110f0}',
    '\u{11136}',
    '\u{111d0}',
    '\u{112f0}',
    '\u{11450}',
    '\u{114d0}',
    '\u{11650}',
    '\u{116c0}',
    '\u{116d0}',
    '\u{116da}',
    '\u{11730}',
    '\u{118e0}',
    '\u{11950}',
    '\u{11bf0}',
    '\u{11c50}',
    '\u{11d50}',
    '\u{11da0}',
    '\u{11de0}',
    '\u{11f50}',
    '\u{16130}',
    '\u{16a60}',
    '\u{16ac0}',
    '\u{16b50}',
    '\u{16d70}',
    '\u{1ccf0}',
    '\u{1e140}',
    '\u{1e2f0}',
    '\u{1e4f0}',
    '\u{1e5f1}',
    '\u{1e950}',
    '\u{1fbf0}',
];

/// Appends the characters that represent `c` to `out`, in lower case.
#[inline]
pub(super) fn push_folded(c: char, out: &mut String) {
    for c in c.to_lowercase() {
        match c {
            'ß' => out.push_str("ss"),
            // What lower case leaves of a capital i with a dot, and a sign that Malayalam chillus have once.
            '\u{307}' if out.ends_with('i') => {}
            '\u{d4d}' if out.ends_with(c) => {}
            // A stroke through a letter; through another sign it negates.
            '\u{338}' if out.ends_with(char::is_alphabetic) => {}
            '\u{9ce}' | '\u{d54}'..='\u{d56}' | '\u{d7a}'..='\u{d7f}' => out.push_str(without_vowel(c)),
            _ => out.extend(folded(c)),
        }
    }
}

/// Returns the character that represents `c`, or `None` if `c` is dropped.
#[inline]
fn folded(c: char) -> Option<char> {
    match c {
        '\0'..='\u{130}' => Some(c),
        '\u{131}' => Some('i'),
        '\u{15f}' => Some('\u{219}'),
        '\u{163}' => Some('\u{21b}'),
        '\u{262}'..='\u{2a2}' | '\u{1d00}'..='\u{1d22}' | '\u{a730}'..='\u{a7af}' => Some(small_capital(c)),
        '\u{2b9}' | '\u{2bb}'..='\u{2bf}' | '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{5f3}' => Some('\''),
        '\u{386}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(greek(c)),
        '\u{591}'..='\u{5f4}' => hebrew(c),
        '\u{610}'..='\u{6ed}' => arabic(c),
        '\u{1f150}'..='\u{1f169}' => letter_after('\u{1f150}', c),
        '\u{1f170}'..='\u{1f189}' => letter_after('\u{1f170}', c),
        _ => Some(digit(c).unwrap_or(c)),
    }
}

/// Returns the letter for a small capital; every other character as it is.
fn small_capital(c: char) -> char {
    match c {
        'ᴀ' => 'a',
        'ᴁ' => 'æ',
        'ʙ' => 'b',
        'ᴄ' => 'c',
        'ᴅ' => 'd',
        'ᴆ' => 'ð',
        'ᴇ' => 'e',
        'ꜰ' => 'f',
        'ɢ' => 'g',
        'ʜ' => 'h',
        'ɪ' => 'i',
        'ᴊ' => 'j',
        'ᴋ' => 'k',
        'ʟ' => 'l',
        'ᴍ' => 'm',
        'ɴ' => 'n',
        'ᴏ' => 'o',
        'ɶ' => 'œ',
        'ᴘ' => 'p',
        'ꞯ' => 'q',
        'ʀ' => 'r',
        'ꜱ' => 's',
        'ᴛ' => 't',
        'ᴜ' => 'u',
        'ᴠ' => 'v',
        'ᴡ' => 'w',
        'ʏ' => 'y',
        'ᴢ' => 'z',
        // The saltillo, which is written as an apostrophe as well.
        'ꞌ' => '\'',
        _ => c,
    }
}

/// Returns the letter of `c`, the white letters on black of which begin with `first`.
fn letter_after(first: char, c: char) -> Option<char> {
    char::from_u32(u32::from(c) - u32::from(first) + u32::from('a'))
}

/// Returns a Greek letter without its accents, which capitals do not have, and sigma as within a word.
fn greek(mut c: char) -> char {
    if matches!(c, 'α'..='ω') {
        return if c == 'ς' { 'σ' } else { c };
    }
    loop {
        c = match CanonicalDecompositionBorrowed::new().decompose(c) {
            Decomposed::Expansion(letter, _) | Decomposed::Singleton(letter) => letter,
            Decomposed::Default => return c,
        }
    }
}

/// Returns the consonant and the sign for "no vowel" that a letter of Malayalam or Bengali stands for.
fn without_vowel(c: char) -> &'static str {
    match c {
        '\u{9ce}' => "\u{9a4}\u{9cd}",
        '\u{d54}' => "\u{d2e}\u{d4d}",
        '\u{d55}' => "\u{d2f}\u{d4d}",
        '\u{d56}' => "\u{d34}\u{d4d}",
        '\u{d7a}' => "\u{d23}\u{d4d}",
        '\u{d7b}' => "\u{d28}\u{d4d}",
        '\u{d7c}' => "\u{d30}\u{d4d}",
        '\u{d7d}' => "\u{d32}\u{d4d}",
        '\u{d7e}' => "\u{d33}\u{d4d}",
        _ => "\u{d15}\u{d4d}",
    }
}

/// Drops vowel signs and accents, and turns the sign of abbreviations into a quotation mark.
fn hebrew(c: char) -> Option<char> {
    match c {
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' => None,
        '\u{5f4}' => Some('"'),
        _ => Some(c),
    }
}

fn arabic(c: char) -> Option<char> {
    match c {
        // Vowel signs, hamza and other signs above and below letters, marks for reciting; tatweel.
        '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{640}' => None,
        '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}' => None,
        // Waw and yeh with a hamza.
        '\u{624}' => Some('\u{648}'),
        '\u{626}' => Some('\u{64a}'),
        // Alef with madda or hamza, and alef wasla.
        '\u{622}' | '\u{623}' | '\u{625}' | '\u{671}' => Some('\u{627}'),
        // Yeh without dots, as written in Persian and Urdu.
        '\u{649}' | '\u{6cc}' | '\u{6d2}' | '\u{6d3}' => Some('\u{64a}'),
        // Persian kaf, and the swash form of kaf.
        '\u{6a9}' | '\u{6aa}' => Some('\u{643}'),
        // Teh marbuta, and heh as written in Persian and Urdu.
        '\u{629}' | '\u{6be}' | '\u{6c0}' | '\u{6c1}' | '\u{6c2}' | '\u{6d5}' => Some('\u{647}'),
        // The decimal separator.
        '\u{66b}' => Some('.'),
        '\u{66c}' => Some(','),
        _ => Some(digit(c).unwrap_or(c)),
    }
}

/// Returns the ASCII digit of the same value.
fn digit(c: char) -> Option<char> {
    let zero = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1).map(|at| ZEROS[at])?;
    let value = u32::from(c) - u32::from(zero);
    (value < 10).then(|| char::from_digit(value, 10))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        text.chars().for_each(|c| push_folded(c, &mut out));
        out
    }

    /// If only ASCII digits counted as numbers, notices in other scripts that differ only in their numbers would be
    /// near-duplicates.
    #[test]
    fn digits_of_all_scripts_are_ascii_digits() {
        for digits in [
            "٠١٢٣٤٥٦٧٨٩",
            "۰۱۲۳۴۵۶۷۸۹",
            "०१२३४५६७८९",
            "০১২৩৪৫৬৭৮৯",
            "๐๑๒๓๔๕๖๗๘๙",
            "൦൧൨൩൪൫൬൭൮൯",
            "០១២៣៤៥៦៧៨៩",
            "᠐᠑᠒᠓᠔᠕᠖᠗᠘᠙",
            "၀၁၂၃၄၅၆၇၈၉",
            "༠༡༢༣༤༥༦༧༨༩",
            "𞥐𞥑𞥒𞥓𞥔𞥕𞥖𞥗𞥘𞥙",
        ] {
            assert_eq!(folded(digits), "0123456789", "{digits}");
        }
        assert_eq!(folded("١٬٢٣٤٫٥"), "1,234.5");
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            assert!((0..10).all(|value| char::from_u32(u32::from(zero) + value).is_some()), "{zero:?}");
        }
    }

    #[test]
    fn spellings_of_arabic_and_persian_words_are_folded_into_one() {
        for (one, other) in [
            ("كتاب", "کتاب"),
            ("علي", "علی"),
            ("إسلام", "اسلام"),
            ("أحمد", "احمد"),
            ("آب", "اب"),
            ("مدرسة", "مدرسه"),
            ("خانهٔ", "خانه"),
            ("خانۀ", "خانه"),
            ("كـــتاب", "كتاب"),
            ("مُحَمَّدٌ", "محمد"),
            ("هذا الكتابُ", "هذا الكتاب"),
            ("مسؤول", "مسوول"),
            ("هيئة", "هيية"),
            ("ھے", "هے"),
            ("ڪتاب", "كتاب"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        assert_ne!(folded("كتاب"), folded("كاتب"));
    }

    #[test]
    fn hebrew_is_read_without_points() {
        assert_eq!(folded("שָׁלוֹם"), "שלום");
        assert_eq!(folded("צה״ל ג׳ורג"), "צה\"ל ג'ורג");
    }

    #[test]
    fn other_letters_and_numbers_are_unchanged() {
        for text in ["½五", "día ñ é ǧ ł", "किताब", "ไทย", "서울", "ѓ", "v1.0.1l O0o iIl|", "ɛ ʃ ə ᴟ"]
        {
            assert_eq!(folded(text), text.to_lowercase());
        }
    }

    #[test]
    fn capitals_are_the_letters_that_they_stand_for() {
        for (text, capitals) in [
            ("ο δήμος ανακοίνωσε", "Ο ΔΗΜΟΣ ΑΝΑΚΟΙΝΩΣΕ"),
            ("όμως, του Μαΐου, ευφυΐα, γάιδαρος", "ΌΜΩΣ, ΤΟΥ ΜΑΪΟΥ, ΕΥΦΥΪΑ, ΓΑΪΔΑΡΟΣ"),
            ("τῆς ἀρχῆς ὕδωρ ᾧ", "ΤΗΣ ΑΡΧΗΣ ΥΔΩΡ Ω"),
            ("ışık, istanbul, ilk", "IŞIK, İSTANBUL, İLK"),
            ("ışık, istanbul, ilk", "IŞIK, ISTANBUL, ILK"),
            ("Straße, außen, groß", "STRASSE, AUẞEN, GROSS"),
        ] {
            assert_eq!(folded(text), folded(capitals), "{text}");
        }
        assert_eq!(folded("İI"), "ii");
        assert_ne!(folded("Ω"), folded("Ο"));
    }

    #[test]
    fn letters_that_look_alike_are_one() {
        for (one, other) in [
            ("Şi ţară", "Și țară"),
            ("oʻzbek Hawaiʻi maʼno", "o'zbek Hawai‘i ma’no"),
            ("മിൽ വർഷം നാട്ടുകാർ എൻ്റെ", "മില\u{d4d} വര\u{d4d}ഷം നാട്ടുകാര\u{d4d} എന\u{d4d}റെ"),
            ("উৎসব", "উত\u{9cd}সব"),
            ("ᴛʜᴇ Qᴜɪᴄᴋ ꜰᴏx ꜱᴀᴡ", "THE QUICK FOX SAW"),
            ("🅰🅱🅲 🅐🅑🅒", "abc abc"),
            ("d̸o̸n̸e", "done"),
        ] {
            assert_eq!(folded(one), folded(other), "{one}");
        }
        assert_eq!(folded("=\u{338}"), "=\u{338}");
    }
}
