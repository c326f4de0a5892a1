//! Decides between a declared encoding and a different one that the detector found.
//!
//! In: declared and detected encoding, the sample. Out: true if the declaration is plausible. Servers declare their
//! default for pages in any encoding. A declaration is rejected if its text is broken, has control characters, or
//! reads far worse than the text in the detected encoding: it has a far smaller share of common characters, or more
//! capital than small letters. In doubt, the declaration wins. Cost: decodes the sample twice.

use encoding_rs::{Encoding, WINDOWS_1252};

use super::charset::Charset;

/// The 100 most common characters of running text in each script, with kana and common Hangul syllables. They make up
/// 30 to 60 % of the characters of real text, and 1 to 9 % of text misread in another encoding.
pub(super) const COMMON: &str = "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运這個們來為國說時會對過發後裡種經麼學現當沒動還進樣開從無與長機關點業將兩間問並戰頭體產給門兒東聲員論處義幾條氣題爾別變總電數報結場計務資許統區隊決馬書聽強難權達設記類據邊張該規萬術領確傳師觀讓識帶導爭運のにはをたがでてとしれさいるなっんすまこくよりあらもかきうせそどえわやだけちつめみろおょスンルーリトラアイクドシレジタフロプッマテバ이다는의에을가고로한지하기사은를도어자들시인아라나리대일수서부정그전해있것보과상제원주만장국게구";

/// Minimum number of bytes above ASCII with which the detector may contradict windows-1252. Servers declare it, under the
/// name ISO-8859-1, for pages in Latin-2 and Turkish, too.
const HIGH_BYTES_MIN: usize = 32;

/// Minimum share of common characters in a Chinese text, in thousandths; misread text stays below 90.
const COMMON_PERMILLE_MIN: usize = 200;

/// Character counts that show how well a decoded text reads.
struct Reading {
    /// Characters above ASCII.
    foreign: usize,
    /// Characters above ASCII that are U+FFFD or C1 control characters.
    broken: usize,
    /// Characters above ASCII that are among [`COMMON`].
    common: usize,
    /// Capital letters.
    capital: usize,
    /// Small letters.
    small: usize,
}

impl Reading {
    fn from_sample(charset: Charset, sample: &[u8]) -> Self {
        let text = charset.decode(sample);
        let mut reading = Self { foreign: 0, broken: 0, common: 0, capital: 0, small: 0 };
        for c in text.chars().filter(|c| !c.is_ascii()) {
            reading.foreign += 1;
            reading.broken += usize::from(c == '\u{fffd}' || ('\u{80}'..='\u{9f}').contains(&c));
            reading.common += usize::from(COMMON.contains(c));
            reading.capital += usize::from(c.is_uppercase());
            reading.small += usize::from(c.is_lowercase());
        }
        reading
    }

    /// Returns true if more than 2 % of the characters are broken, not counting one that may be cut off at the sample's
    /// end.
    fn is_broken(&self) -> bool {
        self.broken > 1 && self.broken * 50 > self.foreign
    }
}

/// Returns true if common characters have the share that they have in Chinese text.
pub(super) fn reads_as_chinese(text: &str) -> bool {
    common_permille(text) >= COMMON_PERMILLE_MIN
}

/// Returns the share of common characters in a decoded text, in thousandths.
pub(super) fn common_permille(text: &str) -> usize {
    let foreign = text.chars().filter(|c| !c.is_ascii()).count();
    let common = text.chars().filter(|c| !c.is_ascii() && COMMON.contains(*c)).count();
    common * 1000 / foreign.max(1)
}

/// Returns true if `declared` is plausible although the detector found `detected`.
pub(super) fn may_be(declared: Charset, detected: &'static Encoding, sample: &[u8]) -> bool {
    if declared.is(detected) || sample.is_empty() {
        return true;
    }
    if matches!(declared, Charset::SevenBit(_)) {
        return false;
    }
    let as_declared = Reading::from_sample(declared, sample);
    let as_detected = Reading::from_sample(Charset::Standard(detected), sample);
    if as_detected.is_broken() {
        return !as_declared.is_broken() || declared.is_single_byte() == detected.is_single_byte();
    }
    if as_declared.is_broken() {
        return false;
    }
    if !detected.is_single_byte() {
        // The detected encoding wins with more than twice the share of common characters (a one-byte reading has
        // none), if there are enough of them to decide.
        let (ours, theirs) =
            (as_declared.common * as_detected.foreign, as_detected.common * as_declared.foreign);
        let enough = as_detected.foreign >= 8 && as_detected.common * 10 >= as_detected.foreign;
        return !(enough && theirs > 2 * ours);
    }
    if declared.is_single_byte() && is_latin(declared.name()) && !is_latin(detected.name()) {
        return !mostly_in_pairs(sample);
    }
    if declared.is(WINDOWS_1252) && is_latin(detected.name()) {
        return high_bytes(sample) < HIGH_BYTES_MIN;
    }
    // Text in KOI8-R that is read as windows-1251 has small and capital letters swapped.
    let swapped = as_declared.capital > 2 * as_declared.small;
    let straight = as_detected.small > 2 * as_detected.capital;
    !(swapped && straight)
}

/// Returns true for charsets whose high bytes are mostly single accented letters of a Latin script.
fn is_latin(name: &str) -> bool {
    const NUMBERS: [&str; 8] = ["2", "3", "4", "10", "13", "14", "15", "16"];
    let is_standard = name.strip_prefix("ISO-8859-").is_some_and(|number| NUMBERS.contains(&number));
    is_standard
        || matches!(
            name,
            "windows-1252" | "windows-1250" | "windows-1254" | "windows-1257" | "windows-1258" | "macintosh"
        )
}

/// Returns the number of bytes above ASCII.
pub(super) fn high_bytes(sample: &[u8]) -> usize {
    sample.iter().filter(|byte| !byte.is_ascii()).count()
}

/// Returns true if most high bytes are next to one another, as in every script except Latin (there, fewer than one in
/// five are).
fn mostly_in_pairs(sample: &[u8]) -> bool {
    let high = high_bytes(sample);
    let pairs = sample.windows(2).filter(|pair| pair[0] >= 0x80 && pair[1] >= 0x80).count();
    pairs * 2 > high
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, GBK, ISO_8859_2, KOI8_R, WINDOWS_1251};

    use super::*;

    const CHINESE: &str =
        "他们说这个问题现在还没有解决，我们要看以后的发展，但是大家都知道这不是一天能做好的事情。";

    #[test]
    fn a_latin_declaration_is_rejected_for_chinese_and_cyrillic_bytes() {
        let (gbk, _, _) = GBK.encode(CHINESE);
        assert!(!may_be(Charset::Standard(WINDOWS_1252), GBK, &gbk));
        assert!(!may_be(Charset::Standard(BIG5), GBK, &gbk));
        assert!(may_be(Charset::Standard(GBK), BIG5, &gbk));
        let (cyrillic, _, _) = KOI8_R.encode("Сегодня в городе тепло и солнечно, ветра почти нет.");
        assert!(!may_be(Charset::Standard(WINDOWS_1252), KOI8_R, &cyrillic));
        assert!(!may_be(Charset::Standard(WINDOWS_1251), KOI8_R, &cyrillic));
    }

    /// Czech, Hungarian and Turkish pages were read as Latin-1, because their servers said so.
    #[test]
    fn the_default_of_servers_is_rejected_for_other_latin_pages() {
        let czech = "Příliš žluťoučký kůň úpěl ďábelské ódy, a přesto šel dál.".repeat(2);
        let latin1 = Charset::Standard(WINDOWS_1252);
        assert!(!may_be(latin1, ISO_8859_2, &ISO_8859_2.encode(&czech).0));
        assert!(may_be(latin1, ISO_8859_2, &ISO_8859_2.encode("kůň").0));
    }

    #[test]
    fn a_fitting_declaration_is_accepted() {
        let (french, _, _) = WINDOWS_1252.encode("Déjà l'été, où les élèves rêvent près du château");
        assert!(may_be(Charset::Standard(WINDOWS_1252), encoding_rs::WINDOWS_1257, &french));
        assert!(may_be(Charset::Standard(WINDOWS_1252), GBK, b""));
    }
}
