//! The forms of all inputs together, and the form of an output for them.
//!
//! Documents keep the format of their input. So the forms are known before the run begins, and combinations that cannot
//! be written are refused before anything is written.

use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use arrow_schema::FieldRef;

use super::annotate::{Added, FIELDS};
use super::wrong_option::WrongOption;
use crate::formats;
use crate::formats::form::{CsvForm, Form};
use crate::formats::table::TableForm;
use crate::source::without_compression;

/// Message about inputs whose formats do not fit into one file.
const ONE_FORM: &str = "a file cannot contain a mixture of JSON lines, WARC records, CSV rows and Parquet rows; name a folder, \
                        which gets a file for each input";

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
    if let Form::Rows(form) = form
        && without_compression(&name) != name
    {
        let format = form.layout.format();
        return Err(WrongOption::error(format_args!(
            "{}: {} is compressed internally, if at all; choose a name that ends in .{}",
            output.display(),
            format.name(),
            format.endings().first().unwrap_or(&"")
        )));
    }
    let (Some(expected), Some(written)) = (formats::of_name(output), formats::of_form(form)) else {
        return Ok(());
    };
    if expected == written {
        return Ok(());
    }
    Err(WrongOption::error(format_args!(
        "{}: this is the name of {}, but documents keep the format of the inputs, which are {}; choose a \
         name that ends in .{}",
        output.display(),
        expected.name(),
        written.name(),
        written.endings().first().unwrap_or(&"")
    )))
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
