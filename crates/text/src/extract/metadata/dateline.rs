//! Reads datelines of agencies and papers: `新华社北京5月13日电（记者邹伟）`, `新京报讯（记者 陆一夫）`, `LONDON (Reuters) - `.
//!
//! In: the start of a paragraph. Out: the sender of the text, and the reporters in the brackets that follow. Cost:
//! linear in the first [`CHARS_MAX`] characters.

use super::sender::is_han;
use super::source::Source;
use super::words::{any_ends, list};

/// Maximum length of a dateline in characters.
const CHARS_MAX: usize = 40;

/// Maximum length of a sender's Chinese name in characters.
const NAME_CHARS_MAX: usize = 10;

/// A dateline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dateline {
    pub(super) source: Option<Source>,
    /// The text in the brackets that follow.
    pub(super) reporters: Option<String>,
}

/// Reads the dateline at the start of `text`.
pub(super) fn parse(text: &str) -> Option<Dateline> {
    let text = text.trim_start();
    if text.starts_with(|c: char| c.is_ascii_uppercase())
        && let Some(found) = english(text)
    {
        return Some(found);
    }
    chinese(text)
}

/// Reads `新华社乌鲁木齐5月9日电（记者邹伟）`.
fn chinese(text: &str) -> Option<Dateline> {
    let rest = text.trim_start_matches(['【', '（', '(', '[', '\u{3000}', ' ']);
    let limit = rest.char_indices().nth(CHARS_MAX).map_or(rest.len(), |(at, _)| at);
    // A punctuation mark ends the search.
    let head = rest[..limit].split(['，', '。', '“', '：', '、', '；']).next().unwrap_or_default();
    for (at, mark) in head.char_indices().filter(|(_, c)| matches!(c, '电' | '電' | '讯' | '訊')) {
        let end = at + mark.len_utf8();
        let before = &head[..at];
        let Some(name) = sender(before) else { continue };
        let is_dated = before.len() > name.len();
        // `电` alone means electricity; in a dateline there is a place or date between it and the sender.
        let is_wire = matches!(mark, '电' | '電');
        if is_wire && !is_dated || !closes(&rest[end..]) {
            continue;
        }
        let source = Source { publisher: name.to_owned(), line: rest[..end].to_owned() };
        let source = (!list("self").contains(&name)).then_some(source);
        return Some(Dateline { source, reporters: bracketed(&rest[end..]).map(str::to_owned) });
    }
    None
}

/// Returns true if the text after a dateline shows that it ends here.
fn closes(after: &str) -> bool {
    let marks = [' ', '\u{3000}', '（', '(', '】', '）', ')', '：', ':', '，', '|', '—', '-'];
    after.is_empty() || after.starts_with(marks) || after.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns the name of the sender at the start of a dateline.
fn sender(before: &str) -> Option<&str> {
    let mut longest = None;
    for (chars, (at, c)) in before.char_indices().enumerate().take(NAME_CHARS_MAX) {
        let name = &before[..at + c.len_utf8()];
        let is_letter = is_han(c) || c.is_ascii_alphanumeric() || matches!(c, '·' | '-');
        if !is_letter {
            break;
        }
        if chars >= 1 && any_ends("sender", name) {
            longest = longest.or(Some(name)).filter(|_| chars < 3).or(Some(name));
        }
    }
    longest.filter(|name| name.starts_with(|c: char| is_han(c) || c.is_ascii_alphanumeric()))
}

/// Returns the content of the brackets at the start of `text`.
fn bracketed(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let inner = text.strip_prefix(['（', '('])?;
    let end = inner.find(['）', ')']).filter(|end| *end <= 120)?;
    Some(&inner[..end])
}

/// Reads `LONDON, May 3 (Reuters) - `.
fn english(text: &str) -> Option<Dateline> {
    let limit = text.floor_char_boundary(80);
    let head = &text[..limit];
    let open = head.find('(')?;
    let close = open + head[open..].find(')')?;
    let name = head[open + 1..close].trim();
    let agency = list("agency").iter().find(|agency| name.eq_ignore_ascii_case(agency))?;
    // A place in capitals comes before the agency, a dash after it.
    let place = head[..open].split([',', ' ']).next().unwrap_or_default();
    let is_place =
        place.len() >= 2 && place.chars().all(|c| c.is_uppercase() || matches!(c, '.' | '-' | '\''));
    let dash = head[close + 1..].trim_start().starts_with(['-', '–', '—', '/']);
    (is_place && dash).then(|| Dateline {
        source: Some(Source { publisher: (*agency).to_owned(), line: head[..=close].to_owned() }),
        reporters: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender_of(text: &str) -> String {
        parse(text).and_then(|found| found.source).map(|source| source.publisher).unwrap_or_default()
    }

    #[test]
    fn datelines_name_their_sender() {
        for (text, expected) in [
            ("新华社乌鲁木齐5月9日电（记者邹伟）中共中央政治局常委", "新华社"),
            ("新华社北京5月13日电 中共中央总书记", "新华社"),
            ("新京报讯（记者 陆一夫）11月25日，", "新京报"),
            ("长江网10月4日讯（记者陈智 整合） 国庆中秋", "长江网"),
            ("人民网北京5月9日电 （记者栗翘楚）记者今日", "人民网"),
            ("1905电影网讯 以光影之名", "1905电影网"),
            ("北京商报讯（记者 岳品瑜 董晗萱）5月20日，", "北京商报"),
            ("LONDON, May 3 (Reuters) - The ferry", "Reuters"),
            ("PARIS (AP) — The ferry", "AP"),
        ] {
            assert_eq!(sender_of(text), expected, "{text}");
        }
    }

    #[test]
    fn text_that_only_resembles_a_dateline_is_not_one() {
        #[rustfmt::skip]
        const TEXTS: [&str; 8] = [
            "本报讯（记者叶婉）近日", "电网公司供电正常", "网络通讯公司今天发布了新产品。",
            "中国社会发电量上升，", "新京报记者获悉，一份电报送到了", "The Reuters (Reuters) - building",
            "", "电",
        ];
        for text in TEXTS {
            assert_eq!(sender_of(text), "", "{text}");
        }
    }
}
