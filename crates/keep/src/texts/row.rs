//! Formats a text as a JSON line or a row of a table.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::Written;
use super::fields::{InputField, OWN};
use crate::annotate::Annotation;
use crate::error::Result;
use leitong_base::record::Timestamp;
use leitong_formats::{FileFormat, Row, TableForm};

/// Returns the values of a text's own fields, in the order of [`OWN`]. The authors, which are a list, are `None`.
fn own(document: &Written) -> [Option<Cow<'_, str>>; OWN.len()] {
    let Written { decision, text, .. } = document;
    let fetched_at = decision.fetched_at_ms.and_then(Timestamp::from_ms).map(|time| time.to_string().into());
    let of_text = [&text.title, &text.text, &text.language, &text.published_at];
    let [title, body, language, published_at] = of_text.map(|value| value.as_deref().map(Cow::from));
    let [publisher, site_name] =
        [&text.publisher, &text.site_name].map(|value| value.as_deref().map(Cow::from));
    let [id, url] = [&decision.page_id, &decision.url].map(|value| Some(value.as_str().into()));
    let reason = text.reason.map(|reason| reason.as_str().into());
    [id, url, title, body, language, published_at, fetched_at, None, publisher, site_name, reason]
}

/// Returns a JSON line without line feed: the text's own fields, those of the input, and those of `annotation`.
pub(super) fn json(
    document: &Written,
    fields: &[InputField],
    annotation: Option<&Annotation<'_>>,
) -> serde_json::Result<Vec<u8>> {
    let mut line = b"{".to_vec();
    for (name, value) in OWN.iter().zip(own(document)) {
        serde_json::to_writer(&mut line, name)?;
        line.push(b':');
        match *name {
            "authors" => serde_json::to_writer(&mut line, &document.text.authors)?,
            _ => serde_json::to_writer(&mut line, &value)?,
        }
        line.push(b',');
    }
    for (InputField { name, .. }, value) in fields.iter().zip(&document.values) {
        serde_json::to_writer(&mut line, name)?;
        line.push(b':');
        line.extend_from_slice(value.as_deref().unwrap_or("null").as_bytes());
        line.push(b',');
    }
    if let Some(annotation) = annotation {
        line.extend_from_slice(&serde_json::to_vec(annotation)?[1..]);
    } else {
        line.pop();
        line.push(b'}');
    }
    Ok(line)
}

/// A maker of rows.
pub(super) struct Rows {
    form: Arc<TableForm>,
    /// Number of rows that were made.
    made: u64,
}

impl Rows {
    /// Creates a maker of rows for the file at `path`. Returns `None` if its format has no typed columns.
    pub(super) fn new(path: &Path, format: FileFormat, fields: &[InputField]) -> Result<Option<Self>> {
        let text = |name: &str, is_nullable| Field::new(name, DataType::Utf8, is_nullable);
        let own = OWN.iter().map(|name| match *name {
            "authors" => Field::new(*name, DataType::List(Arc::new(text("element", false))), false),
            name => text(name, !matches!(name, "id" | "url")),
        });
        let input = fields.iter().map(|field| text(&field.name, true));
        let schema = Arc::new(Schema::new(own.chain(input).collect::<Vec<_>>()));
        let Some(form) = format.new_table(path, &schema) else { return Ok(None) };
        Ok(Some(Self { form: form?, made: 0 }))
    }

    pub(super) fn form(&self) -> &Arc<TableForm> {
        &self.form
    }

    /// Makes a batch of rows for `documents`, and returns its first row.
    pub(super) fn batch(&mut self, documents: &[Written]) -> Result<Row> {
        let mut strings: [StringBuilder; OWN.len()] = Default::default();
        let element = Field::new("element", DataType::Utf8, false);
        let mut authors = ListBuilder::new(StringBuilder::new()).with_field(element);
        let inputs = self.form.schema.fields().len() - OWN.len();
        let mut values: Vec<StringBuilder> = (0..inputs).map(|_| StringBuilder::new()).collect();
        for document in documents {
            for (column, value) in strings.iter_mut().zip(own(document)) {
                column.append_option(value);
            }
            for author in &document.text.authors {
                authors.values().append_value(author);
            }
            authors.append(true);
            for (column, value) in values.iter_mut().zip(&document.values) {
                column.append_option(value.as_deref().and_then(as_text));
            }
        }
        let mut columns: Vec<ArrayRef> =
            strings.iter_mut().map(|column| Arc::new(column.finish()) as _).collect();
        let at = OWN.iter().position(|name| *name == "authors").unwrap_or(0);
        columns[at] = Arc::new(authors.finish());
        columns.extend(values.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        let batch = RecordBatch::try_new(Arc::clone(&self.form.schema), columns)?;
        let first = self.made;
        self.made += documents.len() as u64;
        Ok(Row { batch, first, at: 0 })
    }
}

/// Returns a JSON value as text: strings without quotes, null as `None`.
fn as_text(json: &str) -> Option<String> {
    match json.as_bytes().first() {
        Some(b'n') => None,
        Some(b'"') => Some(serde_json::from_str(json).unwrap_or_else(|_| json.to_owned())),
        _ => Some(json.to_owned()),
    }
}
