//! Why no page can be read from a record.

use std::fmt;

use serde::{Serialize, Serializer};

/// Why no page can be read from a record: a field of its dead letter, and a label of the metric
/// that counts them. In the order of their names, which reports keep.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A body that is to be base64 is not.
    BadBase64,
    /// The key is to be the url, and is no text.
    BadKey,
    /// The body is to stand in a WARC file, and does not.
    BodyNotFound,
    /// A row of a CSV file cannot be read.
    BrokenCsv,
    /// The value is no JSON, or no UTF-8.
    BrokenJson,
    /// A record of the fingerprint log cannot be decoded.
    BrokenLogRecord,
    /// Rows of a Parquet file, or all of it, cannot be read.
    BrokenParquet,
    /// The value is no `leitong.v1.Page`.
    BrokenProtobuf,
    /// No WARC record, or one whose length is wrong.
    BrokenWarc,
    /// The page's id is above the limit.
    IdTooLong,
    /// A fault in Leitong.
    Internal,
    /// No url, or an empty one.
    MissingUrl,
    /// There is no value, or it is `null`.
    NullValue,
    /// The input is of a format that is not read.
    OtherFormat,
    /// The page is to be withdrawn, and `recrawls.enabled` is false.
    RecrawlsOff,
    /// The value is packed and cannot be unpacked within its limits.
    StillPacked,
    /// The input breaks off.
    TruncatedInput,
    /// The url is above the limit.
    UrlTooLong,
    /// A field has another type than it must have.
    WrongType,
    /// The word of a newer Leitong that has written to the log.
    Other(Box<str>),
}

impl Cause {
    /// All that this program gives.
    pub const ALL: [Self; 19] = [
        Self::BadBase64,
        Self::BadKey,
        Self::BodyNotFound,
        Self::BrokenCsv,
        Self::BrokenJson,
        Self::BrokenLogRecord,
        Self::BrokenParquet,
        Self::BrokenProtobuf,
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

    /// What [`label`](Self::label) gives for causes that this program does not know.
    pub const OTHER_LABEL: &str = "OTHER";

    /// The word as it stands in dead letters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => known.label(),
        }
    }

    /// The label in metrics, of which there is a bounded number.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::BadBase64 => "BAD_BASE64",
            Self::BadKey => "BAD_KEY",
            Self::BodyNotFound => "BODY_NOT_FOUND",
            Self::BrokenCsv => "BROKEN_CSV",
            Self::BrokenJson => "BROKEN_JSON",
            Self::BrokenLogRecord => "BROKEN_LOG_RECORD",
            Self::BrokenParquet => "BROKEN_PARQUET",
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

    /// The cause of this word.
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
    fn words_and_causes_are_one_to_one() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_word(cause.as_str()), cause);
        }
        let newer = Cause::from_word("FUTURE");
        assert_eq!((newer.as_str(), newer.label()), ("FUTURE", Cause::OTHER_LABEL));
    }

    #[test]
    fn causes_stand_in_the_order_of_their_words() {
        assert!(Cause::ALL.is_sorted() && Cause::ALL.is_sorted_by_key(Cause::label));
    }
}
