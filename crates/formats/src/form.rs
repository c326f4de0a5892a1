//! The forms in which the documents of inputs are written: as bytes, or as rows of a table.

use std::path::PathBuf;
use std::sync::Arc;

use super::framing::Dialect;
use super::table::writer::TableForm;

/// The form of one input's documents.
#[derive(Debug, Clone)]
pub enum Form {
    /// JSON lines.
    Lines,
    /// WARC records.
    Warc,
    /// An HTML page.
    Page,
    /// Rows of a CSV file.
    Csv(Arc<CsvForm>),
    /// Rows of a file with typed columns.
    Rows(Arc<TableForm>),
    /// Nothing, because the input is a table that cannot be read.
    Unreadable,
    /// Nothing, because the input is empty.
    Empty,
}

/// The form of a CSV file.
#[derive(Debug)]
pub struct CsvForm {
    /// The path of the input.
    pub path: PathBuf,
    /// The row that names the columns.
    pub header: Vec<u8>,
    /// The rules by which rows are split into fields.
    pub dialect: Dialect,
}

impl Form {
    /// Returns true unless the input has nothing to write.
    #[must_use]
    pub fn has_documents(&self) -> bool {
        !matches!(self, Self::Unreadable | Self::Empty)
    }

    /// Returns true if documents of this form fit into a file of the other.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Csv(a), Self::Csv(b)) => (&a.header, a.dialect) == (&b.header, b.dialect),
            (Self::Rows(a), Self::Rows(b)) => a.is_same(b),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}
