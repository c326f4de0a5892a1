//! Finds the first publisher of a text in the lines of a page: `来源：新华社`, `稿源`, `转自`, "originally published by".
//!
//! In: a line and its place. Out: the publisher's name, and the words that name it. The place of a line decides how
//! strict the rules are: a line near the title is about the page, but the same words within the text may be a quotation
//! or belong to a picture. Cost: linear in the line.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::lines::LinePlace;
use super::name;
use super::sender::{self, is_han};
use super::words::list;
use crate::extract::word_lists::{self, Automaton};

/// A publisher, and the words that name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) publisher: String,
    pub(super) line: String,
}

/// The words before a publisher, and the number of those after which a colon or the like must follow, which come first.
static CUES: LazyLock<Option<(AhoCorasick, usize)>> = LazyLock::new(|| {
    let with_colon = list("source:");
    Some((AhoCorasick::new(with_colon.iter().chain(list("source"))).ok()?, with_colon.len()))
});

/// The words before a publisher in a sentence in Latin letters.
static LATIN_CUES: LazyLock<Automaton<()>> = LazyLock::new(|| {
    let cues = list("published by").iter().map(|cue| (*cue, ()));
    word_lists::automaton(AhoCorasickKind::ContiguousNFA, cues)
});

/// Builds the tables, which are otherwise built on first use.
pub(super) fn build_tables() {
    LazyLock::force(&CUES);
    LazyLock::force(&LATIN_CUES);
}

/// Maximum length in characters of a line within the text that may name its source.
const WITHIN_CHARS_MAX: usize = 40;

/// Returns the publisher that a line names.
pub(super) fn from_line(text: &str, place: LinePlace) -> Option<Source> {
    let starts = ['（', '(', '来', '來', '稿', '【', '转', '轉', '本', '摘'];
    if text.is_ascii() || (place == LinePlace::First && !text.starts_with(starts)) {
        return latin(text, place);
    }
    chinese(text, place)
        .or_else(|| (place == LinePlace::Top).then(|| next_to_date(text)).flatten())
        .or_else(|| latin(text, place))
}

/// Reads a line that consists of a date and the name of a paper, an agency or a site.
fn next_to_date(text: &str) -> Option<Source> {
    let (from, found, to) = super::date::find_at(text)?;
    let (before, after) = (text[..from].trim(), text[to..].trim());
    let name = match (before.is_empty(), after.is_empty()) {
        (true, false) => after,
        (false, true) => before,
        _ => return None,
    };
    let is_sender = (3..=12).contains(&name.chars().count())
        && !name.contains(' ')
        && name.starts_with(is_han)
        && sender::is_sender(name);
    let publisher = name::publisher(name).filter(|_| is_sender && found.has_time())?;
    Some(Source { publisher, line: text.to_owned() })
}

/// Returns the source that a `<meta>` or a marked element names, with or without a cue.
pub(super) fn from_markup(text: &str) -> Option<Source> {
    from_line(text, LinePlace::Top).or_else(|| {
        let publisher = name::publisher(text.trim_start_matches([':', '：', ' ']))?;
        Some(Source { publisher, line: text.trim().to_owned() })
    })
}

fn chinese(text: &str, place: LinePlace) -> Option<Source> {
    let (cues, with_colon) = CUES.as_ref()?;
    for cue in cues.find_overlapping_iter(text) {
        let (begin, end, colon) = (cue.start(), cue.end(), cue.pattern().as_usize() < *with_colon);
        if !may_precede(&text[..begin]) || !is_apart(text, begin, place) {
            continue;
        }
        let Some(value) = value(&text[end..], colon) else { continue };
        let Some((raw, length)) = name::up_to_next_field(value) else { continue };
        let Some(publisher) = name::publisher(raw).filter(|_| !text.contains("免责声明")) else {
            continue;
        };
        let to = text.len() - value.len() + length;
        let line = text[line_start(text, begin)..to].trim().to_owned();
        return Some(Source { publisher, line });
    }
    None
}

/// Returns the text after the cue; with `colon`, there must be a mark in between.
fn value(after: &str, colon: bool) -> Option<&str> {
    let blanks = [' ', '\u{a0}', '\u{3000}'];
    let value = after.trim_start_matches(blanks);
    let marks = ['于', '於', ':', '：', '|', '｜', '丨', '/', '】', ']', '—', '-', '﹕', '∶'];
    let marked = value.trim_start_matches(marks);
    if marked.len() < value.len() {
        return Some(marked.trim_start_matches([' ', '\u{a0}', '\u{3000}', ':', '：']));
    }
    // In `| 来源CSDN|`, between bars, a name in Latin letters needs no colon to be distinguished from the cue.
    let is_barred = after.contains('|') && value.starts_with(|c: char| c.is_ascii_uppercase());
    (!colon || is_barred).then_some(value)
}

/// Returns true if the text before a cue lets it apply to the whole text. Terms of use do not: `凡本网注明“来源：中国网”的作品`.
fn may_precede(before: &str) -> bool {
    if before.ends_with(['“', '"', '「', '‘', '\'']) || before.contains("注明") {
        return false;
    }
    let Some(last) = before.chars().next_back() else { return true };
    if !is_han(last) {
        return true;
    }
    list("before source").iter().any(|word| {
        before.strip_suffix(word).is_some_and(|rest| !rest.ends_with(is_han) || word.starts_with('本'))
    })
}

/// Returns true if the cue at `begin` is as isolated as its place requires.
fn is_apart(text: &str, begin: usize, place: LinePlace) -> bool {
    let before = text[..begin].trim_end_matches(|c: char| is_han(c) || c == ' ');
    let at_start = before.trim_matches(|c: char| !c.is_alphanumeric()).is_empty();
    match place {
        LinePlace::Top => true,
        LinePlace::After => at_start || text.chars().count() <= 3 * WITHIN_CHARS_MAX,
        LinePlace::First => at_start,
        LinePlace::Within => at_start && text.chars().count() <= WITHIN_CHARS_MAX,
        LinePlace::Last => {
            // `…。（来源：上海证券报）`: the last words of the text, in brackets.
            let in_brackets = before.ends_with(['（', '(', '【', '[']);
            at_start || in_brackets || text.chars().count() <= WITHIN_CHARS_MAX
        }
    }
}

/// Returns the offset at which the words that name the source begin: at the cue, or at the word allowed right before
/// it.
fn line_start(text: &str, begin: usize) -> usize {
    let before = &text[..begin];
    let word = list("before source").iter().find(|word| before.ends_with(**word));
    begin - word.map_or(0, |word| word.len())
}

fn latin(text: &str, place: LinePlace) -> Option<Source> {
    if matches!(place, LinePlace::Last | LinePlace::After) {
        let is_label =
            |label: &&&str| text.get(..label.len()).is_some_and(|start| start.eq_ignore_ascii_case(label));
        if let Some(label) = list("source label").iter().find(is_label) {
            return latin_name(text, 0, label.len());
        }
    }
    // Most lines hold none.
    if !LATIN_CUES.as_ref()?.0.is_match(text) {
        return None;
    }
    let small = text.to_ascii_lowercase();
    list("published by").iter().find_map(|cue| {
        let begin = small.find(cue)?;
        latin_name(text, begin, begin + cue.len())
    })
}

/// Returns a name in Latin letters at `at`, which ends where a sentence continues or ends.
fn latin_name(text: &str, begin: usize, at: usize) -> Option<Source> {
    let value = &text[at..];
    let ends = [
        ". ", ", ", "; ", " (", ")", "|", " and ", " on ", " under ", " in ", " with ", " here", " as ",
        " by ", "\n",
    ];
    let end = ends.iter().filter_map(|end| value.find(end)).min().unwrap_or(value.len());
    let raw = value[..end].trim_end_matches(['.', ' ', '”', '"']);
    let raw = raw.strip_prefix("the ").unwrap_or(raw);
    let is_month = super::date::is_month(raw.split(' ').next().unwrap_or_default());
    // A name has capitals, or is a host name; with a year it is a date.
    let is_name = raw.split(' ').count() <= 6
        && (raw.starts_with(|c: char| c.is_uppercase() || c == '“' || c == '"')
            || raw.contains('.')
            || list("agency in small letters").contains(&raw))
        && !is_month
        && raw.bytes().filter(u8::is_ascii_digit).count() < 4;
    let publisher = name::publisher(raw).filter(|_| is_name)?;
    Some(Source { publisher, line: text[begin..at + end].trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publisher(text: &str, place: LinePlace) -> String {
        from_line(text, place).map(|source| source.publisher).unwrap_or_default()
    }

    #[test]
    fn the_publisher_follows_its_cue() {
        for (text, expected) in [
            ("来源：新华社", "新华社"),
            ("2019-09-07 13:43:45 来源: 证券市场红周刊 举报", "证券市场红周刊"),
            ("2015-05-21 05:03:58 来源: 21世纪经济报道(广州)", "21世纪经济报道"),
            ("2019年06月15日08:18 来源：人民网-文化频道", "人民网-文化频道"),
            ("2019-09-26 12:11来源：证券时报网作者：李在山", "证券时报网"),
            ("发稿时间：2024-05-20 13:15:00 来源：央视新闻客户端 中国青年网", "央视新闻客户端"),
            ("时间：2024.05.11 来源：光明日报 作者：南帆 分享到：", "光明日报"),
            ("發佈日期 ｜ 稿源｜《聯合報》", "聯合報"),
            ("信息来源：省发改委", "省发改委"),
            ("（稿件来源：北京中赫国安俱乐部官方微博）", "北京中赫国安俱乐部官方微博"),
            ("稿件来源：每经记者 李听 发自上海", "每经"),
            ("来源：中国石化报 发布时间：2020-11-06", "中国石化报"),
            ("本文来源于国家统计局 2024-05-11 09:36:26", "国家统计局"),
            ("来源于：东区办事处", "东区办事处"),
            ("转自：微信公众号“半月谈”", "半月谈"),
            ("发表于2014-08-24 21:30| 1164次阅读| 来源CSDN| 0 条评论| 作者魏星", "CSDN"),
            ("2019-09-26 10:56:28 证券时报网", "证券时报网"),
            ("中国网 2019-11-25 10:37:31", "中国网"),
            ("This article was originally published by The Conversation. Read it there.", "The Conversation"),
            ("Republished from Quanta Magazine under a licence", "Quanta Magazine"),
        ] {
            assert_eq!(publisher(text, LinePlace::Top), expected, "{text}");
        }
    }

    #[test]
    fn other_sources_are_not_publishers() {
        #[rustfmt::skip]
        const TEXTS: [&str; 19] = [
            "图片来源：未来科学大奖官网", "数据来源：国家统计局", "资金来源为公司自有资金",
            "来源: | 发布时间: 2018-05-17 | 浏览次数: 2168", "来源：网络",
            "来源：本站原创 作者：医技药剂党支部", "2024-05-08 23:23 来自甘肃",
            "2024年01月25日 18:03:35 来自内蒙古自治区", "信息来源于网络",
            "First published on May 3, 2025", "originally published in 2019",
            "Originally published in March 2022", "=INDIRECT 来自 Calc 单元格区域的电子表格值",
            "来源于其主页", "凡本网注明“来源：中国网”的作品，均转载自其它媒体",
            "转载时必须注明\"稿件来源：逸族网\"，违者逸族网将依法追究责任",
            "凡注明来源：中国网的所有作品，版权均属于中国网", "原文出处: 这里",
            "可持续的收入来源：旅游业",
        ];
        for text in TEXTS {
            assert_eq!(publisher(text, LinePlace::Top), "", "{text}");
        }
    }

    #[test]
    fn within_the_text_words_may_be_quoted() {
        let quoted = "记者看到，这条消息的末尾写着“来源：新华社”，但新华社从未发过这样的稿件，编辑部随后也发表了声明。";
        for place in [LinePlace::Within, LinePlace::Last, LinePlace::First] {
            assert_eq!(publisher(quoted, place), "", "{place:?}");
        }
        let cited = "公告见2005年8月30日的董事会决议，由此带来的不便，敬请原谅，公司将努力改进。2005年8月25日（来源：上海证券报）";
        assert_eq!(publisher(cited, LinePlace::Last), "上海证券报");
        assert_eq!(publisher(cited, LinePlace::Within), "");
        assert_eq!(publisher("来源|广州参考、羊城晚报", LinePlace::Within), "广州参考、羊城晚报");
    }

    #[test]
    fn the_last_line_names_its_source_in_other_languages() {
        for (text, expected) in [
            ("Quelle: dpa", "dpa"),
            ("Quelle: Wetterdienst der Küste", "Wetterdienst der Küste"),
            ("Source : Agence du Littoral", "Agence du Littoral"),
            ("Fuente: Diario de la Costa", "Diario de la Costa"),
            ("出典：朝霧新聞", "朝霧新聞"),
            ("Quelle: eigene Berechnung", ""),
        ] {
            assert_eq!(publisher(text, LinePlace::Last), expected, "{text}");
        }
    }
}
