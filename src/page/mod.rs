//! A crawled page as it enters the flow: what was fetched, and what the crawler says of it.
//!
//! In: one JSON line ([`json`]), one WARC record, or one Kafka message. Out: a [`Page`].
//! Whoever makes a [`Page`] keeps the limits of [`crate::limits`], so nothing behind it checks them again.

pub mod host;
mod http;
pub mod id;
pub mod json;
pub mod message;
mod protobuf;
pub mod timestamp;
pub mod warc;

use timestamp::Timestamp;

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
    /// A JSON value, as text, that comes back in the verdict; at most
    /// [`PASSTHROUGH_BYTES_MAX`](crate::limits::PASSTHROUGH_BYTES_MAX) bytes.
    pub passthrough: Option<String>,
    /// What was mended on the way in.
    pub mended: Mended,
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
    /// No body was given.
    Missing,
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
pub struct Mended {
    /// Lone surrogates in JSON strings, each made U+FFFD.
    pub lone_surrogates: u32,
    /// `fetched_at` was given but is no date.
    pub bad_fetched_at: bool,
    /// `passthrough` was above its limit and is left out.
    pub passthrough_too_large: bool,
}
