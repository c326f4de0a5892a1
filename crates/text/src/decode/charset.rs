//! The charsets that can be decoded, by the labels that pages declare.
//!
//! In: a label. Out: a charset of the Encoding Standard or one that it lacks: the seven-bit charsets of mail (HZ, UTF-7,
//! ISO-2022), code pages of DOS and mainframes, and those of the Macintosh.

use std::borrow::Cow;

use encoding_rs::{BIG5, EUC_KR, Encoding, GBK, REPLACEMENT, SHIFT_JIS, UTF_8};

use super::tables::{self, CodePage};

/// A charset that can be decoded.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    /// A charset of the Encoding Standard.
    Standard(&'static Encoding),
    /// A charset of one byte per character.
    CodePage(&'static CodePage),
    /// A charset whose bytes are all ASCII.
    SevenBit(SevenBit),
}

/// Charsets whose bytes are all ASCII, and that the Encoding Standard lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SevenBit {
    /// Chinese between `~{` and `~}` (RFC 1843).
    Hz,
    /// UTF-16 in base64 between `+` and `-` (RFC 2152).
    Utf7,
    /// Any charset with the escape codes of ISO 2022.
    Iso2022,
}

impl Charset {
    /// Returns the charset with this label, or `None` if it is not known.
    pub(super) fn for_label(label: &[u8]) -> Option<Self> {
        let label = std::str::from_utf8(label).ok()?.trim().to_ascii_lowercase();
        let seven_bit = match label.as_str() {
            "hz" | "hz-gb-2312" | "hz-gb2312" | "x-hz" => Some(SevenBit::Hz),
            "utf-7" | "utf7" | "unicode-1-1-utf-7" | "x-unicode-2-0-utf-7" | "csutf7" => Some(SevenBit::Utf7),
            _ if label.trim_start_matches("cs").replace('-', "").starts_with("iso2022") => {
                Some(SevenBit::Iso2022)
            }
            _ => None,
        };
        if let Some(seven_bit) = seven_bit {
            return Some(Self::SevenBit(seven_bit));
        }
        Encoding::for_label(label.as_bytes())
            .filter(|encoding| *encoding != REPLACEMENT)
            .map(Self::Standard)
            .or_else(|| tables::with_name(&label).map(Self::CodePage))
            .or_else(|| for_alias(&label))
    }

    /// Returns true if this is `encoding`.
    pub(super) fn is(&self, encoding: &'static Encoding) -> bool {
        matches!(self, Self::Standard(standard) if *standard == encoding)
    }

    /// Returns true if each character has one byte.
    pub(super) fn is_single_byte(&self) -> bool {
        match self {
            Self::Standard(encoding) => encoding.is_single_byte(),
            Self::CodePage(_) => true,
            Self::SevenBit(_) => false,
        }
    }

    /// Returns the text of `bytes`. Bytes without a character become U+FFFD. Not for charsets of seven bits.
    pub(super) fn decode<'a>(&self, bytes: &'a [u8]) -> Cow<'a, str> {
        match self {
            Self::Standard(encoding) => encoding.decode_without_bom_handling(bytes).0,
            Self::CodePage(table) => table.decode(bytes).into(),
            Self::SevenBit(_) => String::from_utf8_lossy(bytes),
        }
    }

    /// Returns the name of the charset.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Standard(encoding) => encoding.name(),
            Self::CodePage(table) => table.name,
            Self::SevenBit(SevenBit::Hz) => "HZ-GB-2312",
            Self::SevenBit(SevenBit::Utf7) => "UTF-7",
            Self::SevenBit(SevenBit::Iso2022) => "ISO-2022",
        }
    }
}

/// Returns the charset with a label that the Encoding Standard lacks, such as `cp936`, `ibm-850` or `iso8859_2`.
fn for_alias(label: &str) -> Option<Charset> {
    let plain: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
    let standard = |encoding| Some(Charset::Standard(encoding));
    if let Some(part) = plain.strip_prefix("iso8859").or_else(|| plain.strip_prefix("8859")) {
        return standard(Encoding::for_label(format!("iso-8859-{part}").as_bytes())?);
    }
    match plain.as_str() {
        "utf8mb4" | "utf8mb3" => return standard(UTF_8),
        "euccn" | "xmacchinesesimp" => return standard(GBK),
        "big5eten" | "big5tw" | "xmacchinesetrad" => return standard(BIG5),
        "xmacjapanese" => return standard(SHIFT_JIS),
        "uhc" | "xmackorean" => return standard(EUC_KR),
        "xmaccentraleurroman" | "maccentraleurope" | "macce" => {
            return tables::with_name("x-mac-ce").map(Charset::CodePage);
        }
        _ => {}
    }
    let prefixes = ["xcp", "cp", "ibm", "ccsid", "ms", "windows", "win", "dos", "oem", "ebcdiccp"];
    let number = prefixes.iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(&plain);
    let code_page = match number {
        "us" | "ca" | "wt" | "nl" => 37,
        number => number.parse().ok()?,
    };
    standard_code_page(code_page)
        .map(Charset::Standard)
        .or_else(|| tables::with_code_page(code_page).map(Charset::CodePage))
}

fn standard_code_page(code_page: u32) -> Option<&'static Encoding> {
    let label = match code_page {
        866 => "ibm866",
        932 | 943 => "shift_jis",
        936 => "gbk",
        949 => "euc-kr",
        950 => "big5",
        65001 => "utf-8",
        874 | 1250..=1258 => &format!("windows-{code_page}"),
        _ => return None,
    };
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_all_kinds_are_known() {
        for (label, name) in [
            ("GB2312", "GBK"),
            ("cp936", "GBK"),
            ("CP-1251", "windows-1251"),
            ("win1250", "windows-1250"),
            ("ISO8859_2", "ISO-8859-2"),
            ("utf8mb4", "UTF-8"),
            ("hz-gb-2312", "HZ-GB-2312"),
            ("unicode-1-1-utf-7", "UTF-7"),
            ("csISO2022KR", "ISO-2022"),
            ("iso-2022-cn-ext", "ISO-2022"),
            ("x-mac-roman", "macintosh"),
            ("x-mac-ce", "x-mac-ce"),
            ("IBM-850", "IBM850"),
            ("ebcdic-cp-us", "IBM037"),
            ("IBM01140", "IBM01140"),
        ] {
            assert_eq!(Charset::for_label(label.as_bytes()).map(|c| c.name()), Some(name), "{label}");
        }
        for unknown in ["", "x-user", "{{charset}}", "cp", "99999"] {
            assert!(Charset::for_label(unknown.as_bytes()).is_none(), "{unknown}");
        }
    }
}
