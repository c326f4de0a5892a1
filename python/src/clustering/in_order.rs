//! Clusters documents one after the other, as one process does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::columns::{self, Bytes, numbers};
use super::rules::{Prepared, Rules};

/// The clustering of documents one after the other. `Clustering.in_order` creates it. Memory: all founders.
#[pyclass(frozen, module = "leitong")]
pub(crate) struct InOrder {
    rules: Arc<Rules>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<i64>,
    founders: Vec<Prepared>,
    by_key: HashMap<u64, Vec<u32>>,
}

#[pymethods]
impl InOrder {
    /// Takes the next documents, in ascending order of their places. Returns the places of those that are near
    /// no earlier founder.
    fn feed<'py>(&self, py: Python<'py>, places: &[u8], forms: &[u8]) -> PyResult<Bytes<'py>> {
        let places = columns::read(places, places.len() / 8)?;
        let forms: Vec<&[u8]> = self.rules.forms(forms, places.len())?.collect();
        let founders = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let mut founders = Vec::new();
            for (place, form) in places.into_iter().zip(forms) {
                if state.last.is_some_and(|last| last >= place) {
                    return Err(PyValueError::new_err(format!(
                        "place {place}: the rows are not in ascending order"
                    )));
                }
                state.last = Some(place);
                if state.decide(self.rules.prepared(place, form), &self.rules) {
                    founders.push(place);
                }
            }
            Ok(founders)
        })?;
        Ok(numbers(py, &founders))
    }
}

impl InOrder {
    pub(super) fn new(rules: Arc<Rules>) -> Self {
        Self { rules, state: Mutex::default() }
    }
}

impl State {
    /// Decides on a document. Returns true if it founds a cluster.
    fn decide(&mut self, document: Prepared, rules: &Rules) -> bool {
        let lists = document.keys.iter().filter_map(|key| self.by_key.get(key));
        let mut candidates: Vec<u32> = lists.flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        let is_near = |number: &u32| {
            let found = rules.compare(&document, &self.founders[*number as usize], None);
            found.is_some_and(|found| !found.related)
        };
        if candidates.iter().any(is_near) {
            return false;
        }
        let number = self.founders.len() as u32;
        for key in &document.keys {
            self.by_key.entry(*key).or_default().push(number);
        }
        self.founders.push(document);
        true
    }
}
