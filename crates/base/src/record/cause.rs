//! Causes of dead letters: why no page could be read from a record.

use std::fmt;

use serde::{Serialize, Serializer};

/// Defines the causes from their names.
macro_rules! causes {
    ($($(#[$doc:meta])* $Cause:ident = $label:literal,)*) => {
        /// The reason why no page could be read from a record. It is a field of the dead letter and a label of the
        /// metric that counts dead letters. Variants are sorted by name, and reports keep that order.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Cause {
            $($(#[$doc])* $Cause,)*
            /// A cause that this version does not know. A newer version of Leitong wrote it to the log.
            Other(Box<str>),
        }

        impl Cause {
            /// All causes that this version can report.
            pub const ALL: [Self; [$($label),*].len()] = [$(Self::$Cause),*];

            /// Returns the label in metrics. The number of different labels is bounded.
            #[must_use]
            pub fn label(&self) -> &'static str {
                match self {
                    $(Self::$Cause => $label,)*
                    Self::Other(_) => Self::OTHER_LABEL,
                }
            }
        }
    };
}

causes! {
    /// The body is marked as base64, but it is not valid base64.
    BadBase64 = "BAD_BASE64",
    /// The message key should hold the url, but it is not text.
    BadKey = "BAD_KEY",
    /// The body should be in a WARC file, but it is not there.
    BodyNotFound = "BODY_NOT_FOUND",
    /// A row of a CSV file cannot be read.
    BrokenCsv = "BROKEN_CSV",
    /// The value is not valid JSON, or not valid UTF-8.
    BrokenJson = "BROKEN_JSON",
    /// A record of the fingerprint log cannot be decoded.
    BrokenLogRecord = "BROKEN_LOG_RECORD",
    /// The value is not a `leitong.v1.Page`.
    BrokenProtobuf = "BROKEN_PROTOBUF",
    /// Some rows of a Parquet or Arrow file, or the whole file, cannot be read.
    BrokenTable = "BROKEN_TABLE",
    /// The record is not a WARC record, or its length is wrong.
    BrokenWarc = "BROKEN_WARC",
    /// The page id exceeds the limit.
    IdTooLong = "ID_TOO_LONG",
    /// A bug in Leitong.
    Internal = "INTERNAL",
    /// The url is missing or empty.
    MissingUrl = "MISSING_URL",
    /// The value is missing or `null`.
    NullValue = "NULL_VALUE",
    /// The input has a format that is not supported.
    OtherFormat = "OTHER_FORMAT",
    /// The message withdraws a page, but `recrawls.enabled` is false.
    RecrawlsOff = "RECRAWLS_OFF",
    /// The value cannot be decompressed within the limits for its size and its number of codings.
    StillPacked = "STILL_PACKED",
    /// The input ends too early.
    TruncatedInput = "TRUNCATED_INPUT",
    /// The url exceeds the limit.
    UrlTooLong = "URL_TOO_LONG",
    /// A field has the wrong type.
    WrongType = "WRONG_TYPE",
}

impl Cause {
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
