//! The marks that separate the records of an input.

use std::borrow::Cow;

/// The format that separates records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One record per line.
    Line,
    /// WARC records, which state their length.
    Warc,
    /// One record per line, except for line feeds in quotes. The first one names the columns.
    Csv(Dialect),
    /// The whole input is one page.
    Page,
}

/// The rules by which rows are split into fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between two fields.
    pub delimiter: u8,
    /// True if fields may be quoted. Otherwise a quote is an ordinary character.
    pub quotes: bool,
}

impl Dialect {
    /// Formats `value` as a field, with quotes if needed. If quotes are not allowed, characters that need them become
    /// spaces.
    #[must_use]
    pub fn field(self, value: &str) -> Cow<'_, str> {
        let breaks = |byte: u8| byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        match value.bytes().any(|byte| breaks(byte) || (self.quotes && byte == b'"')) {
            true if !self.quotes => value.replace(|c: char| u8::try_from(c).is_ok_and(breaks), " ").into(),
            true => format!("\"{}\"", value.replace('"', "\"\"")).into(),
            false => value.into(),
        }
    }
}
