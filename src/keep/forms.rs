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

use crate::source::parquet::{Fault, ParquetFile};

/// The form of one input's documents.
#[derive(Debug, Clone)]
pub enum Form {
    /// Lines or WARC records.
    Bytes,
    /// Rows of a Parquet file.
    Rows(Arc<TableForm>),
    /// A Parquet file that cannot be read, so that there is nothing to write.
    Unreadable,
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
pub fn of(inputs: &[PathBuf]) -> anyhow::Result<Vec<Form>> {
    inputs.iter().map(|path| form(path).with_context(|| format!("cannot read {}", path.display()))).collect()
}

/// The form of the one file that takes the documents of all inputs.
///
/// # Errors
/// The inputs do not fit into one file.
pub fn common(forms: &[Form], output: &Path) -> anyhow::Result<Form> {
    let mut tables = forms.iter().filter_map(|form| match form {
        Form::Rows(table) => Some(table),
        _ => None,
    });
    let Some(first) = tables.next() else { return Ok(Form::Bytes) };
    if forms.iter().any(|form| matches!(form, Form::Bytes)) {
        bail!(
            "{}: holds the rows of Parquet files, or lines and records, not both; name a folder, which has a file for \
             each input",
            output.display()
        );
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

fn form(path: &Path) -> anyhow::Result<Form> {
    Ok(match ParquetFile::at(path) {
        Ok(None) => Form::Bytes,
        Ok(Some(file)) => Form::Rows(Arc::new(TableForm::of(path, &file))),
        Err(Fault::File(_)) => Form::Unreadable,
        Err(Fault::Machine(error)) => return Err(error.into()),
    })
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
