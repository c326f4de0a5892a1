//! Extra columns of tables, which are read for `--fields` in addition to the columns of a page.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The names of the columns, and counts of their values that cannot be written as JSON.
#[derive(Debug)]
pub struct ExtraColumns {
    names: Vec<String>,
    /// Number of values that cannot be written as JSON, by column.
    without_json: Mutex<BTreeMap<String, u64>>,
}

impl ExtraColumns {
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        Self { names, without_json: Mutex::default() }
    }

    /// Returns the names, each once.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns true if `name` is one of the columns.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
    }

    /// Counts a value of `column` that cannot be written as JSON.
    pub(crate) fn count_without_json(&self, column: &str) {
        let mut counts = self.without_json.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(column.to_owned()).or_default() += 1;
    }

    /// Returns the number of values that cannot be written as JSON, by column.
    pub(crate) fn without_json(&self) -> BTreeMap<String, u64> {
        self.without_json.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
