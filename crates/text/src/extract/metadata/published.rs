//! Determines when a page was published, from the most trusted date on it.
//!
//! In: dates in linked data, `<meta>`, `<time>`, lines of the page and its URL. Out: the first one in that order that
//! is valid and not in the future. If it is only a day, and a line of the page has the same day with a time, the date
//! in the line is used. Cost: linear in the input.

use std::borrow::Cow;

use super::date;
use super::lines::{LinePlace, PageLine};
use super::words::any_in;
use leitong_base::record::{PublicationTime, Timestamp};

/// Maximum length in characters of a line that is mainly a date.
const LINE_CHARS_MAX: usize = 100;

/// Reads a date in markup.
pub(super) fn parse(text: &str, latest: Option<Timestamp>) -> Option<PublicationTime> {
    let text = text.trim();
    let found = date::find(text).or_else(|| date::compact(text))?;
    is_past(found, latest).then_some(found)
}

/// Finds the date in the page's lines.
pub(super) fn from_lines(lines: &[PageLine], latest: Option<Timestamp>) -> Option<PublicationTime> {
    let places =
        [&[LinePlace::Top, LinePlace::First][..], &[LinePlace::Within, LinePlace::Last, LinePlace::After]];
    for (at, places) in places.into_iter().enumerate() {
        let found = lines
            .iter()
            .filter(|line| places.contains(&line.place))
            .find_map(|line| from_line(line, latest, at > 0 || line.place == LinePlace::First));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Returns the date of a line that consists mainly of it; with `cue_required`, only if words mark it as that of
/// publication.
fn from_line(line: &PageLine, latest: Option<Timestamp>, cue_required: bool) -> Option<PublicationTime> {
    let text = &with_ascii_digits(&line.text);
    if !text.bytes().any(|byte| byte.is_ascii_digit()) || text.chars().count() > LINE_CHARS_MAX {
        return None;
    }
    let (from, found, to) = date::find_at(text)?;
    let small = text[..from].to_lowercase();
    let has_cue = any_in("publication", &small);
    let is_other = any_in("other date", &small);
    // A sentence continues after its date, and has no time of day.
    let rest = text[to..].chars().count();
    let is_sentence = !found.has_time() && !has_cue && (rest > 40 || small.chars().count() > 40);
    let fits = (has_cue || !cue_required) && !is_other && !is_sentence;
    (fits && is_past(found, latest)).then_some(found)
}

/// Returns `text` with full-width forms and the digits of Arabic, Persian and Devanagari in ASCII.
fn with_ascii_digits(text: &str) -> Cow<'_, str> {
    let ascii = |c: char| {
        let zero = match c {
            '\u{ff0d}'..='\u{ff1a}' => return char::from_u32(u32::from(c) - 0xfee0),
            '\u{660}'..='\u{669}' => 0x660,
            '\u{6f0}'..='\u{6f9}' => 0x6f0,
            '\u{966}'..='\u{96f}' => 0x966,
            _ => return None,
        };
        char::from_digit(u32::from(c) - zero, 10)
    };
    match text.chars().any(|c| ascii(c).is_some()) {
        true => Cow::Owned(text.chars().map(|c| ascii(c).unwrap_or(c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// Returns the day in a URL: `/2024/05/13/`, `/2024-05/13/`, `/20240513/`, `20240513A00`.
pub(super) fn from_url(url: &str, latest: Option<Timestamp>) -> Option<PublicationTime> {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let (_, path) = path.split_once('/')?;
    let parts: Vec<&str> = path.split(['/', '-', '_']).take(24).collect();
    let number = |text: &str| text.parse::<u8>().ok().filter(|_| (1..=2).contains(&text.len()));
    let found = (0..parts.len()).find_map(|at| {
        let part = |on: usize| parts.get(at + on).copied().unwrap_or_default();
        let Some(year) = part(0).parse::<i32>().ok().filter(|_| part(0).len() == 4) else {
            return date::compact(part(0));
        };
        let day = || PublicationTime::day(year, number(part(1))?, number(part(2))?);
        day().or_else(|| date::compact(&format!("{year}{}", part(1))))
    })?;
    // Years before the web belong to the page's subject.
    let is_of_web = found.earliest_ms() > 757_382_400_000;
    (is_of_web && is_past(found, latest)).then_some(found)
}

/// Returns true if a date is not later than the page was seen.
fn is_past(found: PublicationTime, latest: Option<Timestamp>) -> bool {
    !latest.is_some_and(|latest| found.is_after(latest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> String {
        from_url(url, None).map(|found| found.to_string()).unwrap_or_default()
    }

    #[test]
    fn urls_name_days() {
        assert_eq!(url("http://a.example/2024/05/13/ferry.html"), "2024-05-13");
        assert_eq!(url("http://a.example/2024-05/13/content_1.htm"), "2024-05-13");
        assert_eq!(url("http://a.example/n1/2024/0510/c1004.html"), "2024-05-10");
        assert_eq!(url("http://a.example/20240511/5010608.shtml"), "2024-05-11");
        assert_eq!(url("http://a.example/c/2024-05-10/doc.shtml"), "2024-05-10");
        for other in
            ["http://a.example/", "http://a.example/1234/56/78", "http://2024/05/13", "x", "http://a/é/é/é"]
        {
            assert_eq!(url(other), "", "{other}");
        }
        assert_eq!(url("http://a.example/1789/07/14/bastille"), "");
    }

    #[test]
    fn digits_of_other_scripts_are_digits() {
        for text in ["发布时间：２０２６－１１－０３", "٢٠٢٦/١١/٠٣", "۲۰۲۶-۱۱-۰۳"]
        {
            let line = PageLine { text: text.to_owned(), place: LinePlace::Top };
            let found = from_lines(&[line], None).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Some("2026-11-03"), "{text}");
        }
    }

    #[test]
    fn dates_of_other_things_are_ignored() {
        for text in [
            "Last updated: May 3, 2025",
            "最后更新: 2019-09-07 15:14:21",
            "© 2019-01-01 A Company",
            "On May 3, 2025 the ferry to the islands sailed again, and all who lived there came to see it.",
        ] {
            let line = PageLine { text: text.to_owned(), place: LinePlace::Top };
            assert_eq!(from_lines(&[line], None), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_url_panics(path in "[0-9/_\\-é]{0,40}", any in "\\PC{0,30}") {
            for url in [format!("http://a.example/{path}"), any] {
                let _ = from_url(&url, None);
            }
        }
    }
}
