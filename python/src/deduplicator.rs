//! Pages in, verdicts out.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use leitong::Page;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::page::Pages;
use crate::settings::{settings, value_error};
use crate::table::{Table, refused};
use crate::verdict::Verdict;

/// Deduplicator(config=None, *, toml=None, table=None)
/// --
///
/// Decides of page after page whether it is new or a near-duplicate of an earlier one. With a `Table` it
/// begins with what was saved there; `table.on_disk` needs one.
#[pyclass(frozen, subclass, module = "leitong")]
pub(crate) struct Deduplicator {
    inner: Mutex<leitong::Deduplicator>,
    pages: Pages,
}

#[pymethods]
impl Deduplicator {
    #[new]
    #[pyo3(signature = (config = None, *, toml = None, table = None))]
    fn new(
        py: Python<'_>,
        config: Option<PathBuf>,
        toml: Option<&str>,
        table: Option<&Bound<'_, Table>>,
    ) -> PyResult<Self> {
        let config = settings(config, toml)?;
        let inner = match table {
            Some(table) => table.get().opened(py, |table| table.deduplicator(&config))?,
            None => leitong::Deduplicator::new(&config).map_err(value_error)?,
        };
        Ok(Self { inner: Mutex::new(inner), pages: Pages::new(config.page.bytes_max) })
    }

    /// The verdict on a page: a str, or a dict with "text" or "html" (a str, or bytes in any charset)
    /// and, if they are known, "url", "id", "title", "content_type", "charset", "status", "fetched_at".
    /// Other keys are passed over.
    fn decide(&self, py: Python<'_>, page: &Bound<'_, PyAny>) -> PyResult<Verdict> {
        let page = self.pages.page(page)?;
        py.detach(|| held(&self.inner).try_decide(page)).map(Verdict).map_err(|error| refused(&error))
    }

    /// The verdicts on many pages, in their order; their texts are read on all cores.
    fn decide_batch(&self, py: Python<'_>, pages: &Bound<'_, PyAny>) -> PyResult<Vec<Verdict>> {
        let pages: Vec<Page> =
            pages.try_iter()?.map(|page| self.pages.page(&page?)).collect::<PyResult<_>>()?;
        let verdicts = py.detach(|| held(&self.inner).try_decide_batch(pages));
        let verdicts = verdicts.map_err(|error| refused(&error))?;
        Ok(verdicts.into_iter().map(Verdict).collect())
    }

    /// The verdicts on pages whose records were made elsewhere (`Fingerprinter.records`), in their
    /// order: those that `decide_batch` would give on the pages. Records of other settings are refused.
    fn decide_records(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<Vec<Verdict>> {
        let records: Vec<PyBackedBytes> =
            records.try_iter()?.map(|record| Ok(record?.extract()?)).collect::<PyResult<_>>()?;
        let verdicts = py.detach(|| held(&self.inner).decide_records(&records)).map_err(value_error)?;
        Ok(verdicts.into_iter().map(Verdict).collect())
    }

    /// Centroids in the table: different texts so far.
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| held(&self.inner).centroid_count())
    }

    /// The name of the detector that decides.
    #[getter]
    fn detector(&self, py: Python<'_>) -> &'static str {
        py.detach(|| held(&self.inner).detector().name())
    }
}

impl Deduplicator {
    /// For as long as the guard lives, nobody else decides.
    pub(crate) fn inner(&self) -> MutexGuard<'_, leitong::Deduplicator> {
        held(&self.inner)
    }
}

/// A page that could not be read leaves nothing half done behind it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
