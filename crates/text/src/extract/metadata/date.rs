//! Reads dates as pages write them: `2026-11-21T08:00:30+08:00`, `2026年11月21日 08:00`, `Nov. 21, 2026, 8 a.m. EST`, `21
//! November 2026`.
//!
//! In: text. Out: the first date in it, with the time and zone that follow. Dates with two-digit years are rejected,
//! and so are numbers that do not show whether the day or the month comes first. Cost: linear in the text.

use super::words::{MONTHS, list};
use leitong_base::record::PublicationTime;

/// Names of zones with their minutes east of UTC. Names that mean several zones are left out.
#[rustfmt::skip]
const ZONES: [(&str, i16); 14] = [
    ("utc", 0), ("gmt", 0), ("edt", -240), ("est", -300), ("cdt", -300), ("mdt", -360), ("pdt", -420),
    ("pst", -480), ("cest", 120), ("cet", 60), ("eest", 180), ("hkt", 480), ("jst", 540), ("kst", 540),
];

/// Maximum length of a month's name in bytes.
const MONTH_BYTES_MAX: usize = 20;

/// Returns the first date in `text`.
pub(super) fn find(text: &str) -> Option<PublicationTime> {
    find_at(text).map(|(_, found, _)| found)
}

/// Returns the first date in `text`, with the byte offsets of its start and its end.
pub(super) fn find_at(text: &str) -> Option<(usize, PublicationTime, usize)> {
    let bytes = text.as_bytes();
    let mut before = b' ';
    for (at, &byte) in bytes.iter().enumerate() {
        let begins = match byte {
            b'0'..=b'9' => !before.is_ascii_digit(),
            b'A'..=b'Z' | b'a'..=b'z' => !before.is_ascii_alphabetic(),
            _ => false,
        };
        before = byte;
        if !begins {
            continue;
        }
        let mut cursor = Cursor { bytes, at };
        let day = if byte.is_ascii_digit() { cursor.numeric() } else { cursor.month_first() };
        if let Some(day) = day {
            let found = cursor.time_of(day);
            return Some((at, found, cursor.at));
        }
    }
    None
}

/// Reads eight digits, as in a URL or some metadata: `20261121`.
pub(super) fn compact(text: &str) -> Option<PublicationTime> {
    let digits = text.get(..8).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    if text.as_bytes().get(8).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    PublicationTime::day(digits[..4].parse().ok()?, digits[4..6].parse().ok()?, digits[6..].parse().ok()?)
}

/// Returns true if a word is the English name of a month.
pub(super) fn is_month(word: &str) -> bool {
    MONTHS.iter().filter_map(|names| names.first()).any(|english| word.eq_ignore_ascii_case(english))
}

/// A position in a text that is being read.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    /// Reads `2026-11-21`, `2026年11月21日`, `21 November 2026`, or 13/12/2026.
    fn numeric(&mut self) -> Option<PublicationTime> {
        let (first, digits) = self.number(4)?;
        if digits == 4 {
            let year = i32::from(first);
            self.spaces(1);
            let mark = self.separator(&["-", "/", ".", "年", "–"])?;
            self.spaces(1);
            let (month, _) = self.number(2)?;
            self.spaces(1);
            self.separator(if mark == "年" { &["月"] } else { &["-", "/", ".", "–"] })?;
            self.spaces(1);
            let (day, _) = self.number(2)?;
            if mark == "年" {
                self.separator(&["日", "号"]);
            }
            return PublicationTime::day(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        }
        if digits > 2 {
            return None;
        }
        let start = self.at;
        if let Some(mark) = self.separator(&["/", ".", "-"])
            && let Some((second, _)) = self.number(2)
        {
            self.separator(&[mark])?;
            let (year, digits) = self.number(4)?;
            // 4/5 does not show which number is the month.
            let (day, month) = match (first, second) {
                (13.., 1..=12) => (first, second),
                (1..=12, 13..) => (second, first),
                _ if mark == "." || first == second => (first, second),
                _ => return None,
            };
            let day = u8::try_from(day).ok()?;
            return (digits == 4)
                .then(|| PublicationTime::day(year.into(), u8::try_from(month).ok()?, day))?;
        }
        self.at = start;
        self.day_first(u8::try_from(first).ok()?)
    }

    /// Reads `st November, 2026`, after a day.
    fn day_first(&mut self, day: u8) -> Option<PublicationTime> {
        let _ = ["st", "nd", "rd", "th", "er"].iter().any(|ending| self.word(ending));
        self.separator(&["-", ".", "/"]);
        self.spaces(2);
        let _ = self.word("of") || self.word("de");
        self.spaces(2);
        let month = self.month()?;
        self.separator(&[",", ".", "-", "/"]);
        self.spaces(2);
        let _ = self.word("de");
        self.spaces(2);
        let (year, digits) = self.number(4)?;
        (digits == 4).then(|| PublicationTime::day(year.into(), month, day))?
    }

    /// Reads `Nov. 21st, 2026`.
    fn month_first(&mut self) -> Option<PublicationTime> {
        let month = self.month()?;
        self.separator(&[".", "-", "/"]);
        self.spaces(2);
        let (day, _) = self.number(2)?;
        let _ = ["st", "nd", "rd", "th"].iter().any(|ending| self.word(ending));
        self.separator(&[",", "-", "/", "."]);
        self.spaces(2);
        let (year, digits) = self.number(4)?;
        (digits == 4).then(|| PublicationTime::day(year.into(), month, u8::try_from(day).ok()?))?
    }

    /// Returns `day` with the time and zone that follow it.
    fn time_of(&mut self, day: PublicationTime) -> PublicationTime {
        let start = self.at;
        match self.time(day) {
            Some(found) => self.zone(found),
            None => {
                self.at = start;
                day
            }
        }
    }

    /// Reads `T08:00:30.123`, ` 8:00 pm`, `, at 8:00 AM`.
    fn time(&mut self, day: PublicationTime) -> Option<PublicationTime> {
        if !self.word("t") {
            // A weekday may be in between: 2026-11-21 星期六 08:00.
            self.separator(&[",", "|", "-"]);
            self.spaces(4);
            for weekday in ["星期", "周", "週"] {
                if self.separator(&[weekday]).is_some() {
                    self.skip_character();
                }
            }
            self.spaces(4);
            // `2026年11月21日（土）8時`.
            for (open, close) in [("(", ")"), ("（", "）")] {
                if self.separator(&[open]).is_some() {
                    self.skip_character();
                    self.separator(&[close])?;
                }
            }
            self.spaces(4);
            self.separator(list("before time"));
            self.separator(&["|", "@"]);
            self.spaces(4);
        }
        let (mut hour, _) = self.number(2)?;
        let minute = match self.separator(&[":", "：", "时", "時", "點", "点", "h", "시"]) {
            Some(_) => Some(self.number(2).filter(|(_, digits)| *digits == 2)?.0),
            None => None,
        };
        let mut second = None;
        let rest = self.at;
        if minute.is_some() && self.separator(&[":", "："]).is_some() {
            match self.number(2) {
                Some((found, 2)) => second = Some(u8::try_from(found).ok()?),
                _ => self.at = rest,
            }
            if self.separator(&["."]).is_some() {
                let _ = self.number(9);
            }
        }
        let clock = self.half_day();
        if minute.is_none() && clock.is_none() {
            return None;
        }
        match clock {
            Some(true) if hour < 12 => hour += 12,
            Some(false) if hour == 12 => hour = 0,
            _ => {}
        }
        day.at(u8::try_from(hour).ok()?, u8::try_from(minute.unwrap_or(0)).ok()?, second)
    }

    /// Reads `am` (false) or `pm` (true), if one follows.
    fn half_day(&mut self) -> Option<bool> {
        let start = self.at;
        self.spaces(1);
        let names = [("a.m.", false), ("p.m.", true), ("am", false), ("pm", true)];
        let found = names.into_iter().find(|(name, _)| self.word(name));
        self.at = if found.is_some() { self.at } else { start };
        found.map(|(_, is_afternoon)| is_afternoon)
    }

    /// Returns `found` in the zone that follows, if one does.
    fn zone(&mut self, found: PublicationTime) -> PublicationTime {
        let start = self.at;
        let signed = self.spaces(1);
        if !signed && self.word("z") {
            return found.in_zone(0);
        }
        for (name, minutes) in ZONES {
            if self.word(name) {
                let after = self.at;
                let further = self.offset();
                if further.is_none() {
                    self.at = after;
                }
                return found.in_zone(minutes + further.unwrap_or(0));
            }
        }
        match self.offset() {
            Some(minutes) => found.in_zone(minutes),
            None => {
                self.at = start;
                found
            }
        }
    }

    /// Reads `+08:00`, `-0500`, `+8`.
    fn offset(&mut self) -> Option<i16> {
        let sign = match self.separator(&["+", "-", "−"])? {
            "+" => 1,
            _ => -1,
        };
        let (number, digits) = self.number(4)?;
        let (hours, minutes) = match digits {
            1 | 2 => match self.separator(&[":"]) {
                Some(_) => (number, self.number(2).filter(|(_, digits)| *digits == 2)?.0),
                None => (number, 0),
            },
            4 => (number / 100, number % 100),
            _ => return None,
        };
        (hours <= 14 && minutes < 60).then_some(())?;
        Some(sign * i16::try_from(hours * 60 + minutes).ok()?)
    }

    /// Reads a month's name, or its first letters.
    fn month(&mut self) -> Option<u8> {
        let rest = &self.bytes[self.at..];
        let is_letter = |byte: &&u8| byte.is_ascii_alphabetic() || **byte >= 0x80;
        let letters = rest.iter().take(MONTH_BYTES_MAX).take_while(is_letter).count();
        if letters < 3 {
            return None;
        }
        let word = std::str::from_utf8(&rest[..letters]).ok()?.to_lowercase();
        let word = word.as_str();
        let abbreviates =
            |names: &&[&str]| letters == 3 && names.first().is_some_and(|name| name.starts_with(word));
        let month = MONTHS.iter().position(abbreviates);
        let month = month.or_else(|| MONTHS.iter().position(|names| names.contains(&word)))?;
        self.at += letters;
        u8::try_from(month + 1).ok()
    }

    /// Reads a number with at most `digits_max` digits, and returns it with its number of digits; `None` if more digits
    /// follow.
    fn number(&mut self, digits_max: usize) -> Option<(u16, usize)> {
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().take(digits_max + 1).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || (digits > digits_max && digits_max < 9) {
            return None;
        }
        let number = rest[..digits]
            .iter()
            .fold(0_u32, |number, digit| number.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
        self.at += digits;
        Some((u16::try_from(number).unwrap_or(u16::MAX), digits))
    }

    /// Skips one of `marks`.
    fn separator<'m>(&mut self, marks: &[&'m str]) -> Option<&'m str> {
        let rest = &self.bytes[self.at..];
        let mark = marks.iter().find(|mark| rest.starts_with(mark.as_bytes()))?;
        self.at += mark.len();
        Some(mark)
    }

    /// Skips a word in any case, if no letter follows it.
    fn word(&mut self, word: &str) -> bool {
        let rest = &self.bytes[self.at..];
        let is_word = rest.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
            && !rest.get(word.len()).is_some_and(u8::is_ascii_alphabetic);
        self.at += if is_word { word.len() } else { 0 };
        is_word
    }

    /// Skips white space, at most `most` characters. Returns true if there was any.
    fn spaces(&mut self, most: usize) -> bool {
        (0..most).filter(|_| self.separator(&[" ", "\u{a0}", "\u{3000}", "\t", "\n"]).is_some()).count() > 0
    }

    fn skip_character(&mut self) {
        self.at += 1;
        while self.bytes.get(self.at).is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        find(text).map(|found| found.to_string()).unwrap_or_default()
    }

    #[test]
    fn dates_are_read_as_pages_write_them() {
        for (text, expected) in [
            ("2024-05-13T09:16:04+08:00", "2024-05-13T09:16:04+08:00"),
            ("2019-09-11T11:02:41.000Z", "2019-09-11T11:02:41Z"),
            ("2019-09-11T13:40:10+0100", "2019-09-11T13:40:10+01:00"),
            ("2024-05-20T10:00:00 EDT", "2024-05-20T10:00:00-04:00"),
            ("2024年05月10日 00:26", "2024-05-10T00:26"),
            ("2019年06月15日08:18 来源：人民网", "2019-06-15T08:18"),
            ("发布时间： 2019-9-7 21:30:50", "2019-09-07T21:30:50"),
            ("2024.05.11", "2024-05-11"),
            ("2024-05-20 星期一 10:30", "2024-05-20T10:30"),
            ("Published Nov. 21st, 2026", "2026-11-21"),
            ("November 21, 2026 at 8:05 p.m. EST", "2026-11-21T20:05-05:00"),
            ("Sat, 21 Nov 2026 08:00:00 GMT", "2026-11-21T08:00:00Z"),
            ("21 November 2026", "2026-11-21"),
            ("21/11/2026", "2026-11-21"),
            ("11/21/2026 12:15 AM", "2026-11-21T00:15"),
            ("Sept 3, 2025 | 5 min read", "2025-09-03"),
            ("2007-08-20-23:59:59", "2007-08-20T23:59:59"),
            ("2026-11-21T08:00:00-99:00", "2026-11-21T08:00:00"),
            ("5. November 2024, 06:30 Uhr", "2024-11-05T06:30"),
            ("Publié le 1er août 2024", "2024-08-01"),
            ("5 de noviembre de 2024", "2024-11-05"),
            ("3. März 2025", "2025-03-03"),
            ("14 мая 2025, 09:10", "2025-05-14T09:10"),
            ("14 мая 2025 в 09:10", "2025-05-14T09:10"),
            ("3 novembre 2026 à 8h15", "2026-11-03T08:15"),
            ("3 de noviembre de 2026 a las 08:15", "2026-11-03T08:15"),
            ("3. November 2026 um 8:15 Uhr", "2026-11-03T08:15"),
            ("2026年11月3日（火）8時15分", "2026-11-03T08:15"),
            ("2026年11月3日 8時15分", "2026-11-03T08:15"),
            ("2026年11月3日（文化の日）", "2026-11-03"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn rejects_ambiguous_or_invalid_dates() {
        #[rustfmt::skip]
        const TEXTS: [&str; 9] = [
            "", "4/5/2026", "2026", "2026-13-01", "30.02.2026", "12:30", "maybe 3, 2026", "1-2-3",
            "20261121000000",
        ];
        for text in TEXTS {
            assert_eq!(read(text), "", "{text}");
        }
        assert_eq!(compact("20240513/x").map(|day| day.to_string()).as_deref(), Some("2024-05-13"));
        assert_eq!(compact("202405131"), None);
        assert_eq!(compact("2024"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[0-9年月日:T+\\-./ apmZ\u{a0}NovEST]{0,40}", any in "\\PC{0,40}") {
            for text in [&text, &any] {
                if let Some((from, _, to)) = find_at(text) {
                    proptest::prop_assert!(from < to && to <= text.len());
                }
                let _ = compact(text);
            }
        }
    }
}
