//! The marks that separate the records of an input.

/// The format that separates records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
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
pub(crate) struct Dialect {
    /// The byte between two fields.
    pub delimiter: u8,
    /// True if fields may be quoted. Otherwise a quote is an ordinary character.
    pub quotes: bool,
}
