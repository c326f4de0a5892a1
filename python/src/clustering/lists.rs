//! Compares documents that share a key with one another. Each key has a list of documents, in their order.
//!
//! Two passes make a round. The first compares the *window* of each list, its first few undecided documents.
//! The second compares the founders that the first pass has found with all later documents outside of the window. So
//! each pair of a founder and a later document is compared in one of the two passes, under the smallest key
//! that they share.
//!
//! Memory: the window of one list, or its new founders.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::columns::{self, Bytes, numbers};
use super::rules::{Prepared, Rules};

/// Kind of a row: the two documents are near-duplicates.
const NEAR: u8 = 0;
/// Kind of a row: the two documents are related.
const RELATED: u8 = 1;
/// Kind of a row: the document is outside of the window of this key.
const BEYOND: u8 = 2;

/// Bit of a mark in the second pass: the document was undecided when the round began.
const WAS_OPEN: u8 = 1;
/// Bit of a mark in the second pass: the document has founded a cluster in this round.
const IS_NEW: u8 = 2;

/// The comparison of documents that share a key. `Clustering.lists` creates it.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct Lists {
    rules: Arc<Rules>,
    window: u64,
    is_second_pass: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Key and place of the last row.
    last: Option<(i64, i64)>,
    /// The documents of the present list that later ones are compared with.
    kept: Vec<Prepared>,
    /// Number of undecided documents in the present list so far.
    open: u64,
    looked_at: u64,
}

/// Pairs of documents: later, earlier, rank, kind.
#[derive(Default)]
struct Rows {
    later: Vec<i64>,
    earlier: Vec<i64>,
    rank: Vec<i64>,
    kind: Vec<u8>,
}

impl Rows {
    fn push(&mut self, later: i64, earlier: i64, rank: u32, kind: u8) {
        self.later.push(later);
        self.earlier.push(earlier);
        self.rank.push(rank.into());
        self.kind.push(kind);
    }
}

#[pymethods]
impl Lists {
    /// Takes the next rows, in ascending order of key and place. `marks` has a byte for each row of the second
    /// pass, and is empty in the first one. Returns four columns: later place, earlier place, rank, and kind
    /// (0 near, 1 related, 2 beyond the window: then "earlier place" is the key).
    fn feed<'py>(
        &self,
        py: Python<'py>,
        keys: &[u8],
        places: &[u8],
        forms: &[u8],
        marks: &[u8],
    ) -> PyResult<[Bytes<'py>; 4]> {
        let count = places.len() / 8;
        let (keys, places) = (columns::read(keys, count)?, columns::read(places, count)?);
        let forms: Vec<&[u8]> = self.rules.forms(forms, count)?.collect();
        if marks.len() != if self.is_second_pass { count } else { 0 } {
            return Err(PyValueError::new_err(
                "each row of the second pass needs a mark, but there are fewer or more marks than rows",
            ));
        }
        let rows = py.detach(|| {
            let (mut state, mut rows) = (self.state(), Rows::default());
            for (at, form) in forms.into_iter().enumerate() {
                state.begin(keys[at], places[at])?;
                match marks.get(at) {
                    None => self.first_pass(&mut state, (keys[at], places[at]), form, &mut rows),
                    Some(mark) => {
                        self.second_pass(&mut state, (keys[at], places[at]), form, *mark, &mut rows)
                    }
                }
            }
            PyResult::Ok(rows)
        })?;
        let Rows { later, earlier, rank, kind } = rows;
        Ok([numbers(py, &later), numbers(py, &earlier), numbers(py, &rank), PyBytes::new(py, &kind)])
    }

    /// Returns the number of pairs looked at so far. A pair counts once for each key that its documents share.
    #[getter]
    fn looked_at(&self) -> u64 {
        self.state().looked_at
    }
}

impl Lists {
    pub(super) fn new(rules: Arc<Rules>, window: u64, is_second_pass: bool) -> Self {
        Self { rules, window, is_second_pass, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares an undecided document with the earlier ones in the window.
    fn first_pass(&self, state: &mut State, (key, place): (i64, i64), form: &[u8], rows: &mut Rows) {
        state.open += 1;
        if state.open > self.window {
            rows.push(place, key, 0, BEYOND);
            return;
        }
        let document = self.rules.prepared(place, form);
        self.compare_with_kept(state, key, &document, rows);
        state.kept.push(document);
    }

    /// Compares a document with the earlier new founders, unless both are in the window.
    fn second_pass(
        &self,
        state: &mut State,
        (key, place): (i64, i64),
        form: &[u8],
        mark: u8,
        rows: &mut Rows,
    ) {
        let was_open = mark & WAS_OPEN != 0;
        state.open += u64::from(was_open);
        let is_in_window = was_open && state.open <= self.window;
        let is_new = mark & IS_NEW != 0;
        if (is_in_window || state.kept.is_empty()) && !is_new {
            return;
        }
        let document = self.rules.prepared(place, form);
        if !is_in_window {
            self.compare_with_kept(state, key, &document, rows);
        }
        if is_new {
            state.kept.push(document);
        }
    }

    fn compare_with_kept(&self, state: &mut State, key: i64, document: &Prepared, rows: &mut Rows) {
        state.looked_at += state.kept.len() as u64;
        for earlier in &state.kept {
            if let Some(found) = self.rules.compare(document, earlier, Some(key.cast_unsigned())) {
                let kind = if found.related { RELATED } else { NEAR };
                rows.push(document.place, earlier.place, found.rank, kind);
            }
        }
    }
}

impl State {
    /// Begins with a row, and with a new list if the row is the first one of its key.
    fn begin(&mut self, key: i64, place: i64) -> PyResult<()> {
        if self.last.is_some_and(|last| last >= (key, place)) {
            return Err(PyValueError::new_err(format!(
                "key {key}, place {place}: the rows are not in ascending order"
            )));
        }
        if self.last.is_none_or(|(last, _)| last != key) {
            self.kept.clear();
            self.open = 0;
        }
        self.last = Some((key, place));
        Ok(())
    }
}
