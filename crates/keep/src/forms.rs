//! The forms of all inputs together, and the form of an output for them.
//!
//! Documents keep the format of their input. So the forms are known before the run begins, and combinations that cannot
//! be written are refused before anything is written.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::FieldRef;

use super::annotate::{self, Added};
use crate::error::{Error, Result};
use leitong_formats::{FileFormat, Form, TableForm};

/// Message about inputs whose formats do not fit into one file.
const ONE_FORM: &str = "a file cannot contain a mixture of JSON lines, WARC records, CSV rows and Parquet rows; name a folder, \
                        which gets a file for each input";

/// Returns the form of a single file for the documents of all inputs.
///
/// # Errors
/// The inputs do not fit into one file, or its name belongs to another format.
pub(crate) fn common(forms: &[Form], output: &Path) -> Result<Form> {
    let form = common_form(forms, output)?;
    // If no input can be read, nothing is written, and any name is right.
    if forms.iter().any(Form::has_documents) {
        check_name(&form, output)?;
    }
    Ok(form)
}

/// Refuses a file whose name belongs to another format than the one that is written.
fn check_name(form: &Form, output: &Path) -> Result<()> {
    let Some(written) = FileFormat::of_form(form) else { return Ok(()) };
    if written.is_compressed_twice(output) {
        return Err(Error::wrong_option(format_args!(
            "{}: {} is compressed internally, if at all; choose a name that ends in .{}",
            output.display(),
            written.name(),
            written.ending()
        )));
    }
    match FileFormat::of_name(output) {
        Some(expected) if expected != written => Err(Error::wrong_option(format_args!(
            "{}: this is the name of {}, but documents keep the format of the inputs, which are {}; choose a \
             name that ends in .{}",
            output.display(),
            expected.name(),
            written.name(),
            written.ending()
        ))),
        _ => Ok(()),
    }
}

fn common_form(forms: &[Form], output: &Path) -> Result<Form> {
    if forms.iter().any(|form| matches!(form, Form::Page)) {
        return Err(Error::wrong_option(format_args!(
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
                return Err(Error::wrong_option(format_args!(
                    "{}: all rows of a file must have the same columns, but {} has others; name a folder, which gets a file for \
                     each input",
                    output.display(),
                    other.path.display()
                )));
            }
            if !written.all(is_same) {
                return Err(Error::wrong_option(format_args!("{}: {ONE_FORM}", output.display())));
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
        return Err(Error::wrong_option(format_args!("{}: {ONE_FORM}", output.display())));
    }
    for other in tables {
        if let Some(difference) = difference(first, other) {
            return Err(Error::wrong_option(format_args!(
                "{}: all rows of a file must have the same columns, but {difference}; name a folder, which gets a file for each input",
                output.display()
            )));
        }
    }
    Ok(Form::Rows(Arc::clone(first)))
}

/// Returns the row with the column names of the CSV file at `path`, plus the columns of annotations if there are to be
/// any.
///
/// # Errors
/// The input already has these columns from an earlier run.
pub(crate) fn csv_header(path: &Path, header: &[u8], delimiter: u8, added: Option<Added>) -> Result<Vec<u8>> {
    let mut header = header.to_vec();
    if let Some(added) = added {
        if let Some(name) =
            annotate::names().find(|name| memchr::memmem::find(&header, name.as_bytes()).is_some())
        {
            return Err(Error::refused(format_args!(
                "{}: the file already has a column {name} from an earlier run; remove its columns leitong_… first",
                path.display()
            )));
        }
        for (name, _) in added.columns() {
            header.push(delimiter);
            header.extend_from_slice(name.as_bytes());
        }
    }
    Ok(header)
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
