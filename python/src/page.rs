//! Converts Python's texts and dicts to [`Page`].

use std::sync::atomic::{AtomicU64, Ordering};

use leitong::{Body, Page};
use leitong_base::limits::{PAGE_ID_BYTES_MAX, URL_BYTES_MAX};
use leitong_base::record::Timestamp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

/// Converts successive items to pages.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Number of items so far.
    count: AtomicU64,
    bytes_max: usize,
}

impl Pages {
    /// Creates a converter. Bodies above `bytes_max` are left out, and their pages marked as too large.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { count: AtomicU64::new(0), bytes_max }
    }

    /// Returns the page of a text, or of a dict with `text` or `html` and optional fields. A page without url
    /// and id is identified by the number of the item.
    pub(crate) fn page(&self, item: &Bound<'_, PyAny>) -> PyResult<Page> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let wrong = |what: String| PyValueError::new_err(format!("document {number}: {what}"));
        let named = |url: Option<String>, id: Option<String>| {
            let url = url.filter(|url| !url.trim().is_empty());
            let id = id.filter(|id| !id.is_empty());
            let url = url.or_else(|| id.clone()).unwrap_or_else(|| format!("document:{number}"));
            let mut page = Page::new(url, Body::Missing);
            page.id = id.unwrap_or(page.id);
            page
        };
        let mut page = if item.cast::<PyString>().is_ok() {
            Page { body: self.text(item)?, ..named(None, None) }
        } else if let Ok(fields) = item.cast::<PyDict>() {
            let field = |name: &str| Ok::<_, PyErr>(fields.get_item(name)?.filter(|value| !value.is_none()));
            let text = |name: &str| field(name)?.map(|value| scalar(&value, name, number)).transpose();
            let page = named(text("url")?, text("id")?);
            if !fields.contains("text")? && !fields.contains("html")? {
                return Err(wrong(format!(
                    "has neither \"text\" nor \"html\", but {}",
                    fields.keys().repr()?
                )));
            }
            let body = match (field("text")?, field("html")?) {
                (Some(text), _) => self.text(&text)?,
                (None, Some(html)) => self.html(&html)?,
                (None, None) => Body::Missing,
            };
            let mut page = Page { body, title: text("title")?, ..page };
            page.hints.content_type = text("content_type")?;
            page.hints.charset = text("charset")?;
            page.status = field("status")?.map(|status| status.extract()).transpose()?;
            if let Some(fetched_at) = field("fetched_at")? {
                page.fetched_at =
                    Some(timestamp(&fetched_at, "fetched_at").map_err(|error| wrong(error.to_string()))?);
            }
            page
        } else {
            let kind = item.get_type().name()?;
            return Err(PyTypeError::new_err(format!("document {number}: is {kind}; give a str or a dict")));
        };
        if page.url.len() > URL_BYTES_MAX || page.id.len() > PAGE_ID_BYTES_MAX {
            return Err(wrong(format!(
                "its url has {} bytes and its id {}; at most {URL_BYTES_MAX} and {PAGE_ID_BYTES_MAX} are allowed",
                page.url.len(),
                page.id.len()
            )));
        }
        if page.body.bytes() > self.bytes_max {
            page.body = Body::TooLarge(page.body.bytes() as u64);
        }
        Ok(page)
    }

    /// Returns the page of an item that must have a url or an id.
    pub(crate) fn named_page(&self, item: &Bound<'_, PyAny>) -> PyResult<Page> {
        let number = self.count.load(Ordering::Relaxed);
        let fields = item.cast::<PyDict>();
        let has = |name: &str| match &fields {
            Ok(fields) => Ok::<_, PyErr>(fields.get_item(name)?.is_some_and(|value| !value.is_none())),
            Err(_) => Ok(false),
        };
        if !has("url")? && !has("id")? {
            return Err(PyValueError::new_err(format!(
                "document {number}: has neither \"url\" nor \"id\"; give a dict with one of them, which names it \
                 on all machines"
            )));
        }
        self.page(item)
    }

    fn text(&self, value: &Bound<'_, PyAny>) -> PyResult<Body> {
        Ok(Body::Text(lossy(value.cast::<PyString>()?)))
    }

    fn html(&self, value: &Bound<'_, PyAny>) -> PyResult<Body> {
        Ok(match value.cast::<PyBytes>() {
            Ok(bytes) => Body::HtmlBytes(bytes.as_bytes().to_vec()),
            Err(_) => Body::Html(lossy(value.cast::<PyString>()?)),
        })
    }
}

/// Returns a text with invalid Unicode (Python allows lone surrogates) replaced by U+FFFD.
pub(crate) fn lossy(text: &Bound<'_, PyString>) -> String {
    text.to_string_lossy().into_owned()
}

/// Returns a text, or a number as text.
fn scalar(value: &Bound<'_, PyAny>, name: &str, number: u64) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(lossy(text)),
        Err(_) if value.is_instance_of::<pyo3::types::PyInt>() => Ok(value.str()?.to_string()),
        Err(_) => {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("document {number}: {name:?} is {kind}; give a str")))
        }
    }
}

/// Converts a `datetime`; `name` is the field, for errors.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Timestamp> {
    let seconds: f64 = value
        .call_method0("timestamp")
        .map_err(|_| PyTypeError::new_err(format!("{name:?} must be a datetime, best with a time zone")))?
        .extract()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float that is too large becomes the greatest number"
    )]
    let ms = (seconds * 1000.0).round() as i64;
    Timestamp::from_ms(ms).ok_or_else(|| PyValueError::new_err(format!("{name:?} is out of range")))
}
