//! The forms in which the documents of each input are written: as bytes, or as rows of a table.
//!
//! Documents keep the format of their input. So the forms are known before the run begins, and combinations that cannot
//! be written are refused before anything is written. A form is read before the documents, so it is later compared with
//! the file that the documents are [read from](EarlyForm::verify).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use arrow_schema::{FieldRef, SchemaRef};
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use super::annotate::{Added, FIELDS};
use super::wrong_option::WrongOption;
use crate::source::csv::{self, Dialect};
use crate::source::location::is_object;
use crate::source::open::Input;
use crate::source::originals::{Framing, Originals};
use crate::source::parquet::{Fault, ParquetFile};
use crate::source::reading::Reading;
use crate::source::rules::InputRules;
use crate::source::stamp::Stamp;
use crate::source::without_compression;

/// Message about inputs whose formats do not fit into one file.
const ONE_FORM: &str = "a file cannot contain a mixture of JSON lines, WARC records, CSV rows and Parquet rows; name a folder, \
                        which gets a file for each input";

/// The form of one input's documents.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// JSON lines.
    Lines,
    /// WARC records.
    Warc,
    /// An HTML page.
    Page,
    /// Rows of a CSV file.
    Csv(Arc<CsvForm>),
    /// Rows of a Parquet file.
    Rows(Arc<TableForm>),
    /// Nothing, because the input is a Parquet file that cannot be read.
    Unreadable,
    /// Nothing, because the input is empty.
    Empty,
}

/// The form of a CSV file.
#[derive(Debug)]
pub(crate) struct CsvForm {
    /// The path of the input.
    pub path: PathBuf,
    /// The row that names the columns.
    pub header: Vec<u8>,
    /// The rules by which rows are split into fields.
    pub dialect: Dialect,
}

/// The form of a Parquet file.
#[derive(Debug)]
pub(crate) struct TableForm {
    /// The path of the input.
    pub path: PathBuf,
    /// The columns in Arrow's terms.
    pub schema: SchemaRef,
    /// The columns in Parquet's terms.
    pub parquet_schema: SchemaDescriptor,
    /// The key-value metadata.
    pub metadata: Vec<KeyValue>,
    /// The compression of each column.
    pub compression: Vec<(ColumnPath, Compression)>,
    /// Number of rows in the largest row group.
    pub row_group_rows: usize,
}

/// The form of an input, as it was before the run began.
#[derive(Debug, Clone)]
pub(crate) struct EarlyForm {
    /// The form.
    pub form: Form,
    /// The metadata of the file. `None` for an object in a store, which is read in one version, and for a file that
    /// changed while its form was read.
    stamp: Option<Stamp>,
}

impl EarlyForm {
    /// Reads the form of each input.
    ///
    /// # Errors
    /// An input cannot be read.
    pub(crate) fn read_all(inputs: &[PathBuf], rules: &InputRules) -> anyhow::Result<Vec<Self>> {
        inputs.iter().map(|path| Self::new(path, rules)).collect()
    }

    fn new(path: &Path, rules: &InputRules) -> anyhow::Result<Self> {
        let read = || {
            let stamp = || -> io::Result<_> {
                Ok(if is_object(path) { None } else { Some(Stamp::from_metadata(&std::fs::metadata(path)?)) })
            };
            let before = stamp()?;
            let form = form(path, rules)?;
            // If the file was replaced meanwhile, the form may be that of either file, so `verify` reads it again.
            anyhow::Ok(Self { form, stamp: before.filter(|_| stamp().is_ok_and(|after| after == before)) })
        };
        read().with_context(|| format!("cannot read {}", path.display()))
    }

    /// Returns true if documents are read from a file with this form. `again` is the record of their reading, which has
    /// begun.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn verify(&self, path: &Path, rules: &InputRules, again: &Reading) -> anyhow::Result<bool> {
        let stamp = again.part().stamp;
        if (stamp.is_some() && stamp == self.stamp) || again.has_version() {
            return Ok(true);
        }
        let now = Self::new(path, rules)?;
        Ok(now.stamp == stamp && now.form.is_same(&self.form))
    }
}

impl Form {
    /// Returns true unless the input has nothing to write.
    fn has_documents(&self) -> bool {
        !matches!(self, Self::Unreadable | Self::Empty)
    }

    /// Returns true if documents of this form fit into a file of the other.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Csv(a), Self::Csv(b)) => (&a.header, a.dialect) == (&b.header, b.dialect),
            (Self::Rows(a), Self::Rows(b)) => a.is_same(b),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// Returns the form of a single file for the documents of all inputs.
///
/// # Errors
/// The inputs do not fit into one file, or its name belongs to another format.
pub(crate) fn common(forms: &[Form], output: &Path) -> anyhow::Result<Form> {
    let form = common_form(forms, output)?;
    // If no input can be read, nothing is written, and any name is right.
    if forms.iter().any(Form::has_documents) {
        check_name(&form, output)?;
    }
    Ok(form)
}

/// Refuses a file whose name belongs to another format than the one that is written.
fn check_name(form: &Form, output: &Path) -> anyhow::Result<()> {
    let name = output.to_string_lossy();
    if matches!(form, Form::Rows(_)) && without_compression(&name) != name {
        return Err(WrongOption::error(format_args!(
            "{}: Parquet files are compressed internally; choose a name that ends in .parquet",
            output.display()
        )));
    }
    let Some(expected) = format_of_name(output) else { return Ok(()) };
    let written = match form {
        Form::Rows(_) => NamedFormat::Parquet,
        Form::Csv(form) => NamedFormat::Csv(form.dialect.delimiter),
        Form::Lines => NamedFormat::Lines,
        Form::Warc => NamedFormat::Warc,
        Form::Page | Form::Unreadable | Form::Empty => return Ok(()),
    };
    if expected == written {
        return Ok(());
    }
    Err(WrongOption::error(format_args!(
        "{}: this is the name of {}, but documents keep the format of the inputs, which are {}; choose a \
         name that ends in {}",
        output.display(),
        expected.name(),
        written.name(),
        written.ending()
    )))
}

/// The format that belongs to the name of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedFormat {
    /// JSON lines.
    Lines,
    /// WARC records.
    Warc,
    /// Rows of a Parquet file.
    Parquet,
    /// CSV rows with this delimiter.
    Csv(u8),
}

impl NamedFormat {
    /// Returns the name of the format, for messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lines => "JSON lines",
            Self::Warc => "a WARC file",
            Self::Parquet => "a Parquet file",
            Self::Csv(b'\t') => "a TSV file",
            Self::Csv(_) => "a CSV file",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Lines => ".jsonl",
            Self::Warc => ".warc",
            Self::Parquet => ".parquet",
            Self::Csv(b'\t') => ".tsv",
            Self::Csv(_) => ".csv",
        }
    }
}

/// Returns the format that belongs to a file name, or `None` if it has no known extension.
pub(super) fn format_of_name(output: &Path) -> Option<NamedFormat> {
    let name = output.file_name()?.to_string_lossy().to_ascii_lowercase();
    let name = without_compression(&name);
    match name.rsplit_once('.')?.1 {
        "jsonl" | "ndjson" | "json" => Some(NamedFormat::Lines),
        "warc" => Some(NamedFormat::Warc),
        "parquet" => Some(NamedFormat::Parquet),
        _ => csv::delimiter(name).map(NamedFormat::Csv),
    }
}

fn common_form(forms: &[Form], output: &Path) -> anyhow::Result<Form> {
    if forms.iter().any(|form| matches!(form, Form::Page)) {
        return Err(WrongOption::error(format_args!(
            "{}: HTML pages are written to a folder, one file per page; add / to the end of the name",
            output.display()
        )));
    }
    let mut written = forms.iter().filter(|form| form.has_documents());
    let first = match written.next() {
        Some(Form::Rows(first)) => first,
        Some(first) => {
            let is_same = |form: &Form| first.is_same(form);
            if let Some(Form::Csv(other)) =
                forms.iter().find(|form| matches!(form, Form::Csv(_)) && !is_same(form))
            {
                return Err(WrongOption::error(format_args!(
                    "{}: all rows of a file must have the same columns, but {} has others; name a folder, which gets a file for \
                     each input",
                    output.display(),
                    other.path.display()
                )));
            }
            if !written.all(is_same) {
                return Err(WrongOption::error(format_args!("{}: {ONE_FORM}", output.display())));
            }
            return Ok(first.clone());
        }
        None => return Ok(Form::Empty),
    };
    let tables = written.filter_map(|form| match form {
        Form::Rows(table) => Some(table),
        _ => None,
    });
    if forms.iter().any(|form| form.has_documents() && !matches!(form, Form::Rows(_))) {
        return Err(WrongOption::error(format_args!("{}: {ONE_FORM}", output.display())));
    }
    for other in tables {
        if let Some(difference) = difference(first, other) {
            return Err(WrongOption::error(format_args!(
                "{}: all rows of a file must have the same columns, but {difference}; name a folder, which gets a file for each input",
                output.display()
            )));
        }
    }
    Ok(Form::Rows(Arc::clone(first)))
}

fn form(path: &Path, rules: &InputRules) -> anyhow::Result<Form> {
    // With this location, the inputs are indexes of WARC records.
    if rules.warc_base.is_some() {
        return Ok(Form::Warc);
    }
    Ok(match ParquetFile::at(path) {
        Ok(None) => match Input::open(path)?.framing(rules)? {
            Some(Framing::Page) => Form::Page,
            Some(Framing::Csv(dialect)) => csv_form(path, dialect, rules)?,
            Some(Framing::Warc) => Form::Warc,
            Some(Framing::Line) => Form::Lines,
            None => Form::Empty,
        },
        Ok(Some(file)) => Form::Rows(Arc::new(TableForm::new(path, &file))),
        Err(Fault::File(_)) => Form::Unreadable,
        Err(Fault::Machine(error)) => return Err(error.into()),
    })
}

fn csv_form(path: &Path, dialect: Dialect, rules: &InputRules) -> anyhow::Result<Form> {
    let originals = Input::open(path)?.into_originals(rules, None)?;
    let Originals::Records(mut originals) = originals else { return Ok(Form::Unreadable) };
    let header = originals.next_record()?.filter(|first| !first.is_page).and_then(|first| first.bytes);
    Ok(header.map_or(Form::Unreadable, |header| {
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&header).to_vec();
        Form::Csv(Arc::new(CsvForm { path: path.to_owned(), header, dialect }))
    }))
}

impl CsvForm {
    /// Returns the row with the column names, plus the columns of annotations if there are to be any.
    ///
    /// # Errors
    /// The input already has these columns from an earlier run.
    pub(crate) fn header(&self, added: Option<Added>) -> anyhow::Result<Vec<u8>> {
        let mut header = self.header.clone();
        if let Some(added) = added {
            if let Some(name) =
                FIELDS.iter().find(|name| memchr::memmem::find(&header, name.as_bytes()).is_some())
            {
                bail!(
                    "{}: the file already has a column {name} from an earlier run; remove its columns leitong_… first",
                    self.path.display()
                );
            }
            for (name, _) in added.columns() {
                header.push(self.dialect.delimiter);
                header.extend_from_slice(name.as_bytes());
            }
        }
        Ok(header)
    }
}

impl TableForm {
    fn is_same(&self, other: &Self) -> bool {
        (&self.schema, self.parquet_schema.root_schema(), &self.metadata)
            == (&other.schema, other.parquet_schema.root_schema(), &other.metadata)
    }

    fn new(path: &Path, file: &ParquetFile) -> Self {
        let index = file.metadata();
        let groups = index.row_groups();
        let compression = groups.iter().take(1).flat_map(RowGroupMetaData::columns);
        let rows = groups.iter().filter_map(|group| usize::try_from(group.num_rows()).ok());
        Self {
            path: path.to_owned(),
            schema: Arc::clone(file.schema()),
            parquet_schema: file.parquet_schema().clone(),
            metadata: index.file_metadata().key_value_metadata().cloned().unwrap_or_default(),
            compression: compression
                .map(|column| (column.column_path().clone(), column.compression()))
                .collect(),
            row_group_rows: rows.max().unwrap_or(0),
        }
    }
}

/// Describes the first column in which `other` differs from `first`.
fn difference(first: &TableForm, other: &TableForm) -> Option<String> {
    let [columns, others] = [first, other].map(|table| table.schema.fields());
    let described = |column: Option<&FieldRef>| match column {
        None => "no column".to_owned(),
        Some(column) => {
            let null = if column.is_nullable() { "nullable" } else { "never null" };
            format!("{:?} of type {} ({null})", column.name(), column.data_type())
        }
    };
    (0..columns.len().max(others.len())).map(|at| (columns.get(at), others.get(at))).find_map(|(a, b)| {
        let is_same = a.zip(b).is_some_and(|(a, b)| {
            (a.name(), a.data_type(), a.is_nullable()) == (b.name(), b.data_type(), b.is_nullable())
        });
        let [first, other] = [first, other].map(|table| table.path.display().to_string());
        (!is_same).then(|| format!("{first} has {} where {other} has {}", described(a), described(b)))
    })
}
