//! Reads a `leitong.v1.Page` into a [`Page`], with the same limits and rules as for JSON.

use prost::Message;

use super::error::PageError;
use super::passthrough::{self, Unfit};
use super::{Body, Hints, Page, Repaired};
use leitong_base::proto::{self, page};
use leitong_base::record::Timestamp;

/// Reads a page from a protobuf message. `url` replaces the url in the message. A body above `page_bytes_max`
/// bytes becomes [`Body::TooLarge`].
pub(crate) fn parse(bytes: &[u8], url: Option<String>, page_bytes_max: usize) -> Result<Page, PageError> {
    let message = proto::Page::decode(bytes).map_err(|error| PageError::BrokenProtobuf(error.to_string()))?;
    let url = Page::checked_url(url.or(Some(message.url)))?;
    let id = Page::checked_id(message.id, &url)?;
    let too_large = |bytes: usize| Body::TooLarge(bytes as u64);
    let body = match message.body {
        _ if message.withdrawn => Body::Withdrawn,
        None => Body::Missing,
        Some(page::Body::Html(html)) if html.len() > page_bytes_max => too_large(html.len()),
        Some(page::Body::HtmlBytes(bytes)) if bytes.len() > page_bytes_max => too_large(bytes.len()),
        Some(page::Body::Text(text)) if text.len() > page_bytes_max => too_large(text.len()),
        Some(page::Body::Html(html)) => Body::Html(html),
        Some(page::Body::HtmlBytes(bytes)) => Body::HtmlBytes(bytes.into()),
        Some(page::Body::Text(text)) => Body::Text(text),
    };
    let fetched_at = message.fetched_at_ms.and_then(Timestamp::from_ms);
    let mut repaired = Repaired {
        bad_fetched_at: message.fetched_at_ms.is_some() && fetched_at.is_none(),
        ..Repaired::default()
    };
    let passthrough = match message.passthrough_json.as_deref().filter(|json| !json.is_empty()) {
        None => None,
        Some(json) => match passthrough::parse(json) {
            Ok(fitting) => {
                repaired.lone_surrogates += fitting.lone_surrogates;
                Some(fitting.json).filter(|json| json != "null")
            }
            Err(Unfit::TooLarge) => {
                repaired.passthrough_too_large = true;
                None
            }
            Err(Unfit::NotJson(error)) => {
                let field = "`passthrough_json`".to_owned();
                return Err(PageError::WrongType { field, problem: format!("not JSON: {error}") });
            }
        },
    };
    Ok(Page {
        id,
        url,
        body,
        title: message.title,
        hints: Hints { charset: message.charset, content_type: message.content_type },
        status: message.status,
        repaired,
        fetched_at,
        passthrough,
    })
}
