//! The reasons why a record cannot be read as a page.

use leitong_base::limits::{PAGE_ID_BYTES_MAX, URL_BYTES_MAX};
use leitong_base::record::Cause;
use thiserror::Error;

/// The reason why a record cannot be read as a page. Such a record becomes a dead letter.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum PageError {
    /// The bytes are not UTF-8, so they are not JSON.
    #[error("byte {at} is not UTF-8; write JSON in UTF-8, and pages in other encodings as `html_b64`")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// The bytes are not JSON.
    #[error("broken JSON: {0}")]
    BrokenJson(String),
    /// The whole value is `null`.
    #[error("the value is null; write one JSON object per page")]
    NullValue,
    /// The message has no value, and its key is not a url.
    #[error(
        "a message without a value withdraws the page whose url is the key, but the key is not a url; write \
         the url as the key"
    )]
    NullWithoutUrl,
    /// A value has the wrong type.
    #[error("{field}: {problem}")]
    WrongType {
        /// The name of the field in back-quotes, or `the value` for the whole record.
        field: String,
        /// The type that was found and the type that was expected.
        problem: String,
    },
    /// The url is missing, empty or blank.
    #[error("no `url`; every page needs one")]
    MissingUrl,
    /// A document of a file has neither a url nor a body.
    #[error(
        "no text and no `url`; a document needs `text`, `html` or `html_b64`; name the field with --text-column or \
         --html-column"
    )]
    NoDocument,
    /// The message key should be the url, but it is missing or empty.
    #[error(
        "the key should be the url, but it is missing or empty; write the url as the key, or set kafka.pages.url_from"
    )]
    MissingKey,
    /// The url exceeds the limit.
    #[error("`url` has {bytes} bytes, more than the {URL_BYTES_MAX} that are allowed")]
    UrlTooLong {
        /// Length of the url.
        bytes: usize,
    },
    /// The id exceeds the limit.
    #[error("`id` has {bytes} bytes, more than the {PAGE_ID_BYTES_MAX} that are allowed")]
    IdTooLong {
        /// Length of the id.
        bytes: usize,
    },
    /// The value is not a `Page` of `proto/leitong/v1/page.proto`.
    #[error(
        "broken protobuf: {0}; write a leitong.v1.Page, or name the actual format in the header `content-type`"
    )]
    BrokenProtobuf(String),
    /// The message key should be the url, but it is not text.
    #[error(
        "the key should be the url, but it is not UTF-8; write the url as the key, or set kafka.pages.url_from"
    )]
    KeyNotUtf8,
    /// The value of a message cannot be decompressed within the limits.
    #[error("the value cannot be decompressed: {0}")]
    CannotDecompress(String),
    /// The message does not have the format of the configured preset.
    #[error("preset {preset}: {problem}")]
    Unfit {
        /// The cause, the same as for messages in Leitong's own format.
        cause: Cause,
        /// The preset.
        preset: &'static str,
        /// The place in the message, what was found there, and what was expected.
        problem: String,
    },
    /// The body should be in a WARC file, but it is not there.
    #[error("no body: {0}")]
    BodyNotFound(String),
    /// The message cannot be read, but another preset could read it.
    #[error(
        "{error}; this looks like a message of {preset}: to read it as one, set preset = {preset:?} under [input]"
    )]
    LooksLike {
        /// The error with the configured preset.
        error: Box<PageError>,
        /// The preset that fits.
        preset: &'static str,
    },
    /// The message withdraws a page, but that is not enabled.
    #[error(
        "`withdrawn` is true, but no page can be withdrawn while recrawls.enabled is false; set enabled = true under [recrawls]"
    )]
    RecrawlsOff,
    /// A bug in the program.
    #[error("a bug in Leitong while reading this record; please report it, with the record")]
    Internal,
    /// `html_b64` is not base64.
    #[error("`html_b64` is not base64 (standard alphabet): {0}")]
    BadBase64(String),
}

impl PageError {
    /// Returns the cause, for the metric label and the field of the dead letter.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::NotUtf8 { .. } | Self::BrokenJson(_) => Cause::BrokenJson,
            Self::NullValue | Self::NullWithoutUrl => Cause::NullValue,
            Self::WrongType { .. } => Cause::WrongType,
            Self::MissingUrl | Self::MissingKey | Self::NoDocument => Cause::MissingUrl,
            Self::UrlTooLong { .. } => Cause::UrlTooLong,
            Self::IdTooLong { .. } => Cause::IdTooLong,
            Self::BadBase64(_) => Cause::BadBase64,
            Self::BrokenProtobuf(_) => Cause::BrokenProtobuf,
            Self::KeyNotUtf8 => Cause::BadKey,
            Self::CannotDecompress(_) => Cause::StillPacked,
            Self::BodyNotFound(_) => Cause::BodyNotFound,
            Self::Unfit { cause, .. } => cause.clone(),
            Self::LooksLike { error, .. } => error.cause(),
            Self::RecrawlsOff => Cause::RecrawlsOff,
            Self::Internal => Cause::Internal,
        }
    }
}
