//! The format of a file that is written.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::csv;
use crate::form::Form;
use crate::format::Format;
use crate::jsonl::Jsonl;
use crate::list::FORMATS;
use crate::source::extension::without_compression;
use crate::table::writer::{TableForm, WriteError};
use crate::warc::Warc;

/// The format of a file that is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileFormat(&'static dyn Format);

impl FileFormat {
    /// JSON lines.
    pub const LINES: Self = Self(&Jsonl);

    /// Returns the format that belongs to the name of a file, or `None` if it has no known extension.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (_, ending) = without_compression(&name).rsplit_once('.')?;
        FORMATS.into_iter().find(|format| format.endings().contains(&ending)).map(Self)
    }

    /// Returns the format of a file with documents of this form. `None` if a file of any name may have them.
    #[must_use]
    pub fn of_form(form: &Form) -> Option<Self> {
        match form {
            Form::Rows(form) => {
                FORMATS.into_iter().find(|format| format.name() == form.layout.format_name()).map(Self)
            }
            Form::Csv(form) if form.dialect.delimiter == b'\t' => Some(Self(&csv::TSV)),
            Form::Csv(_) => Some(Self(&csv::CSV)),
            Form::Lines => Some(Self::LINES),
            Form::Warc => Some(Self(&Warc)),
            Form::Page | Form::Unreadable | Form::Empty => None,
        }
    }

    /// Returns the name of a file of this format, such as `a CSV file`, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the recommended extension of names.
    #[must_use]
    pub fn ending(self) -> &'static str {
        self.0.endings().first().unwrap_or(&"")
    }

    /// Returns true if files have typed columns, and are compressed internally, if at all.
    #[must_use]
    pub fn has_columns(self) -> bool {
        self.0.has_columns()
    }

    /// Returns true if files are compressed internally, if at all, and `path` is the name of a compressed file.
    #[must_use]
    pub fn is_compressed_twice(self, path: &Path) -> bool {
        let name = path.to_string_lossy();
        self.has_columns() && without_compression(&name) != name
    }

    /// Returns the form of a new file at `path` with these columns. `None` if files have no typed columns.
    #[must_use]
    pub fn new_table(self, path: &Path, schema: &SchemaRef) -> Option<Result<Arc<TableForm>, WriteError>> {
        let layout = self.0.layout_for(schema)?;
        Some(layout.map(|layout| Arc::new(TableForm::new(path, Arc::clone(schema), layout))))
    }
}
