//! The trait of all formats of files, and what they are given to read.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::form::Form;
use super::framing::Framing;
use super::originals::{Again, Originals, RecordOriginals};
use super::table::writer::{Layout, WriteError};
use crate::source::location::Stored;
use crate::source::record::{FramingError, ReadSoFar, Source};
use crate::source::rules::InputRules;

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
    fn layout_for(&self, _columns: &SchemaRef) -> Option<Result<Box<dyn Layout>, WriteError>> {
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
    fn read(
        &self,
        opened: Opened,
        rules: &InputRules,
        wanted: &WantedRecords<'_>,
    ) -> io::Result<Box<dyn Source>>;

    /// Returns what separates the records of an input.
    fn framing(&self, _rules: &InputRules) -> Framing {
        Framing::Line
    }

    /// Returns the records of an input again, unchanged.
    ///
    /// # Errors
    /// The machine cannot read the input.
    fn reread(&self, opened: Opened, rules: &InputRules, again: &Again) -> io::Result<Box<dyn Originals>> {
        let Opened { name, url, reader, stored, broken, read } = opened;
        let read = |reader| {
            let opened = Opened { name, url, reader, stored, broken, read };
            self.read(opened, rules, &WantedRecords::Again(again))
        };
        Ok(Box::new(RecordOriginals::new(reader, self.framing(rules), &rules.limits, read)?))
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
pub(crate) enum WantedRecords<'a> {
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
