//! The date of publication that a page states, as precise as the page is and with a zone only if the page
//! names one.
//!
//! Pages state a day, a minute or a second, and many name no zone. Nothing is filled in, because a guessed
//! zone would look as certain as a stated one.

use std::fmt;

use serde::{Serialize, Serializer};
use time::{Date, Month};

use super::timestamp::Timestamp;

/// A day, or a moment of a day, with or without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicationTime {
    date: Date,
    time: Option<TimeOfDay>,
}

/// A moment of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimeOfDay {
    hour: u8,
    minute: u8,
    second: Option<u8>,
    /// Offset of the zone in minutes east of UTC, if the page names a zone.
    offset_minutes: Option<i16>,
}

/// Maximum offset of a time zone from UTC, east or west.
const OFFSET_MINUTES_MAX: i16 = 14 * 60;

const DAY_MS: i64 = 86_400_000;

impl PublicationTime {
    /// Returns a day in the years 1900 to 2999. Returns `None` if there is no such day, and for 31 December
    /// 1969 and 1 January 1970: those dates mean that the publishing program had none.
    #[must_use]
    pub fn day(year: i32, month: u8, day: u8) -> Option<Self> {
        if !(1900..3000).contains(&year) {
            return None;
        }
        let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
        let is_zero = matches!(date.to_ordinal_date(), (1970, 1) | (1969, 365));
        (!is_zero).then_some(Self { date, time: None })
    }

    /// Adds a time to the day. Returns `None` if it is not a valid time. 24:00 and leap seconds are not
    /// accepted.
    #[must_use]
    pub fn at(self, hour: u8, minute: u8, second: Option<u8>) -> Option<Self> {
        let is_time = hour < 24 && minute < 60 && second.is_none_or(|second| second < 60);
        let time = TimeOfDay { hour, minute, second, offset_minutes: None };
        is_time.then_some(Self { time: Some(time), ..self })
    }

    /// Sets the time zone, in minutes east of UTC. Has no effect on a day without a time, or if the offset is
    /// more than 14 hours.
    #[must_use]
    pub fn in_zone(self, offset_minutes: i16) -> Self {
        let known = offset_minutes.abs() <= OFFSET_MINUTES_MAX;
        let time = self.time.map(|time| TimeOfDay {
            offset_minutes: known.then_some(offset_minutes).or(time.offset_minutes),
            ..time
        });
        Self { time, ..self }
    }

    /// Parses the format that [`Display`](fmt::Display) writes. Returns `None` for anything else.
    #[must_use]
    pub fn from_iso_8601(text: &str) -> Option<Self> {
        if !text.is_ascii() {
            return None;
        }
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u8>().ok();
        let day = Self::day(text.get(..4)?.parse().ok()?, number(5..7)?, number(8..10)?)?;
        let mut found = day;
        if text.len() > 10 {
            let second = text.get(16..17).filter(|mark| *mark == ":").and_then(|_| number(17..19));
            found = day.at(number(11..13)?, number(14..16)?, second)?;
            match text.get(if second.is_some() { 19.. } else { 16.. })? {
                "" => {}
                "Z" => found = found.in_zone(0),
                zone => {
                    let sign = if zone.starts_with('-') { -1 } else { 1 };
                    let hours: i16 = zone.get(1..3)?.parse().ok()?;
                    let minutes: i16 = zone.get(4..6)?.parse().ok()?;
                    found = found.in_zone(sign * (hours * 60 + minutes));
                }
            }
        }
        (found.to_string() == text).then_some(found)
    }

    /// Returns true if the time of day is known.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.time.is_some()
    }

    /// Returns true if both are on the same date, each in its own time zone.
    #[must_use]
    pub fn is_same_day(&self, other: &Self) -> bool {
        self.date == other.date
    }

    /// Returns true if this time is more than a day after `latest`, whatever its time zone may be.
    #[must_use]
    pub fn is_after(&self, latest: Timestamp) -> bool {
        self.earliest_ms() > latest.as_ms().saturating_add(DAY_MS)
    }

    /// Returns the earliest moment that this time can mean, in milliseconds since 1970. A day without a time
    /// begins at midnight. A time without a zone is read in the zone where the day begins first.
    #[must_use]
    pub fn earliest_ms(&self) -> i64 {
        let days = i64::from(self.date.to_julian_day()) - 2_440_588;
        let time = self.time.unwrap_or(TimeOfDay { hour: 0, minute: 0, second: None, offset_minutes: None });
        let minutes = i64::from(time.hour) * 60 + i64::from(time.minute)
            - i64::from(time.offset_minutes.unwrap_or(OFFSET_MINUTES_MAX));
        days * DAY_MS + (minutes * 60 + i64::from(time.second.unwrap_or(0))) * 1000
    }
}

impl fmt::Display for PublicationTime {
    /// Writes ISO 8601 with the parts that are known: `2026-11-21`, `…T08:00`, `…T08:00:30+08:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date.to_calendar_date();
        write!(f, "{year:04}-{:02}-{day:02}", u8::from(month))?;
        let Some(time) = self.time else { return Ok(()) };
        write!(f, "T{:02}:{:02}", time.hour, time.minute)?;
        if let Some(second) = time.second {
            write!(f, ":{second:02}")?;
        }
        match time.offset_minutes {
            None => Ok(()),
            Some(0) => f.write_str("Z"),
            Some(offset) => {
                let (sign, offset) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs());
                write!(f, "{sign}{:02}:{:02}", offset / 60, offset % 60)
            }
        }
    }
}

impl Serialize for PublicationTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in [
            "2026-11-21",
            "2026-11-21T08:00",
            "2026-11-21T08:00:30",
            "2026-11-21T08:00Z",
            "2026-11-21T08:00:30+08:00",
            "1949-10-01T23:59:59-03:30",
        ] {
            let read = PublicationTime::from_iso_8601(text).map(|time| time.to_string());
            assert_eq!(read.as_deref(), Some(text));
        }
        for text in
            ["", "2026", "2026-02-30", "2026-11-21T24:00", "2026-11-21 08:00", "1970-01-01", "二零二六"]
        {
            assert_eq!(PublicationTime::from_iso_8601(text), None, "{text}");
        }
    }

    #[test]
    fn dates_count_as_future_only_if_a_day_ahead_in_every_zone() {
        let now = Timestamp::from_rfc3339("2026-11-21T08:00:00Z").expect("a date");
        let is_after = |text| PublicationTime::from_iso_8601(text).expect("a date").is_after(now);
        assert!(!is_after("2026-11-22"));
        assert!(!is_after("2026-11-22T08:00:00Z"));
        assert!(is_after("2026-11-22T08:00:01Z"));
        assert!(!is_after("2026-11-22T16:00:00+08:00"), "the same moment");
        assert!(!is_after("2026-11-22T22:00"), "it may be New Zealand");
        assert!(is_after("2026-11-22T22:01"));
        assert!(is_after("2026-11-23"));
    }
}
