//! What Leitong says of a page, as Python sees it.

use leitong::Kind;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The verdict on one page. `to_dict()` has all fields, under the names of the program's output.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Verdict(pub(crate) leitong::Verdict);

#[pymethods]
impl Verdict {
    /// The page's id.
    #[getter]
    fn page_id(&self) -> &str {
        &self.0.page_id
    }

    /// The page's url.
    #[getter]
    fn url(&self) -> &str {
        &self.0.url
    }

    /// `UNIQUE`, `EXACT_DUPLICATE`, `NEAR_DUPLICATE` or `UNDECIDABLE`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.as_str()
    }

    /// Whether the page is a duplicate of another one: not of itself, read once more.
    #[getter]
    fn is_duplicate(&self) -> bool {
        matches!(self.0.kind, Kind::ExactDuplicate | Kind::NearDuplicate) && !self.0.same_url
    }

    /// Why it is undecidable; None for all other kinds.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        self.0.reason.map(leitong::Reason::as_str)
    }

    /// The cluster that the page founds or joins, 32 hex digits.
    #[getter]
    fn cluster_id(&self) -> Option<String> {
        self.0.cluster_id.map(|id| id.to_string())
    }

    /// The id of the page that stands for the cluster.
    #[getter]
    fn canonical_page_id(&self) -> Option<&str> {
        self.0.canonical_page_id.as_deref()
    }

    /// Its url.
    #[getter]
    fn canonical_url(&self) -> Option<&str> {
        self.0.canonical_url.as_deref()
    }

    /// The canonical page has the same page id or url: never delete on such a verdict.
    #[getter]
    fn same_url(&self) -> bool {
        self.0.same_url
    }

    /// To the centroid, in the detector's unit.
    #[getter]
    fn distance(&self) -> Option<f64> {
        self.0.distance.map(|number| number.0)
    }

    /// To the centroid, 0 to 1.
    #[getter]
    fn similarity(&self) -> Option<f64> {
        self.0.similarity.map(|number| number.0)
    }

    /// The verdict as the program prints it, one JSON object.
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("a verdict is JSON")
    }

    /// All fields.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let loaded = py.import("json")?.call_method1("loads", (self.to_json(),))?;
        Ok(loaded.cast_into::<PyDict>()?)
    }

    fn __repr__(&self) -> String {
        let canonical = match (self.0.kind, &self.0.canonical_page_id) {
            (Kind::ExactDuplicate | Kind::NearDuplicate, Some(canonical)) => format!(" of {canonical:?}"),
            _ => String::new(),
        };
        format!("<Verdict {:?}: {}{canonical}>", self.0.page_id, self.kind())
    }
}
