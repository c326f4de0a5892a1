//! Reads the inputs again, in their order, to find the documents of decisions.
//!
//! Invariant: an input that is not as it was at the first reading ends the run.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};

use super::forms::EarlyForm;
use super::reread::{REPLACED, check_unchanged, open_again};
use crate::formats::originals::{Original, Originals};
use crate::source::open::Input;
use crate::source::reading::Reading;
use crate::source::rules::InputRules;

/// Reads the records of all inputs again, one input after the other.
pub(crate) struct Walk {
    inputs: Vec<PathBuf>,
    /// The record of the first reading of each input.
    readings: Vec<Arc<Reading>>,
    rules: InputRules,
    /// The forms of all inputs if documents are written unchanged, otherwise empty.
    forms: Arc<[EarlyForm]>,
    /// For tables, the only column that is needed. `None` means all.
    column: Option<String>,
    /// The index of the current input, and its records.
    current: Option<(usize, Box<dyn Originals>)>,
    /// The record of the second reading of the current input.
    again: Arc<Reading>,
}

impl Walk {
    /// Creates a walk through `inputs` with the same `rules` as in the first reading, which is recorded in
    /// `readings`. If `column` is set, only that column of tables is read. If documents are written unchanged, `forms`
    /// are the forms of all inputs, otherwise empty.
    #[must_use]
    pub(crate) fn new(
        inputs: Vec<PathBuf>,
        readings: Vec<Arc<Reading>>,
        rules: InputRules,
        forms: Arc<[EarlyForm]>,
        column: Option<String>,
    ) -> Self {
        Self { inputs, readings, rules, forms, column, current: None, again: Arc::default() }
    }

    /// Returns the next record and the index of its input, up to the end of input `last`. Tables are skipped,
    /// because their rows are read by number.
    pub(super) fn next(&mut self, last: usize) -> anyhow::Result<Option<(usize, Original)>> {
        self.next_towards(last, None)
    }

    /// Does the same as [`Self::next`], but returns row `wanted` of a table.
    fn next_towards(
        &mut self,
        last: usize,
        wanted: Option<u64>,
    ) -> anyhow::Result<Option<(usize, Original)>> {
        loop {
            let next = match &mut self.current {
                None => 0,
                Some((input, _)) if *input > last => return Ok(None),
                Some((input, originals)) => {
                    let original = originals.next_record(wanted.filter(|_| *input == last));
                    match original.with_context(|| format!("{}", self.inputs[*input].display()))? {
                        Some(original) => return Ok(Some((*input, original))),
                        None => *input + 1,
                    }
                }
            };
            if next > last || next >= self.inputs.len() {
                return Ok(None);
            }
            self.begin_with(next)?;
        }
    }

    /// Moves to the start of `input`.
    pub(super) fn begin_with(&mut self, input: usize) -> anyhow::Result<()> {
        self.end()?;
        let into = |input: Input| input.into_originals(&self.rules, self.column.as_deref());
        let path = &self.inputs[input];
        let (again, originals) = open_again(path, &self.readings[input], into)?;
        if let Some(form) = self.forms.get(input) {
            ensure!(form.verify(path, &self.rules, &again)?, "{}: {REPLACED}", path.display());
        }
        self.again = again;
        self.current = Some((input, originals));
        Ok(())
    }

    /// Ends the current input after all of it was read, and compares it with the first reading.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        let Some((input, _)) = self.current.take() else { return Ok(()) };
        check_unchanged(&self.inputs[input], &self.readings[input], &self.again)
    }

    /// Finds a record by the index of its input and its number. Calls `passed` for the records before it.
    pub(super) fn find(
        &mut self,
        place: (usize, u64),
        passed: impl FnMut(usize, &Original) -> anyhow::Result<()>,
    ) -> anyhow::Result<Original> {
        self.pass_to(place, passed)?.with_context(|| {
            let (input, number) = (self.inputs[place.0].display(), place.1);
            format!("{input}: record {number} is missing: the file changed while it was read; run again")
        })
    }

    /// Does the same as [`Self::find`], but a table without any row may lack the record.
    pub(super) fn pass_to(
        &mut self,
        (at_input, at_number): (usize, u64),
        mut passed: impl FnMut(usize, &Original) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Original>> {
        while let Some((input, original)) = self.next_towards(at_input, Some(at_number))? {
            if (input, original.number) == (at_input, at_number) {
                return Ok(Some(original));
            }
            passed(input, &original)?;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use leitong_text::page::PageConfig;
    use leitong_text::page::mapping::InputConfig;

    use super::*;

    /// The names of columns are read before the run. If another file has replaced the table when rows are read, the
    /// rows of that file must not be written below those names.
    #[test]
    fn a_table_whose_columns_change_before_it_is_read_ends_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        let rules = InputRules::new(&PageConfig::default(), &InputConfig::default()).expect("rules");
        let begin = |early: &str, later: &str| {
            std::fs::write(&path, early).expect("written");
            let forms = EarlyForm::read_all(std::slice::from_ref(&path), &rules).expect("a file");
            std::fs::remove_file(&path).expect("removed");
            std::fs::write(&path, later).expect("written");
            let readings = vec![Input::open(&path).expect("a file").take_note()];
            let mut walk = Walk::new(vec![path.clone()], readings, rules.clone(), forms.into(), None);
            walk.begin_with(0)
        };
        assert!(begin("url,text\na,b\n", "url,text\nc,d\n").is_ok(), "other rows are decided on");
        for (early, later) in [
            ("url,text\na,b\n", "text,url\nb,a\n"),
            ("url,text\na,b\n", "<!DOCTYPE html><p>text"),
            ("", "url,text\na,b\n"),
        ] {
            let error = begin(early, later).expect_err(later);
            assert!(format!("{error:#}").contains("a.csv: the file was replaced"), "{error:#}");
        }
    }
}
