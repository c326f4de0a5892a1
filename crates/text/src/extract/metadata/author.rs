//! Finds the authors of a page in linked data, `<meta>`, marked elements, and lines in Chinese and Japanese.
//!
//! In: names from these, in the order of trust. Out: distinct names. On pages in Chinese the page's own lines come
//! first, since `<meta name="author">` there often names the site, an editor or a number. Cost: linear in the input.

use super::dateline;
use super::lines::{LinePlace, PageLine};
use super::name;
use super::sender::is_han;
use super::words::{any_ends, list};
use leitong_base::record::Metadata;

/// Maximum length in characters of a line that names its author.
const LINE_CHARS_MAX: usize = 90;

/// Adds `found` to `names` without stray brackets, if it is new and there is room.
pub(super) fn add(names: &mut Vec<String>, mut found: String) {
    let name = super::without_stray_brackets(&found);
    if name.len() < found.len() {
        found = name.to_owned();
    }
    if found.is_empty() {
        return;
    }
    let is_known = names.iter().any(|known| known.eq_ignore_ascii_case(&found));
    if names.len() < Metadata::AUTHORS_MAX && !is_known {
        names.push(found);
    }
}

/// Splits a value that may hold several names, at commas, semicolons, `、` and words like `and`.
pub(super) fn split(value: &str) -> Vec<String> {
    let mut names = Vec::new();
    let value = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(value);
    let mut text = value.replace(['、', ';'], ", ");
    for and in list("and") {
        text = text.replace(and, ", ");
    }
    let mut parts = text.split(", ").map(str::trim).filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let mut whole = part.to_owned();
        if !names.is_empty() && is_clause(part) {
            break;
        }
        if !names.is_empty() && name::is_job(part) {
            continue;
        }
        // `Jane Doe, MD, FOMA` is one person.
        while let Some(title) = parts.next_if(|next| is_title(next)) {
            whole.push_str(", ");
            whole.push_str(title);
        }
        if let Some(found) = name::author(&whole) {
            add(&mut names, found);
        }
    }
    names
}

/// Returns true for words about the person before: `who covers harbours`.
fn is_clause(part: &str) -> bool {
    let word = part.split(' ').next().unwrap_or_default();
    part.contains(' ') && list("clause").contains(&word)
}

/// Returns true for letters after a name: `MD`, `Ph.D.`, `Jr.`.
fn is_title(part: &str) -> bool {
    let letters = part.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = part.chars().filter(|c| c.is_uppercase()).count();
    !part.contains(' ')
        && !list("agency").contains(&part)
        && (1..=6).contains(&letters)
        && (capitals * 2 >= letters || part == "Jr.")
}

/// Returns the authors named in Chinese in the page's lines.
pub(super) fn from_lines(lines: &[PageLine]) -> Vec<String> {
    let mut names = Vec::new();
    for wanted in [[LinePlace::Top, LinePlace::First], [LinePlace::Last, LinePlace::After]] {
        for line in
            lines.iter().filter(|line| wanted.contains(&line.place) || line.place == LinePlace::Within)
        {
            let found = match line.place {
                LinePlace::First => match reporters(&line.text) {
                    found if found.is_empty() => chinese(&line.text, LinePlace::Within),
                    found => found,
                },
                _ => chinese(&line.text, line.place),
            };
            found.into_iter().for_each(|found| add(&mut names, found));
        }
        if !names.is_empty() {
            break;
        }
    }
    names
}

/// Returns the reporters that a dateline names in brackets.
fn reporters(text: &str) -> Vec<String> {
    let reporters = dateline::parse(text).and_then(|dateline| dateline.reporters);
    reporters.map(|inner| chinese(&inner, LinePlace::First)).unwrap_or_default()
}

fn chinese(text: &str, place: LinePlace) -> Vec<String> {
    let mut names = Vec::new();
    // `文／李明　攝影／張華`.
    let photographer = ["摄影", "攝影"].iter().filter_map(|cue| {
        let at = text.find(cue)?;
        text[at + cue.len()..].trim_start().starts_with(['／', '/', '：', ':', '|']).then_some(at)
    });
    let text = &text[..photographer.min().unwrap_or(text.len())];
    if text.is_ascii() || text.chars().count() > LINE_CHARS_MAX || text.contains(['摄', '攝']) {
        return names;
    }
    let text = &text.replace('|', "丨");
    let outright = list("author outright").iter().map(|cue| (cue, true));
    for (cue, outright) in outright.chain(list("author").iter().map(|cue| (cue, false))) {
        let Some(at) = text.find(cue) else { continue };
        if !is_cue(text, at, cue, place) {
            continue;
        }
        people(&text[at + cue.len()..], outright).into_iter().for_each(|found| add(&mut names, found));
        if !names.is_empty() {
            break;
        }
    }
    names
}

/// Returns true if the cue at `at` is about the page's author, unlike `创作者` and `原作者`.
fn is_cue(text: &str, at: usize, cue: &str, place: LinePlace) -> bool {
    let before = &text[..at];
    let last = before.chars().next_back();
    if cue.starts_with("作者")
        && last.is_some_and(|c| matches!(c, '创' | '工' | '合' | '原' | '制' | '操' | '写'))
    {
        return false;
    }
    if cue.starts_with('文') && last.is_some_and(|c| is_han(c) || c.is_alphanumeric()) {
        return false;
    }
    // `据记者了解` within a sentence is not a cue; `新京报记者 陆一夫` alone in a line, or in brackets, is one.
    let is_short = text.chars().count() <= 30;
    let in_brackets = before.rfind(['（', '(', '【']).is_some_and(|open| text[open..].chars().count() <= 40);
    match place {
        LinePlace::Top | LinePlace::After => {
            let is_field =
                cue.ends_with('：') || text[at + cue.len()..].trim_start().starts_with(['：', ':']);
            is_short || in_brackets || is_field || cue.starts_with("作者")
        }
        // `本文来源：投资快报 作者：孙宁 责任编辑：NF041`.
        _ => is_short || in_brackets || (cue.starts_with("作者") && cue.ends_with(['：', ':'])),
    }
}

/// Returns the people at the start of `text`. If they are named outright, a single name may have any form; otherwise
/// all must look like Chinese names.
fn people(text: &str, outright: bool) -> Vec<String> {
    let mut names = Vec::new();
    let text = text.trim_start_matches([' ', '：', ':', '/', '丨', '＝', '・', '\u{3000}']);
    let end = text.find(['）', ')', '】', ']', '，', ',', '。', '丨', '；', '\n']).unwrap_or(text.len());
    // `記者陳怡君／台北報導` ends with a place.
    let place = text[..end].split_once(['／', '/']);
    let place = place.filter(|(_, place)| any_ends("reports", place.trim_end()));
    let end = place.map_or(end, |(names, _)| names.len());
    let gaps = [' ', '、', '/', '・', '／', '＝', '\u{3000}', '\u{a0}', '·'];
    let mut parts = text[..end].split(gaps).filter(|part| !part.is_empty());
    let mut at = 0;
    while let Some(part) = parts.next() {
        // `方 敏`: two characters with a space between them, to fill a column.
        let is_one = |part: &str| part.chars().count() == 1 && part.starts_with(is_han);
        let pair = is_one(part).then(|| parts.clone().next().filter(|next| is_one(next))).flatten();
        let joined = pair.map(|next| format!("{part}{next}"));
        let part = joined.as_deref().unwrap_or(part);
        if pair.is_some() {
            parts.next();
        }
        let part = part.trim_start_matches("记者").trim_start_matches("专栏作者");
        let part = part.split("系").next().unwrap_or_default();
        let part = list("reports")
            .iter()
            .chain(list("end of name"))
            .fold(part, |part, end| part.strip_suffix(end).filter(|name| !name.is_empty()).unwrap_or(part));
        if name::is_chinese_person(part) {
            add(&mut names, part.to_owned());
        } else if outright && at == 0 {
            let field = name::up_to_next_field(&text[..end]).map(|(field, _)| field);
            let found = field.and_then(name::author).filter(|found| found.chars().count() <= 20);
            found.into_iter().for_each(|found| add(&mut names, found));
            break;
        } else if at > 0 || !part.ends_with("记者") {
            break;
        }
        at += 1;
    }
    names
}

/// Returns true if the page calls `name` its editor.
pub(super) fn is_editor(lines: &[PageLine], name: &str) -> bool {
    let is_after_cue = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            if ["Editor:", "Editor :"].iter().any(|cue| text[..at].trim_end().ends_with(cue)) {
                return true;
            }
            let before = text[..at].trim_end_matches([' ', '：', ':', '】', '/', '|', '丨']);
            any_ends("editor", before)
        })
    };
    lines.iter().any(|line| is_after_cue(&line.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authors(text: &str, place: LinePlace) -> Vec<String> {
        from_lines(&[PageLine { text: text.to_owned(), place }])
    }

    #[test]
    fn authors_in_chinese_are_people() {
        for (text, place, expected) in [
            ("时间：2024.05.11 来源：光明日报 作者：南帆 分享到：", LinePlace::Top, &["南帆"][..]),
            ("新京报讯（记者 陆一夫）11月25日，新京报记者登录", LinePlace::First, &["陆一夫"]),
            ("新华社深圳5月12日电（记者戴小河、印朋）由我国", LinePlace::First, &["戴小河", "印朋"]),
            ("长江网10月4日讯（记者陈智 整合） 国庆", LinePlace::First, &["陈智"]),
            ("澎湃新闻记者 段彦超 廖艳", LinePlace::Top, &["段彦超", "廖艳"]),
            ("采写：南都记者 余毅菁 向雪妮", LinePlace::After, &["余毅菁", "向雪妮"]),
            ("本文来源：21世纪经济报道 作者：何苗 张梦洁", LinePlace::After, &["何苗", "张梦洁"]),
            ("作者：涅阳城 2020年01月12日18:32 浏览：272", LinePlace::Top, &["涅阳城"]),
            ("（作者：南帆，系福建师范大学文艺批评研究中心特约研究员）", LinePlace::Last, &["南帆"]),
            ("转载请注明出处 作者 张三丰", LinePlace::Last, &["张三丰"]),
            ("作者：A-肖老师", LinePlace::Top, &["A-肖老师"]),
            ("2024/11/05 06:30　中央社記者李曉燕報導", LinePlace::Top, &["李曉燕"]),
            ("2024年11月5日 6時30分　滨海新聞　編集部　記者：田中一郎", LinePlace::Top, &["田中一郎"]),
            ("文・田中一郎", LinePlace::Top, &["田中一郎"]),
            ("2024-12-07 10:15　記者陳怡君／台北報導", LinePlace::Top, &["陳怡君"]),
            ("2024-12-07 10:15　記者陳怡君／台北報道", LinePlace::Top, &["陳怡君"]),
            ("2024/12/07 10:15 文／陳怡君 攝影／張華", LinePlace::Top, &["陳怡君"]),
        ] {
            assert_eq!(authors(text, place), expected, "{text}");
        }
    }

    /// `未经作者许可` must not give 许可 as an author, nor other notices 出处.
    #[test]
    fn people_who_are_only_mentioned_are_not_authors() {
        #[rustfmt::skip]
        const TEXTS: [&str; 19] = [
            "据《红周刊》记者了解，龙湖多地项目均存在各种违规销售及施工问题。",
            "图片来源：每经记者 张蕊 摄", "作者：", "作者：网络整理", "原作者 女儿",
            "本文仅代表作者个人观点。", "（转载请注明作者和出处：滨海网）", "转载请注明作者与来源",
            "请联系作者授权", "（版权归作者所有）", "责任编辑：张迪", "未经作者许可，不得转载",
            "未經作者同意 請勿轉載", "如需转载，须经作者 许可", "转载请写明作者 出处",
            "转载请写明作者、出处", "转载时请标明文章作者 来源", "未经本报记者许可不得复制",
            "盗用作者 原文者必究",
        ];
        for text in TEXTS {
            for place in [LinePlace::Top, LinePlace::Within, LinePlace::Last, LinePlace::First] {
                assert_eq!(authors(text, place), [""; 0], "{text}");
            }
        }
    }

    #[test]
    fn several_authors_are_separated_but_titles_stay_with_their_names() {
        assert_eq!(split("Jane Doe, John Roe and Ann Lee"), ["Jane Doe", "John Roe", "Ann Lee"]);
        assert_eq!(split("Doris Muñoz, MD, FOMA"), ["Doris Muñoz, MD, FOMA"]);
        assert_eq!(split("Le Littoral et AFP"), ["Le Littoral", "AFP"]);
        assert_eq!(split("By Jane Doe"), ["Jane Doe"]);
        assert_eq!(split("(By Jane Doe)"), ["Jane Doe"]);
        assert_eq!(split("By Jane Doe, who covers harbours for The Bay Post"), ["Jane Doe"]);
        assert_eq!(split(&"Jane Doe, ".repeat(50)), ["Jane Doe"]);
        assert_eq!(
            split(&(0..50).map(|n| format!("Jane{} Doe, ", "x".repeat(n))).collect::<String>()).len(),
            Metadata::AUTHORS_MAX
        );
    }
}
