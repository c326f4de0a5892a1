//! Extracts the main text from HTML.

use std::cell::RefCell;

use leitong::{Config, Page, TextReader};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::page::lossy;
use crate::pickled;

/// The main text of a page.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Document {
    title: Option<String>,
    text: String,
    paragraphs: Vec<String>,
    /// The metadata as JSON.
    metadata: Option<String>,
}

/// The parts of a Document.
type Parts = (Option<String>, String, Vec<String>, Option<String>);

#[pymethods]
impl Document {
    /// Returns the title, if there is one.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the paragraphs, one per line.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Returns the paragraphs.
    #[getter]
    fn paragraphs(&self) -> Vec<&str> {
        self.paragraphs.iter().map(String::as_str).collect()
    }

    /// Returns the page's statements about its source and itself: publisher, authors, date and so on.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(metadata) = &self.metadata else { return Ok(None) };
        Ok(Some(py.import("json")?.call_method1("loads", (metadata,))?.cast_into::<PyDict>()?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        let Self { title, text, paragraphs, metadata } = self;
        let parts = (title.clone(), text.clone(), paragraphs.clone(), metadata.clone());
        Ok((pickled::maker(py, "restore_document")?, parts))
    }

    fn __repr__(&self) -> String {
        let title = self.title.as_deref().unwrap_or_default();
        format!("<Document {title:?}, {} paragraphs>", self.paragraphs.len())
    }
}

impl From<leitong::Document> for Document {
    fn from(document: leitong::Document) -> Self {
        let metadata = document.metadata.as_deref();
        Self {
            text: document.text(),
            metadata: metadata.map(|metadata| serde_json::to_string(metadata).expect("metadata are JSON")),
            title: document.title,
            paragraphs: document.paragraphs.into_iter().map(|paragraph| paragraph.text).collect(),
        }
    }
}

/// Restores a pickled Document.
#[pyfunction]
pub(crate) fn restore_document(
    title: Option<String>,
    text: String,
    paragraphs: Vec<String>,
    metadata: Option<String>,
) -> Document {
    Document { title, text, paragraphs, metadata }
}

thread_local! {
    static READER: RefCell<TextReader> = RefCell::new(TextReader::new(&Config::default()));
}

/// extract(html, *, url="", content_type=None)
/// --
///
/// Returns the main text of HTML, given as a str or as bytes in any charset. Raises ValueError if there is
/// none.
#[pyfunction]
#[pyo3(signature = (html, *, url = "", content_type = None))]
pub(crate) fn extract(
    py: Python<'_>,
    html: &Bound<'_, PyAny>,
    url: &str,
    content_type: Option<String>,
) -> PyResult<Document> {
    let mut page = match (html.cast::<PyBytes>(), html.cast::<PyString>()) {
        (Ok(bytes), _) => Page::bytes(url, bytes.as_bytes()),
        (_, Ok(text)) => Page::html(url, lossy(text)),
        _ => return Err(PyTypeError::new_err("html must be a str or bytes")),
    };
    page.hints.content_type = content_type;
    let read = py.detach(|| READER.with_borrow_mut(|reader| reader.read(&page)));
    match read {
        Ok(document) => Ok(document.into()),
        Err(refusal) => Err(PyValueError::new_err(refusal.to_string())),
    }
}
