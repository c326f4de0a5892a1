//! The steps of clustering that an engine such as Spark runs on many machines (`leitong/spark`).
//!
//! ```text
//! records ─► read ─► text keys, forms ─► keys ─► Lists: pairs under one key ─► verdicts
//!                                                InOrder: what is left, one after the other
//! ```
//! A *form* is everything that a comparison needs: 16 bytes for the corpus and the fingerprint settings, and
//! the fingerprint. All forms have the same length. Columns cross the border to Python as bytes of
//! little-endian numbers, which Arrow's arrays share. Pure: the same input gives the same output, so an engine
//! may repeat any step.

mod columns;
mod in_order;
mod lists;
mod rules;

use std::path::PathBuf;
use std::sync::Arc;

use leitong::Config;
use leitong::config::Candidates;
use leitong::pipeline::FingerprintStage;
use leitong_base::record::{FingerprintRecord, Outcome, Place, Timestamp};
use leitong_cluster::log::Unplaced;
use leitong_cluster::verdict::Judge;
use leitong_cluster::{CanonicalPage, ClusterId, Decision, SeenText};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::settings::{settings, value_error};
use crate::verdict::Verdict;
use columns::{Bytes, numbers};
pub(crate) use in_order::InOrder;
pub(crate) use lists::Lists;
use rules::Rules;

/// Role in `Clustering.verdicts` of an undecidable document.
const UNDECIDABLE: u8 = 0;
/// Role of a document that founds a cluster.
const FOUNDER: u8 = 1;
/// Role of a document that joins a cluster by its fingerprint.
const NEAR: u8 = 2;
/// Role of a document that joins a cluster by its text.
const KNOWN_TEXT: u8 = 3;

/// Clustering(config=None, *, toml=None)
/// --
///
/// The steps of clustering on many machines. Raises ValueError for settings with which the verdicts could
/// differ from those of one process.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Clustering {
    rules: Arc<Rules>,
    fingerprint_hash: u64,
    cluster_hash: u64,
    centroids_max: u64,
}

#[pymethods]
impl Clustering {
    #[new]
    #[pyo3(signature = (config = None, *, toml = None))]
    fn new(config: Option<PathBuf>, toml: Option<&str>) -> PyResult<Self> {
        let config = settings(config, toml)?;
        check(&config)?;
        let stage = FingerprintStage::new(config.clone()).map_err(value_error)?;
        let (detector, fingerprint_hash) = (stage.detector(), stage.fingerprint_hash());
        Ok(Self {
            fingerprint_hash,
            cluster_hash: config.table_settings(detector, fingerprint_hash).cluster_hash,
            centroids_max: config.expiry.centroids_max,
            rules: Arc::new(Rules::new(Arc::clone(detector))),
        })
    }

    /// Returns the maximum number of centroids, and of texts of documents that joined clusters.
    #[getter]
    fn centroids_max(&self) -> u64 {
        self.centroids_max
    }

    /// Returns the hashes of the settings before and after the log. With the same hashes, two processes make the
    /// same verdicts.
    #[getter]
    fn settings_hash(&self) -> String {
        format!("{:016x}{:016x}", self.fingerprint_hash, self.cluster_hash)
    }

    /// Reads records. Returns for each a byte that is 1 if the document can be decided, and the text keys and
    /// forms of these documents.
    fn read<'py>(&self, py: Python<'py>, records: Vec<PyBackedBytes>) -> PyResult<[Bytes<'py>; 3]> {
        let (mut flags, mut texts, mut forms) = (Vec::new(), Vec::new(), Vec::new());
        py.detach(|| {
            for (number, record) in records.iter().enumerate() {
                let record = self.record(number, record, 0)?;
                let (Outcome::Fingerprint(fingerprint), Some(text)) = (&record.outcome, record.text) else {
                    flags.push(0);
                    continue;
                };
                flags.push(1);
                texts.extend(
                    SeenText::key_of(&record.corpus, record.fingerprint_hash, text.digest).to_be_bytes(),
                );
                forms.extend(SeenText::key_of(&record.corpus, record.fingerprint_hash, 0).to_be_bytes());
                forms.extend_from_slice(fingerprint);
            }
            PyResult::Ok(())
        })?;
        Ok([flags, texts, forms].map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Returns the number of keys of each form, and all their keys.
    fn keys<'py>(&self, py: Python<'py>, forms: &[u8], count: usize) -> PyResult<[Bytes<'py>; 2]> {
        let (mut counts, mut keys) = (Vec::<i64>::new(), Vec::<i64>::new());
        for form in self.rules.forms(forms, count)? {
            let of_form = self.rules.keys(form);
            counts.push(of_form.len() as i64);
            keys.extend(of_form.iter().map(|key| key.cast_signed()));
        }
        Ok([numbers(py, &counts), numbers(py, &keys)])
    }

    /// Returns the comparison of documents under one key, for rows sorted by key and place. Among the rows of each key
    /// it compares the first `window` ones; with `rest`, it compares new founders with the documents outside of the
    /// window.
    fn lists(&self, window: u64, rest: bool) -> Lists {
        Lists::new(Arc::clone(&self.rules), window, rest)
    }

    /// Returns the clustering of documents one after the other.
    fn in_order(&self) -> InOrder {
        InOrder::new(Arc::clone(&self.rules))
    }

    /// Returns for each form the article that its page is a part of; None if it is not part of an article.
    fn articles<'py>(
        &self,
        py: Python<'py>,
        forms: &[u8],
        count: usize,
    ) -> PyResult<Vec<Option<Bytes<'py>>>> {
        let forms = self.rules.forms(forms, count)?;
        Ok(forms.map(|form| self.rules.article(form).map(|article| PyBytes::new(py, &article))).collect())
    }

    /// Returns for each pair of forms a byte that is 1 if they are different pages of one article.
    fn parts<'py>(&self, py: Python<'py>, forms: &[u8], others: &[u8], count: usize) -> PyResult<Bytes<'py>> {
        let pairs = self.rules.forms(forms, count)?.zip(self.rules.forms(others, count)?);
        let parts: Vec<u8> = pairs.map(|(form, other)| self.rules.are_parts(form, other).into()).collect();
        Ok(PyBytes::new(py, &parts))
    }

    /// Returns the verdicts on records at these places. The role of a record says what `others` has for it: for a
    /// founder (1), the record of its related page or None; for a document that joined by its fingerprint (2) or by its
    /// text (3), the record of the founder; for an undecidable document (0), None.
    fn verdicts(
        &self,
        py: Python<'_>,
        records: Vec<PyBackedBytes>,
        places: &[u8],
        roles: &[u8],
        others: Vec<Option<PyBackedBytes>>,
        other_places: &[u8],
    ) -> PyResult<Vec<Verdict>> {
        let (places, other_places) =
            (columns::read(places, records.len())?, columns::read(other_places, records.len())?);
        if (roles.len(), others.len()) != (records.len(), records.len()) {
            return Err(PyValueError::new_err(
                "the columns have different numbers of rows; pass columns of one batch",
            ));
        }
        py.detach(|| {
            let mut verdicts = Vec::with_capacity(records.len());
            for (at, record) in records.iter().enumerate() {
                let record = self.record(at, record, places[at])?;
                let other = others[at].as_ref().map(|other| self.record(at, other, other_places[at]));
                let decision =
                    self.decision(&record, (places[at], roles[at]), other.transpose()?, other_places[at])?;
                let judge = Judge {
                    detector: self.rules.detector(),
                    cluster_hash: self.cluster_hash,
                    log_partition: 0,
                    log_offset: places[at].cast_unsigned(),
                    decided_at: Timestamp::now(),
                };
                verdicts.push(Verdict::new(judge.verdict(record, decision, None)));
            }
            Ok(verdicts)
        })
    }
}

impl Clustering {
    /// Reads a record. `number` counts the records of the batch, for errors.
    fn record(&self, number: usize, bytes: &[u8], place: i64) -> PyResult<FingerprintRecord> {
        let broken = |error| PyValueError::new_err(format!("record {number}: {error}"));
        let record = Unplaced::read(bytes).map_err(broken)?;
        if record.fingerprint_hash() != self.fingerprint_hash {
            return Err(PyValueError::new_err(format!(
                "record {number} was made with other settings: its fingerprint hash is {:016x}, that of these settings \
                 is {:016x}; make the fingerprints again, or give the settings that made them",
                record.fingerprint_hash(),
                self.fingerprint_hash
            )));
        }
        let place = Place::Line { input: "-".into(), line: place.cast_unsigned() + 1 };
        record.page(place, self.rules.detector()).map_err(broken)
    }

    /// Returns the decision that one process would make, given the page that it would find.
    fn decision(
        &self,
        record: &FingerprintRecord,
        (place, role): (i64, u8),
        other: Option<FingerprintRecord>,
        other_place: i64,
    ) -> PyResult<Decision> {
        let id =
            |place: i64| ClusterId { log_generation: 0, log_partition: 0, log_offset: place.cast_unsigned() };
        let page = other.map(|other| self.page(record, other, id(other_place), role)).transpose()?;
        match (role, page) {
            (UNDECIDABLE, None) => Ok(Decision::Undecidable),
            (FOUNDER, related) => Ok(Decision::Founded(id(place), related)),
            (NEAR | KNOWN_TEXT, Some(page)) => Ok(Decision::Joined(page)),
            (role, _) => Err(PyValueError::new_err(format!(
                "place {place}: `others` must have the founder's record for the roles 2 and 3, and None for 0, but the \
                 role is {role}"
            ))),
        }
    }

    fn page(
        &self,
        record: &FingerprintRecord,
        other: FingerprintRecord,
        cluster_id: ClusterId,
        role: u8,
    ) -> PyResult<CanonicalPage> {
        let (Outcome::Fingerprint(own), Outcome::Fingerprint(fingerprint)) = (&record.outcome, other.outcome)
        else {
            return Err(PyValueError::new_err(format!(
                "{}: one of two records has no fingerprint",
                record.page_id
            )));
        };
        let exact = record.text.map(|text| text.digest) == other.text.map(|text| text.digest);
        Ok(CanonicalPage {
            cluster_id,
            page_id: other.page_id,
            url: other.url,
            replaces: None,
            distance: self.rules.detector().compare(own, &fingerprint).distance,
            fingerprint,
            related: role == FOUNDER,
            exact,
            equal_text: role == KNOWN_TEXT,
        })
    }
}

/// Refuses settings with which the verdicts could differ from those of one process.
fn check(config: &Config) -> PyResult<()> {
    let is_default = config.detector == "simhash" && config.simhash.near.candidates == Candidates::Bands;
    let refused = [
        (!is_default, "detector is not simhash"),
        (config.recrawls.enabled, "recrawls.enabled is set"),
        (config.expiry.max_age_days.is_some(), "expiry.max_age_days is set"),
        (!config.canonical.is_first(), "canonical.prefer is set"),
    ];
    match refused.iter().find(|(is_refused, _)| *is_refused) {
        None => Ok(()),
        Some((_, what)) => Err(PyValueError::new_err(format!(
            "{what}, which clustering on many machines does not support; remove the setting, or cluster in one process \
             with Deduplicator.decide_records"
        ))),
    }
}
