//! Splits a CSV or TSV file into rows.
//!
//! In: bytes. Out: rows without their line ends. The end of the first row determines how all rows end: with line
//! feeds, each with or without a carriage return before it, or with bare carriage returns. If line feeds end rows, a
//! bare carriage return is part of its field. Fields may be quoted, and then contain line ends and doubled quotes
//! (RFC 4180), unless [`Dialect::quotes`] is off. Memory: one row of at most `bytes_max`; of a longer one, only the
//! length is kept.

use std::io::{self, BufRead, BufReader, Read};

use super::Dialect;

/// A reader that splits a table into rows.
pub(super) struct Rows<R> {
    reader: BufReader<R>,
    dialect: Dialect,
    bytes_max: usize,
    /// The line in which the next row begins, from 1.
    pub(super) line: u64,
    /// Number of bytes read so far.
    pub(super) at: u64,
    ends: Ends,
    /// True if the other half of the previous row's line end may follow.
    may_go_on: bool,
}

/// The characters that end rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The first row has not ended yet.
    Unknown,
    /// Line feeds, each with or without a carriage return before it.
    Feeds,
    /// Carriage returns, line feeds, or both.
    Returns,
}

/// A row without its line end.
pub(super) struct Row {
    /// The bytes of the row, or the reason why it cannot be read.
    pub(super) bytes: Result<Vec<u8>, String>,
    /// Length of the row in bytes.
    pub(super) length: u64,
    /// Number of line ends inside quotes.
    pub(super) quoted_lines: u64,
    /// True if a delimiter occurs inside quotes.
    pub(super) quoted_has_delimiter: bool,
    /// True if a quoted text is followed by more characters of its field. Both quotes are probably ordinary
    /// characters then.
    pub(super) has_stray_quote: bool,
    pub(super) inner: InnerLines,
}

/// Counts of the lines that are completely inside quotes.
#[derive(Clone, Copy, Default)]
pub(super) struct InnerLines {
    pub(super) lines: u64,
    /// Smallest number of delimiters in a line inside quotes.
    pub(super) delimiters_min: u64,
    /// Largest number of delimiters in a line inside quotes.
    pub(super) delimiters_max: u64,
    /// Number of delimiters in the current line; `None` before the first line end.
    current: Option<u64>,
}

impl InnerLines {
    fn end_line(&mut self) {
        if let Some(delimiters) = self.current.replace(0) {
            let is_first = self.lines == 0;
            self.delimiters_min = if is_first { delimiters } else { self.delimiters_min.min(delimiters) };
            self.delimiters_max = self.delimiters_max.max(delimiters);
            self.lines += 1;
        }
    }
}

/// The state of the reader within a field.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum PlaceInField {
    #[default]
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote inside quotes, which ends the quoted text unless another quote follows.
    QuoteInQuoted,
    /// After a carriage return that follows a quoted text. A line feed ends the row.
    ReturnAfterQuoted,
    /// After a carriage return in the first row. The next byte shows how rows end.
    AfterReturn,
}

/// A row that is being read, up to the bytes read so far.
#[derive(Default)]
struct PartOfRow {
    state: PlaceInField,
    /// The previous byte.
    before: u8,
    quoted_lines: u64,
    quoted_has_delimiter: bool,
    has_stray_quote: bool,
    inner: InnerLines,
}

/// The end of a row.
struct RowEnd {
    /// Number of bytes of the row in the buffer.
    row_bytes: usize,
    /// Number of bytes after the row that end it, 0 or 1.
    end_bytes: usize,
    /// True if the other half of a line end may follow.
    may_go_on: bool,
}

impl PartOfRow {
    /// Reads bytes up to the end of the row; `None` if the row goes on after them.
    fn read(&mut self, available: &[u8], dialect: Dialect, ends: &mut Ends) -> Option<RowEnd> {
        for (row_bytes, &byte) in available.iter().enumerate() {
            let ends_here = |may_go_on| Some(RowEnd { row_bytes, end_bytes: 1, may_go_on });
            self.state = match (self.state, byte) {
                (PlaceInField::AfterReturn, byte) if byte != b'\n' => {
                    *ends = Ends::Returns;
                    return Some(RowEnd { row_bytes, end_bytes: 0, may_go_on: false });
                }
                (PlaceInField::Quoted, b'"') => PlaceInField::QuoteInQuoted,
                (PlaceInField::Quoted, byte) => {
                    self.read_quoted(byte, dialect.delimiter, *ends);
                    PlaceInField::Quoted
                }
                (PlaceInField::QuoteInQuoted | PlaceInField::FieldStart, b'"') if dialect.quotes => {
                    PlaceInField::Quoted
                }
                (_, b'\n') => return ends_here(*ends != Ends::Returns && self.before != b'\r'),
                (_, b'\r') if *ends == Ends::Returns => return ends_here(true),
                (_, b'\r') if *ends == Ends::Unknown => PlaceInField::AfterReturn,
                (PlaceInField::QuoteInQuoted, b'\r') => PlaceInField::ReturnAfterQuoted,
                (_, byte) if byte == dialect.delimiter => PlaceInField::FieldStart,
                (state_before, _) => {
                    self.has_stray_quote |=
                        matches!(state_before, PlaceInField::QuoteInQuoted | PlaceInField::ReturnAfterQuoted);
                    PlaceInField::Unquoted
                }
            };
            self.before = byte;
        }
        None
    }

    /// Counts line ends and delimiters inside quotes.
    fn read_quoted(&mut self, byte: u8, delimiter: u8, ends: Ends) {
        let is_line_end = match byte {
            b'\n' => self.before != b'\r' || ends != Ends::Returns,
            b'\r' => ends == Ends::Returns,
            _ => false,
        };
        let is_delimiter = byte == delimiter;
        self.quoted_lines += u64::from(is_line_end);
        self.quoted_has_delimiter |= is_delimiter;
        if is_line_end {
            self.inner.end_line();
        } else if is_delimiter {
            self.inner.current = self.inner.current.map(|count| count + 1);
        }
    }
}

impl<R: Read> Rows<R> {
    /// Creates a reader of rows of at most `bytes_max` bytes.
    pub(super) fn new(reader: BufReader<R>, dialect: Dialect, bytes_max: usize) -> Self {
        Self { reader, dialect, bytes_max, line: 1, at: 0, ends: Ends::Unknown, may_go_on: false }
    }

    /// Returns true if the next row must be waited for.
    pub(super) fn has_nothing_buffered(&self) -> bool {
        self.reader.buffer().is_empty()
    }

    /// Returns the next row; `None` at the end of the file.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn next_row(&mut self) -> io::Result<Option<Row>> {
        let (mut bytes, mut length, mut part) = (Vec::new(), 0_u64, PartOfRow::default());
        let is_ended = loop {
            let available = match self.reader.fill_buf() {
                Ok([]) => break false,
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = part.read(available, self.dialect, &mut self.ends);
            let (row_bytes, end_bytes) =
                end.as_ref().map_or((available.len(), 0), |end| (end.row_bytes, end.end_bytes));
            length += row_bytes as u64;
            if length <= self.bytes_max as u64 {
                bytes.extend_from_slice(&available[..row_bytes]);
            }
            self.reader.consume(row_bytes + end_bytes);
            self.at += (row_bytes + end_bytes) as u64;
            if let Some(RowEnd { may_go_on, .. }) = end {
                self.may_go_on = may_go_on;
                break true;
            }
        };
        let first_line = self.line;
        self.line += part.quoted_lines + u64::from(is_ended);
        if length == 0 && !is_ended {
            return Ok(None);
        }
        if self.ends == Ends::Unknown {
            self.ends = Ends::Feeds;
        }
        let bytes = if part.state == PlaceInField::Quoted {
            Err(format!(
                "a quote in the row that begins in line {first_line} is never closed, so nothing after it can be read; \
                 if quotes have no meaning in this file, run again with --no-quotes"
            ))
        } else if length > self.bytes_max as u64 {
            Err(format!("the row has {length} bytes; raise page.line_bytes_max to read it"))
        } else {
            if bytes.last() == Some(&b'\r') {
                bytes.pop();
                length -= 1;
            }
            Ok(bytes)
        };
        let PartOfRow { quoted_lines, quoted_has_delimiter, has_stray_quote, inner, .. } = part;
        Ok(Some(Row { bytes, length, quoted_lines, quoted_has_delimiter, has_stray_quote, inner }))
    }

    /// Skips the line feed after a carriage return that ended a row, or the reverse.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn skip_second_end(&mut self) -> io::Result<()> {
        let second = if self.ends == Ends::Returns { b'\n' } else { b'\r' };
        while std::mem::take(&mut self.may_go_on) {
            match self.reader.fill_buf() {
                Ok([byte, ..]) if *byte == second => {
                    self.reader.consume(1);
                    self.at += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.may_go_on = true,
                other => return other.map(|_| ()),
            }
        }
        Ok(())
    }
}
