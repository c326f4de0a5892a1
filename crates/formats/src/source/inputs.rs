//! Reads several inputs one after the other, as one source.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::open::Input;
use super::record::{ReadSoFar, Record, Skipped, Source};
use super::rules::InputRules;
use leitong_base::record::Place;

/// Number of bytes that [`Inputs::records`] reads at once.
const BATCH_BYTES: usize = 1 << 20;

/// A source that reads all inputs of a run.
pub struct Inputs {
    waiting: VecDeque<Input>,
    current: Option<Current>,
    rules: InputRules,
    read: Arc<ReadSoFar>,
    skipped: Skipped,
}

/// The input that is being read.
struct Current {
    name: Arc<str>,
    source: Box<dyn Source>,
    has_records: bool,
}

impl Inputs {
    /// Creates a source for the records of `inputs`, in order. `read` is updated with the progress.
    #[must_use]
    pub fn new(inputs: Vec<Input>, rules: InputRules, read: Arc<ReadSoFar>) -> Self {
        Self { waiting: inputs.into(), current: None, rules, read, skipped: Skipped::default() }
    }

    /// Returns the records one by one, in order.
    pub fn records(&mut self) -> impl Iterator<Item = io::Result<Record>> {
        let (mut batch, mut more) = (Vec::new().into_iter(), true);
        std::iter::from_fn(move || {
            loop {
                if let Some(record) = batch.next() {
                    return Some(Ok(record));
                }
                if !more {
                    return None;
                }
                let mut read = Vec::new();
                let is_read = self.read_batch(&mut read, BATCH_BYTES);
                more = matches!(is_read, Ok(true));
                if let Err(error) = is_read {
                    return Some(Err(error));
                }
                batch = read.into_iter();
            }
        })
    }

    /// Returns what was read so far, with the inputs that had no record.
    #[must_use]
    pub fn read_so_far(&self) -> &ReadSoFar {
        &self.read
    }
}

impl Source for Inputs {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes: usize) -> io::Result<bool> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => {
                let Some(input) = self.waiting.pop_front() else { return Ok(false) };
                let name = Arc::clone(&input.name);
                let source = input.into_source(&self.rules, Arc::clone(&self.read));
                let source = source.map_err(|error| named(&name, &error))?;
                Current { name, source, has_records: false }
            }
        };
        let before = batch.len();
        let more = current.source.read_batch(batch, bytes).map_err(|error| named(&current.name, &error))?;
        let records = batch.len() - before;
        self.read.records.fetch_add(records as u64, Ordering::Relaxed);
        current.has_records |= records > 0;
        if more {
            self.current = Some(current);
            return Ok(true);
        }
        let skipped = current.source.skipped();
        self.skipped += skipped;
        if !current.has_records {
            self.read.note_without_records(current.name, skipped);
        }
        Ok(!self.waiting.is_empty())
    }

    fn skipped(&self) -> Skipped {
        let mut skipped = self.skipped;
        if let Some(current) = &self.current {
            skipped += current.source.skipped();
        }
        skipped
    }
}

/// Returns the error of an input with the input's name in front, unless it names the input already.
fn named(name: &str, error: &io::Error) -> io::Error {
    let text = error.to_string();
    let is_named = text.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', '#', ' ', ',']));
    let text = if is_named { text } else { format!("{name}: {text}") };
    io::Error::new(error.kind(), text)
}

/// The names of a run's inputs, to find the input of a place. Places must be looked up in order.
#[derive(Debug, Clone)]
pub struct InputNames {
    names: Vec<Arc<str>>,
    current: usize,
}

impl InputNames {
    /// Creates the list for inputs in this order. Each name must be a separate `Arc`, even if two inputs have
    /// the same name.
    #[must_use]
    pub fn new(names: Vec<Arc<str>>) -> Self {
        Self { names, current: 0 }
    }

    /// Returns the index of the input and the number of the record at `place`, which must not come before an
    /// earlier `place`.
    pub fn find(&mut self, place: &Place) -> Option<(usize, u64)> {
        let (name, number) = match place {
            Place::Line { input, line } => (input, *line),
            Place::Record { input, record } => (input, *record),
            Place::Message { .. } => return None,
        };
        let further = self.names[self.current..].iter().position(|known| Arc::ptr_eq(known, name))?;
        self.current += further;
        Some((self.current, number))
    }
}

/// A source that skips the records that an earlier run has already processed.
pub struct Resumed {
    inner: Inputs,
    names: InputNames,
    /// The last record that the earlier run has processed. `None` after it has been passed.
    last: Option<(usize, u64)>,
}

impl Resumed {
    /// Creates a source of the records after `last`, given as the index of an input and the number of a record in it.
    #[must_use]
    pub fn new(inner: Inputs, names: InputNames, last: Option<(usize, u64)>) -> Self {
        Self { inner, names, last }
    }
}

impl Source for Resumed {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes: usize) -> io::Result<bool> {
        let more = self.inner.read_batch(batch, bytes)?;
        if let Some(last) = self.last {
            let names = &mut self.names;
            batch.retain(|record| names.find(&record.place).is_none_or(|place| place > last));
            if !batch.is_empty() {
                self.last = None;
            }
        }
        Ok(more)
    }

    fn skipped(&self) -> Skipped {
        self.inner.skipped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source on a disk that fails.
    struct Failing;

    impl Source for Failing {
        fn read_batch(&mut self, _: &mut Vec<Record>, _: usize) -> io::Result<bool> {
            Err(io::Error::from_raw_os_error(5))
        }
    }

    /// A run over a thousand files must not end with just "Input/output error (os error 5)", without the name of the
    /// file.
    #[test]
    fn an_error_in_the_middle_of_an_input_names_it() {
        let rules = InputRules::new(&Default::default(), &Default::default()).expect("default rules");
        let mut inputs = Inputs::new(Vec::new(), rules, Arc::default());
        let current =
            |name: &str| Current { name: name.into(), source: Box::new(Failing), has_records: true };
        inputs.current = Some(current("b.jsonl"));
        let error = inputs.read_batch(&mut Vec::new(), 1).expect_err("the disk fails");
        assert_eq!(error.to_string(), "b.jsonl: Input/output error (os error 5)");
        let twice = named("b.jsonl", &error);
        assert_eq!(twice.to_string(), "b.jsonl: Input/output error (os error 5)");
    }
}
