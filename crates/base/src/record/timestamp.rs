//! Points in time in pages and verdicts: milliseconds since 1970 in memory, RFC 3339 in JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

/// Milliseconds since 1970-01-01T00:00:00Z, within the years 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z: the range that RFC 3339 can express.
const MS_RANGE: std::ops::RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// Numbers from here on are milliseconds, smaller ones are seconds. As seconds this number is the year 5138,
/// as milliseconds March 1973.
const SECONDS_END: f64 = 1e11;

/// Years in which digits are read as those of a date.
const DIGITS_YEARS: std::ops::RangeInclusive<i32> = 1990..=2100;

impl Timestamp {
    /// Returns the time `ms` milliseconds after 1970. Returns `None` outside of the range that RFC 3339 can
    /// express.
    #[must_use]
    pub fn from_ms(ms: i64) -> Option<Self> {
        MS_RANGE.contains(&ms).then_some(Self(ms))
    }

    /// Parses an RFC 3339 date. Fractions of a millisecond are cut off.
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        rfc_3339(text.trim()).and_then(Self::from_date)
    }

    fn from_date(date: OffsetDateTime) -> Option<Self> {
        Self::from_ms(i64::try_from(date.unix_timestamp_nanos().div_euclid(1_000_000)).ok()?)
    }

    /// Parses the date formats that crawlers write: RFC 3339, RFC 2822 (`Sat, 21 Nov 2026 08:00:00 +0800`),
    /// ISO 8601 with a space for the `T`, without a zone (taken as UTC) or without a time of day, Java's
    /// default (`Sat Nov 21 08:00:00 UTC 2026`), the digits of a date from 1990 to 2100 (`20261121`, `202611210800` or
    /// `20261121080000`), or a number of seconds since 1970. From 10¹¹ on (the year 5138), it is read as milliseconds.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        date(text).or_else(|| digits(text)).map_or_else(|| Self::from_epoch(text), Self::from_date)
    }

    /// Parses a date like [`Self::from_text`], but no number. Returns nanoseconds since 1970.
    #[must_use]
    pub fn ns_from_date(text: &str) -> Option<i128> {
        date(text.trim()).map(OffsetDateTime::unix_timestamp_nanos)
    }

    /// Parses a number of seconds or milliseconds since 1970.
    #[expect(clippy::cast_possible_truncation, reason = "far above the range, a cast stays above it")]
    fn from_epoch(text: &str) -> Option<Self> {
        let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
        let is_seconds = number.abs() < SECONDS_END;
        Self::from_ms(if is_seconds { number * 1000.0 } else { number } as i64)
    }

    /// Returns the current time.
    #[must_use]
    pub fn now() -> Self {
        let elapsed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX).min(*MS_RANGE.end()))
    }

    /// Returns the milliseconds since 1970.
    #[must_use]
    pub fn as_ms(self) -> i64 {
        self.0
    }
}

/// Parses a date in one of the formats of [`Timestamp::from_text`] that are not numbers.
fn date(text: &str) -> Option<OffsetDateTime> {
    rfc_3339(text)
        .or_else(|| iso_8601(text))
        .or_else(|| OffsetDateTime::parse(text, &Rfc2822).ok())
        .or_else(|| java(text))
}

fn rfc_3339(text: &str) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(text, &Rfc3339).ok()
}

/// Parses `2026-11-21`, `2026-11-21 08:00:00.5` and the like, with or without a zone.
fn iso_8601(text: &str) -> Option<OffsetDateTime> {
    let (date, time) = text.split_at_checked(10)?;
    let Some(time) = time.strip_prefix([' ', 'T', 't']) else {
        return if time.is_empty() { rfc_3339(&format!("{date}T00:00:00Z")) } else { None };
    };
    let (time, zone) = time.split_at(time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len()));
    let zone = match zone.trim() {
        "" | "Z" | "z" | "UTC" | "GMT" => "Z".to_owned(),
        // `+0800`, as Java and Python write it.
        zone if zone.len() == 5 && zone.is_ascii() => format!("{}:{}", &zone[..3], &zone[3..]),
        zone => zone.to_owned(),
    };
    rfc_3339(&format!("{date}T{time}{zone}"))
}

/// Parses `Sat Nov 21 08:00:00 UTC 2026`, the default format of Java, and the format of C, which is the
/// same without a zone (taken as UTC). Ambiguous zone names such as CST are not guessed.
fn java(text: &str) -> Option<OffsetDateTime> {
    let parts: Vec<&str> = text.split_ascii_whitespace().take(7).collect();
    let (month, day, time, zone, year) = match parts[..] {
        [_, month, day, time, year] => (month, day, time, "UTC", year),
        [_, month, day, time, zone, year] => (month, day, time, zone, year),
        _ => return None,
    };
    let zone = match zone.strip_prefix("GMT").unwrap_or(zone) {
        "" | "UTC" | "Z" | "WET" => "+0000",
        "CET" | "WEST" => "+0100",
        "CEST" | "EET" => "+0200",
        "EEST" | "MSK" => "+0300",
        "HKT" => "+0800",
        "JST" | "KST" => "+0900",
        "EDT" => "-0400",
        "EST" => "-0500",
        "PDT" => "-0700",
        "PST" => "-0800",
        offset if offset.starts_with(['+', '-']) => offset,
        _ => return None,
    };
    let zone = zone.replace(':', "");
    OffsetDateTime::parse(&format!("{day} {month} {year} {time} {zone}"), &Rfc2822).ok()
}

/// Parses the digits of a day, minute or second, as web archives write them. Tables of other programs may have
/// `20261121.0`. Digits outside of these years are not a date, since they may be a number of seconds.
fn digits(text: &str) -> Option<OffsetDateTime> {
    let digits = text.trim_end_matches('0').strip_suffix('.').unwrap_or(text);
    if !matches!(digits.len(), 8 | 12 | 14) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let year = digits[..4].parse().ok().filter(|year| DIGITS_YEARS.contains(year))?;
    let two = |at: usize| digits.get(at..at + 2).map_or(Ok(0), str::parse::<u8>).ok();
    let date = Date::from_calendar_date(year, Month::try_from(two(4)?).ok()?, two(6)?).ok()?;
    let time = Time::from_hms(two(8)?, two(10)?, two(12)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc())
}

impl std::fmt::Display for Timestamp {
    /// Writes RFC 3339 in UTC with milliseconds, such as `2026-11-21T08:00:00.000Z`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let date = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .expect("a timestamp is within the years 0 to 9999");
        let (hour, minute, second, ms) = date.time().as_hms_milli();
        let (year, month, day) = date.to_calendar_date();
        let month = u8::from(month);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_rfc3339(&text).ok_or_else(|| {
            serde::de::Error::custom(format_args!(
                "{text:?} is not an RFC 3339 time; write it like 2026-11-21T08:00:00Z"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn reads_what_it_writes() {
        for ms in [0, 1_763_712_000_123, -1, *super::MS_RANGE.start(), *super::MS_RANGE.end()] {
            let written = Timestamp(ms).to_string();
            assert_eq!(Timestamp::from_rfc3339(&written), Some(Timestamp(ms)), "{written}");
        }
    }

    #[test]
    fn reads_offsets_and_fractions() {
        let read = |text| Timestamp::from_rfc3339(text).map(|t| t.to_string());
        assert_eq!(read("2026-11-21T08:00:00+08:00").as_deref(), Some("2026-11-21T00:00:00.000Z"));
        assert_eq!(read("2026-11-21T08:00:00.9999Z").as_deref(), Some("2026-11-21T08:00:00.999Z"));
        assert_eq!(read(" 2026-11-21T08:00:00Z\n").as_deref(), Some("2026-11-21T08:00:00.000Z"));
        for bad in ["", "yesterday", "2026-11-21", "2026-13-01T00:00:00Z", "1763712000123"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn reads_the_date_formats_of_crawlers() {
        let read = |text| Timestamp::from_text(text).map(|t| t.to_string()).unwrap_or_default();
        for text in [
            "2026-11-21T08:00:00Z",
            "2026-11-21T08:00:00",
            "2026-11-21 08:00:00",
            "2026-11-21 08:00:00.000000",
            "2026-11-21 08:00:00 UTC",
            "2026-11-21 16:00:00+08:00",
            "2026-11-21T16:00:00.000+0800",
            "2026-11-21 03:00:00 -0500",
            "Sat, 21 Nov 2026 08:00:00 GMT",
            "Sat, 21 Nov 2026 16:00:00 +0800",
            "Sat Nov 21 08:00:00 UTC 2026",
            "Sat Nov 21 16:00:00 GMT+08:00 2026",
            "Sat Nov 21 03:00:00 EST 2026",
            "Sat Nov 21 08:00:00 2026",
            "1795248000",
            "1795248000000",
            "1795248000.0",
            "20261121080000",
            "202611210800",
            " 20261121080000.0 ",
        ] {
            assert_eq!(read(text), "2026-11-21T08:00:00.000Z", "{text}");
        }
        for day in ["2026-11-21", "20261121"] {
            assert_eq!(read(day), "2026-11-21T00:00:00.000Z");
        }
        for bad in [
            "",
            "yesterday",
            "2026-13-01",
            "21.11.2026",
            "2026-11-21T",
            "2026-11-21 8",
            "20261121T08",
            "2026112108000000",
            "二零二六年",
            "nan",
            "1e300",
            "Sat Nov 21 08:00:00 CST 2026",
            "Sat Nov 31 08:00:00 UTC 2026",
        ] {
            assert_eq!(read(bad), "", "{bad}");
        }
    }

    /// `20261121080000` was the year 2612, and `20261121` was August 1970.
    #[test]
    fn digits_are_a_date_only_if_they_are_a_valid_one_of_these_years() {
        let read = |text| Timestamp::from_text(text).map(|t| t.to_string()).unwrap_or_default();
        for (digits, expected) in [
            ("19900101", "1990-01-01T00:00:00.000Z"),
            ("21001231235959", "2100-12-31T23:59:59.000Z"),
            ("20240229", "2024-02-29T00:00:00.000Z"),
            // Seconds and milliseconds since 1970.
            ("20230229", "1970-08-23T03:30:29.000Z"),
            ("20261321", "1970-08-23T12:08:41.000Z"),
            ("19891231", "1970-08-19T05:20:31.000Z"),
            ("21010101", "1970-09-01T04:08:21.000Z"),
            ("202611212460", "1976-06-03T00:53:32.460Z"),
            ("2026112108", "2034-03-16T08:55:08.000Z"),
        ] {
            assert_eq!(read(digits), expected, "{digits}");
        }
    }

    #[test]
    fn rejects_times_that_rfc_3339_cannot_express() {
        assert_eq!(Timestamp::from_ms(i64::MAX), None);
        assert_eq!(Timestamp::from_ms(i64::MIN), None);
    }
}
