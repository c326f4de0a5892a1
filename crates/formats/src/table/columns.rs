//! Selects the columns of a table to read, and checks that their types fit.
//!
//! A column is read if the mapping reads a top-level field with its name. If the name is only a convention
//! (`timestamp`, `content`), a column with another type is skipped, because it may mean something else. If
//! the configuration names the column, or it has a field's own name, its type must fit.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as Column, Fields};

use super::json::JsonWriter;
use crate::source::rules::{InputRules, truth};
use leitong_base::limits::URL_BYTES_MAX;
use leitong_text::page::mapping::{WITHDRAWN, segments};
use leitong_text::page::{BodyForm, Field};

/// Maximum number of columns that an error lists.
const NAMED_MAX: usize = 20;
/// Maximum length of strings in a row above the size limit: more than any field except a body may have.
const CUT_BYTES: usize = URL_BYTES_MAX + 1;

/// The columns of a table that are read.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Index and name of each column, in table order, and true if its bytes are written in Base64.
    read: Vec<(usize, String, bool)>,
    /// Names of string columns that pointers lead into. Their strings are parsed as JSON.
    json: Vec<String>,
    /// The field for generated urls, if no column has a url.
    url_field: Option<String>,
    /// True if a column withdraws pages.
    withdraws: bool,
    line_bytes_max: usize,
}

/// A row as a JSON line.
pub(crate) enum RowLine {
    /// The complete row.
    Whole(Vec<u8>),
    /// A row above the size limit, with shortened strings.
    Cut {
        /// The row with shortened strings.
        json: Vec<u8>,
        /// Size of the complete row in bytes.
        bytes: u64,
    },
    /// This column contains bytes that are not UTF-8.
    NotUtf8(String),
    /// The row has too many values.
    TooLarge,
}

impl Columns {
    /// Selects those of `columns` that `rules` use.
    ///
    /// # Errors
    /// A description of what does not fit.
    pub(crate) fn select(columns: &Fields, rules: &InputRules) -> Result<Self, String> {
        let names: Vec<&str> = columns.iter().map(|column| column.name().as_str()).collect();
        check_names(&names, || listed(columns), rules)?;
        let fields: Vec<(Field, String)> = rules.mapping.top_fields().collect();
        let fields_of = |name: &str| -> Vec<Field> {
            fields.iter().filter(|(_, known)| known == name).map(|(field, _)| *field).collect()
        };
        let is_named = |field: Field, name: &str| {
            let is_own =
                field.name() == name && !matches!(field, Field::Body(BodyForm::Content | BodyForm::Mixed));
            is_own || rules.names(name)
        };
        let parent_fields: Vec<(Field, String, &str)> = rules.mapping.parent_fields().collect();
        let mut json = Vec::new();
        let mut read = Vec::new();
        let (mut has_body, mut has_url) = (false, false);
        for name in rules.mapping.first_names() {
            let Some((at, column)) = columns.find(name) else { continue };
            let read_as = fields_of(name);
            let in_base64 = is_bytes(column.data_type())
                && read_as
                    .iter()
                    .any(|field| matches!(field, Field::Body(BodyForm::Base64 | BodyForm::Mixed)));
            let misfit = read_as.iter().find(|field| !fits(**field, column.data_type())).copied();
            if let Some(field) = misfit.filter(|field| is_named(*field, name)) {
                return Err(format!(
                    "column {name:?} is of type {}; expected {} for the {}",
                    column.data_type(),
                    expected(field),
                    field.name()
                ));
            }
            let may_be_other = is_bytes(column.data_type())
                && !in_base64
                && !read_as.is_empty()
                && !read_as.iter().any(|field| is_named(*field, name));
            if misfit.is_some() || may_be_other {
                continue;
            }
            let below = parent_fields
                .iter()
                .filter(|(_, known, pointer)| known == name && leads_into(column, pointer));
            let below: Vec<Field> = below.map(|(field, ..)| *field).collect();
            if is_text(column.data_type()) && !below.is_empty() {
                json.push(name.to_owned());
            }
            has_body |= below.iter().chain(&read_as).any(|field| is_body(*field));
            has_url |= below.iter().chain(&read_as).any(|field| *field == Field::Url);
            read.push((at, name.to_owned(), in_base64));
        }
        let url_field = url_field((has_body, has_url), || listed(columns), rules)?;
        read.sort_unstable();
        let line_bytes_max = rules.limits.line_bytes_max;
        let withdraws = rules.mapping.is_withdrawn(WITHDRAWN);
        Ok(Self { read, json, url_field, withdraws, line_bytes_max })
    }

    /// Returns the indexes of the columns that are read.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.read.iter().map(|(at, ..)| *at).collect()
    }

    /// Returns row `row` of `batch`, which has these columns. `url` generates the url if no column has one.
    pub(crate) fn line(&self, batch: &RecordBatch, row: usize, url: impl Fn() -> String) -> RowLine {
        let whole = match self.written(batch, row, &url, usize::MAX) {
            RowLine::Whole(json) if json.len() > self.line_bytes_max => json,
            written => return written,
        };
        match self.written(batch, row, &url, CUT_BYTES) {
            RowLine::Whole(json) => RowLine::Cut { json, bytes: whole.len() as u64 },
            written => written,
        }
    }

    fn written(
        &self,
        batch: &RecordBatch,
        row: usize,
        url: &impl Fn() -> String,
        string_bytes_max: usize,
    ) -> RowLine {
        let mut line = JsonWriter::new(string_bytes_max);
        line.json.push('{');
        if let Some(field) = &self.url_field {
            line.name(field);
            line.string(&url());
        }
        for ((_, name, in_base64), column) in self.read.iter().zip(batch.columns()) {
            let start = line.field(name, column, row, (*in_base64, self.json.contains(name)));
            if self.withdraws
                && name == WITHDRAWN
                && let Some(truth) = truth(&line.json[start..])
            {
                line.json.replace_range(start.., truth);
            }
            if line.not_utf8 {
                return RowLine::NotUtf8(name.clone());
            }
        }
        line.json.push('}');
        if line.is_full() { RowLine::TooLarge } else { RowLine::Whole(line.json.into_bytes()) }
    }
}

/// The columns whose values are needed when a table is read again.
pub(crate) struct NamedColumns {
    /// The name of each column, true if its bytes are written in Base64, and true if its strings are parsed as JSON.
    named: Vec<(String, bool, bool)>,
}

impl NamedColumns {
    /// Selects those of `columns` that have one of these `names`. Their values are written as in the first reading.
    pub(crate) fn select(columns: &Fields, rules: &InputRules, names: &[String]) -> Self {
        let mapping = &rules.mapping;
        let named = names.iter().filter_map(|name| {
            let kind = columns.find(name)?.1.data_type();
            let is_base64 = |field| matches!(field, Field::Body(BodyForm::Base64 | BodyForm::Mixed));
            let is_base64 = mapping.top_fields().any(|(field, known)| known == *name && is_base64(field));
            let is_json = mapping.parent_fields().any(|(_, known, _)| known == *name);
            Some((name.clone(), is_base64 && is_bytes(kind), is_json && is_text(kind)))
        });
        Self { named: named.collect() }
    }

    /// Returns an object with the values at `row` of `batch`, or `None` if there are too many. Calls `lost` with the name
    /// of each column whose value, or a part of it, becomes null because JSON has no such value.
    pub(crate) fn object(
        &self,
        batch: &RecordBatch,
        row: usize,
        mut lost: impl FnMut(&str),
    ) -> Option<Vec<u8>> {
        let mut line = JsonWriter::new(usize::MAX);
        line.json.push('{');
        for (name, in_base64, is_json) in &self.named {
            let Some(column) = batch.column_by_name(name) else { continue };
            line.field(name, column, row, (*in_base64, *is_json));
            if std::mem::take(&mut line.not_utf8) | std::mem::take(&mut line.without_json) {
                lost(name);
            }
        }
        line.json.push('}');
        (!line.is_full()).then(|| line.json.into_bytes())
    }
}

/// Checks that the columns that `rules` name are among `names`, and that no column to be read occurs twice. `listed` lists
/// all columns, for people.
pub(crate) fn check_names(
    names: &[&str],
    listed: impl Fn() -> String,
    rules: &InputRules,
) -> Result<(), String> {
    for (field, name) in rules.mapping.top_fields() {
        if rules.names(&name) && !names.contains(&&*name) {
            return Err(format!("there is no column {name:?} for the {}; {}", field.name(), listed()));
        }
    }
    if let Some(name) = rules.named_at_top().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no column {name:?}; {}", listed()));
    }
    let is_twice = |name: &&str| names.iter().filter(|known| known == &name).count() > 1;
    match rules.mapping.first_names().find(is_twice) {
        Some(name) => Err(format!(
            "two columns are called {name:?}, so it is not clear which one to read; rename one; {}",
            listed()
        )),
        None => Ok(()),
    }
}

/// Returns the field for generated urls, if no column has a url, once it is known which fields have columns.
///
/// # Errors
/// No column has a body. `listed` lists all columns, for people.
pub(crate) fn url_field(
    (has_body, has_url): (bool, bool),
    listed: impl Fn() -> String,
    rules: &InputRules,
) -> Result<Option<String>, String> {
    if !has_body {
        return Err(format!(
            "there is no column of texts or HTML; {}; name one with --text-column or --html-column",
            listed()
        ));
    }
    let mut urls = rules.mapping.top_fields().filter(|(field, _)| *field == Field::Url && !has_url);
    Ok(urls.next().map(|(_, name)| name))
}

/// Lists columns, for people.
pub(crate) fn list(mut columns: impl Iterator<Item = String>) -> String {
    let named: Vec<_> = columns.by_ref().take(NAMED_MAX).collect();
    let more = columns.count();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("the columns are {}{more}", named.join(", "))
}

pub(crate) fn is_body(field: Field) -> bool {
    matches!(field, Field::Body(_) | Field::WarcFile)
}

/// Returns the type of a column's values. For a dictionary, the type of its values.
fn value_type(column: &DataType) -> &DataType {
    if let DataType::Dictionary(_, values) = column { values } else { column }
}

/// Returns true if a pointer that begins with the name of this column may find a value in it. The keys of maps, and what
/// strings contain, are not known.
fn leads_into(column: &Column, pointer: &str) -> bool {
    let mut segments = segments(pointer).skip(1);
    let mut inner = column;
    segments.all(|segment| match inner.data_type() {
        DataType::Struct(fields) => match fields.find(&segment) {
            Some((_, field)) => {
                inner = field;
                true
            }
            None => false,
        },
        kind => matches!(kind, DataType::Map(..)) || is_list(kind) || is_text(kind),
    })
}

fn is_bytes(column: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(value_type(column), Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

fn is_list(column: &DataType) -> bool {
    matches!(column, DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
}

fn is_text(column: &DataType) -> bool {
    matches!(value_type(column), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn fits(field: Field, column: &DataType) -> bool {
    use DataType::{Date32, Date64, LargeUtf8, Null, Timestamp, Utf8, Utf8View};
    let column = value_type(column);
    let is_text = matches!(column, Utf8 | LargeUtf8 | Utf8View | Null) || is_bytes(column);
    match field {
        Field::Id | Field::WarcOffset => is_text || column.is_integer(),
        Field::Status => is_text || column.is_numeric(),
        Field::FetchedAt => {
            is_text || column.is_numeric() || matches!(column, Timestamp(..) | Date32 | Date64)
        }
        Field::Url
        | Field::Body(_)
        | Field::WarcFile
        | Field::Title
        | Field::Charset
        | Field::ContentType => is_text,
    }
}

fn expected(field: Field) -> &'static str {
    match field {
        Field::Id => "strings or whole numbers",
        Field::Status | Field::WarcOffset => "whole numbers",
        Field::FetchedAt => "timestamps, days, strings or numbers",
        Field::Body(BodyForm::Base64 | BodyForm::Mixed) => "strings or bytes",
        _ => "strings",
    }
}

/// Lists the columns, for people.
fn listed(columns: &Fields) -> String {
    list(columns.iter().map(|column| format!("{:?} ({})", column.name(), type_in_short(column))))
}

/// Returns the type of a column. Nested types, which may be long, are shortened to one word.
fn type_in_short(column: &Column) -> String {
    match column.data_type() {
        DataType::Struct(_) => "Struct".to_owned(),
        list if is_list(list) => "List".to_owned(),
        DataType::Map(..) => "Map".to_owned(),
        other => other.to_string(),
    }
}
