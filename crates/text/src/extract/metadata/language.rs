//! Determines the language of a page: as its markup declares it, unless the script of its text contradicts that.
//!
//! In: the declarations in `<html lang>`, metadata and linked data; the main text. Out: a BCP 47 tag. Templates often
//! declare `en` for a page in Chinese, Japanese or Korean, so these three are recognised by their script. Cost: reads
//! the first [`CHARS_MAX`] letters.

use crate::extract::document::Document;
use leitong_base::record::Metadata;

/// Maximum number of letters of the text that are read.
const CHARS_MAX: usize = 160;

/// Minimum number of letters of a text whose script is determined.
const LETTERS_MIN: usize = 40;

/// Returns the language of `document`; `declared` lists the declarations in the order of trust.
pub(super) fn detect(document: &Document, declared: impl IntoIterator<Item = String>) -> Option<String> {
    let declared = declared.into_iter().find_map(|declared| tag(&declared));
    let written = script(document);
    match (declared, written) {
        (Some(declared), Some(written)) if !agrees(&declared, written) => Some(written.to_owned()),
        (None, written) => written.map(str::to_owned),
        (declared, _) => declared,
    }
}

/// Returns true if a text in the script of `written` may be in the language `declared`.
fn agrees(declared: &str, written: &str) -> bool {
    let primary = declared.split('-').next().unwrap_or_default();
    primary == written
        || (written == "zh" && matches!(primary, "yue" | "wuu" | "nan" | "hak" | "cmn" | "lzh" | "ja"))
}

/// Returns the tag in its usual form: `zh-CN`, `sr-Latn`; `None` if it is not a tag.
fn tag(declared: &str) -> Option<String> {
    let declared = declared.trim().split([',', ';', ' ']).next()?.replace('_', "-");
    let mut parts = declared.split('-');
    let primary = parts.next()?.to_ascii_lowercase();
    if !(2..=3).contains(&primary.len()) || !primary.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let mut found = primary;
    for part in parts {
        let is_part = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_part || found.len() + 1 + part.len() > Metadata::LANGUAGE_BYTES_MAX {
            break;
        }
        found.push('-');
        match part.len() {
            2 => found.push_str(&part.to_ascii_uppercase()),
            4 if part.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                found.push_str(&part[..1].to_ascii_uppercase());
                found.push_str(&part[1..].to_ascii_lowercase());
            }
            _ => found.push_str(&part.to_ascii_lowercase()),
        }
    }
    Some(found)
}

/// Returns the language that the text's script belongs to, if there is exactly one.
fn script(document: &Document) -> Option<&'static str> {
    let (mut han, mut kana, mut hangul, mut other) = (0, 0, 0, 0);
    let texts = document.paragraphs.iter().map(|paragraph| paragraph.text.as_str());
    for c in texts.flat_map(str::chars).filter(|c| c.is_alphabetic()).take(CHARS_MAX) {
        match c {
            'A'..='Z' | 'a'..='z' => other += 1,
            '\u{3040}'..='\u{30ff}' => kana += 1,
            '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => hangul += 1,
            c if super::sender::is_han(c) => han += 1,
            _ => other += 1,
        }
    }
    let all = han + kana + hangul + other;
    if all < LETTERS_MIN || other * 2 > all {
        None
    } else if kana * 10 > all {
        Some("ja")
    } else if hangul * 5 > all {
        Some("ko")
    } else {
        (han * 2 > all).then_some("zh")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_one_form() {
        for (declared, expected) in [
            ("zh-cn", "zh-CN"),
            ("en_US", "en-US"),
            ("ZH-HANS-cn", "zh-Hans-CN"),
            ("en-US, fr", "en-US"),
            ("de", "de"),
        ] {
            assert_eq!(tag(declared).as_deref(), Some(expected), "{declared}");
        }
        for declared in ["", "english", "x", "中文", "-", "utf-8"] {
            assert!(tag(declared).is_none_or(|tag| tag.len() <= Metadata::LANGUAGE_BYTES_MAX), "{declared}");
        }
        assert_eq!(
            tag(&format!("en-{}", "abcdefgh-".repeat(20)))
                .map(|tag| tag.len() <= Metadata::LANGUAGE_BYTES_MAX),
            Some(true)
        );
    }

    #[test]
    fn the_script_of_a_text_overrides_its_template() {
        let chinese = Document::from_text(None, &"漆黑的夜里渡船第一次亮着灯驶过海峡".repeat(4));
        let english = Document::from_text(None, &"The ferry to the islands sails again. ".repeat(4));
        let declared = |declared: &str| [declared.to_owned()];
        assert_eq!(detect(&chinese, declared("en")).as_deref(), Some("zh"));
        assert_eq!(detect(&chinese, declared("zh-TW")).as_deref(), Some("zh-TW"));
        assert_eq!(detect(&chinese, []).as_deref(), Some("zh"));
        assert_eq!(detect(&english, declared("en-GB")).as_deref(), Some("en-GB"));
        assert_eq!(detect(&english, []), None);
    }
}
