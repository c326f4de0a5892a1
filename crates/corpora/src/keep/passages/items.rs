//! Reads the items of benchmarks from files: lines of JSON, or rows of Parquet.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::benchmark::Benchmarks;
use crate::source::csv;
use crate::source::open::Input;
use crate::source::originals::{Framing, Originals};
use crate::source::parquet::ParquetFile;
use crate::source::rules::InputRules;

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
    ) -> anyhow::Result<()> {
        self.begin_file(&path.display().to_string());
        let rules = InputRules { warc_base: None, ..rules.clone() };
        let input = Input::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let is_table = csv::dialect(&input.name, rules.quotes).is_some();
        if is_table || !input.can_be_read_again() || input.is_page()? || input.is_warc()? {
            bail!("a benchmark must be a file of JSON lines, plain or compressed, or a Parquet file");
        }
        if let Some(format) = input.other_format()? {
            bail!("the file is {format}");
        }
        match input.into_originals(&rules, None)? {
            Originals::Rows(mut rows) => {
                let file =
                    ParquetFile::at(path).ok().flatten().context("is a Parquet file that cannot be read")?;
                let count = u64::try_from(file.metadata().file_metadata().num_rows()).unwrap_or(0);
                for number in 1..=count {
                    let row = rows.find(number)?.ok();
                    let row = row.with_context(|| format!("row {number} cannot be read, or is too large"))?;
                    let value = serde_json::from_slice(&row.json())?;
                    self.add(number, &value, normalised)?;
                }
            }
            Originals::Records(mut records) => {
                while let Some(record) = records.next_record()? {
                    let number = record.number;
                    ensure!(record.framing == Framing::Line, "record {number} is not a line of JSON");
                    let line = record
                        .json
                        .or(record.bytes)
                        .with_context(|| format!("line {number} is too long, or the file is damaged"))?;
                    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
                    let value: Value =
                        serde_json::from_slice(line).with_context(|| format!("line {number} is not JSON"))?;
                    self.add(number, &value, normalised)?;
                }
            }
            Originals::Indexed(_) => {
                bail!("a benchmark must be a file of JSON lines, plain or compressed, or a Parquet file")
            }
        }
        Ok(())
    }
}
