//! Makes fingerprints of pages, for clustering elsewhere.

use std::path::PathBuf;

use leitong::Page;
use leitong::pipeline::{FingerprintStage, Workspace};
use leitong_base::record::{LogRecord, Outcome, Place};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use crate::cores::{self, CHUNK};
use crate::page::{Pages, items};
use crate::pickled;
use crate::settings::{settings, value_error};

/// Makes fingerprints of pages and compares them. They are the same in every process with the same settings,
/// so a map step on many machines can make them.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Fingerprinter {
    stage: FingerprintStage,
    bytes_max: usize,
    /// The settings as given, for other processes.
    given: (Option<PathBuf>, Option<String>),
}

#[pymethods]
impl Fingerprinter {
    #[new]
    #[pyo3(signature = (config = None, *, toml = None))]
    fn new(config: Option<PathBuf>, toml: Option<&str>) -> PyResult<Self> {
        // Another process may have another current folder.
        let path = config.as_ref().map(std::path::absolute).transpose()?;
        let given = (path, toml.map(str::to_owned));
        let config = settings(config, toml)?;
        let bytes_max = config.page.bytes_max;
        Ok(Self { stage: FingerprintStage::new(config).map_err(value_error)?, bytes_max, given })
    }

    /// Pickles the settings; the other process reads the settings file itself.
    #[expect(clippy::type_complexity, reason = "what pickle wants")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Option<PathBuf>, Option<String>))> {
        Ok((pickled::maker(py, "restore_fingerprinter")?, self.given.clone()))
    }

    /// Returns the fingerprint of a page (a str, or a dict as for `Deduplicator`), or None if there is too
    /// little to compare.
    fn fingerprint<'py>(
        &self,
        py: Python<'py>,
        page: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let page = Pages::new(self.bytes_max).page(page)?;
        let made = py.detach(|| self.make(page, &mut self.stage.workspace()));
        Ok(made.map(|fingerprint| PyBytes::new(py, &fingerprint)))
    }

    /// Returns the fingerprints of many pages, made on all cores.
    fn fingerprints<'py>(
        &self,
        py: Python<'py>,
        pages: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let made = Pages::new(self.bytes_max);
        let pages: Vec<Page> = items(pages)?.map(|page| made.page(&page?)).collect::<PyResult<_>>()?;
        let fingerprints = py.detach(|| self.on_all(pages, |workspace, page| self.make(page, workspace)))?;
        Ok(fingerprints.into_iter().map(|made| made.map(|bytes| PyBytes::new(py, &bytes))).collect())
    }

    /// Returns records of many pages, made on all cores: fingerprints and everything else that a decision
    /// needs, for `Deduplicator.decide_records` and `LogSource`. Pages need a url or an id, since their
    /// numbers mean nothing elsewhere.
    fn records<'py>(&self, py: Python<'py>, pages: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let made = Pages::new(self.bytes_max);
        let pages: Vec<Page> = items(pages)?.map(|page| made.named_page(&page?)).collect::<PyResult<_>>()?;
        let record = |workspace: &mut _, page| self.stage.record(page, workspace);
        let records: Vec<Vec<u8>> = py.detach(|| self.on_all(pages, record))?;
        Ok(records.iter().map(|record| PyBytes::new(py, record)).collect())
    }

    /// Returns the distance of two fingerprints, their similarity (0 to 1), and whether their pages are
    /// near-duplicates.
    fn compare(&self, a: &[u8], b: &[u8]) -> PyResult<(f64, f64, bool)> {
        let detector = self.stage.detector();
        for (which, bytes) in [("first", a), ("second", b)] {
            if !detector.is_fingerprint(bytes) {
                return Err(PyValueError::new_err(format!(
                    "the {which} argument is not a fingerprint of the detector {}",
                    detector.name()
                )));
            }
        }
        let compared = detector.compare(a, b);
        Ok((detector.distance(compared.distance), detector.similarity(a, b), compared.near))
    }

    /// Returns the hash of all settings that can change a fingerprint, in hexadecimal. Fingerprints with
    /// different hashes are never compared.
    #[getter]
    fn fingerprint_hash(&self) -> String {
        format!("{:016x}", self.stage.fingerprint_hash())
    }
}

/// Restores a pickled Fingerprinter.
#[pyfunction]
pub(crate) fn restore_fingerprinter(
    config: Option<PathBuf>,
    toml: Option<String>,
) -> PyResult<Fingerprinter> {
    Fingerprinter::new(config, toml.as_deref())
}

impl Fingerprinter {
    /// Applies `make` to each page, on all cores. Ctrl-C ends the call.
    fn on_all<T: Send>(
        &self,
        pages: Vec<Page>,
        make: impl Fn(&mut Workspace, Page) -> T + Send + Sync,
    ) -> PyResult<Vec<T>> {
        let (mut pages, mut made) = (pages.into_iter(), Vec::new());
        loop {
            let chunk: Vec<Page> = pages.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return Ok(made);
            }
            let each = || {
                let each = chunk.into_par_iter().map_init(|| self.stage.workspace(), &make);
                each.collect::<Vec<T>>()
            };
            made.extend(cores::on_all(each)?);
            cores::check_signals()?;
        }
    }

    fn make(&self, page: Page, workspace: &mut Workspace) -> Option<Box<[u8]>> {
        let place = Place::Line { input: "python".into(), line: 1 };
        match self.stage.process_page(place, page, workspace).record {
            Ok(LogRecord::Page(record)) => match record.outcome {
                Outcome::Fingerprint(fingerprint) => Some(fingerprint),
                Outcome::Undecidable(_) => None,
            },
            _ => unreachable!("a page has a record"),
        }
    }
}
