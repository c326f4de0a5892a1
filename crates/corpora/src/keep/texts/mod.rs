//! Writes the texts of kept documents, instead of the documents themselves: `dedup --as text` and `markdown`.
//!
//! In: decisions in the order of the inputs, each with the [`Text`] that the first reading has made of its document,
//! compressed. Out: one JSON line or Parquet row for each kept document. The inputs are read once more as [records], for
//! the fields that are written as well. Documents are made in parallel, in batches of about [`BATCH_BYTES`], and written
//! in order by the same [`Output`] as unchanged documents: checkpoints, compression and Parquet files work in the same
//! way.
//!
//! Every kept document is written. A document without text is written with the reason, and is [counted](counts).

pub(crate) mod counts;
pub(crate) mod fields;
mod records;
mod row;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Decision;
use super::annotate::{Added, Annotation};
use super::output::{Output, Plan};
use super::passages::cut::{Cut, Cutter};
use super::verify::texts::{TextCompressor, decompressed};
use crate::formats::form::Form;
use crate::formats::framing::Framing;
use crate::formats::jsonl::Jsonl;
use crate::formats::{self, Format};
use crate::sink::Extent;
use crate::source::reading::Reading;
use crate::source::rules::InputRules;
use crate::source::{Payload, Record};
use counts::TextCounts;
pub use fields::InputField;
use leitong_base::record::{Credits, Reason};
use records::Records;
use row::Rows;

/// Size of the records and texts that are made together, in bytes.
const BATCH_BYTES: usize = 16 << 20;
/// Maximum number of documents that are made together.
const BATCH_DOCUMENTS: usize = 256;
/// The error for a document whose text was not stored, although texts are written.
const NO_TEXT: &str = "the text of a document was not stored by the run that began with this checkpoint; remove the folder \
                       of checkpoints to begin again";

/// The text of a document that is to be written, and what the document says about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The title.
    pub title: Option<String>,
    /// The text, if there is one.
    pub text: Option<String>,
    /// The reason why there is no text, or why it was not compared with others.
    pub reason: Option<Reason>,
    /// True if the text is Markdown, but came without markup.
    pub is_plain: bool,
    /// The language, as in the [`Credits`].
    pub language: Option<String>,
    /// The time of publication.
    pub published_at: Option<String>,
    /// The authors.
    pub authors: Vec<String>,
    /// The publisher.
    pub publisher: Option<String>,
    /// The name of the web site.
    pub site_name: Option<String>,
}

impl Text {
    /// Adds what the document says about its text.
    #[must_use]
    pub fn with_credits(self, credits: &Credits) -> Self {
        let Credits { language, published_at, authors, publisher, site_name, .. } = credits.clone();
        let published_at = published_at.map(|time| time.to_string());
        Self { language, published_at, authors, publisher, site_name, ..self }
    }

    /// Compresses the text, until it is written. A text that is too long becomes one without text, for this reason.
    pub fn compress(&self, compressor: &mut TextCompressor) -> Option<Box<[u8]>> {
        let too_long = || Self { reason: Some(Reason::TooLarge), ..Self::default() };
        self.compress_as_it_is(compressor).or_else(|| too_long().compress_as_it_is(compressor))
    }

    fn compress_as_it_is(&self, compressor: &mut TextCompressor) -> Option<Box<[u8]>> {
        compressor.compress("", &serde_json::to_string(self).ok()?)
    }

    /// Decompresses a text. Returns `None` if it is damaged.
    fn decompress(compressed: &[u8]) -> Option<Self> {
        serde_json::from_str(decompressed(compressed)?.text()).ok()
    }
}

/// The output of texts, with its inputs and settings.
pub(crate) struct TextPlan {
    /// The output file.
    pub path: PathBuf,
    /// The inputs.
    pub inputs: Vec<PathBuf>,
    /// The record of the first reading of each input.
    pub readings: Vec<Arc<Reading>>,
    /// The rules of the first reading, which also select the columns of `fields`.
    pub rules: InputRules,
    /// The fields of the input that are written.
    pub fields: Vec<InputField>,
    /// The groups of fields about the verdict that are added; `None` for no such fields.
    pub added: Option<Added>,
    /// The counts to update.
    pub counts: Arc<TextCounts>,
    /// The checkpoint folder, if checkpoints are made while documents are written.
    pub checkpoints: Option<PathBuf>,
}

/// A writer of texts.
pub(crate) struct Texts {
    records: Records,
    fields: Vec<InputField>,
    added: Option<Added>,
    counts: Arc<TextCounts>,
    output: Output,
    rows: Option<Rows>,
    cutter: Option<Cutter>,
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
}

/// A kept document that is not yet written.
struct Waiting {
    record: Record,
    /// The compressed text.
    text: Box<[u8]>,
    decision: Decision,
    canonical: Option<String>,
    cluster_size: Option<u64>,
}

/// A document that is ready to be written.
struct Written {
    decision: Decision,
    canonical: Option<String>,
    cluster_size: Option<u64>,
    text: Text,
    /// The values of the input's fields, as JSON.
    values: Vec<Option<String>>,
    /// The counts of passages that were cut out of the text, if passages are cut.
    cut: Option<Cut>,
}

impl Texts {
    /// Opens the output file, or continues it at `extent`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn open(plan: TextPlan, extent: Option<Extent>) -> anyhow::Result<Self> {
        let TextPlan { path, inputs, readings, rules, fields, added, counts, .. } = plan;
        let rows = Rows::new(&path, format_of(&path)?, &fields)?;
        let form = rows.as_ref().map_or(Form::Lines, |rows| Form::Rows(Arc::clone(rows.form())));
        let output = Plan {
            path: &path,
            names: &[],
            forms: &[form],
            added,
            checkpoints: plan.checkpoints.map(|folder| ("keep", folder)),
        };
        let output = match extent {
            None => Output::create(output)?,
            Some(extent) => Output::resume(output, extent)?,
        };
        Ok(Self {
            records: Records::new(inputs, readings, rules),
            fields,
            added,
            counts,
            output,
            rows,
            cutter: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
        })
    }

    /// Cuts passages out of the texts that are written from now on.
    pub(crate) fn cut_with(&mut self, cutter: Cutter) {
        self.cutter = Some(cutter);
    }

    /// Skips all records up to the one at `place`.
    ///
    /// # Errors
    /// The records cannot be read.
    pub(crate) fn pass_over(&mut self, place: (usize, u64)) -> anyhow::Result<()> {
        self.records.begin_with(place.0)?;
        self.records.find(place).map(drop)
    }

    /// Takes the document of `decision`, which is written if it is kept. `text` returns its compressed text. Returns the
    /// size of the document in bytes.
    ///
    /// # Errors
    /// The document or its text cannot be read, or earlier documents cannot be written.
    pub(crate) fn take(
        &mut self,
        decision: &Decision,
        is_kept: bool,
        annotation: &Annotation<'_>,
        text: impl FnOnce() -> anyhow::Result<Option<Box<[u8]>>>,
    ) -> anyhow::Result<u64> {
        let record = self.records.find((decision.input, decision.number))?;
        let bytes = record.bytes();
        let own_bytes =
            if record.span.is_empty() { bytes as u64 } else { record.span.end - record.span.start };
        if is_kept {
            let canonical = annotation.leitong_canonical.map(str::to_owned);
            let cluster_size = annotation.leitong_cluster_size;
            let text = text()?.context(NO_TEXT)?;
            self.waiting_bytes += bytes + text.len();
            self.waiting.push(Waiting { record, text, decision: decision.clone(), canonical, cluster_size });
            if self.waiting_bytes >= BATCH_BYTES || self.waiting.len() >= BATCH_DOCUMENTS {
                self.write()?;
            }
        }
        Ok(own_bytes)
    }

    /// Writes all documents that wait.
    fn write(&mut self) -> anyhow::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let (fields, cutter) = (&self.fields, &self.cutter);
        let make = |waiting: Waiting| {
            let Waiting { record, text, decision, canonical, cluster_size } = waiting;
            let values = fields::values(json_of(&record.payload), fields);
            let mut text = Text::decompress(&text).context("a stored text is damaged; run again")?;
            let cut = cutter
                .as_ref()
                .map(|cutter| text.text.as_mut().map_or(Cut::default(), |text| cutter.cut(text)));
            Ok(Written { decision, canonical, cluster_size, text, values, cut })
        };
        let written: Vec<Written> = waiting.into_par_iter().map(make).collect::<anyhow::Result<_>>()?;
        for document in &written {
            self.counts.count(&document.text, fields, &document.values);
            if let Some(cut) = document.cut {
                self.counts.count_cut(cut, document.text.text.as_deref().unwrap_or_default());
            }
        }
        let batch = self.rows.as_mut().filter(|_| !written.is_empty()).map(|rows| rows.batch(&written));
        let mut rows = batch.transpose()?;
        for document in &written {
            let canonical = document.canonical.as_deref();
            let added = self.added.unwrap_or_default();
            let annotation = Annotation::new(&document.decision, canonical, document.cluster_size, added);
            let annotation = annotation.with_cut(document.cut);
            if let Some(row) = &mut rows {
                self.output.write_row(0, row, &annotation)?;
                row.at += 1;
            } else {
                let annotation = self.added.map(|_| &annotation);
                let line = row::json(document, &self.fields, annotation)?;
                self.output.write(0, Framing::Line, &line)?;
            }
        }
        Ok(())
    }

    /// Syncs all documents to disk, and returns the length of the output.
    ///
    /// # Errors
    /// The documents cannot be written.
    pub(crate) fn extent(&mut self) -> anyhow::Result<Extent> {
        self.write()?;
        self.output.extent()
    }

    /// Reads the rest of the inputs, and completes the file.
    ///
    /// # Errors
    /// The file cannot be written, or an input was replaced.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.write()?;
        self.records.finish()?;
        self.counts.set_without_json(self.records.without_json());
        self.output.finish()
    }
}

/// Returns the JSON of a record, or an empty slice if the record has none.
fn json_of(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Json(json) | Payload::Head { json: Ok(json), .. } => json,
        _ => b"",
    }
}

/// Returns the format in which texts are written to `path`: that of its name, or JSON lines.
///
/// # Errors
/// The name belongs to another format.
pub(super) fn format_of(path: &Path) -> anyhow::Result<&'static dyn Format> {
    let refused = |what: &str| {
        bail!(
            "{}: {what}, but texts are written as JSON lines or Parquet; choose a name that ends in .jsonl (also .jsonl.gz, \
             .jsonl.zst) or .parquet",
            path.display()
        )
    };
    if path.is_dir() || path.to_string_lossy().ends_with('/') {
        return refused("is a folder");
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    match formats::of_name(path) {
        Some(format) if format.has_columns() => match extension.to_str() {
            Some(extension) if format.endings().contains(&extension) => Ok(format),
            _ => refused(&format!("{} is compressed internally, if at all", format.name())),
        },
        Some(format) if format.name() == Jsonl.name() => Ok(format),
        Some(other) => refused(&format!("is the name of {}", other.name())),
        None if extension == "md" || extension == "txt" => refused("is the name of a single text"),
        None => Ok(&Jsonl),
    }
}
