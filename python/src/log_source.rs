//! Turns records made on many machines into records of the fingerprint log.

use leitong::pipeline::{self, LOG_PARTITIONS_MAX};
use leitong_base::record::Timestamp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::page::timestamp;
use crate::pickled;
use crate::process_lock::ProcessLock;

/// Maximum length of a name in bytes, as for the Kafka topic that the name stands for.
const NAME_BYTES_MAX: usize = 249;

/// LogSource(name, *, epoch=0, log_partitions=1, log_time=None)
/// --
///
/// Assigns records (`Fingerprinter.records`) their places in the fingerprint log of a worker, in one order.
/// Writing the same records again, from the first one, changes nothing: each counts once.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct LogSource {
    inner: ProcessLock<pipeline::LogSource>,
}

#[pymethods]
impl LogSource {
    #[new]
    #[pyo3(signature = (name, *, epoch = 0, log_partitions = 1, log_time = None))]
    fn new(
        name: &str,
        epoch: u32,
        log_partitions: u32,
        log_time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(PyValueError::new_err(format!(
                "name has {} bytes; give 1 to {NAME_BYTES_MAX}, which name these records among all others",
                name.len()
            )));
        }
        if !(1..=LOG_PARTITIONS_MAX).contains(&log_partitions) {
            return Err(PyValueError::new_err(format!(
                "log_partitions = {log_partitions}: give the number of partitions that the log has, 1 to {}",
                LOG_PARTITIONS_MAX
            )));
        }
        let log_time = log_time.map(|time| timestamp(time, "\"log_time\"")).transpose()?;
        let log_time = log_time.unwrap_or_else(Timestamp::now);
        let source = pipeline::LogSource::new(name, epoch, log_partitions, log_time);
        Ok(Self { inner: ProcessLock::new("LogSource", source) })
    }

    /// Returns for each record, in order, the log partition and the value to write there.
    fn place<'py>(
        &self,
        py: Python<'py>,
        records: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<(u32, Bound<'py, PyBytes>)>> {
        let records: Vec<PyBackedBytes> =
            records.try_iter()?.map(|record| Ok(record?.extract()?)).collect::<PyResult<_>>()?;
        let placed = py.detach(|| {
            let mut source = self.inner.lock()?;
            // If a record is refused, none is placed, so there is no gap.
            let mut after = source.clone();
            let place = |(number, record): (usize, &PyBackedBytes)| {
                after.place(record).map_err(|error| format!("record {number}: {error}"))
            };
            let placed: Result<Vec<_>, String> = records.iter().enumerate().map(place).collect();
            let placed = placed.map_err(PyValueError::new_err)?;
            *source = after;
            PyResult::Ok(placed)
        })?;
        Ok(placed.into_iter().map(|(partition, bytes)| (partition, PyBytes::new(py, &bytes))).collect())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(pickled::refused(
            "LogSource",
            "it numbers the records of one process in one order; send it the records",
        ))
    }

    /// Returns the offset of the next record: the number of records placed so far.
    #[getter]
    fn next_offset(&self) -> PyResult<u64> {
        Ok(self.inner.lock()?.next_offset())
    }
}
