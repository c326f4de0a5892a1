//! Recognises UTF-8 with a few broken bytes: pages that end within a character, and pages with a comment, a widget or a
//! footer in another charset.
//!
//! In: bytes that are not valid UTF-8, and whether the page declares UTF-8. Out: true if UTF-8 is meant. Well-formed
//! sequences of two or more bytes hardly occur by chance (in GBK text about one in four looks well-formed). Ten for
//! each broken byte decide, or two if UTF-8 is declared. Long runs of them without a broken byte never occur by chance,
//! so fewer of these are enough. Cost: linear; stops early after [`BROKEN_MAX`] broken places.

/// Minimum number of well-formed multi-byte sequences per broken byte. GBK, Big5, Shift_JIS and windows-125x pages of
/// our sets stay below 0.6; damaged UTF-8 pages are above 40.
const WELL_FORMED_PER_BROKEN: usize = 10;

/// Minimum number of well-formed multi-byte sequences per broken byte if the page declares UTF-8.
const WELL_FORMED_PER_BROKEN_DECLARED: usize = 2;

/// Minimum number of well-formed sequences in a run, which has no broken byte in it. Other charsets have a run at one
/// of 60,000 places at most.
const RUN_MIN: usize = 8;

/// Minimum number of sequences in runs per broken byte. A footer in GBK has 1.2 broken bytes per character, so two
/// thirds of the non-ASCII characters are UTF-8.
const IN_RUNS_PER_BROKEN: usize = 2;

/// Minimum number of sequences in runs per broken byte if the page declares UTF-8; then half of the non-ASCII
/// characters are UTF-8.
const IN_RUNS_PER_BROKEN_DECLARED: usize = 1;

/// Number of broken places after which a page with little UTF-8 so far is rejected.
const BROKEN_MAX: usize = 64;
/// [`BROKEN_MAX`] for a page that declares UTF-8. It is higher, because the foreign part may come first.
const BROKEN_MAX_DECLARED: usize = 4096;

/// Maximum number of bytes of words that are not UTF-8, per byte of words that are. With more, most of a page that
/// declares UTF-8 is in another charset.
const FOREIGN_BYTES_MAX: usize = 8;

/// Returns true if `bytes`, which are not valid UTF-8, are meant as UTF-8.
pub(super) fn is_meant(bytes: &[u8], is_declared: bool) -> bool {
    is_mostly_well_formed(bytes, is_declared)
        || (is_declared && (most_words_are_valid(bytes) || has_only_foreign_punctuation(bytes)))
}

/// Returns true if all that is not UTF-8 is punctuation of windows-125x, and there are sequences of three bytes. Such
/// a page declares UTF-8, and text was copied into it from a word processor, whose quotation marks and dashes are
/// single bytes below 0xa0. A page in windows-125x has letters, too, which are bytes above that.
fn has_only_foreign_punctuation(bytes: &[u8]) -> bool {
    let mut words = bytes.split(u8::is_ascii).filter(|word| !word.is_empty());
    let mut long = 0;
    let is_sound = words.all(|word| match std::str::from_utf8(word) {
        Ok(_) => {
            long += usize::from(word.iter().any(|byte| *byte >= 0xe0));
            true
        }
        Err(_) => word.len() <= 2 && word.iter().all(|byte| (0x80..0xa0).contains(byte)),
    });
    is_sound && long > 0
}

/// Returns true if most words with bytes above ASCII are valid UTF-8 as a whole. In other charsets hardly any such
/// word is, because it is longer than a sequence that is valid by chance, or has single bytes: at most 4 of 10 words
/// on pages of our sets, mostly below 1 of 10, and never a word with a sequence of three bytes, which counts twice
/// here.
fn most_words_are_valid(bytes: &[u8]) -> bool {
    let words = bytes.split(u8::is_ascii).filter(|word| !word.is_empty());
    let (mut valid, mut valid_bytes, mut broken, mut broken_bytes) = (0_usize, 0_usize, 0_usize, 0_usize);
    for word in words {
        if simdutf8::basic::from_utf8(word).is_ok() {
            valid += if word.iter().any(|byte| *byte >= 0xe0) { 2 } else { 1 };
            valid_bytes += word.len();
        } else {
            broken += 1;
            broken_bytes += word.len();
        }
    }
    valid > broken && broken_bytes <= FOREIGN_BYTES_MAX * valid_bytes
}

fn is_mostly_well_formed(bytes: &[u8], is_declared: bool) -> bool {
    let (per_broken, in_runs_per_broken, broken_max) = match is_declared {
        true => (WELL_FORMED_PER_BROKEN_DECLARED, IN_RUNS_PER_BROKEN_DECLARED, BROKEN_MAX_DECLARED),
        false => (WELL_FORMED_PER_BROKEN, IN_RUNS_PER_BROKEN, BROKEN_MAX),
    };
    let (mut well_formed, mut in_runs, mut broken) = (0, 0, 0);
    let mut count = |text: &[u8]| {
        let sequences = multi_byte_sequences(text);
        well_formed += sequences;
        in_runs += if sequences >= RUN_MIN { sequences } else { 0 };
        (well_formed, in_runs)
    };
    let mut rest = bytes;
    loop {
        match simdutf8::compat::from_utf8(rest) {
            Ok(text) => {
                let (well_formed, in_runs) = count(text.as_bytes());
                return well_formed >= broken * per_broken || in_runs >= broken * in_runs_per_broken;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                let (well_formed, _) = count(good);
                broken += 1;
                if broken >= broken_max && well_formed < broken {
                    return false;
                }
                rest = &bad[error.error_len().unwrap_or(bad.len()).max(1)..];
            }
        }
    }
}

fn multi_byte_sequences(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b >= 0xc0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_page_is_utf8_and_gbk_is_not() {
        let text = "这一页在字中间断了，其余都好。".repeat(3);
        assert!(is_meant(&text.as_bytes()[..text.len() - 1], false));
        let (gbk, _, _) = encoding_rs::GBK.encode(&text);
        for is_declared in [false, true] {
            assert!(!is_meant(&gbk, is_declared));
            assert!(!is_meant(b"caf\xe9", is_declared));
        }
    }

    /// Pages that declare UTF-8 correctly are read as UTF-8, even if they have a footer in GBK or a widget in Latin-1.
    #[test]
    fn a_page_with_a_few_foreign_bytes_stays_utf8() {
        let text = "<p>渡轮十月底停航，港务局周二晚间宣布。".repeat(8);
        let (footer, _, _) =
            encoding_rs::GBK.encode("版权所有：滨海晨报社，未经许可不得转载，违者必究。电话零七五五");
        let page = |parts: [&[u8]; 2]| parts.concat();
        for is_declared in [false, true] {
            assert!(is_meant(&page([text.as_bytes(), &footer]), is_declared));
            assert!(is_meant(&page([&footer, text.as_bytes()]), is_declared));
        }
        let french = "La météo de l’été : \u{201c}orages\u{201d}".as_bytes();
        assert!(is_meant(&page([french, b"caf\xe9, cr\xeape"]), true));
        assert!(!is_meant(&page([french, b"caf\xe9, cr\xeape"]), false));
    }

    /// An English page with one curly apostrophe in UTF-8 must not be read in the charset of the two quotation marks
    /// that were copied into it.
    #[test]
    fn a_declared_page_with_punctuation_of_a_word_processor_stays_utf8() {
        let page = b"The board\xe2\x80\x99s ship \x93quoted\x94 and \x96 for once \x96 the crew\x85";
        assert!(is_meant(page, true));
        assert!(!is_meant(page, false));
        for other in [
            &b"The board\x92s ship \x93quoted\x94"[..],
            b"caf\xe9 \x93quoted\x94",
            b"\xe2\x80\x99 \xe9t\xe9 d\xe9j\xe0 l\xe0",
        ] {
            assert!(!is_meant(other, true), "{other:?}");
        }
    }

    /// Few letters of German, French and English pages are not ASCII. A footer in another charset may have more broken
    /// bytes than the page has sequences, but the page must not be read in the footer's charset.
    #[test]
    fn a_declared_page_with_few_letters_above_ascii_stays_utf8() {
        use encoding_rs::{BIG5, EUC_KR, GBK, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
        let german = "<p>Die Fähre zwischen der Bucht und den äußeren Inseln fährt künftig nur bis Ende Oktober. Für die \
                      Gäste heißt das: früher buchen. Die Behörde prüft Entschädigungen für Pendler.</p>";
        let english =
            "<p>\u{201c}It\u{2019}s over,\u{201d} the board said. \u{201c}We\u{2019}re sorry.\u{201d}</p>";
        let japanese = "著作権は新聞社に帰属します。無断転載を禁じます。";
        for (encoding, footer) in [
            (GBK, "版权所有：滨海晨报社，未经许可不得转载，违者必究。"),
            (BIG5, "版權所有：濱海晨報社，未經許可不得轉載。"),
            (EUC_KR, "무단 전재 및 재배포 금지 서울시 중구 대표 전화"),
            (SHIFT_JIS, japanese),
            (WINDOWS_1251, "Все права защищены, копирование"),
            (WINDOWS_1252, "© Société Générale, tous droits réservés, café"),
        ] {
            let (footer, _, _) = encoding.encode(footer);
            for page in [german, english] {
                let bytes = [page.as_bytes(), &footer].concat();
                assert!(is_meant(&bytes, true), "{}: {page}", encoding.name());
            }
            // A page in that charset with a character in UTF-8 is not UTF-8, whatever it declares.
            let bytes = [&footer[..], "©".as_bytes(), &footer].concat();
            assert!(!is_meant(&bytes.repeat(8), true), "{}", encoding.name());
        }
    }

    #[test]
    fn a_page_mostly_of_another_charset_is_not_utf8() {
        let text = "<p>渡轮十月底停航，港务局周二晚间宣布。";
        let (gbk, _, _) = encoding_rs::GBK.encode(text);
        for is_declared in [false, true] {
            assert!(!is_meant(&[text.as_bytes(), &gbk.repeat(4)].concat(), is_declared));
            assert!(!is_meant(&[&gbk.repeat(400)[..], text.as_bytes()].concat(), is_declared));
        }
    }
}
