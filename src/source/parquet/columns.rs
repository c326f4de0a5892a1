//! Which columns of a table are read, and whether their types fit the fields that they are read as.
//!
//! A column is read if the mapping would look at a field of its name at the top of a message. Where
//! the mapping knows a name by convention only (`timestamp`, `content`), a column of another type is
//! passed over, since it may mean something else; where the configuration names a column, or it has
//! a field's own name, its type must fit.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field as Column, Fields};

use super::json::JsonWriter;
use crate::limits::URL_BYTES_MAX;
use crate::page::body::Form;
use crate::page::field::Field;
use crate::source::rules::InputRules;

/// Columns that are named where there are none that fit.
const NAMED_MAX: usize = 20;
/// Bytes of a string that are left of a row above the limit: more than any field but a body may have.
const CUT_BYTES: usize = URL_BYTES_MAX + 1;

/// How the columns of a table are read.
#[derive(Debug)]
pub(super) struct Columns {
    /// In the order of the table: which of its columns, the name, and whether bytes are to be in Base64.
    read: Vec<(usize, String, bool)>,
    /// The names of those with strings that pointers lead into: the strings are JSON.
    json: Vec<String>,
    /// The field that a url is to stand in, if no column has one.
    url_field: Option<String>,
    line_bytes_max: usize,
}

/// A row as a line.
pub(super) enum RowLine {
    /// All of it.
    Whole(Vec<u8>),
    /// Its strings are cut, since it is above the limit.
    Cut {
        /// What is left.
        json: Vec<u8>,
        /// Bytes of the whole.
        bytes: u64,
    },
    /// The bytes of this column are no text.
    NotUtf8(String),
}

impl Columns {
    /// The columns among `columns` that `rules` look at.
    ///
    /// # Errors
    /// What does not fit, in words.
    pub(super) fn of(columns: &Fields, rules: &InputRules) -> Result<Self, String> {
        let fields: Vec<(Field, String)> = rules.mapping.top_fields().collect();
        let fields_of = |name: &str| -> Vec<Field> {
            fields.iter().filter(|(_, known)| known == name).map(|(field, _)| *field).collect()
        };
        let is_named = |field: Field, name: &str| {
            let is_own = field.name() == name && !matches!(field, Field::Body(Form::Content | Form::Mixed));
            is_own || rules.names(name)
        };
        for (field, name) in &fields {
            if rules.names(name) && columns.find(name).is_none() {
                return Err(format!(
                    "there is no column {name:?} for the {}; {}",
                    field.name(),
                    these(columns)
                ));
            }
        }
        if let Some(name) = rules.named_at_top().find(|name| columns.find(name).is_none()) {
            return Err(format!("there is no column {name:?}; {}", these(columns)));
        }
        let led_into: Vec<(Field, String)> = rules.mapping.led_into().collect();
        let mut json = Vec::new();
        let mut read = Vec::new();
        let (mut has_body, mut has_url) = (false, false);
        for name in rules.mapping.first_names() {
            let Some((at, column)) = columns.find(name) else { continue };
            let read_as = fields_of(name);
            let in_base64 = is_bytes(column.data_type())
                && read_as.iter().any(|field| matches!(field, Field::Body(Form::Base64 | Form::Mixed)));
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
            if is_text(column.data_type()) && led_into.iter().any(|(_, known)| known == name) {
                let mut led_into =
                    led_into.iter().filter(|(_, known)| known == name).map(|(field, _)| *field);
                has_url |= led_into.clone().any(|field| field == Field::Url);
                has_body |= led_into.any(is_body);
                json.push(name.to_owned());
            }
            has_body |= is_nested(column) || read_as.iter().any(|field| is_body(*field));
            has_url |= is_nested(column) || read_as.contains(&Field::Url);
            read.push((at, name.to_owned(), in_base64));
        }
        if !has_body {
            return Err(format!(
                "there is no column of texts or HTML; {}; name one with --text-column or --html-column",
                these(columns)
            ));
        }
        let url_field = fields.iter().find(|(field, _)| *field == Field::Url).map(|(_, name)| name.clone());
        read.sort_unstable();
        let line_bytes_max = rules.limits.line_bytes_max;
        Ok(Self { read, json, url_field: url_field.filter(|_| !has_url), line_bytes_max })
    }

    /// Which of the table's columns are read.
    pub(super) fn places(&self) -> Vec<usize> {
        self.read.iter().map(|(at, ..)| *at).collect()
    }

    /// The row at `row` of `batch`, which has these columns. Where no column has urls, `url` is the row's.
    pub(super) fn line(&self, batch: &RecordBatch, row: usize, url: impl Fn() -> String) -> RowLine {
        let written = self.written(batch, row, &url, usize::MAX);
        match written {
            Ok(json) if json.len() <= self.line_bytes_max => RowLine::Whole(json),
            Ok(json) => match self.written(batch, row, &url, CUT_BYTES) {
                Ok(cut) => RowLine::Cut { json: cut, bytes: json.len() as u64 },
                Err(column) => RowLine::NotUtf8(column),
            },
            Err(column) => RowLine::NotUtf8(column),
        }
    }

    fn written(
        &self,
        batch: &RecordBatch,
        row: usize,
        url: &impl Fn() -> String,
        string_bytes_max: usize,
    ) -> Result<Vec<u8>, String> {
        let mut line = JsonWriter::new(string_bytes_max);
        line.json.push('{');
        if let Some(field) = &self.url_field {
            line.string(field);
            line.json.push(':');
            line.string(&url());
        }
        for ((_, name, in_base64), column) in self.read.iter().zip(batch.columns()) {
            if line.json.len() > 1 {
                line.json.push(',');
            }
            line.string(name);
            line.json.push(':');
            match self.json.contains(name) {
                true => line.json_text(column, row),
                false => line.value(column, row, *in_base64),
            }
            if line.not_utf8 {
                return Err(name.clone());
            }
        }
        line.json.push('}');
        Ok(line.json.into_bytes())
    }
}

fn is_body(field: Field) -> bool {
    matches!(field, Field::Body(_) | Field::WarcFile)
}

/// The type of a column's values; that of a dictionary's is what it stands for.
fn value_type(column: &DataType) -> &DataType {
    if let DataType::Dictionary(_, values) = column { values } else { column }
}

fn is_nested(column: &Column) -> bool {
    matches!(column.data_type(), DataType::Struct(_) | DataType::Map(..))
}

fn is_bytes(column: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(value_type(column), Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
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
        Field::Body(Form::Base64 | Form::Mixed) => "strings or bytes",
        _ => "strings",
    }
}

/// The columns that there are, for people.
fn these(columns: &Fields) -> String {
    let named = columns.iter().take(NAMED_MAX);
    let named: Vec<_> =
        named.map(|column| format!("{:?} ({})", column.name(), type_in_short(column))).collect();
    let more = columns.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("the columns are {}{more}", named.join(", "))
}

/// Nested types are written in one word: they may be of any length.
fn type_in_short(column: &Column) -> String {
    match column.data_type() {
        DataType::Struct(_) => "Struct".to_owned(),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "List".to_owned(),
        DataType::Map(..) => "Map".to_owned(),
        other => other.to_string(),
    }
}
