//! HTML → main text.

use std::cell::RefCell;

use leitong::pipeline::document;
use leitong::work::Work;
use leitong::{Config, Extractor, Page};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::page::lossy;

/// The main text of a page.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Document(leitong::Document);

#[pymethods]
impl Document {
    /// The title, if there is one.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// The paragraphs, one a line.
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    /// The paragraphs.
    #[getter]
    fn paragraphs(&self) -> Vec<&str> {
        self.0.paragraphs.iter().map(|paragraph| &*paragraph.text).collect()
    }

    /// What the page says of its source and of itself: publisher, authors, date and so on.
    #[getter]
    fn credits<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(credits) = &self.0.credits else { return Ok(None) };
        let json = serde_json::to_string(credits).expect("credits are JSON");
        Ok(Some(py.import("json")?.call_method1("loads", (json,))?.cast_into::<PyDict>()?))
    }

    fn __repr__(&self) -> String {
        let title = self.0.title.as_deref().unwrap_or_default();
        format!("<Document {title:?}, {} paragraphs>", self.0.paragraphs.len())
    }
}

thread_local! {
    static EXTRACTOR: RefCell<Extractor> = RefCell::new(Extractor::new(&Config::default().extract));
}

/// extract(html, *, url="", content_type=None)
/// --
///
/// The main text of HTML: a str, or bytes in any charset. Raises ValueError where there is none.
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
    let work_max = Config::default().page.work_max;
    let read = py.detach(|| {
        EXTRACTOR.with_borrow_mut(|extractor| document::read(&page, extractor, &mut Work::up_to(work_max)))
    });
    match read {
        Ok(reading) => Ok(Document(reading.document)),
        Err(refusal) => {
            Err(PyValueError::new_err(format!("{}: {}", refusal.reason.as_str(), refusal.message)))
        }
    }
}
