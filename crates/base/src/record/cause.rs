//! Causes of dead letters: why no page could be read from a record.

use std::fmt;

use serde::{Serialize, Serializer};

/// The reason why no page could be read from a record. It is a field of the dead letter and a label of the
/// metric that counts dead letters. Variants are sorted by name, and reports keep that order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The body is marked as base64, but it is not valid base64.
    BadBase64,
    /// The message key should hold the url, but it is not text.
    BadKey,
    /// The body should be in a WARC file, but it is not there.
    BodyNotFound,
    /// A row of a CSV file cannot be read.
    BrokenCsv,
    /// The value is not valid JSON, or not valid UTF-8.
    BrokenJson,
    /// A record of the fingerprint log cannot be decoded.
    BrokenLogRecord,
    /// The value is not a `leitong.v1.Page`.
    BrokenProtobuf,
    /// Some rows of a Parquet or Arrow file, or the whole file, cannot be read.
    BrokenTable,
    /// The record is not a WARC record, or its length is wrong.
    BrokenWarc,
    /// The page id exceeds the limit.
    IdTooLong,
    /// A bug in Leitong.
    Internal,
    /// The url is missing or empty.
    MissingUrl,
    /// The value is missing or `null`.
    NullValue,
    /// The input has a format that is not supported.
    OtherFormat,
    /// The message withdraws a page, but `recrawls.enabled` is false.
    RecrawlsOff,
    /// The value cannot be decompressed within the limits for its size and its number of codings.
    StillPacked,
    /// The input ends too early.
    TruncatedInput,
    /// The url exceeds the limit.
    UrlTooLong,
    /// A field has the wrong type.
    WrongType,
    /// A cause that this version does not know. A newer version of Leitong wrote it to the log.
    Other(Box<str>),
}

impl Cause {
    /// All causes that this version can report.
    pub const ALL: [Self; 19] = [
        Self::BadBase64,
        Self::BadKey,
        Self::BodyNotFound,
        Self::BrokenCsv,
        Self::BrokenJson,
        Self::BrokenLogRecord,
        Self::BrokenProtobuf,
        Self::BrokenTable,
        Self::BrokenWarc,
        Self::IdTooLong,
        Self::Internal,
        Self::MissingUrl,
        Self::NullValue,
        Self::OtherFormat,
        Self::RecrawlsOff,
        Self::StillPacked,
        Self::TruncatedInput,
        Self::UrlTooLong,
        Self::WrongType,
    ];

    /// The [`label`](Self::label) for causes that this version does not know.
    pub const OTHER_LABEL: &str = "OTHER";

    /// Returns the name of the cause in dead letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => known.label(),
        }
    }

    /// Returns the label in metrics. The number of different labels is bounded.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadBase64 => "BAD_BASE64",
            Self::BadKey => "BAD_KEY",
            Self::BodyNotFound => "BODY_NOT_FOUND",
            Self::BrokenCsv => "BROKEN_CSV",
            Self::BrokenJson => "BROKEN_JSON",
            Self::BrokenLogRecord => "BROKEN_LOG_RECORD",
            Self::BrokenTable => "BROKEN_TABLE",
            Self::BrokenProtobuf => "BROKEN_PROTOBUF",
            Self::BrokenWarc => "BROKEN_WARC",
            Self::IdTooLong => "ID_TOO_LONG",
            Self::Internal => "INTERNAL",
            Self::MissingUrl => "MISSING_URL",
            Self::NullValue => "NULL_VALUE",
            Self::OtherFormat => "OTHER_FORMAT",
            Self::RecrawlsOff => "RECRAWLS_OFF",
            Self::StillPacked => "STILL_PACKED",
            Self::TruncatedInput => "TRUNCATED_INPUT",
            Self::UrlTooLong => "URL_TOO_LONG",
            Self::WrongType => "WRONG_TYPE",
            Self::Other(_) => Self::OTHER_LABEL,
        }
    }

    /// Returns the cause with this name, or [`Cause::Other`] if this version does not know the name.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|cause| cause.label() == word).unwrap_or_else(|| Self::Other(word.into()))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_a_name_of_its_own() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_word(cause.as_str()), cause);
        }
        let newer = Cause::from_word("FUTURE");
        assert_eq!((newer.as_str(), newer.label()), ("FUTURE", Cause::OTHER_LABEL));
    }

    #[test]
    fn causes_are_sorted_by_name() {
        assert!(Cause::ALL.is_sorted() && Cause::ALL.is_sorted_by_key(Cause::label));
    }
}
