//! Reads the inputs of a run again, in their order, to find the documents of decisions and hand them back unchanged.
//!
//! Invariant: an input that is not as it was at the first reading ends the run. The form in which its documents are
//! written is read before the documents, so it is compared with the file that they are [read from](EarlyForm::verify).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use super::location::is_object;
use super::open::Input;
use super::reading::Reading;
use super::rules::InputRules;
use super::stamp::Stamp;
use crate::form::Form;
use crate::originals::{Again, Original, Originals};

/// An error of a second reading.
#[derive(Debug, Error)]
pub enum SecondReadingError {
    /// The form of an input cannot be read.
    #[error("cannot read {}", path.display())]
    Form {
        /// The path of the input.
        path: PathBuf,
        /// The error of the machine.
        source: io::Error,
    },
    /// The documents of an input cannot be read.
    #[error("{}", path.display())]
    Input {
        /// The path of the input.
        path: PathBuf,
        /// The error of the machine.
        source: io::Error,
    },
    /// An input has changed since the first reading.
    #[error(
        "{}: the file was replaced or changed while this run read it, so some of its documents were never decided on, or \
         have other columns, and the outputs are incomplete; run again",
        .0.display()
    )]
    Replaced(PathBuf),
    /// An input lacks a record that the first reading has found.
    #[error("{}: record {number} is missing: the file changed while it was read; run again", path.display())]
    Missing {
        /// The path of the input.
        path: PathBuf,
        /// The number of the record.
        number: u64,
    },
}

/// The form of an input, as it was before the run began.
#[derive(Debug, Clone)]
pub struct EarlyForm {
    /// The form.
    pub form: Form,
    /// The metadata of the file. `None` for an object in a store, which is read in one version, and for a file that
    /// changed while its form was read.
    stamp: Option<Stamp>,
}

impl EarlyForm {
    /// Reads the form of each input.
    ///
    /// # Errors
    /// An input cannot be read.
    pub fn read_all(inputs: &[PathBuf], rules: &InputRules) -> Result<Vec<Self>, SecondReadingError> {
        inputs.iter().map(|path| Self::new(path, rules)).collect()
    }

    fn new(path: &Path, rules: &InputRules) -> Result<Self, SecondReadingError> {
        let read = || {
            let stamp = || -> io::Result<_> {
                Ok(if is_object(path) { None } else { Some(Stamp::from_metadata(&std::fs::metadata(path)?)) })
            };
            let before = stamp()?;
            let form = Input::open(path)?.into_form(path, rules)?;
            // If the file was replaced meanwhile, the form may be that of either file, so `verify` reads it again.
            Ok(Self { form, stamp: before.filter(|_| stamp().is_ok_and(|after| after == before)) })
        };
        read().map_err(|source| SecondReadingError::Form { path: path.to_owned(), source })
    }

    /// Returns true if documents are read from a file with this form. `again` is the record of their reading, which has
    /// begun.
    fn verify(&self, path: &Path, rules: &InputRules, again: &Reading) -> Result<bool, SecondReadingError> {
        let stamp = again.part().stamp;
        if (stamp.is_some() && stamp == self.stamp) || again.has_version() {
            return Ok(true);
        }
        let now = Self::new(path, rules)?;
        Ok(now.stamp == stamp && now.form.is_same(&self.form))
    }
}

/// A second reading of all inputs, one input after the other.
pub struct SecondReading {
    inputs: Vec<PathBuf>,
    /// The record of the first reading of each input.
    readings: Vec<Arc<Reading>>,
    rules: InputRules,
    /// The forms of all inputs if documents are written unchanged, otherwise empty.
    forms: Arc<[EarlyForm]>,
    wanted: Again,
    /// The input that is being read.
    current: Option<Current>,
}

/// The input that is being read.
struct Current {
    /// Its index.
    input: usize,
    originals: Box<dyn Originals>,
    /// The record of this reading.
    again: Arc<Reading>,
}

impl SecondReading {
    /// Creates a reading of `inputs` with the same `rules` as in the first reading, which is recorded in
    /// `readings`. If documents are written unchanged, `forms` are the forms of all inputs, otherwise empty.
    #[must_use]
    pub fn new(
        inputs: Vec<PathBuf>,
        readings: Vec<Arc<Reading>>,
        rules: InputRules,
        forms: Arc<[EarlyForm]>,
        wanted: Again,
    ) -> Self {
        Self { inputs, readings, rules, forms, wanted, current: None }
    }

    /// Returns the next record and the index of its input, up to the end of input `last`. Tables are skipped,
    /// because their rows are read by number.
    ///
    /// # Errors
    /// An input cannot be read, or was replaced.
    pub fn next_record(&mut self, last: usize) -> Result<Option<(usize, Original)>, SecondReadingError> {
        self.next_towards(last, None)
    }

    /// Does the same as [`Self::next_record`], but returns row `wanted` of a table.
    fn next_towards(
        &mut self,
        last: usize,
        wanted: Option<u64>,
    ) -> Result<Option<(usize, Original)>, SecondReadingError> {
        loop {
            let next = match &mut self.current {
                None => 0,
                Some(current) if current.input > last => return Ok(None),
                Some(Current { input, originals, .. }) => {
                    let original = originals.next_record(wanted.filter(|_| *input == last));
                    match original.map_err(|source| failed(&self.inputs[*input], source))? {
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
    ///
    /// # Errors
    /// An input cannot be read, or was replaced.
    pub fn begin_with(&mut self, input: usize) -> Result<(), SecondReadingError> {
        self.end()?;
        let (path, first) = (&self.inputs[input], &self.readings[input]);
        let open = || {
            let mut input = Input::open(path)?;
            let again = Arc::new(Reading::again(input.version()));
            input.reading = Some(Arc::clone(&again));
            Ok((again, input.into_originals(&self.rules, &self.wanted)?))
        };
        let (again, originals) = open().map_err(|source| failed(path, source))?;
        let is_same_form = match self.forms.get(input) {
            Some(form) => form.verify(path, &self.rules, &again)?,
            None => true,
        };
        if first.is_surely_another(&again) || !is_same_form {
            return Err(SecondReadingError::Replaced(path.clone()));
        }
        self.current = Some(Current { input, originals, again });
        Ok(())
    }

    /// Ends the current input after all of it was read, and compares it with the first reading.
    ///
    /// # Errors
    /// The input cannot be read, or was replaced.
    pub fn end(&mut self) -> Result<(), SecondReadingError> {
        let Some(Current { input, again, .. }) = self.current.take() else { return Ok(()) };
        let path = &self.inputs[input];
        match self.readings[input].is_same(&again, path).map_err(|source| failed(path, source))? {
            true => Ok(()),
            false => Err(SecondReadingError::Replaced(path.clone())),
        }
    }

    /// Finds a record by the index of its input and its number. Calls `passed` for the records before it.
    ///
    /// # Errors
    /// An input cannot be read, was replaced or lacks the record; or the error of `passed`.
    pub fn find<E: From<SecondReadingError>>(
        &mut self,
        place: (usize, u64),
        passed: impl FnMut(usize, &Original) -> Result<(), E>,
    ) -> Result<Original, E> {
        self.pass_to(place, passed)?.ok_or_else(|| {
            SecondReadingError::Missing { path: self.inputs[place.0].clone(), number: place.1 }.into()
        })
    }

    /// Does the same as [`Self::find`], but a table without any row may lack the record.
    ///
    /// # Errors
    /// An input cannot be read, or was replaced; or the error of `passed`.
    pub fn pass_to<E: From<SecondReadingError>>(
        &mut self,
        (at_input, at_number): (usize, u64),
        mut passed: impl FnMut(usize, &Original) -> Result<(), E>,
    ) -> Result<Option<Original>, E> {
        while let Some((input, original)) = self.next_towards(at_input, Some(at_number))? {
            if (input, original.number) == (at_input, at_number) {
                return Ok(Some(original));
            }
            passed(input, &original)?;
        }
        Ok(None)
    }
}

fn failed(path: &Path, source: io::Error) -> SecondReadingError {
    SecondReadingError::Input { path: path.to_owned(), source }
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
            let (inputs, forms) = (vec![path.clone()], forms.into());
            SecondReading::new(inputs, readings, rules.clone(), forms, Again::default()).begin_with(0)
        };
        assert!(begin("url,text\na,b\n", "url,text\nc,d\n").is_ok(), "other rows are decided on");
        for (early, later) in [
            ("url,text\na,b\n", "text,url\nb,a\n"),
            ("url,text\na,b\n", "<!DOCTYPE html><p>text"),
            ("", "url,text\na,b\n"),
        ] {
            let error = begin(early, later).expect_err(later).to_string();
            assert!(error.contains("a.csv: the file was replaced"), "{error}");
        }
    }
}
