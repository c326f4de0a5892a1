//! Recognises names of publishers and authors.
//!
//! In: words where a name is expected. Out: the name without its surroundings; `None` if the words are not a name.
//! Cost: linear in the words.

use super::cues;
use super::sender::is_han;
use leitong_base::record::Credits;

/// Words that begin the next field of a line.
#[rustfmt::skip]
const NEXT_FIELDS: [&str; 50] = [
    "作者", "责任编辑", "責任編輯", "编辑", "編輯", "责编", "記者", "记者", "时间", "時間", "发布", "發布",
    "發佈", "日期", "举报", "选稿", "字号", "字體", "字体", "浏览", "瀏覽", "阅读", "閱讀", "点击", "點擊",
    "评论", "分享", "打印", "校对", "审核", "查看", "原标题", "扫码", "扫一扫", "收藏", "更多", "我要",
    "关注", "订阅", "图片", "来源", "原创", "摄影", "通讯员", "阅读量", "人气", "次浏览", "撰文", "返回",
    "版权",
];

/// Words used instead of a publisher if there is none.
#[rustfmt::skip]
const NO_PUBLISHERS: [&str; 32] = [
    "网络", "互联网", "本站", "原创", "未知", "不详", "综合", "佚名", "网友", "转载", "整理", "网络整理",
    "本站原创", "官网", "网站", "本网", "本报", "编辑部", "管理员", "自媒体", "投稿", "其他", "其它", "無",
    "无", "暂无", "網路", "網絡", "本網", "原創", "公众号", "网上",
];

/// Words in Latin letters that are not names.
#[rustfmt::skip]
const NO_NAMES: [&str; 33] = [
    "the author", "about the author", "by", "at", "via", "text by", "words", "share", "follow",
    "contributor", "automoderator", "admin", "administrator", "author", "editor", "unknown", "anonymous",
    "null", "none", "undefined", "name", "user", "guest", "root", "webmaster", "internet", "n/a", "default",
    "test", "staff", "false", "true", "advertisement",
];

/// Words that no name of a person in Chinese contains, such as those of notices about copying: `未经作者许可`.
#[rustfmt::skip]
const NO_PEOPLE: [&str; 57] = [
    "许可", "許可", "同意", "出处", "出處", "來源", "原文", "链接", "署名", "姓名", "信息", "转载", "轉載", "授權",
    "允许",
    "报道", "整理", "编译", "实习生", "摄", "供图", "综合", "本报", "本网", "通讯", "个人", "本人", "简介",
    "最新", "最近", "观点", "文章", "其他", "授权", "曾任", "所有", "独家", "专栏", "责任", "整合", "声明",
    "版权", "作品", "本文", "笔者", "今天", "今日", "昨日", "日前", "特约", "近日", "获悉", "了解", "表示",
    "发现", "注意", "采访",
];

/// Returns the first field of `text`, which other fields may follow, and the offset in `text` at which it ends.
pub(super) fn up_to_next_field(text: &str) -> Option<(&str, usize)> {
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
            _ if is_han(c) && at > 0 => NEXT_FIELDS.iter().any(|field| text[at..].starts_with(field)),
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
    #[rustfmt::skip]
    const JOBS: [&str; 12] = [
        "correspondent", "reporter", "editor", "writer", "columnist", "journalist", "producer",
        "photographer", "bureau", "staff", "contributor", "redaktion",
    ];
    part.split_whitespace()
        .next_back()
        .is_some_and(|word| JOBS.iter().any(|job| word.eq_ignore_ascii_case(job)))
}

/// Words around an author's name in links to all of the author's texts, as content management systems write them in the
/// site's language; in lower case.
#[rustfmt::skip]
const LINKS_TO_TEXTS: [(&str, &str); 24] = [
    ("view all posts by ", ""), ("view all articles by ", ""), ("see all posts by ", ""),
    ("see all articles by ", ""), ("all posts by ", ""), ("more posts by ", ""), ("more articles by ", ""),
    ("posts by ", ""), ("alle beiträge von ", " anzeigen"), ("alle beiträge von ", ""),
    ("zeige alle beiträge von ", ""), ("voir tous les articles de ", ""),
    ("afficher tous les articles de ", ""), ("ver todas las entradas de ", ""),
    ("ver todos os posts de ", ""), ("vedi tutti gli articoli di ", ""),
    ("visualizza tutti gli articoli di ", ""), ("bekijk alle berichten van ", ""),
    ("alle berichten van ", " weergeven"), ("посмотреть все записи автора ", ""),
    ("смотреть все записи автора ", ""), ("查看所有由", "发布的文章"), ("查看", "的所有文章"),
    ("", "の投稿をすべて表示"),
];

/// Returns a publisher's name without brackets, quotation marks and the place of its office.
pub(super) fn publisher(raw: &str) -> Option<String> {
    let mut name = raw.trim().trim_matches(is_frame);
    for prefix in ["微信公众号", "公众号", "微信公號", "综合自", "综合"] {
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
        chars >= 2 && letters >= 2 && letters * 3 >= chars && name.len() <= Credits::PUBLISHER_BYTES_MAX;
    let is_plain = !name.contains(['。', '？', '！', '\n', '{', '<', '=']) && !name.contains("://");
    (fits && is_plain && !is_no_publisher(name)).then(|| name.to_owned())
}

/// Returns true if the words say that there is no publisher, or belong to another field.
fn is_no_publisher(name: &str) -> bool {
    let bare = name.trim_start_matches("来自").trim_start_matches("来源于");
    let holds = ["编辑", "編輯", "链接", "原文", "版权", "点击", "时间", "日期"];
    #[rustfmt::skip]
    const BEGINS: [&str; 16] = [
        "不明", "其", "这", "這", "该", "此", "读者", "一位", "一个", "为", "是", "有", "的", "发布于",
        "发表于", "发布时间",
    ];
    NO_PUBLISHERS.contains(&bare)
        || NO_NAMES.iter().any(|word| name.eq_ignore_ascii_case(word))
        || NEXT_FIELDS.contains(&name)
        || is_region(bare)
        || name.ends_with("客户端自媒体")
        || holds.iter().any(|word| name.contains(word))
        || BEGINS.iter().any(|word| name.starts_with(word))
}

/// Removes marks around the whole name: 《光明日报》, “半月谈”; a title within the name is kept.
fn unframed(name: &str) -> &str {
    let pairs = [('《', '》'), ('“', '”'), ('「', '」'), ('【', '】'), ('"', '"'), ('『', '』')];
    let mut name = name;
    for (open, close) in pairs {
        let inner = name.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        name = inner.filter(|inner| !inner.contains([open, close])).unwrap_or(name);
    }
    // A mark may have lost its counterpart when the text was cut.
    let halves = |c: char| {
        pairs.iter().any(|(open, close)| (c == *open || c == *close) && lonely(name, *open, *close))
    };
    name.trim_matches(halves).trim()
}

fn lonely(name: &str, open: char, close: char) -> bool {
    open != close && name.matches(open).count() != name.matches(close).count()
}

/// Returns true for characters that surround names.
fn is_frame(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ':' | '：' | '-' | '—' | '|' | '·' | '、' | '，' | ',' | '.' | '*' | '@' | '/' | '>')
}

/// Returns true for the region that an account writes from: `来自甘肃`, `来自内蒙古自治区`.
fn is_region(name: &str) -> bool {
    ["省", "市", "自治区", "特别行政区"].iter().any(|ending| name.ends_with(ending))
        && name.chars().count() <= 8
}

/// Returns true if a text after a Chinese cue looks like a person's name: two to four Chinese characters, without words
/// that are not names.
pub(super) fn is_chinese_person(name: &str) -> bool {
    let chars = name.chars().count();
    (2..=4).contains(&chars)
        && name.chars().all(is_han)
        && !NEXT_FIELDS.iter().any(|field| name.contains(field))
        && !NO_PEOPLE.iter().any(|word| name.contains(word))
}

/// Returns an author's name without `By`, roles and brackets.
pub(super) fn author(raw: &str) -> Option<String> {
    let mut name = without_link(raw.trim().trim_matches(|c: char| is_frame(c) && c != '.'));
    #[rustfmt::skip]
    const PREFIXES: [&str; 12] = [
        "written by ", "published by ", "posted by ", "by: ", "by ", "author: ", "author ", "words by ",
        "story by ", "作者：", "作者:", "文/",
    ];
    for prefix in PREFIXES {
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
    let is_none = NO_PUBLISHERS.contains(&name)
        || ["声明", "账号", "版权", "登录", "关注", "作者"].iter().any(|word| name.contains(word));
    let fits = letters >= 2
        && letters * 3 >= chars * 2
        && name.len() <= Credits::AUTHOR_BYTES_MAX
        && name.split_whitespace().count() <= 9
        && !name.contains(['@', '{', '<', '=', '?', '。', '，', '：', ':', '!'])
        && !name.contains("://")
        && !name.contains("www.");
    let are_initials = letters <= 3 && name.chars().all(char::is_lowercase);
    (fits && !is_none && !are_initials && !is_label(name)).then(|| name.to_owned())
}

/// Returns the name in the text of a link to all texts of an author.
fn without_link(text: &str) -> &str {
    let found = LINKS_TO_TEXTS.iter().find_map(|(begin, end)| {
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
    let is_known = |known: &[&str]| known.iter().any(|known| is_any_case(word, known));
    is_known(&NO_NAMES)
        || cues::is_cue(word)
        || cues::is_cue(last)
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
