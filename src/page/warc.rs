//! WARC record → [`Page`].

use super::http::StillPacked;
use super::json::PageError;
use super::{Body, Hints, Page, Repaired, http};
use crate::limits::URL_BYTES_MAX;
use crate::record::timestamp::Timestamp;

/// A response or conversion record, as the source cut it out of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct WarcRecord {
    /// What it holds.
    pub kind: WarcKind,
    /// `WARC-Target-URI`.
    pub url: Option<String>,
    /// `WARC-Date`.
    pub date: Option<Timestamp>,
    /// Of the record's content.
    pub content_type: Option<String>,
    /// The content, or its beginning where it is above the limit.
    pub content: Vec<u8>,
    /// Bytes of the whole content.
    pub content_bytes: u64,
}

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarcKind {
    /// An HTTP response with its head.
    Response,
    /// Text that was made of a page, as in the WET files of Common Crawl.
    Conversion,
    /// A page as it is, without an HTTP head.
    Resource,
}

impl WarcRecord {
    /// The page of this record; bodies above `page_bytes_max`
    /// bytes, unpacked, become [`Body::TooLarge`].
    ///
    /// # Errors
    /// [`PageError`], where there is no url or too long a one.
    pub fn into_page(self, page_bytes_max: usize) -> Result<Page, PageError> {
        let url = self.url.ok_or(PageError::MissingUrl)?;
        if url.len() > URL_BYTES_MAX {
            return Err(PageError::UrlTooLong { bytes: url.len() });
        }
        let whole = self.content.len() as u64 == self.content_bytes;
        let too_large = Body::TooLarge(self.content_bytes);
        let mut repaired = Repaired::default();
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
                let body = match response.body {
                    Ok(body) if whole => Body::HtmlBytes(body),
                    Err(StillPacked::TooManyCodings(codings)) if whole => Body::TooManyCodings(codings),
                    _ => too_large,
                };
                (body, response.content_type, response.status)
            }
        };
        let hints = Hints { charset: None, content_type };
        Ok(Page { hints, status, fetched_at: self.date, repaired, ..Page::new(url, body) })
    }
}
