//! Corrects a charset of one byte per character by the words that it gives: a page whose words have symbols or capital
//! letters inside them is in another charset.
//!
//! In: a charset, and the sample. Out: another charset, if its words have hardly any such faults. So pages of the
//! Macintosh and of DOS are found, which the detector does not know, and pages in Latin-2 that are declared as Latin-1,
//! the default of servers. Cost: decodes the sample once, and once per candidate if there are faults.

use encoding_rs::{Encoding, ISO_8859_2, MACINTOSH, WINDOWS_1250, WINDOWS_1252};

use super::charset::Charset;
use super::plausible::high_bytes;
use super::tables;

/// Minimum number of faults.
const FAULTS_MIN: usize = 3;
/// Maximum number of characters above ASCII per fault.
const CHARACTERS_PER_FAULT: usize = 12;
/// Minimum number of faults per fault in the other charset.
const FAULTS_PER_FAULT: usize = 8;
/// Charsets of the other tables that are tried.
const TRIED: [&str; 4] = ["IBM850", "IBM852", "x-mac-ce", "IBM437"];

/// Returns the charset in which the words of `sample` have hardly any faults, if those in `charset` have many.
pub(super) fn corrected(charset: Charset, detected: &'static Encoding, sample: &[u8]) -> Option<Charset> {
    if !charset.is_single_byte() {
        return None;
    }
    let ours = faults(&charset.decode(sample));
    if ours < FAULTS_MIN || ours * CHARACTERS_PER_FAULT < high_bytes(sample) {
        return None;
    }
    let detected = Some(detected).filter(|encoding| encoding.is_single_byte());
    let standard = detected.into_iter().chain([WINDOWS_1252, ISO_8859_2, WINDOWS_1250, MACINTOSH]);
    let others = TRIED.iter().filter_map(|name| tables::with_name(name)).map(Charset::CodePage);
    let (theirs, other) = standard
        .map(Charset::Standard)
        .chain(others)
        .map(|other| (faults(&other.decode(sample)), other))
        .min_by_key(|(faults, _)| *faults)?;
    (theirs * FAULTS_PER_FAULT <= ours).then_some(other)
}

/// Returns the number of characters above ASCII that cannot be where they are in a word.
fn faults(text: &str) -> usize {
    let (mut faults, mut before, mut rest) = (0, ' ', text.chars().peekable());
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        faults += usize::from(!c.is_ascii() && is_fault(before, c, after));
        before = c;
    }
    faults
}

/// Returns true if `c`, which is above ASCII, cannot be between these two characters.
fn is_fault(before: char, c: char, after: char) -> bool {
    if c == char::REPLACEMENT_CHARACTER || c.is_control() {
        return true;
    }
    if c.is_uppercase() && before.is_lowercase() {
        return true;
    }
    let is_in_word = before.is_alphabetic() && after.is_alphabetic();
    match c {
        // Letters of other scripts than Latin.
        '\u{370}'..='\u{1dff}' if c.is_alphabetic() => {
            before.is_ascii_alphabetic() || after.is_ascii_alphabetic()
        }
        // Apostrophes, hyphens, and the point of Catalan.
        '\u{a0}' | '\u{ad}' | '´' | '·' | '\u{2010}'..='\u{2019}' => false,
        'ª' | 'º' | 'ˆ' | 'ﬁ' | 'ﬂ' => is_in_word,
        _ => is_in_word && !c.is_alphabetic(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRENCH: &str =
        "Les élèves français rêvent déjà de l’été près du château, où la forêt protège le gîte.";
    const POLISH: &str = "Także książka Małgorzaty, którą właśnie wydano, mówi o życiu na łąkach pod Łodzią.";

    fn corrected_name(charset: Charset, bytes: &[u8]) -> Option<&'static str> {
        corrected(charset, WINDOWS_1252, bytes).map(|charset| charset.name())
    }

    #[test]
    fn words_with_symbols_in_them_are_in_another_charset() {
        let latin1 = Charset::Standard(WINDOWS_1252);
        assert_eq!(corrected_name(latin1, &ISO_8859_2.encode(POLISH).0), Some("ISO-8859-2"));
        let mac = Charset::Standard(MACINTOSH);
        assert_eq!(corrected_name(mac, &WINDOWS_1252.encode(FRENCH).0), Some("windows-1252"));
        let macintosh = MACINTOSH_BYTES;
        assert_eq!(corrected_name(latin1, macintosh), Some("macintosh"));
    }

    /// "Les élèves français rêvent déjà de l’été près du château" of a Macintosh.
    const MACINTOSH_BYTES: &[u8] =
        b"Les \x8el\x8fves fran\x8dais r\x90vent d\x8ej\x88 de l\xd5\x8et\x8e pr\x8fs du ch\x89teau";

    #[test]
    fn correct_words_stay() {
        let latin1 = Charset::Standard(WINDOWS_1252);
        assert_eq!(corrected_name(latin1, &WINDOWS_1252.encode(FRENCH).0), None);
        assert_eq!(corrected_name(latin1, &WINDOWS_1252.encode("naïve 20°C, 5m² × 3").0), None);
        let latin2 = Charset::Standard(ISO_8859_2);
        assert_eq!(corrected_name(latin2, &ISO_8859_2.encode(POLISH).0), None);
    }
}
