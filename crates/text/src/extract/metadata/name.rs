//! Recognises names of publishers and authors.
//!
//! In: words where a name is expected. Out: the name without its surroundings; `None` if the words are not a name.
//! Cost: linear in the words.

use super::sender::is_han;
use super::words::{any_ends, any_in, has, is_byline, list};
use leitong_base::record::Metadata;

/// Returns the first field of `text`, which other fields may follow, and the offset in `text` at which it ends.
pub(super) fn up_to_next_field(text: &str) -> Option<(&str, usize)> {
    let fields = list("next field");
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        let ends = match c {
            '|' | '｜' | '丨' | '】' | ']' | '。' | ';' | '；' | ',' | '，' | '\n' | '！' | '？' | '>'
            | '»' | '　' => true,
            // A closing bracket without an opening one, as in `（来源：新华社）`.
            '）' | ')' => !text[..at].contains(['（', '(']),
            // Names in Chinese have no spaces, except before brackets.
            ' ' => text[..at].contains(is_han) && !text[at + 1..].starts_with(['(', '（']),
            '0'..='9' => at > 0 && super::date::find_at(&text[at..]).is_some_and(|(from, ..)| from == 0),
            _ if is_han(c) && at > 0 => fields.iter().any(|field| text[at..].starts_with(field)),
            _ => false,
        };
        if ends {
            end = at;
            break;
        }
    }
    let field = text[..end].trim();
    (!field.is_empty()).then_some((field, end))
}

/// Returns true for a job, which may follow a name: `Harbour Correspondent`.
pub(super) fn is_job(part: &str) -> bool {
    part.split_whitespace().next_back().is_some_and(|word| has("job", word))
}

/// Returns a publisher's name without brackets, quotation marks and the place of its office.
pub(super) fn publisher(raw: &str) -> Option<String> {
    let mut name = raw.trim().trim_matches(is_frame);
    for prefix in list("before publisher") {
        let rest = name
            .strip_prefix(prefix)
            .map(|rest| rest.trim_start_matches([':', '：', '“', '「', '@', ' ', '《']));
        name = rest.filter(|rest| rest.chars().count() >= 2).unwrap_or(name);
    }
    // `21世纪经济报道(广州)`.
    while let Some(at) = name.rfind(['（', '(']).filter(|at| *at > 0 && name.ends_with(['）', ')'])) {
        name = name[..at].trim_end();
    }
    let name = unframed(name).trim_end_matches("记者");
    let chars = name.chars().count();
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let fits =
        chars >= 2 && letters >= 2 && letters * 3 >= chars && name.len() <= Metadata::PUBLISHER_BYTES_MAX;
    let is_plain = !name.contains(['。', '？', '！', '\n', '{', '<', '=']) && !name.contains("://");
    (fits && is_plain && !is_no_publisher(name)).then(|| name.to_owned())
}

/// Returns true if the words say that there is no publisher, or belong to another field.
fn is_no_publisher(name: &str) -> bool {
    let bare = name.trim_start_matches("来自").trim_start_matches("来源于");
    has("no publisher", bare)
        || has("no name", name)
        || has("next field", name)
        || is_region(bare)
        || any_in("not in publisher", name)
        || list("no publisher begins").iter().any(|word| name.starts_with(word))
}

/// Removes marks around the whole name: 《光明日报》, “半月谈”; a title within the name is kept.
fn unframed(name: &str) -> &str {
    let mut name = name;
    for (open, close) in super::PAIRS.into_iter().filter(|(open, _)| !matches!(open, '(' | '（' | '[')) {
        let inner = name.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        name = inner.filter(|inner| !inner.contains([open, close])).unwrap_or(name);
    }
    // A mark may have lost its counterpart when the text was cut.
    super::without_stray_brackets(name)
}

/// Returns true for characters that surround names.
fn is_frame(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ':' | '：' | '-' | '—' | '|' | '·' | '、' | '，' | ',' | '.' | '*' | '@' | '/' | '>')
}

/// Returns true for the region that an account writes from: `来自甘肃`, `来自内蒙古自治区`.
fn is_region(name: &str) -> bool {
    any_ends("region", name) && name.chars().count() <= 8
}

/// Returns true if a text after a Chinese cue looks like a person's name: two to four Chinese characters, without words
/// that are not names.
pub(super) fn is_chinese_person(name: &str) -> bool {
    let chars = name.chars().count();
    (2..=4).contains(&chars)
        && name.chars().all(is_han)
        && !any_in("next field", name)
        && !any_in("not in person", name)
}

/// Returns an author's name without `By`, roles and brackets.
pub(super) fn author(raw: &str) -> Option<String> {
    let mut name = without_link(raw.trim().trim_matches(|c: char| is_frame(c) && c != '.'));
    for prefix in list("before author") {
        if let Some(rest) = after_any_case(name, prefix) {
            name = rest.trim_start();
        }
    }
    for end in [" | ", " – ", " — ", " - ", " · ", " • ", " » ", "\n"] {
        name = name.split_once(end).map_or(name, |(before, _)| before);
    }
    let name = unframed(name).trim_end_matches(|c: char| is_frame(c) && c != '.');
    let letters = name.chars().filter(|c| c.is_alphabetic()).count();
    let chars = name.chars().filter(|c| !c.is_whitespace()).count();
    let is_none = has("no publisher", name) || any_in("not in author", name);
    let fits = letters >= 2
        && letters * 3 >= chars * 2
        && name.len() <= Metadata::AUTHOR_BYTES_MAX
        && name.split_whitespace().count() <= 9
        && !name.contains(['@', '{', '<', '=', '?', '。', '，', '：', ':', '!'])
        && !name.contains("://")
        && !name.contains("www.");
    let are_initials = letters <= 3 && name.chars().all(char::is_lowercase);
    (fits && !is_none && !are_initials && !is_label(name)).then(|| name.to_owned())
}

/// Returns the name in the text of a link to all texts of an author.
fn without_link(text: &str) -> &str {
    let found = list("link to texts").iter().find_map(|words| {
        let (begin, end) = words.split_once('*')?;
        let rest = after_any_case(text, begin)?;
        let at = rest.len().checked_sub(end.len()).filter(|at| rest.is_char_boundary(*at))?;
        is_any_case(&rest[at..], end).then(|| rest[..at].trim())
    });
    found.filter(|name| !name.is_empty()).unwrap_or(text)
}

/// Returns `text` after `prefix`, which is in lower case.
fn after_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(prefix.len())?;
    is_any_case(begin, prefix).then_some(rest)
}

/// Returns true if `text` in lower case is `lower`.
fn is_any_case(text: &str, lower: &str) -> bool {
    text.chars().flat_map(char::to_lowercase).eq(lower.chars())
}

/// Returns true for words that announce something instead of naming a person: a word before an author's name alone or
/// at the end, or words of which the first has a capital and the last has none.
pub(super) fn is_label(name: &str) -> bool {
    let word = name.trim_matches(|c: char| !c.is_alphanumeric());
    let last = word.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_person = last.contains(['.', '’', '\'']) || is_job(last);
    has("no name", word)
        || is_byline(word)
        || is_byline(last)
        || (word.starts_with(char::is_uppercase) && last.starts_with(char::is_lowercase) && !is_person)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_lose_the_marks_around_them() {
        for (raw, expected) in [
            ("《光明日报》", Some("光明日报")),
            ("光明网-《光明日报》", Some("光明网-《光明日报》")),
            ("Wind资讯 (www.wind.com.cn)(上海)", Some("Wind资讯")),
            ("微信公众号：半月谈", Some("半月谈")),
            ("综合抖音黑板报、南方都市报", Some("抖音黑板报、南方都市报")),
            ("综合", None),
            ("网络", None),
            ("http://a.example/", None),
            ("2019", None),
            ("", None),
        ] {
            assert_eq!(publisher(raw).as_deref(), expected, "{raw}");
        }
        assert_eq!(publisher(&"新".repeat(100)), None, "longer than any name");
    }

    #[test]
    fn authors_lose_the_words_before_them() {
        for (raw, expected) in [
            ("By Jane Doe", Some("Jane Doe")),
            ("Jane Doe | The Times", Some("Jane Doe")),
            ("  J. R. R. Tolkien ", Some("J. R. R. Tolkien")),
            ("Published by Jane Doe", Some("Jane Doe")),
            ("View all posts by Jane Doe", Some("Jane Doe")),
            ("Alle Beiträge von Jane Doe anzeigen", Some("Jane Doe")),
            ("Voir tous les articles de Jeanne Doux", Some("Jeanne Doux")),
            ("Посмотреть все записи автора Анна Орлова", Some("Анна Орлова")),
            ("查看王海燕的所有文章", Some("王海燕")),
            ("田中 健一の投稿をすべて表示", Some("田中 健一")),
            ("View more posts", None),
            ("Von", None),
            ("von", None),
            ("Recipe by", None),
            ("SUBMITTED BY", None),
            ("Par", None),
            ("Autor", None),
            ("Escrito por", None),
            ("Zu den Kommentaren springen", None),
            ("Leave a comment", None),
            ("Ursula von der Leyen", Some("Ursula von der Leyen")),
            ("Redaktion bay.example", Some("Redaktion bay.example")),
            ("jdoe", Some("jdoe")),
            ("amw", None),
            ("Read more", None),
            ("Thomas More", Some("Thomas More")),
            ("admin", None),
            ("name, email@gmail.com", None),
            ("104363", None),
            ("https://www.facebook.com/someone", None),
            ("网络整理", None),
        ] {
            assert_eq!(author(raw).as_deref(), expected, "{raw}");
        }
    }
}
