//! Converts columns of numbers to and from little-endian bytes, the form in which Arrow stores them.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Bytes that Python owns.
pub(super) type Bytes<'py> = Bound<'py, PyBytes>;

/// Returns the bytes of a column.
pub(super) fn numbers<'py>(py: Python<'py>, column: &[i64]) -> Bytes<'py> {
    let bytes: Vec<u8> = column.iter().flat_map(|number| number.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

/// Reads a column of `count` numbers.
pub(super) fn read(bytes: &[u8], count: usize) -> PyResult<Vec<i64>> {
    let (column, rest) = bytes.as_chunks::<8>();
    if column.len() != count || !rest.is_empty() {
        return Err(PyValueError::new_err(format!(
            "a column of {} bytes does not hold {count} numbers of 8 bytes",
            bytes.len()
        )));
    }
    Ok(column.iter().map(|number| i64::from_le_bytes(*number)).collect())
}
