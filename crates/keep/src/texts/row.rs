//! Formats a text as a JSON line or a row of a table.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use serde::Serialize;

use super::fields::{InputField, OWN};
use super::{Text, Written};
use crate::annotate::Annotation;
use crate::error::Result;
use leitong_base::record::{Reason, Timestamp};
use leitong_formats::{FileFormat, Row, TableForm};

/// The fields of a text, in the order of [`OWN`].
#[derive(Serialize)]
struct Own<'a> {
    id: &'a str,
    url: &'a str,
    title: Option<&'a str>,
    text: Option<&'a str>,
    language: Option<&'a str>,
    published_at: Option<&'a str>,
    fetched_at: Option<String>,
    authors: &'a [String],
    publisher: Option<&'a str>,
    site_name: Option<&'a str>,
    reason: Option<&'static str>,
}

impl<'a> Own<'a> {
    fn new(document: &'a Written) -> Self {
        let Written { decision, text: of_document, .. } = document;
        let Text { title, text, reason, language, published_at, authors, publisher, site_name, .. } =
            of_document;
        Self {
            id: &decision.page_id,
            url: &decision.url,
            title: title.as_deref(),
            text: text.as_deref(),
            language: language.as_deref(),
            published_at: published_at.as_deref(),
            fetched_at: decision.fetched_at_ms.and_then(Timestamp::from_ms).map(|time| time.to_string()),
            authors,
            publisher: publisher.as_deref(),
            site_name: site_name.as_deref(),
            reason: reason.map(Reason::as_str),
        }
    }

    /// Returns all values except the authors, in the order of [`OWN`].
    fn strings(&self) -> [Option<&str>; OWN.len() - 1] {
        [
            Some(self.id),
            Some(self.url),
            self.title,
            self.text,
            self.language,
            self.published_at,
            self.fetched_at.as_deref(),
            self.publisher,
            self.site_name,
            self.reason,
        ]
    }
}

/// Returns a JSON line without line feed: the text's own fields, those of the input, and those of `annotation`.
pub(super) fn json(
    document: &Written,
    fields: &[InputField],
    annotation: Option<&Annotation<'_>>,
) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Own::new(document))?;
    line.pop();
    for (InputField { name, .. }, value) in fields.iter().zip(&document.values) {
        line.push(b',');
        serde_json::to_writer(&mut line, name)?;
        line.push(b':');
        line.extend_from_slice(value.as_deref().unwrap_or("null").as_bytes());
    }
    if let Some(annotation) = annotation {
        line.push(b',');
        line.extend_from_slice(&serde_json::to_vec(annotation)?[1..]);
    } else {
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
        let mut strings: [StringBuilder; OWN.len() - 1] = Default::default();
        let element = Field::new("element", DataType::Utf8, false);
        let mut authors = ListBuilder::new(StringBuilder::new()).with_field(element);
        let inputs = self.form.schema.fields().len() - OWN.len();
        let mut values: Vec<StringBuilder> = (0..inputs).map(|_| StringBuilder::new()).collect();
        for document in documents {
            let own = Own::new(document);
            for (column, value) in strings.iter_mut().zip(own.strings()) {
                column.append_option(value);
            }
            for author in own.authors {
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
        columns.insert(at, Arc::new(authors.finish()));
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
