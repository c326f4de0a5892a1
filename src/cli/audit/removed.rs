//! Reads lists of removed documents: positions, as datatrove writes them, or ids.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cli::files::documents;
use crate::cli::settings;
use leitong_base::record::FingerprintRecord;
use leitong_base::terminal;
use leitong_formats::source::{Inputs, Payload};
use leitong_pipeline::config::Config;
use leitong_text::page::mapping::pointer_to_field;

/// Maximum number of missing documents that are named.
const NAMED_MAX: usize = 5;
/// Extension of datatrove's files. `000003.remove` has the positions of the documents that the task with the rank 3 read,
/// as 32-bit numbers. Documents without a text do not count.
const REMOVE: &str = "remove";

/// The documents that lists name, each with true if it was found.
#[derive(Debug, Default)]
pub(super) struct Removals {
    ids: HashMap<String, bool>,
    positions: HashMap<(usize, u32), bool>,
    /// Number of documents with a text so far, by rank. Empty if there are no positions.
    read: Vec<u32>,
}

impl Removals {
    /// Reads all lists in `paths`.
    ///
    /// # Errors
    /// A list cannot be read.
    pub(super) fn read(paths: &[PathBuf], id_field: &str, config: &Config) -> anyhow::Result<Self> {
        let mut removals = Self::default();
        for path in paths {
            let mut files = vec![path.clone()];
            if path.is_dir() {
                let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
                files = entries.with_context(|| cannot_read(path))?.iter().map(fs::DirEntry::path).collect();
                files.retain(|file| file.is_file());
                files.sort_unstable();
                let all = files.len();
                // datatrove also writes clusters and their sizes there.
                if files.iter().any(|file| has_positions(file)) {
                    files.retain(|file| has_positions(file));
                }
                if files.len() < all {
                    terminal::note(format_args!(
                        "{}: {} files are not read, since they do not end in .{REMOVE}",
                        path.display(),
                        all - files.len()
                    ));
                }
            }
            for file in files {
                match has_positions(&file) {
                    true => removals.read_positions(&file)?,
                    false => removals.read_ids(&file, id_field, config)?,
                }
            }
        }
        Ok(removals)
    }

    fn read_positions(&mut self, path: &Path) -> anyhow::Result<()> {
        let rank = path.file_stem().and_then(|stem| stem.to_str()?.parse::<usize>().ok());
        let rank = rank.with_context(|| {
            format!("{}: the name is not that of a task, such as 000003.remove", path.display())
        })?;
        let bytes = fs::read(path).with_context(|| cannot_read(path))?;
        let (positions, []) = bytes.as_chunks() else { bail!("{}: ends within a number", path.display()) };
        self.read.resize(self.read.len().max(rank + 1), 0);
        self.positions.extend(positions.iter().map(|bytes| ((rank, u32::from_le_bytes(*bytes)), false)));
        Ok(())
    }

    fn read_ids(&mut self, path: &Path, id_field: &str, config: &Config) -> anyhow::Result<()> {
        let mut config = config.clone();
        // A table of ids need not have any other column.
        config.input.fields.text = vec![pointer_to_field(id_field)];
        let inputs = documents::open(&[path.to_owned()])?;
        let mut source = Inputs::new(inputs, settings::input_rules(&config)?, Arc::default());
        for record in source.records() {
            let record = record.with_context(|| cannot_read(path))?;
            let Payload::Json(line) = &record.payload else {
                bail!(
                    "{}: has no id; a list has one id per line, as text or JSON, or is a table with a column of texts that \
                     --id-field names",
                    record.place
                )
            };
            let id = id(line, id_field).with_context(|| {
                format!(
                    "{}: has no field {id_field:?}; name the field with the id with --id-field",
                    record.place
                )
            })?;
            self.ids.insert(id, false);
        }
        Ok(())
    }

    /// Returns true if the next document, in the file with this index, was removed.
    pub(super) fn take(&mut self, file: usize, has_text: bool, record: &FingerprintRecord) -> bool {
        let mut is_removed = false;
        if has_text && !self.read.is_empty() {
            // The task with the rank r of n reads the files r, r + n, …
            let rank = file % self.read.len();
            let position = self.read[rank];
            self.read[rank] += 1;
            is_removed = mark(self.positions.get_mut(&(rank, position)));
        }
        is_removed | mark(self.ids.get_mut(&record.page_id)) | mark(self.ids.get_mut(&record.url))
    }

    /// Reports listed documents that are in no input. Returns true if there are any.
    pub(super) fn note_missing(&self) -> bool {
        let ids = self.ids.iter().filter(|(_, found)| !**found).map(|(id, _)| format!("{id:?}"));
        let positions = self.positions.iter().filter(|(_, found)| !**found);
        let positions = positions.map(|((rank, position), _)| format!("document {position} of task {rank}"));
        let mut missing: Vec<String> = ids.chain(positions).collect();
        missing.sort_unstable();
        if !missing.is_empty() {
            terminal::note(format_args!(
                "{} of {} removed documents are in no input of --kept, such as {}; name all files that the tool has read",
                missing.len(),
                self.ids.len() + self.positions.len(),
                missing.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ")
            ));
        }
        !missing.is_empty()
    }
}

fn has_positions(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == REMOVE)
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// Marks a document as found. Returns false if there is none.
fn mark(found: Option<&mut bool>) -> bool {
    found.is_some_and(|found| {
        *found = true;
        true
    })
}

/// Returns the id in a line: a JSON string or number, a field of an object, or the line itself.
fn id(line: &[u8], field: &str) -> Option<String> {
    let value = match serde_json::from_slice(line) {
        Ok(Value::Object(mut fields)) => fields.remove(field)?,
        Ok(value) => value,
        Err(_) => Value::String(String::from_utf8_lossy(line).trim().to_owned()),
    };
    match value {
        Value::String(id) => Some(id),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the value of the field `flag` of a document. `None` if it is neither true nor false.
pub(super) fn has_flag(payload: &Payload, flag: &str) -> Option<bool> {
    let Payload::Json(line) = payload else { return None };
    match serde_json::from_slice::<HashMap<String, Value>>(line).ok()?.remove(flag)? {
        Value::Bool(flag) => Some(flag),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}
