//! Reads a WARC record into a [`Page`].

use super::error::PageError;
use super::http::BodyError;
use super::{Body, Hints, Page, Repaired, http};
use leitong_base::record::Timestamp;

/// A record with a page, as the source has read it from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct WarcRecord {
    /// The kind of content.
    pub kind: WarcKind,
    /// `WARC-Target-URI`.
    pub url: Option<String>,
    /// `WARC-Date`, as written.
    pub date: Option<String>,
    /// `Content-Type` of the record.
    pub content_type: Option<String>,
    /// The content, or its beginning if it exceeds the limit.
    pub content: Vec<u8>,
    /// Size of the whole content in bytes.
    pub content_bytes: u64,
    /// True if the record says that its content is only a part: `WARC-Truncated`, or the first of several segments.
    pub is_cut_short: bool,
}

/// The kind of content of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarcKind {
    /// An HTTP response with its head.
    Response,
    /// Text extracted from a page, as in the WET files of Common Crawl.
    Conversion,
    /// The page itself, without an HTTP head.
    Resource,
}

impl WarcRecord {
    /// Turns the record into a page. A body that exceeds `page_bytes_max` bytes after decompression becomes
    /// [`Body::TooLarge`].
    ///
    /// # Errors
    /// [`PageError`] if the url is missing or too long.
    pub fn into_page(self, page_bytes_max: usize) -> Result<Page, PageError> {
        let url = Page::checked_url(self.url)?;
        let whole = self.content.len() as u64 == self.content_bytes;
        let too_large = Body::TooLarge(self.content_bytes);
        let fetched_at = self.date.as_deref().and_then(Timestamp::from_text);
        let mut repaired = Repaired {
            cut_short: self.is_cut_short,
            bad_fetched_at: self.date.is_some() && fetched_at.is_none(),
            ..Repaired::default()
        };
        let (body, content_type, status) = match self.kind {
            WarcKind::Conversion | WarcKind::Resource if !whole || self.content.len() > page_bytes_max => {
                (too_large, None, None)
            }
            WarcKind::Resource => (Body::HtmlBytes(self.content), self.content_type, None),
            WarcKind::Conversion => {
                let text = String::from_utf8(self.content)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                (Body::Text(text), None, None)
            }
            WarcKind::Response => {
                let response = http::parse(&self.content, page_bytes_max);
                repaired.breaks_off = whole && response.breaks_off;
                repaired.cut_short |= response.is_partial;
                let body = match response.body {
                    Ok(body) if whole => Body::HtmlBytes(body),
                    Err(BodyError::TooManyCodings(codings)) if whole => Body::TooManyCodings(codings),
                    _ => too_large,
                };
                (body, response.content_type, response.status)
            }
        };
        let hints = Hints { charset: None, content_type };
        Ok(Page { hints, status, fetched_at, repaired, ..Page::new(url, body) })
    }
}
