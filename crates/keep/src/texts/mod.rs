//! Writes the texts of kept documents, instead of the documents themselves: `dedup --as text` and `markdown`.
//!
//! In: decisions in the order of the inputs, each with the [`Text`] that the first reading has made of its document,
//! compressed, and the documents themselves, for the fields that are written as well. Out: one JSON line or Parquet row for
//! each kept document. Documents are made in parallel, in batches of about [`BATCH_BYTES`], and written
//! in order by the same [`Output`] as unchanged documents: checkpoints, compression and Parquet files work in the same
//! way.
//!
//! Every kept document is written. A document without text is written with the reason, and is [counted](counts).

pub(crate) mod counts;
pub(crate) mod fields;
mod row;

use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Decision;
use super::annotate::{Added, Annotation};
use super::output::{Output, Plan};
use super::passages::cut::{Cut, Cutter};
use super::verify::texts::{TextCompressor, decompressed};
use crate::error::{Context, Error, Result};
use crate::sink::Extent;
use counts::TextCounts;
pub use fields::InputField;
use leitong_base::record::{Metadata, Reason};
use leitong_formats::{Again, FileFormat, Form, Framing, Original};
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
    /// The language, as in the [`Metadata`].
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
    pub fn with_metadata(self, metadata: &Metadata) -> Self {
        let Metadata { language, published_at, authors, publisher, site_name, .. } = metadata.clone();
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

/// A writer of texts.
pub(crate) struct Texts {
    again: Again,
    fields: Vec<InputField>,
    added: Option<Added>,
    counts: TextCounts,
    output: Output,
    rows: Option<Rows>,
    cutter: Option<Cutter>,
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
}

/// A kept document that is not yet made: its JSON, if fields of it are written, its compressed text, and the rest.
type Waiting = (Vec<u8>, Box<[u8]>, Written);

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
    pub(crate) fn open(
        plan: Plan<'_>,
        fields: Vec<InputField>,
        again: Again,
        extent: Option<Extent>,
    ) -> Result<Self> {
        let rows = Rows::new(plan.path, format_of(plan.path)?, &fields)?;
        let form = rows.as_ref().map_or(Form::Lines, |rows| Form::Rows(Arc::clone(rows.form())));
        let added = plan.added;
        let output = Output::begin(Plan { names: &[], forms: &[form], ..plan }, extent)?;
        let (counts, cutter, waiting, waiting_bytes) = Default::default();
        Ok(Self { again, fields, added, counts, output, rows, cutter, waiting, waiting_bytes })
    }

    /// Cuts passages out of the texts that are written from now on.
    pub(crate) fn cut_with(&mut self, cutter: Cutter) {
        self.cutter = Some(cutter);
    }

    /// Takes the document `found` of `decision`, which is kept, and its compressed text.
    ///
    /// # Errors
    /// The text is missing, or earlier documents cannot be written.
    pub(crate) fn take(
        &mut self,
        decision: &Decision,
        annotation: &Annotation<'_>,
        found: &Original,
        text: Option<Box<[u8]>>,
    ) -> Result<()> {
        let json = found.json().filter(|_| !self.fields.is_empty()).unwrap_or_default().to_owned();
        let text = text.context(NO_TEXT)?;
        self.waiting_bytes += json.len() + text.len();
        let document = Written {
            decision: decision.clone(),
            canonical: annotation.canonical.map(str::to_owned),
            cluster_size: annotation.cluster_size,
            text: Text::default(),
            values: Vec::new(),
            cut: None,
        };
        self.waiting.push((json, text, document));
        if self.waiting_bytes >= BATCH_BYTES || self.waiting.len() >= BATCH_DOCUMENTS {
            self.write()?;
        }
        Ok(())
    }

    /// Writes all documents that wait.
    fn write(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let (fields, cutter) = (&self.fields, &self.cutter);
        let make = |(json, text, mut document): Waiting| {
            document.values = fields::values(&json, fields);
            document.text = Text::decompress(&text).context("a stored text is damaged; run again")?;
            let text = &mut document.text.text;
            document.cut =
                cutter.as_ref().map(|cutter| text.as_mut().map_or(Cut::default(), |text| cutter.cut(text)));
            Ok(document)
        };
        let written: Vec<Written> = waiting.into_par_iter().map(make).collect::<Result<_>>()?;
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
            let annotation = Annotation {
                decision: &document.decision,
                canonical,
                cluster_size: document.cluster_size,
                cut: document.cut,
                added: self.added.unwrap_or_default(),
            };
            if let Some(row) = &mut rows {
                let values = document.values.iter().flatten().chain(&document.text.text);
                let bytes: usize = values.chain(&document.text.title).map(String::len).sum();
                let bytes = (bytes + document.decision.url.len()) as u64;
                self.output.write_row(0, (&*row, bytes), &annotation)?;
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
    pub(crate) fn extent(&mut self) -> Result<Extent> {
        self.write()?;
        self.output.extent()
    }

    /// Completes the file, and returns the counts.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn finish(mut self) -> Result<TextCounts> {
        self.write()?;
        self.output.finish()?;
        self.counts.without_json = self.again.without_json();
        Ok(self.counts)
    }
}

/// Returns the format in which texts are written to `path`: that of its name, or JSON lines.
///
/// # Errors
/// The name belongs to another format.
pub(super) fn format_of(path: &Path) -> Result<FileFormat> {
    let refused = |what: &str| {
        Err(Error::refused(format_args!(
            "{}: {what}, but texts are written as JSON lines or Parquet; choose a name that ends in .jsonl (also .jsonl.gz, \
             .jsonl.zst) or .parquet",
            path.display()
        )))
    };
    if path.is_dir() || path.to_string_lossy().ends_with('/') {
        return refused("is a folder");
    }
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    match FileFormat::of_name(path) {
        Some(format) if format.is_compressed_twice(path) => {
            refused(&format!("{} is compressed internally, if at all", format.name()))
        }
        Some(format) if format.has_columns() || format == FileFormat::LINES => Ok(format),
        Some(other) => refused(&format!("is the name of {}", other.name())),
        None if extension == "md" || extension == "txt" => refused("is the name of a single text"),
        None => Ok(FileFormat::LINES),
    }
}
