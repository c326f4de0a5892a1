//! A crawled page as it enters the flow: what was fetched, and what the crawler says of it.
//!
//! In: one JSON line ([`json`]), one WARC record, or one Kafka message. Out: a [`Page`]. Whoever
//! makes a [`Page`] keeps the limits of [`crate::limits`], so nothing behind it checks them again.

pub mod address;
mod aliases;
pub mod body;
pub mod config;
pub mod field;
pub mod host;
mod http;
pub(crate) mod http_head;
pub mod id;
pub mod json;
pub mod made_up;
pub mod mapping;
pub mod page_number;
pub mod passthrough;
pub(crate) mod protobuf;
mod scalars;
pub mod warc;
pub(crate) mod wrapped;

use crate::record::timestamp::Timestamp;

/// One page, ready to be decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The crawler's id, or the one that [`id::from_url`] makes; at most
    /// [`PAGE_ID_BYTES_MAX`](crate::limits::PAGE_ID_BYTES_MAX) bytes.
    pub id: String,
    /// As given; at most [`URL_BYTES_MAX`](crate::limits::URL_BYTES_MAX) bytes.
    pub url: String,
    /// What was fetched.
    pub body: Body,
    /// The title that the crawler knows; it wins over the one in the body.
    pub title: Option<String>,
    /// What the body's bytes are said to be.
    pub hints: Hints,
    /// HTTP status code.
    pub status: Option<u32>,
    /// When the page was fetched.
    pub fetched_at: Option<Timestamp>,
    /// A JSON value that comes back in the verdict, as [`passthrough`] has brought it into shape.
    pub passthrough: Option<String>,
    /// What was repaired on the way in.
    pub repaired: Repaired,
}

impl Page {
    /// A page of which nothing is known but its url and its body; its id is made from the url.
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

    /// A page of decoded HTML.
    #[must_use]
    pub fn html(url: impl Into<String>, html: impl Into<String>) -> Self {
        Self::new(url, Body::Html(html.into()))
    }

    /// A page of HTML in an encoding that is still to be found.
    #[must_use]
    pub fn bytes(url: impl Into<String>, html: impl Into<Vec<u8>>) -> Self {
        Self::new(url, Body::HtmlBytes(html.into()))
    }

    /// A page whose main text is known.
    #[must_use]
    pub fn text(url: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(url, Body::Text(text.into()))
    }
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// HTML that is decoded already.
    Html(String),
    /// HTML in an encoding that is still to be found.
    HtmlBytes(Vec<u8>),
    /// The main text itself.
    Text(String),
    /// Left unread since it is above the limit; its size in bytes as far as it was seen.
    TooLarge(u64),
    /// In a WARC file, which the page's message names.
    InWarc(Box<InWarc>),
    /// Left packed, since so many content codings lie over one another.
    TooManyCodings(usize),
    /// No body was given.
    Missing,
    /// The page is withdrawn: it is to be known no more.
    Withdrawn,
}

impl Body {
    /// Bytes that are at hand of it.
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

/// Where in a WARC file a body stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InWarc {
    /// The file's name, without a folder.
    pub file: String,
    /// The first byte of the record, in the file as it is, packed or not.
    pub offset: u64,
}

/// What others say about the body's bytes; used for [`Body::HtmlBytes`] alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hints {
    /// A charset label.
    pub charset: Option<String>,
    /// A `Content-Type` header.
    pub content_type: Option<String>,
}

/// Faults of a page that did not keep it from being read, for the counts of the summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Lone surrogates in JSON strings, each made U+FFFD.
    pub lone_surrogates: u32,
    /// `fetched_at` was given but is no date.
    pub bad_fetched_at: bool,
    /// `passthrough` was above a limit and is left out.
    pub passthrough_too_large: bool,
    /// The chunks or the compression of an archived HTTP body break off; it was read as far as it goes.
    pub breaks_off: bool,
    /// No url was given, so that the [address](made_up) says where the document stands.
    pub without_url: bool,
}
