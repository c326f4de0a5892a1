//! Converts Python's texts and dicts to [`Page`].

use std::sync::atomic::{AtomicU64, Ordering};

use leitong::{Body, Page};
use leitong_base::limits::{PAGE_ID_BYTES_MAX, URL_BYTES_MAX};
use leitong_base::record::Timestamp;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyFloat, PyIterator, PyString, PyTzInfo};

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
            Page { body: text_body(item, number)?, ..named(None, None) }
        } else if let Ok(fields) = item.cast::<PyDict>() {
            let field = |name: &str| Ok::<_, PyErr>(fields.get_item(name)?.filter(|value| !is_absent(value)));
            let text = |name: &str| field(name)?.map(|value| scalar(&value, name, number)).transpose();
            let page = named(text("url")?, text("id")?);
            if !fields.contains("text")? && !fields.contains("html")? {
                return Err(wrong(format!(
                    "has neither \"text\" nor \"html\", but {}",
                    fields.keys().repr()?
                )));
            }
            let body = match (field("text")?, field("html")?) {
                (Some(text), _) => text_body(&text, number)?,
                (None, Some(html)) => html_body(&html, number)?,
                (None, None) => Body::Missing,
            };
            let mut page = Page { body, title: text("title")?, ..page };
            page.hints.content_type = text("content_type")?;
            page.hints.charset = text("charset")?;
            page.status = field("status")?.map(|status| status_code(&status, number)).transpose()?;
            let time =
                |value: Bound<'_, PyAny>| timestamp(&value, &format!("document {number}: \"fetched_at\""));
            page.fetched_at = field("fetched_at")?.map(time).transpose()?;
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
            Ok(fields) => Ok::<_, PyErr>(fields.get_item(name)?.is_some_and(|value| !is_absent(&value))),
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
}

/// Returns the items of a batch.
///
/// # Errors
/// `pages` is one page, whose characters or keys would be taken for pages, or a data frame, whose names of columns
/// would be.
#[pyfunction]
pub(crate) fn items<'py>(pages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    let instead = if pages.cast::<PyDict>().is_ok() || pages.cast::<PyString>().is_ok() {
        "give a list of pages"
    } else if pages.hasattr("columns")? {
        "give its rows as dicts, such as frame.to_dict(\"records\") or frame.to_dicts()"
    } else {
        return pages.try_iter();
    };
    let kind = pages.get_type().name()?;
    Err(PyTypeError::new_err(format!("pages: is {kind}; {instead}")))
}

/// Returns true for `None`, and for what pandas has instead of a missing value: NaN and NaT, which do not equal
/// themselves, and NA, which does not say whether it does.
fn is_absent(value: &Bound<'_, PyAny>) -> bool {
    let is_na = || value.get_type().name().is_ok_and(|name| name == "NAType");
    value.is_none() || value.ne(value).unwrap_or_else(|_| is_na())
}

fn text_body(value: &Bound<'_, PyAny>, number: u64) -> PyResult<Body> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(Body::Text(lossy(text))),
        Err(_) => Err(other_type(value, "text", "a str", number)),
    }
}

fn html_body(value: &Bound<'_, PyAny>, number: u64) -> PyResult<Body> {
    match (value.cast::<PyBytes>(), value.cast::<PyString>()) {
        (Ok(bytes), _) => Ok(Body::HtmlBytes(bytes.as_bytes().to_vec())),
        (_, Ok(html)) => Ok(Body::Html(lossy(html))),
        _ => Err(other_type(value, "html", "a str or bytes", number)),
    }
}

/// Returns a status. A whole number may be a float, as in a pandas column that lacks some values.
fn status_code(value: &Bound<'_, PyAny>, number: u64) -> PyResult<u32> {
    let is_whole = value.is_instance_of::<PyFloat>() && value.call_method0("is_integer")?.is_truthy()?;
    let whole = if is_whole { value.call_method0("__int__")? } else { value.clone() };
    whole.extract().map_err(|error: PyErr| match error.is_instance_of::<PyTypeError>(value.py()) {
        true => other_type(value, "status", "an int", number),
        false => PyValueError::new_err(format!("document {number}: \"status\" is out of range")),
    })
}

/// Returns the error for a field of another type.
fn other_type(value: &Bound<'_, PyAny>, name: &str, wanted: &str, number: u64) -> PyErr {
    match value.get_type().name() {
        Ok(kind) => PyTypeError::new_err(format!("document {number}: {name:?} is {kind}; give {wanted}")),
        Err(error) => error,
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
        Err(_) => Err(other_type(value, name, "a str", number)),
    }
}

/// Converts a `datetime`, which is in UTC if it has no time zone; `what` names it in errors.
pub(crate) fn timestamp(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Timestamp> {
    if !value.hasattr("timestamp")? {
        return Err(PyTypeError::new_err(format!("{what} must be a datetime")));
    }
    let out_of_range = || PyValueError::new_err(format!("{what} is out of range"));
    let utc;
    let value = if value.getattr("tzinfo").is_ok_and(|zone| zone.is_none()) {
        let zone = [("tzinfo", PyTzInfo::utc(value.py())?)].into_py_dict(value.py())?;
        utc = value.call_method("replace", (), Some(&zone)).map_err(|_| out_of_range())?;
        &utc
    } else {
        value
    };
    let seconds = value.call_method0("timestamp").and_then(|seconds| seconds.extract::<f64>());
    let seconds = seconds.ok().filter(|seconds| seconds.is_finite()).ok_or_else(out_of_range)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float that is too large becomes the greatest number"
    )]
    let ms = (seconds * 1000.0).round() as i64;
    Timestamp::from_ms(ms).ok_or_else(out_of_range)
}
