//! A crawled page as it enters the program: its content, and what the crawler knows about it.
//!
//! In: one JSON line ([`json`]), one WARC record, or one Kafka message. Out: a [`Page`]. Code that creates a
//! [`Page`] applies the limits in [`leitong_base::limits`], so later stages need not check them.

pub(crate) mod address;
mod aliases;
pub(crate) mod body;
mod chunks;
pub(crate) mod config;
mod error;
pub(crate) mod field;
pub(crate) mod host;
mod http;
pub(crate) mod http_head;
pub(crate) mod id;
pub(crate) mod json;
pub(crate) mod made_up;
pub mod mapping;
pub(crate) mod page_number;
pub(crate) mod passthrough;
pub(crate) mod protobuf;
mod scalars;
pub(crate) mod warc;
pub(crate) mod wrapped;

use leitong_base::record::Timestamp;

pub use address::Address;
pub use body::BodyForm;
pub use config::PageConfig;
pub use error::PageError;
pub use field::Field;
pub use host::host;
pub use http_head::HttpHead;
pub use json::PageRules;
pub use passthrough::parse as parse_passthrough;
pub use warc::{WarcKind, WarcRecord};
pub use wrapped::{DecompressError, decompressed, without_schema_head};

/// One page, ready to be decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The crawler's id, or the id derived by [`id::from_url`]. At most
    /// [`PAGE_ID_BYTES_MAX`](leitong_base::limits::PAGE_ID_BYTES_MAX) bytes.
    pub id: String,
    /// The url as given. At most [`URL_BYTES_MAX`](leitong_base::limits::URL_BYTES_MAX) bytes.
    pub url: String,
    /// The fetched content.
    pub body: Body,
    /// The title according to the crawler. It takes precedence over the title in the body.
    pub title: Option<String>,
    /// The declared encoding and type of the body's bytes.
    pub hints: Hints,
    /// HTTP status code.
    pub status: Option<u32>,
    /// The time at which the page was fetched.
    pub fetched_at: Option<Timestamp>,
    /// The crawler's own JSON, normalised by [`passthrough`]. It is returned in the verdict.
    pub passthrough: Option<String>,
    /// Faults that were repaired when the page was read.
    pub repaired: Repaired,
}

impl Page {
    /// Creates a page from its url and body alone. Its id is derived from the url.
    #[must_use]
    pub fn new(url: impl Into<String>, body: Body) -> Self {
        let url = url.into();
        Self {
            id: id::from_url(&url),
            url,
            body,
            title: None,
            hints: Hints::default(),
            status: None,
            fetched_at: None,
            passthrough: None,
            repaired: Repaired::default(),
        }
    }

    /// Reads a page from a JSON object.
    ///
    /// # Errors
    /// [`PageError`] if the object cannot be read as a page.
    pub fn from_json(json: &[u8], rules: PageRules) -> Result<Self, PageError> {
        json::parse(json, rules)
    }

    /// Reads a page from a message of `page.proto`. `url` replaces the url in the message. A body above
    /// `page_bytes_max` bytes becomes [`Body::TooLarge`].
    ///
    /// # Errors
    /// [`PageError`] if the message cannot be read as a page.
    pub fn from_protobuf(
        bytes: &[u8],
        url: Option<String>,
        page_bytes_max: usize,
    ) -> Result<Self, PageError> {
        protobuf::parse(bytes, url, page_bytes_max)
    }

    /// Returns the id of a page whose crawler gives it none, derived from its url.
    #[must_use]
    pub fn id_for_url(url: &str) -> String {
        id::from_url(url)
    }

    /// Creates a page from decoded HTML.
    #[must_use]
    pub fn html(url: impl Into<String>, html: impl Into<String>) -> Self {
        Self::new(url, Body::Html(html.into()))
    }

    /// Creates a page from HTML whose encoding is to be detected.
    #[must_use]
    pub fn bytes(url: impl Into<String>, html: impl Into<Vec<u8>>) -> Self {
        Self::new(url, Body::HtmlBytes(html.into()))
    }

    /// Creates a page whose main text is known.
    #[must_use]
    pub fn text(url: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(url, Body::Text(text.into()))
    }
}

/// The fetched content of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Decoded HTML.
    Html(String),
    /// HTML whose encoding is to be detected.
    HtmlBytes(Vec<u8>),
    /// The main text.
    Text(String),
    /// A body that was not read because it exceeds the limit. Its size in bytes, as far as it is known.
    TooLarge(u64),
    /// A body in a WARC file that the page's message names.
    InWarc(Box<InWarc>),
    /// A body that was not decompressed because it has too many content codings. The number of codings.
    TooManyCodings(usize),
    /// No body was given.
    Missing,
    /// No body, because the page is withdrawn and is to be removed from the table.
    Withdrawn,
}

impl Body {
    /// Returns the size of the body in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Html(text) | Self::Text(text) => text.len(),
            Self::HtmlBytes(bytes) => bytes.len(),
            Self::TooLarge(_)
            | Self::InWarc(_)
            | Self::TooManyCodings(_)
            | Self::Missing
            | Self::Withdrawn => 0,
        }
    }
}

/// The place of a body in a WARC file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InWarc {
    /// The file's name, without a folder.
    pub file: String,
    /// The offset of the record in the file as stored, which may be compressed.
    pub offset: u64,
}

/// External information about the body's bytes. Used only for [`Body::HtmlBytes`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hints {
    /// A charset label, such as `gbk`.
    pub charset: Option<String>,
    /// A `Content-Type` header.
    pub content_type: Option<String>,
}

/// Faults of a page that could be read nevertheless. The summary counts them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Number of lone surrogates in JSON strings, each replaced by U+FFFD.
    pub lone_surrogates: u32,
    /// True if `fetched_at` was given but is not a date.
    pub bad_fetched_at: bool,
    /// True if `passthrough` exceeded a limit and was left out.
    pub passthrough_too_large: bool,
    /// True if an archived HTTP body is shorter than its header says, or its chunks or compressed data end too early.
    /// The part before is used.
    pub breaks_off: bool,
    /// True if the archived record or response says that it has only a part of the page. That part is used.
    pub cut_short: bool,
    /// True if the document had no url and got a [generated address](made_up).
    pub without_url: bool,
    /// True if bytes without a character in the page's charset were replaced by U+FFFD.
    pub broken_bytes: bool,
    /// The declared charset, if it is not known. The charset was detected instead.
    pub unknown_charset: Option<Box<str>>,
}
