//! Reads CSV and TSV files. Each row after the first becomes a JSON line with the columns that the mapping of
//! `[input]` uses. All values are strings.
//!
//! A file is recognised by its name, `.csv` or `.tsv` (before `.gz`, `.zst` or `.lz4`), because its content does not
//! show what it is. The first row names the columns. If a row has more or fewer fields than the first one, or is not
//! UTF-8, only that row is lost. If a quote is never closed, the rest of the file is lost. `rows` says where a row
//! ends.
//!
//! Memory: one row of at most `page.line_bytes_max`. A longer row is skipped and reported.

mod rows;

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use self::rows::{Row, Rows};
use super::form::{CsvForm, Form};
use super::format::{Format, Head, Opened, WantedRecords};
use super::framing::{Dialect, Framing};
use super::jsonl::Jsonl;
use super::originals::{Again, Content};
use super::table::columns::{check_names, is_body, list, url_field};
use crate::source::extension::without_compression;
use crate::source::record::{FramingError, Payload, Record, Skipped, Source, fill, framing_error};
use crate::source::rules::{InputRules, truth};
use leitong_base::record::Place;
use leitong_text::page::mapping::WITHDRAWN;
use leitong_text::page::{Field, Page};

/// Maximum number of lines of a quoted field that is not suspicious. The quote of a longer one may be an ordinary
/// character.
const QUOTED_LINES_MAX: u64 = 200;

/// Minimum number of lines inside quotes that look like rows, for the quoted field to be suspicious. A single line of a
/// text may look like a row by chance.
const INNER_ROWS_MIN: u64 = 2;

/// Tables whose fields are separated by commas.
pub(crate) static CSV: Csv = Csv { delimiter: b',' };

/// Tables whose fields are separated by tabs.
pub(crate) static TSV: Csv = Csv { delimiter: b'\t' };

/// Tables of text. They are recognised by name.
pub(crate) struct Csv {
    delimiter: u8,
}

impl Csv {
    fn dialect(&self, rules: &InputRules) -> Dialect {
        Dialect { delimiter: self.delimiter, quotes: rules.quotes }
    }
}

impl Format for Csv {
    fn name(&self) -> &'static str {
        if self.delimiter == b'\t' { "a TSV file" } else { "a CSV file" }
    }

    fn endings(&self) -> &'static [&'static str] {
        if self.delimiter == b'\t' { &["tsv"] } else { &["csv"] }
    }

    fn recognise(&self, head: &Head<'_>) -> bool {
        delimiter(head.name) == Some(self.delimiter)
    }

    fn read(
        &self,
        opened: Opened,
        rules: &InputRules,
        wanted: &WantedRecords<'_>,
    ) -> io::Result<Box<dyn Source>> {
        if opened.broken.is_some() {
            return Jsonl.read(opened, rules, wanted);
        }
        let Opened { name, reader, .. } = opened;
        Ok(Box::new(CsvRows::new(reader, name, self.dialect(rules), rules, wanted)?))
    }

    fn framing(&self, rules: &InputRules) -> Framing {
        Framing::Csv(self.dialect(rules))
    }

    fn form(&self, path: &Path, opened: Opened, rules: &InputRules) -> io::Result<Form> {
        let first = self.reread(opened, rules, &Again::default())?.next_record(None)?;
        let Some(Content::Bytes(_, header)) = first.filter(|first| !first.is_page).map(|first| first.content)
        else {
            return Ok(Form::Unreadable);
        };
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&header).to_vec();
        Ok(Form::Csv(Arc::new(CsvForm { path: path.to_owned(), header, dialect: self.dialect(rules) })))
    }
}

/// Returns the delimiter for an input with this name, or `None` if it is not a CSV or TSV file.
pub(crate) fn delimiter(name: &str) -> Option<u8> {
    let (_, extension) = without_compression(name).rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "csv" => Some(b','),
        "tsv" => Some(b'\t'),
        _ => None,
    }
}

/// Characters that separate columns in tables of other programs.
const OTHER_DELIMITERS: [char; 5] = [';', '|', '\t', ',', '\u{1}'];

/// A source that reads rows.
pub(crate) struct CsvRows<R> {
    rows: Rows<R>,
    input: Arc<str>,
    dialect: Dialect,
    /// Number of columns. `None` before the first row is read.
    width: Option<usize>,
    /// The columns that are needed: index and name.
    columns: Vec<(usize, String)>,
    /// Names of the columns that pointers lead into. Their cells are JSON.
    json_columns: Vec<String>,
    /// The field for generated urls, if no column has a url.
    url_field: Option<String>,
    /// True if a column withdraws pages.
    withdraws: bool,
    skipped: Skipped,
    /// The record for the first row, if there is one.
    first: Option<Record>,
    /// True until a suspicious quote has been reported.
    warns: bool,
    ended: bool,
}

impl<R: Read> CsvRows<R> {
    /// Creates a source that reads rows from `reader`. Messages call it `input`.
    ///
    /// # Errors
    /// The operating system's error. A fault in the first row is reported as a record.
    pub(super) fn new(
        reader: BufReader<R>,
        input: Arc<str>,
        dialect: Dialect,
        rules: &InputRules,
        wanted: &WantedRecords<'_>,
    ) -> io::Result<Self> {
        let rows = Rows::new(reader, dialect, rules.limits.line_bytes_max);
        let is_first = matches!(wanted, WantedRecords::Mapped);
        let mut source = Self {
            rows,
            input,
            dialect,
            width: None,
            columns: Vec::new(),
            json_columns: Vec::new(),
            url_field: None,
            withdraws: is_first && rules.mapping.is_withdrawn(WITHDRAWN),
            skipped: Skipped::default(),
            first: None,
            warns: is_first,
            ended: false,
        };
        let Some((payload, length)) = source.begin(rules, wanted)? else { return Ok(source) };
        source.ended = matches!(payload, Payload::Broken(_));
        let place = Place::Line { input: Arc::clone(&source.input), line: 1 };
        source.first = Some(Record { place, span: 0..length, payload });
        Ok(source)
    }

    /// Reads the names of the columns. Returns the record to emit for the first row, if any, and the length
    /// of the row.
    fn begin(
        &mut self,
        rules: &InputRules,
        wanted: &WantedRecords<'_>,
    ) -> io::Result<Option<(Payload, u64)>> {
        let header = match self.rows.next_row() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(error) => {
                let error = framing_error(&error).ok_or(error)?;
                return Ok(Some((Payload::Broken(error), 0)));
            }
        };
        let names = header
            .bytes
            .and_then(|bytes| fields(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes), self.dialect));
        let names = match names {
            Ok(names) => names,
            Err(problem) => {
                let error =
                    FramingError::BrokenCsv(format!("the first row, which names the columns: {problem}"));
                return Ok(Some((Payload::Broken(error), header.length)));
            }
        };
        self.width = Some(names.len());
        match wanted {
            WantedRecords::Again(again) => {
                self.columns = found(&names, again.fields.iter().map(String::as_str));
                self.json_columns = rules.mapping.parent_fields().map(|(_, name, _)| name).collect();
                Ok(Some((Payload::NoPage, header.length)))
            }
            WantedRecords::Mapped => Ok(match self.map(&names, rules) {
                Ok(()) => None,
                Err(problem) => Some((Payload::Broken(FramingError::WrongColumns(problem)), header.length)),
            }),
        }
    }

    fn map(&mut self, names: &[String], rules: &InputRules) -> Result<(), String> {
        check_names(&names.iter().map(String::as_str).collect::<Vec<_>>(), || listed(names), rules)?;
        let parent_fields = rules.mapping.parent_fields().map(|(field, name, _)| (field, name));
        let parent_fields: Vec<_> = parent_fields.filter(|(_, name)| names.contains(name)).collect();
        self.json_columns = parent_fields.iter().map(|(_, name)| name.clone()).collect();
        self.columns = found(names, rules.mapping.first_names());
        let fields = rules.mapping.top_fields().filter(|(_, name)| names.contains(name)).chain(parent_fields);
        let fields: Vec<Field> = fields.map(|(field, _)| field).collect();
        let has = (fields.iter().any(|field| is_body(*field)), fields.contains(&Field::Url));
        self.url_field = url_field(has, || listed(names), rules)?;
        Ok(())
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            if self.ended {
                return Ok(None);
            }
            self.rows.skip_second_end()?;
            let (line, at) = (self.rows.line, self.rows.at);
            let place = Place::Line { input: Arc::clone(&self.input), line };
            let row = match self.rows.next_row() {
                Ok(None) => {
                    self.ended = true;
                    return Ok(None);
                }
                Ok(Some(row)) => row,
                Err(error) => {
                    self.ended = true;
                    let error = framing_error(&error).ok_or(error)?;
                    return Ok(Some(Record {
                        place,
                        span: at..self.rows.at,
                        payload: Payload::Broken(error),
                    }));
                }
            };
            let span = at..at + row.length;
            self.warn_of_quotes(line, &row);
            let payload = match row.bytes {
                Ok(bytes) if bytes.trim_ascii().is_empty() && self.width != Some(1) => {
                    self.skipped.blank_lines += 1;
                    continue;
                }
                Ok(bytes) => self.json(&bytes, line),
                Err(problem) => Err(problem),
            };
            let payload = payload
                .map_or_else(|problem| Payload::Broken(FramingError::BrokenCsv(problem)), Payload::Json);
            return Ok(Some(Record { place, span, payload }));
        }
    }

    /// Warns, once, of a quoted field that has probably swallowed rows.
    fn warn_of_quotes(&mut self, line: u64, row: &Row) {
        let is_tsv = self.dialect.delimiter == b'\t';
        let looks_long = if is_tsv { row.quoted_has_delimiter } else { row.quoted_lines > QUOTED_LINES_MAX };
        // Whole rows inside quotes: all lines have as many delimiters as a row.
        let delimiters = self.width.unwrap_or_default().saturating_sub(1) as u64;
        let looks_like_rows = delimiters > 0
            && row.inner.lines >= INNER_ROWS_MIN
            && [row.inner.delimiters_min, row.inner.delimiters_max] == [delimiters; 2];
        let looks_merged = looks_long || row.has_stray_quote || looks_like_rows;
        if self.warns && looks_merged && row.quoted_lines > 0 {
            self.warns = false;
            tracing::warn!(
                "{}: a field that begins with a quote in the row of line {line} spans {} lines{}; if \
                 quotes have no meaning in this file, run again with --no-quotes; otherwise rows are lost",
                self.input,
                row.quoted_lines + 1,
                if is_tsv && row.quoted_has_delimiter { ", with tabs in them" } else { "" }
            );
        }
    }

    /// Converts a row to a JSON object.
    fn json(&self, row: &[u8], line: u64) -> Result<Vec<u8>, String> {
        let fields = fields(row, self.dialect)?;
        let width = self.width.unwrap_or_default();
        if fields.len() != width {
            return Err(format!(
                "{} fields, but the first row has {width}; the row is skipped",
                fields.len()
            ));
        }
        let url = self.url_field.as_ref().map(|field| (field, Page::made_up_url(&self.input, line)));
        let url = url.iter().map(|(field, url)| (field.as_str(), url.as_str()));
        let columns = self.columns.iter().map(|(at, name)| (name.as_str(), fields[*at].as_str()));
        let mut json = vec![b'{'];
        for (name, value) in url.chain(columns) {
            let comma = if json.len() > 1 { "," } else { "" };
            let is_json = self.json_columns.iter().any(|column| column == name) && is_json(value);
            let value = match truth(value).filter(|_| self.withdraws && name == WITHDRAWN) {
                Some(truth) => truth.to_owned(),
                None if is_json => value.to_owned(),
                None => serde_json::Value::from(value).to_string(),
            };
            json.extend_from_slice(format!("{comma}{}:{value}", serde_json::Value::from(name)).as_bytes());
        }
        json.push(b'}');
        Ok(json)
    }
}

/// Returns index and name of each of the `wanted` columns that a table with these `names` has, in the table's order.
fn found<'a>(names: &[String], wanted: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let place = |name: &str| names.iter().position(|known| known == name);
    let mut found: Vec<_> = wanted.filter_map(|name| Some((place(name)?, name.to_owned()))).collect();
    found.sort_unstable();
    found
}

/// Returns true for the text of a JSON object or array.
fn is_json(cell: &str) -> bool {
    cell.trim_start().starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(cell).is_ok()
}

impl CsvForm {
    /// Returns the names of the columns. Empty if they cannot be read.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        fields(&self.header, self.dialect).unwrap_or_default()
    }
}

/// Splits a row into fields.
fn fields(row: &[u8], Dialect { delimiter, quotes }: Dialect) -> Result<Vec<String>, String> {
    // An unquoted field contains no line feed, and carriage returns are part of their field.
    let mut reader = csv_core::ReaderBuilder::new()
        .delimiter(delimiter)
        .quoting(quotes)
        .terminator(csv_core::Terminator::Any(b'\n'))
        .build();
    // A row has one field more than delimiters, at most.
    let (mut output, mut ends) =
        (vec![0; row.len()], vec![0; memchr::memchr_iter(delimiter, row).count() + 1]);
    let (_, read, _, count) = reader.read_record(row, &mut output, &mut ends);
    let (_, _, _, last) = reader.read_record(&row[read..], &mut [0; 4], &mut ends[count..]);
    let text = |bytes: &[u8]| {
        std::str::from_utf8(bytes)
            .map(str::to_owned)
            .map_err(|_| "not UTF-8; convert the table (`iconv -f ENCODING -t UTF-8 FILE`)".to_owned())
    };
    let mut start = 0;
    ends[..count + last].iter().map(|end| text(&output[std::mem::replace(&mut start, *end)..*end])).collect()
}

/// Lists the names of the columns, for people. A single name that contains another delimiter is probably several names.
fn listed(names: &[String]) -> String {
    let other = match names {
        [name] => OTHER_DELIMITERS.iter().find(|delimiter| name.contains(**delimiter)),
        _ => None,
    };
    let other = other.map_or_else(String::new, |delimiter| {
        format!(" (separated by {delimiter:?}? Write the table with commas as .csv, or with tabs as .tsv)")
    });
    list(names.iter().map(|name| format!("{name:?}"))) + &other
}

impl<R: Read + Send> Source for CsvRows<R> {
    fn read_batch(&mut self, batch: &mut Vec<Record>, bytes_max: usize) -> io::Result<bool> {
        fill(self, (batch, bytes_max), Self::next_record, |source| source.rows.has_nothing_buffered())
    }

    fn skipped(&self) -> Skipped {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use leitong_text::page::PageConfig;
    use leitong_text::page::mapping::InputConfig;

    use super::*;

    fn rows(text: &[u8], buffer: usize) -> Vec<(u64, String)> {
        rows_of(text, buffer, Dialect { delimiter: b',', quotes: true })
    }

    fn rows_of(text: &[u8], buffer: usize, dialect: Dialect) -> Vec<(u64, String)> {
        let reader = BufReader::with_capacity(buffer, text);
        let limits = PageConfig { line_bytes_max: 1024, ..PageConfig::default() };
        let rules = InputRules::new(&limits, &InputConfig::default()).expect("rules");
        let again = Again::fields(vec!["b".to_owned()]);
        let mut source = CsvRows::new(reader, "a.csv".into(), dialect, &rules, &WantedRecords::Again(&again))
            .expect("memory");
        assert!(matches!(source.next_record(), Ok(Some(Record { payload: Payload::NoPage, .. }))));
        let mut found = Vec::new();
        while let Some(record) = source.next_record().expect("memory") {
            let Place::Line { line, .. } = record.place else { panic!("a line") };
            found.push((
                line,
                match record.payload {
                    Payload::Json(json) => String::from_utf8(json).expect("JSON"),
                    Payload::Broken(error) => error.to_string(),
                    other => panic!("{other:?}"),
                },
            ));
        }
        found
    }

    #[test]
    fn rows_may_have_quotes_line_feeds_and_faults() {
        let text = b"\xef\xbb\xbfa,b\r\n1,\"x\ny, \"\"z\"\"\"\r\n\n2,plain \"quote\n3\n4,\xff\n5,\"end\"";
        for buffer in [1, 2, 3, 7, 1000] {
            let found = rows(text, buffer);
            let lines: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, [2, 5, 6, 7, 8], "{found:?}");
            assert_eq!(found[0].1, r#"{"b":"x\ny, \"z\""}"#);
            assert_eq!(found[1].1, r#"{"b":"plain \"quote"}"#);
            assert!(found[2].1.contains("1 fields, but the first row has 2"), "{found:?}");
            assert!(found[3].1.contains("not UTF-8"), "{found:?}");
            assert_eq!(found[4].1, r#"{"b":"end"}"#);
        }
    }

    #[test]
    fn unclosed_quotes_and_rows_above_the_limit_are_reported() {
        let long = "x".repeat(2000);
        let found = rows(format!("a,b\n1,{long}\n2,short\n3,\"open\n4,x\n").as_bytes(), 64);
        assert!(found[0].1.contains("2002 bytes; raise page.line_bytes_max"), "{found:?}");
        assert_eq!(found[1], (3, r#"{"b":"short"}"#.to_owned()));
        assert!(found[2].1.contains("begins in line 4 is never closed"), "{found:?}");
        assert_eq!(found.len(), 3);
    }

    /// In a file whose lines end with `\n\r`, the carriage return must not be taken as the beginning of each row's
    /// first field, where a quote after it would have no meaning.
    #[test]
    fn a_line_feed_and_a_carriage_return_end_a_row_together() {
        for buffer in [1, 2, 3, 1000] {
            let found = rows(b"b,a\n\rx,1\n\r\"y,\n\rz\",2\n\r", buffer);
            let expected = [r#"{"b":"x"}"#, r#"{"b":"y,\n\rz"}"#];
            let found: Vec<_> = found.iter().map(|(_, row)| row.as_str()).collect();
            assert_eq!(found, expected, "{buffer}");
        }
    }

    /// If only one part of the reader ended rows at a bare carriage return, texts would be truncated, rows would be
    /// lost, and a file with such line ends would have no records at all.
    #[test]
    fn a_bare_carriage_return_ends_rows_only_if_it_ends_the_first() {
        for buffer in [1, 2, 3, 7, 1000] {
            for end in ["\n", "\r\n"] {
                let text = format!("a,b{end}1,x\ry{end}2,\"x\r\"\"y\"{end}\r3,z{end}4,end\r");
                let found = rows(text.as_bytes(), buffer);
                let expected = [r#"{"b":"x\ry"}"#, r#"{"b":"x\r\"y"}"#, r#"{"b":"z"}"#, r#"{"b":"end"}"#];
                let found: Vec<_> = found.iter().map(|(line, row)| (*line, row.as_str())).collect();
                let expected: Vec<_> = (2..).zip(expected).collect();
                // A carriage return before the end of a row is part of that end.
                assert_eq!(found, expected, "{end:?} {buffer}");
            }
            let text = b"a,b\r1,x\r\r2,\"x\ry\r\nz\"\r\n3,y\n4\r5,end";
            let found = rows(text, buffer);
            let lines: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, [2, 4, 7, 8, 9], "{found:?}");
            assert_eq!(found[0].1, r#"{"b":"x"}"#);
            assert_eq!(found[1].1, r#"{"b":"x\ry\r\nz"}"#);
            assert!(found[3].1.contains("1 fields"), "{found:?}");
            assert_eq!(found[4].1, r#"{"b":"end"}"#);
        }
    }

    /// A warning about well-formed rows led users to `--no-quotes`, which loses them.
    #[test]
    fn a_quoted_field_at_the_end_of_a_row_is_not_suspicious() {
        let stray = |text: &str, buffer: usize| {
            let dialect = Dialect { delimiter: b',', quotes: true };
            let mut rows = Rows::new(BufReader::with_capacity(buffer, text.as_bytes()), dialect, 100);
            let mut found = Vec::new();
            while let Some(row) = rows.next_row().expect("memory") {
                found.push(row.has_stray_quote);
                rows.skip_second_end().expect("memory");
            }
            found
        };
        for buffer in [1, 2, 3, 1000] {
            for end in ["\n", "\r\n", "\r", "\n\r"] {
                let rows = ["a,\"b\"", "1,\"x\ny\"", "\"2\",\"\"\"z\"\"\"", "3,\"\"", "4,\"end\""];
                for last in ["", end, "\r"] {
                    let text = rows.join(end) + last;
                    assert_eq!(stray(&text, buffer), [false; 5], "{text:?} {buffer}");
                }
                let text = ["a,b", "1,\"x\"y", "2,\"x\" \"y\"", "3,z"].join(end);
                assert_eq!(stray(&text, buffer), [false, true, true, false], "{text:?} {buffer}");
            }
            assert_eq!(stray("a,b\r\n1,\"x\"\ry\r\n", buffer), [false, true]);
        }
    }

    /// A quote at the beginning of a field would swallow the rows up to the next quote.
    #[test]
    fn without_quotes_a_quote_is_a_character() {
        let text = b"a\tb\n1\t\"open\n2\tan \"x\" y\n3\t\"\"\n";
        let dialect = |quotes| Dialect { delimiter: b'\t', quotes };
        let found = rows_of(text, 5, dialect(false));
        let rows: Vec<_> = found.iter().map(|(_, row)| row.as_str()).collect();
        assert_eq!(rows, [r#"{"b":"\"open"}"#, r#"{"b":"an \"x\" y"}"#, r#"{"b":"\"\""}"#]);
        assert_eq!(rows_of(text, 5, dialect(true)).len(), 2);
    }

    #[test]
    fn tables_are_recognised_by_their_names() {
        for (name, expected) in [
            ("a.csv", Some(b',')),
            ("x/A.CSV.gz", Some(b',')),
            ("a.tsv.zst", Some(b'\t')),
            ("a.jsonl", None),
            ("csv", None),
            ("-", None),
        ] {
            assert_eq!(delimiter(name), expected, "{name}");
        }
    }

    /// If two columns have the same name, only the first one would be read, and texts in the second one would be lost
    /// silently.
    #[test]
    fn two_columns_with_one_name_are_refused() {
        let rules = InputRules::new(&PageConfig::default(), &InputConfig::default()).expect("rules");
        let first = |text: &'static str| {
            let dialect = Dialect { delimiter: b',', quotes: true };
            let reader = BufReader::new(text.as_bytes());
            let mut rows = CsvRows::new(reader, "a.csv".into(), dialect, &rules, &WantedRecords::Mapped)
                .expect("memory");
            format!("{:?}", rows.next_record().expect("memory").expect("a row").payload)
        };
        assert!(first("url,text,text\na,b,c\n").contains("two columns are called"));
        assert!(
            first("url,text,x,x\na,b,c,d\n").starts_with("Json"),
            "columns that are not read may have any name"
        );
    }
}
