//! In which language a page is written: as its markup says, unless the script of its text says
//! otherwise.
//!
//! In: what `<html lang>`, metadata and linked data say; the main text. Out: a tag of BCP 47. A
//! template often says `en` of a page in Chinese, Japanese or Korean; these three are told by
//! their script, whatever is said. Cost: a look at the first [`CHARS_MAX`] characters.

use crate::extract::Document;
use leitong_base::limits::LANGUAGE_BYTES_MAX;

/// Characters of the text that are looked at.
const CHARS_MAX: usize = 160;

/// Letters from which a text has a script.
const LETTERS_MIN: usize = 40;

/// The language of `document`, of which `said` is said in the order in which it is trusted.
pub(super) fn of(document: &Document, said: impl IntoIterator<Item = String>) -> Option<String> {
    let said = said.into_iter().find_map(|said| tag(&said));
    let written = script(document);
    match (said, written) {
        (Some(said), Some(written)) if !agrees(&said, written) => Some(written.to_owned()),
        (None, written) => written.map(str::to_owned),
        (said, _) => said,
    }
}

/// Whether a text that is `written` so may be of the language `said`.
fn agrees(said: &str, written: &str) -> bool {
    let primary = said.split('-').next().unwrap_or_default();
    primary == written
        || (written == "zh" && matches!(primary, "yue" | "wuu" | "nan" | "hak" | "cmn" | "lzh" | "ja"))
}

/// The tag in its usual form: `zh-CN`, `sr-Latn`; none for what is no tag.
fn tag(said: &str) -> Option<String> {
    let said = said.trim().split([',', ';', ' ']).next()?.replace('_', "-");
    let mut parts = said.split('-');
    let primary = parts.next()?.to_ascii_lowercase();
    if !(2..=3).contains(&primary.len()) || !primary.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let mut found = primary;
    for part in parts {
        let is_part = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_part || found.len() + 1 + part.len() > LANGUAGE_BYTES_MAX {
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

/// The language that a text's script belongs to, where that is one.
fn script(document: &Document) -> Option<&'static str> {
    let (mut han, mut kana, mut hangul, mut other) = (0, 0, 0, 0);
    let texts = document.paragraphs.iter().map(|paragraph| paragraph.text.as_str());
    for c in texts.flat_map(str::chars).filter(|c| c.is_alphabetic()).take(CHARS_MAX) {
        match c {
            'A'..='Z' | 'a'..='z' => other += 1,
            '\u{3040}'..='\u{30ff}' => kana += 1,
            '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => hangul += 1,
            c if super::source::is_han(c) => han += 1,
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
        for (said, expected) in [
            ("zh-cn", "zh-CN"),
            ("en_US", "en-US"),
            ("ZH-HANS-cn", "zh-Hans-CN"),
            ("en-US, fr", "en-US"),
            ("de", "de"),
        ] {
            assert_eq!(tag(said).as_deref(), Some(expected), "{said}");
        }
        for said in ["", "english", "x", "中文", "-", "utf-8"] {
            assert!(tag(said).is_none_or(|tag| tag.len() <= LANGUAGE_BYTES_MAX), "{said}");
        }
        assert_eq!(
            tag(&format!("en-{}", "abcdefgh-".repeat(20))).map(|tag| tag.len() <= LANGUAGE_BYTES_MAX),
            Some(true)
        );
    }

    #[test]
    fn the_script_of_a_text_outweighs_its_template() {
        let chinese = Document::from_text(None, &"漆黑的夜里渡船第一次亮着灯驶过海峡".repeat(4));
        let english = Document::from_text(None, &"The ferry to the islands sails again. ".repeat(4));
        let said = |said: &str| [said.to_owned()];
        assert_eq!(of(&chinese, said("en")).as_deref(), Some("zh"));
        assert_eq!(of(&chinese, said("zh-TW")).as_deref(), Some("zh-TW"));
        assert_eq!(of(&chinese, []).as_deref(), Some("zh"));
        assert_eq!(of(&english, said("en-GB")).as_deref(), Some("en-GB"));
        assert_eq!(of(&english, []), None);
    }
}
