//! A verdict on a page, as Python sees it.

use leitong::Kind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::pickled;

/// The verdict on one page. `to_dict()` has all fields, under the names of the program's output.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Verdict {
    page_id: String,
    url: String,
    kind: String,
    reason: Option<String>,
    cluster_id: Option<String>,
    canonical_page_id: Option<String>,
    canonical_url: Option<String>,
    same_url: bool,
    distance: Option<f64>,
    similarity: Option<f64>,
    /// The verdict as the program prints it.
    json: String,
}

impl Verdict {
    pub(crate) fn new(verdict: leitong::Verdict) -> Self {
        Self {
            json: serde_json::to_string(&verdict).expect("a verdict is JSON"),
            kind: verdict.kind.as_str().to_owned(),
            reason: verdict.reason.map(|reason| reason.as_str().to_owned()),
            cluster_id: verdict.cluster_id.map(|id| id.to_string()),
            canonical_page_id: verdict.canonical_page_id,
            canonical_url: verdict.canonical_url,
            same_url: verdict.same_url,
            distance: verdict.distance.map(|number| number.0),
            similarity: verdict.similarity.map(|number| number.0),
            page_id: verdict.page_id,
            url: verdict.url,
        }
    }
}

/// The fields from which a verdict is unpickled: its JSON, distance and similarity.
type Fields<'a> = (&'a str, Option<f64>, Option<f64>);

#[pymethods]
impl Verdict {
    /// Returns the page's id.
    #[getter]
    fn page_id(&self) -> &str {
        &self.page_id
    }

    /// Returns the page's url.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Returns `UNIQUE`, `EXACT_DUPLICATE`, `NEAR_DUPLICATE` or `UNDECIDABLE`.
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns true if the page is a duplicate of another page, not of an earlier crawl of itself.
    #[getter]
    fn is_duplicate(&self) -> bool {
        self.joins() && !self.same_url
    }

    /// Returns why the page is undecidable; None for all other kinds.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns the id of the cluster that the page founds or joins, 32 hexadecimal digits.
    #[getter]
    fn cluster_id(&self) -> Option<&str> {
        self.cluster_id.as_deref()
    }

    /// Returns the id of the page that represents the cluster.
    #[getter]
    fn canonical_page_id(&self) -> Option<&str> {
        self.canonical_page_id.as_deref()
    }

    /// Returns the url of the page that represents the cluster.
    #[getter]
    fn canonical_url(&self) -> Option<&str> {
        self.canonical_url.as_deref()
    }

    /// Returns true if the canonical page has the same page id or url: never delete on such a verdict.
    #[getter]
    fn same_url(&self) -> bool {
        self.same_url
    }

    /// Returns the distance to the centroid, in the detector's unit.
    #[getter]
    fn distance(&self) -> Option<f64> {
        self.distance
    }

    /// Returns the similarity to the centroid, from 0 to 1.
    #[getter]
    fn similarity(&self) -> Option<f64> {
        self.similarity
    }

    /// Returns the verdict as the program prints it, one JSON object.
    fn to_json(&self) -> &str {
        &self.json
    }

    /// Returns all fields.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let loaded = py.import("json")?.call_method1("loads", (&self.json,))?;
        Ok(loaded.cast_into::<PyDict>()?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Fields<'_>)> {
        Ok((pickled::maker(py, "restore_verdict")?, (&self.json, self.distance, self.similarity)))
    }

    fn __repr__(&self) -> String {
        let canonical = match &self.canonical_page_id {
            Some(canonical) if self.joins() => format!(" of {canonical:?}"),
            _ => String::new(),
        };
        format!("<Verdict {:?}: {}{canonical}>", self.page_id, self.kind)
    }
}

impl Verdict {
    fn joins(&self) -> bool {
        [Kind::ExactDuplicate, Kind::NearDuplicate].iter().any(|kind| kind.as_str() == self.kind)
    }
}

/// Restores a pickled Verdict. Its numbers are passed separately, because JSON has fewer digits of them.
#[pyfunction]
#[pyo3(signature = (json, distance, similarity))]
pub(crate) fn restore_verdict(
    json: String,
    distance: Option<f64>,
    similarity: Option<f64>,
) -> PyResult<Verdict> {
    let fields: Value =
        serde_json::from_str(&json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let text = |name: &str| fields[name].as_str().map(str::to_owned);
    Ok(Verdict {
        page_id: text("page_id").unwrap_or_default(),
        url: text("url").unwrap_or_default(),
        kind: text("kind").unwrap_or_default(),
        reason: text("reason"),
        cluster_id: text("cluster_id"),
        canonical_page_id: text("canonical_page_id"),
        canonical_url: text("canonical_url"),
        same_url: fields["same_url"].as_bool().unwrap_or_default(),
        distance,
        similarity,
        json,
    })
}
