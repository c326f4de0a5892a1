//! The formats of pages in files: one folder each, with what recognises, reads, reads again and describes its files.
//!
//! In: the beginning of an input, and its bytes. Out: a [`Source`] of records for the first reading, [`Originals`] for
//! the second, and the [`Form`] in which documents of the input are written. Everything that asks which formats there
//! are consults [`FORMATS`], so a new format is a folder and a line there. A format with rows and columns shares
//! [`table`].

pub(crate) mod arrow;
pub(crate) mod cdx;
pub(crate) mod csv;
pub(crate) mod form;
pub(crate) mod framing;
pub(crate) mod html;
pub(crate) mod jsonl;
pub(crate) mod originals;
pub(crate) mod other;
pub(crate) mod parquet;
pub(crate) mod table;
pub(crate) mod warc;

use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use self::form::Form;
use self::framing::Framing;
use self::originals::{Originals, RecordOriginals};
use self::table::Layout;
use crate::source::extension::without_compression;
use crate::source::location::Stored;
use crate::source::record::{FramingError, ReadSoFar, Source};
use crate::source::rules::InputRules;
use crate::source::second_reading::Again;

/// All formats, in the order in which they are tried. The last one takes every input.
pub(crate) static FORMATS: [&dyn Format; 9] = [
    &cdx::Cdx,
    &parquet::Parquet,
    &arrow::Arrow,
    &warc::Warc,
    &other::Other,
    &html::Html,
    &csv::CSV,
    &csv::TSV,
    &jsonl::Jsonl,
];

/// A format of pages in files.
pub(crate) trait Format: Sync {
    /// Returns the name of a file of this format, such as `a CSV file`, for messages.
    fn name(&self) -> &'static str;

    /// Returns the extensions of file names, in lower case and without those for compression. The first one is
    /// recommended. Folders are searched for files with these extensions, and an output with one of them must be of
    /// this format.
    fn endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if an input that begins like this is of this format.
    fn recognise(&self, head: &Head<'_>) -> bool;

    /// Returns true if files are read at any position. Such a format is recognised by the bytes before decompression,
    /// and [`Opened::stored`] is set.
    fn needs_stored(&self) -> bool {
        false
    }

    /// Returns a name for the records of a file with these first bytes, if they show that it is of this format and has
    /// many pages.
    fn records_in(&self, _start: &[u8]) -> Option<&'static str> {
        None
    }

    /// Returns how a new file with these columns is written. `None` if files have no typed columns.
    fn layout_for(&self, _columns: &SchemaRef) -> Option<anyhow::Result<Box<dyn Layout>>> {
        None
    }

    /// Returns true if files have typed columns, and are compressed internally, if at all.
    fn has_columns(&self) -> bool {
        false
    }

    /// Returns the `wanted` records of an input.
    ///
    /// # Errors
    /// The machine cannot read the input. A fault of its content becomes a record instead.
    fn read(&self, opened: Opened, rules: &InputRules, wanted: &Wanted<'_>) -> io::Result<Box<dyn Source>>;

    /// Returns what separates the records of an input.
    fn framing(&self, _rules: &InputRules) -> Framing {
        Framing::Line
    }

    /// Returns the records of an input again, unchanged.
    ///
    /// # Errors
    /// The machine cannot read the input.
    fn reread(&self, opened: Opened, rules: &InputRules, again: &Again) -> io::Result<Box<dyn Originals>> {
        let read = |opened| self.read(opened, rules, &Wanted::Again(again));
        Ok(Box::new(RecordOriginals::new(opened, self.framing(rules), &rules.limits, read)?))
    }

    /// Returns the form in which documents of the input at `path` are written.
    ///
    /// # Errors
    /// The machine cannot read the input.
    fn form(&self, path: &Path, opened: Opened, rules: &InputRules) -> io::Result<Form>;
}

impl fmt::Debug for dyn Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

/// The records and columns that are read.
pub(crate) enum Wanted<'a> {
    /// Pages, with the columns that the rules use.
    Mapped,
    /// All records, with the fields that are read again.
    Again(&'a Again),
}

/// The beginning of an input.
pub(crate) struct Head<'a> {
    /// The name of the input.
    pub name: &'a str,
    /// The first bytes: decompressed, or as stored for formats that [need that](Format::needs_stored).
    pub start: &'a [u8],
    /// True if the input is an index of WARC files, because their location is known.
    pub is_index: bool,
    /// True if the input can be read again. Otherwise it may contain several files.
    pub is_file: bool,
    /// True if the beginning cannot be decompressed, and the first bytes come after it.
    pub is_broken: bool,
}

/// An input whose format is known.
pub(crate) struct Opened {
    /// The name of the input.
    pub name: Arc<str>,
    /// The url of the page, if the input is one.
    pub url: String,
    /// The decompressed input, with its first bytes in the buffer. Empty if `stored` is set.
    pub reader: BufReader<Box<dyn Read + Send>>,
    /// The input as it is stored, for formats that [need that](Format::needs_stored).
    pub stored: Option<Stored>,
    /// An error to report before the first record.
    pub broken: Option<FramingError>,
    /// The progress to count bytes in.
    pub read: Arc<ReadSoFar>,
}

/// Returns the format of an input that begins like this.
pub(crate) fn recognise(head: &Head<'_>, is_stored: bool) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.needs_stored() == is_stored && format.recognise(head))
}

/// Returns the format that belongs to the name of a file, or `None` if it has no known extension.
pub(crate) fn of_name(path: &Path) -> Option<&'static dyn Format> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let (_, ending) = without_compression(&name).rsplit_once('.')?;
    FORMATS.into_iter().find(|format| format.endings().contains(&ending))
}

/// Returns the format of a file with documents of this form. `None` if a file of any name may have them.
pub(crate) fn of_form(form: &Form) -> Option<&'static dyn Format> {
    match form {
        Form::Rows(form) => Some(form.layout.format()),
        Form::Csv(form) if form.dialect.delimiter == b'\t' => Some(&csv::TSV),
        Form::Csv(_) => Some(&csv::CSV),
        Form::Lines => Some(&jsonl::Jsonl),
        Form::Warc => Some(&warc::Warc),
        Form::Page | Form::Unreadable | Form::Empty => None,
    }
}
