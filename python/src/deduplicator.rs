//! Decides on pages, and returns verdicts.

use std::path::PathBuf;
use std::sync::MutexGuard;

use leitong::{Batch, Page};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::cores::{self, CHUNK};
use crate::page::{Pages, items};
use crate::pickled;
use crate::process_lock::ProcessLock;
use crate::settings::{settings, value_error};
use crate::table::{Table, refused};
use crate::verdict::Verdict;

/// Deduplicator(config=None, *, toml=None, table=None)
/// --
///
/// Decides for one page after another whether it is new or a near-duplicate of an earlier one. With a `Table`
/// it starts from what was saved there; `table.on_disk` needs one.
#[pyclass(frozen, subclass, module = "leitong")]
pub(crate) struct Deduplicator {
    inner: ProcessLock<leitong::Deduplicator>,
    /// True if old centroids are in files, which threads of the process that opened them write.
    is_on_disk: bool,
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
            Some(table) => table.get().opened(py, |table| {
                cores::on_all(|| table.deduplicator(&config))?.map_err(|error| refused(&error))
            })?,
            None => leitong::Deduplicator::new(&config).map_err(value_error)?,
        };
        Ok(Self {
            inner: ProcessLock::new("Deduplicator", inner),
            is_on_disk: config.table.on_disk,
            pages: Pages::new(config.page.bytes_max),
        })
    }

    /// Returns the verdict on a page: a str, or a dict with "text" or "html" (a str, or bytes in any charset)
    /// and, if known, "url", "id", "title", "content_type", "charset", "status", "fetched_at". Other keys are
    /// ignored.
    fn decide(&self, py: Python<'_>, page: &Bound<'_, PyAny>) -> PyResult<Verdict> {
        let page = self.pages.page(page)?;
        let decided = py.detach(|| {
            let mut inner = self.inner()?;
            let deduplicator = &mut *inner;
            cores::on_all(move || deduplicator.decide(page))?.map_err(|error| refused(&error))
        });
        decided.map(Verdict::new)
    }

    /// Returns the verdicts on many pages, in their order; reads their texts on all cores. If Ctrl-C ends the
    /// call, none of the pages is decided.
    fn decide_batch(&self, py: Python<'_>, pages: &Bound<'_, PyAny>) -> PyResult<Vec<Verdict>> {
        let pages: Vec<Page> = items(pages)?.map(|page| self.pages.page(&page?)).collect::<PyResult<_>>()?;
        let verdicts = py.detach(|| {
            let mut inner = self.inner()?;
            let deduplicator = &mut *inner;
            let (mut pages, mut batch) = (pages.into_iter(), Batch::default());
            loop {
                let chunk: Vec<Page> = pages.by_ref().take(CHUNK).collect();
                if chunk.is_empty() {
                    break;
                }
                cores::on_all(|| deduplicator.fingerprint(chunk, &mut batch))?;
                cores::check_signals()?;
            }
            cores::on_all(|| deduplicator.decide_fingerprinted(batch))?.map_err(|error| refused(&error))
        })?;
        Ok(verdicts.into_iter().map(Verdict::new).collect())
    }

    /// Returns the verdicts on pages whose records were made elsewhere (`Fingerprinter.records`), in their
    /// order. The verdicts equal those of `decide_batch` on the pages. Records made with other settings are
    /// refused. If Ctrl-C ends the call while records are read, none of them is decided.
    fn decide_records(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<Vec<Verdict>> {
        let records: Vec<PyBackedBytes> =
            records.try_iter()?.map(|record| Ok(record?.extract()?)).collect::<PyResult<_>>()?;
        let verdicts = py.detach(|| {
            let mut inner = self.inner()?;
            let deduplicator = &mut *inner;
            let mut batch = Batch::default();
            for chunk in records.chunks(CHUNK) {
                deduplicator.read_records(chunk, &mut batch).map_err(value_error)?;
                cores::check_signals()?;
            }
            cores::on_all(|| deduplicator.decide_fingerprinted(batch))?.map_err(|error| refused(&error))
        })?;
        Ok(verdicts.into_iter().map(Verdict::new).collect())
    }

    /// Returns the number of centroids in the table: the number of different texts so far.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| Ok(self.inner()?.centroid_count()))
    }

    /// Returns the name of the detector in use.
    #[getter]
    fn detector(&self, py: Python<'_>) -> PyResult<&'static str> {
        py.detach(|| Ok(self.inner()?.detector().name()))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(pickled::refused(
            "Deduplicator",
            "its table is in this process; make one in each process, or keep the table in \
             a Table and load it there",
        ))
    }
}

impl Deduplicator {
    /// Locks the deduplicator. While the guard lives, no other thread decides.
    pub(crate) fn inner(&self) -> PyResult<MutexGuard<'_, leitong::Deduplicator>> {
        // A forked child lacks the threads that write its files.
        if self.is_on_disk && !self.inner.is_of_this_process() {
            return Err(PyRuntimeError::new_err(
                "this Deduplicator has its table on disk, which only the process that made it can use; make one in \
                 each process, with a folder of its own",
            ));
        }
        self.inner.lock()
    }
}
