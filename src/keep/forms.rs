//! In what form the documents of each input are written: as bytes, or as rows of a table.
//!
//! Documents are written in the form in which they came, so this is known before the run begins, and
//! what cannot be is refused before anything is written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use arrow_schema::{FieldRef, SchemaRef};
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use super::annotate::FIELDS;
use crate::source::csv::{self, Dialect};
use crate::source::open::Input;
use crate::source::originals::Originals;
use crate::source::parquet::{Fault, ParquetFile};
use crate::source::rules::InputRules;

/// Why documents do not fit into one file.
const ONE_FORM: &str = "holds lines and records, rows of CSV, or rows of Parquet files, and no two of these; name a \
                        folder, which has a file for each input";

/// The form of one input's documents.
#[derive(Debug, Clone)]
pub enum Form {
    /// Lines or WARC records.
    Bytes,
    /// A page of HTML.
    Page,
    /// Rows of a CSV file.
    Csv(Arc<CsvForm>),
    /// Rows of a Parquet file.
    Rows(Arc<TableForm>),
    /// A Parquet file that cannot be read, so that there is nothing to write.
    Unreadable,
}

/// What CSV files are written as.
#[derive(Debug)]
pub struct CsvForm {
    /// The input.
    pub path: PathBuf,
    /// The row that names the columns.
    pub header: Vec<u8>,
    /// How rows are cut into fields.
    pub dialect: Dialect,
}

/// What Parquet files are written as.
#[derive(Debug)]
pub struct TableForm {
    /// The input.
    pub path: PathBuf,
    /// Its columns as Arrow sees them.
    pub schema: SchemaRef,
    /// Its columns as Parquet writes them.
    pub parquet_schema: SchemaDescriptor,
    /// Its key-value metadata.
    pub metadata: Vec<KeyValue>,
    /// How its columns are packed.
    pub packing: Vec<(ColumnPath, Compression)>,
    /// Rows of its largest row group.
    pub row_group_rows: usize,
}

/// The forms of `inputs`.
///
/// # Errors
/// One cannot be read.
pub fn of(inputs: &[PathBuf], rules: &InputRules) -> anyhow::Result<Vec<Form>> {
    inputs
        .iter()
        .map(|path| form(path, rules).with_context(|| format!("cannot read {}", path.display())))
        .collect()
}

/// The form of the one file that takes the documents of all inputs.
///
/// # Errors
/// The inputs do not fit into one file.
pub fn common(forms: &[Form], output: &Path) -> anyhow::Result<Form> {
    let form = common_form(forms, output)?;
    // Of inputs that cannot be read nothing is written, in no format.
    if forms.iter().any(|form| !matches!(form, Form::Unreadable)) {
        check_name(&form, output)?;
    }
    Ok(form)
}

/// Refuses a file whose name promises another format than is written into it.
fn check_name(form: &Form, output: &Path) -> anyhow::Result<()> {
    let Some(promised) = promised(output) else { return Ok(()) };
    let written = match form {
        Form::Rows(_) => Promised::Parquet,
        Form::Csv(form) => Promised::Csv(form.dialect.delimiter),
        // Lines and WARC records are told apart as they come: `keep::output` does.
        Form::Bytes if matches!(promised, Promised::Lines | Promised::Warc) => return Ok(()),
        Form::Bytes => Promised::Lines,
        Form::Page | Form::Unreadable => return Ok(()),
    };
    if promised == written {
        return Ok(());
    }
    let is = if matches!(form, Form::Bytes) { "JSON lines or WARC records" } else { written.name() };
    bail!(
        "{}: is the name of {}, and documents are written in the format of the inputs, which are {is}; choose a name \
         that ends in {}",
        output.display(),
        promised.name(),
        written.ending()
    )
}

/// A format that the name of a file promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promised {
    /// JSON lines.
    Lines,
    /// WARC records.
    Warc,
    /// Rows of a Parquet file.
    Parquet,
    /// Rows with this delimiter.
    Csv(u8),
}

impl Promised {
    /// The format, for people.
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
            Self::Lines => ".jsonl or .warc",
            Self::Warc => ".warc",
            Self::Parquet => ".parquet",
            Self::Csv(b'\t') => ".tsv",
            Self::Csv(_) => ".csv",
        }
    }
}

/// Returns the format that a name promises; `None` if it promises none.
pub(super) fn promised(output: &Path) -> Option<Promised> {
    let name = output.file_name()?.to_str()?.to_ascii_lowercase();
    let name = [".gz", ".zst", ".lz4"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match name.rsplit_once('.')?.1 {
        "jsonl" | "ndjson" | "json" => Some(Promised::Lines),
        "warc" => Some(Promised::Warc),
        "parquet" => Some(Promised::Parquet),
        _ => csv::delimiter(name).map(Promised::Csv),
    }
}

fn common_form(forms: &[Form], output: &Path) -> anyhow::Result<Form> {
    if forms.iter().any(|form| matches!(form, Form::Page)) {
        bail!(
            "{}: pages of HTML need a folder, in which each has its file; let the name end with /",
            output.display()
        );
    }
    let mut written = forms.iter().filter(|form| !matches!(form, Form::Unreadable));
    let first = match written.next() {
        Some(Form::Rows(first)) => first,
        Some(first) => {
            let is_same = |form: &Form| match (first, form) {
                (Form::Csv(a), Form::Csv(b)) => (&a.header, a.dialect) == (&b.header, b.dialect),
                (first, form) => std::mem::discriminant(first) == std::mem::discriminant(form),
            };
            if let Some(Form::Csv(other)) =
                forms.iter().find(|form| matches!(form, Form::Csv(_)) && !is_same(form))
            {
                bail!(
                    "{}: holds rows with the same columns, and {} has others; name a folder, which has a file for \
                     each input",
                    output.display(),
                    other.path.display()
                );
            }
            if !written.all(is_same) {
                bail!("{}: {ONE_FORM}", output.display());
            }
            return Ok(first.clone());
        }
        None => return Ok(Form::Bytes),
    };
    let tables = written.filter_map(|form| match form {
        Form::Rows(table) => Some(table),
        _ => None,
    });
    if forms.iter().any(|form| !matches!(form, Form::Rows(_) | Form::Unreadable)) {
        bail!("{}: {ONE_FORM}", output.display());
    }
    for other in tables {
        if let Some(difference) = difference(first, other) {
            bail!(
                "{}: holds rows with the same columns, and {difference}; name a folder, which has a file for each input",
                output.display()
            );
        }
    }
    Ok(Form::Rows(Arc::clone(first)))
}

fn form(path: &Path, rules: &InputRules) -> anyhow::Result<Form> {
    // What an index names are WARC records.
    if rules.warc_base.is_some() {
        return Ok(Form::Bytes);
    }
    Ok(match ParquetFile::at(path) {
        Ok(None) if Input::open(path)?.is_page()? => Form::Page,
        Ok(None) => match csv::dialect(&path.to_string_lossy(), rules.quotes) {
            Some(dialect) => csv_form(path, dialect, rules)?,
            None => Form::Bytes,
        },
        Ok(Some(file)) => Form::Rows(Arc::new(TableForm::of(path, &file))),
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
    /// The row that names the columns, with those of annotations if `is_annotated`.
    ///
    /// # Errors
    /// An earlier run has added these columns already.
    pub fn header(&self, is_annotated: bool) -> anyhow::Result<Vec<u8>> {
        let mut header = self.header.clone();
        if is_annotated {
            if let Some(name) =
                FIELDS.iter().find(|name| memchr::memmem::find(&header, name.as_bytes()).is_some())
            {
                bail!(
                    "{}: has a column {name} already, of an earlier run; take the columns leitong_… out of it first",
                    self.path.display()
                );
            }
            for name in FIELDS {
                header.push(self.dialect.delimiter);
                header.extend_from_slice(name.as_bytes());
            }
        }
        Ok(header)
    }
}

impl TableForm {
    fn of(path: &Path, file: &ParquetFile) -> Self {
        let index = file.metadata();
        let groups = index.row_groups();
        let packing = groups.iter().take(1).flat_map(RowGroupMetaData::columns);
        let rows = groups.iter().filter_map(|group| usize::try_from(group.num_rows()).ok());
        Self {
            path: path.to_owned(),
            schema: Arc::clone(file.schema()),
            parquet_schema: file.parquet_schema().clone(),
            metadata: index.file_metadata().key_value_metadata().cloned().unwrap_or_default(),
            packing: packing.map(|column| (column.column_path().clone(), column.compression())).collect(),
            row_group_rows: rows.max().unwrap_or(0),
        }
    }
}

/// In what columns `other` differs from `first`, in words.
fn difference(first: &TableForm, other: &TableForm) -> Option<String> {
    let [columns, others] = [first, other].map(|table| table.schema.fields());
    let told = |column: Option<&FieldRef>| match column {
        None => "nothing".to_owned(),
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
        (!is_same).then(|| format!("{first} has {} where {other} has {}", told(a), told(b)))
    })
}
