//! The list of all formats.

use crate::arrow::Arrow;
use crate::cdx::Cdx;
use crate::csv::{CSV, TSV};
use crate::format::{Format, Head};
use crate::html::Html;
use crate::jsonl::Jsonl;
use crate::other::Other;
use crate::parquet::Parquet;
use crate::warc::Warc;

/// All formats, in the order in which they are tried. The last one takes every input.
pub(crate) static FORMATS: [&dyn Format; 9] =
    [&Cdx, &Parquet, &Arrow, &Warc, &Other, &Html, &CSV, &TSV, &Jsonl];

/// Returns the format of an input that begins like this.
pub(crate) fn recognise(head: &Head<'_>, is_stored: bool) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.needs_stored() == is_stored && format.recognise(head))
}
