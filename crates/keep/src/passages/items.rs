//! Reads the items of benchmarks from files: lines of JSON, or rows of Parquet.

use std::path::Path;

use serde_json::Value;

use super::benchmark::Benchmarks;
use crate::error::{Context, Error, Result};
use leitong_formats::source::{Input, InputRules};
use leitong_formats::{Again, Content, Form};

/// The formats of benchmarks.
const NEEDED: &str = "a benchmark must be a file of JSON lines, plain or compressed, or a Parquet file";

impl Benchmarks {
    /// Adds all texts of the benchmark at `path`. `normalised` returns a text in the form that documents have.
    ///
    /// # Errors
    /// The file cannot be read, is of another format, or has too many texts.
    pub(crate) fn add_items(
        &mut self,
        path: &Path,
        rules: &InputRules,
        normalised: &impl Fn(&str) -> String,
    ) -> Result<()> {
        self.begin_file(&path.display().to_string());
        let rules = InputRules { warc_base: None, ..rules.clone() };
        let open = || Input::open(path).with_context(|| format!("cannot read {}", path.display()));
        let (is_table, fields) = match open()?.into_form(path, &rules)? {
            _ if !open()?.can_be_read_again() => return Err(Error::refused(NEEDED)),
            Form::Page | Form::Warc | Form::Csv(_) => return Err(Error::refused(NEEDED)),
            Form::Unreadable => return Err(Error::refused("the table cannot be read")),
            Form::Rows(form) => (true, form.names()),
            Form::Lines | Form::Empty => (false, Vec::new()),
        };
        if let Some(format) = open()?.other_format()? {
            return Err(Error::refused(format_args!("the file is {format}")));
        }
        let mut originals = open()?.into_originals(&rules, &Again::fields(fields))?;
        for row in 1.. {
            let Some(record) = originals.next_record(Some(row))? else { break };
            let number = record.number;
            let what = if is_table { "row" } else { "line" };
            let is_read = !matches!(record.content, Content::TooLarge | Content::Unreadable);
            let json = record.json().filter(|_| is_read);
            let json =
                json.with_context(|| format!("{what} {number} is too long, or the file is damaged"))?;
            let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
            let value: Value =
                serde_json::from_slice(json).with_context(|| format!("{what} {number} is not JSON"))?;
            self.add(number, &value, normalised)?;
        }
        Ok(())
    }
}
