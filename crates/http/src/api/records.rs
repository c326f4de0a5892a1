//! Finds the records of pages in the body of a request.
//!
//! Nothing is copied and nothing recurses, so a body of nested brackets costs no more than others of its
//! size. Memory: one range per record, and the number of records is limited.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::problem::{Problem, ProblemKind};

/// Format of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON: one page, or an array of pages.
    Json,
    /// JSON lines: one page per line.
    Lines,
    /// The page itself: HTML or text.
    Raw,
}

impl Form {
    /// Returns the format that a `Content-Type` names.
    pub(super) fn from_content_type(content_type: Option<&str>) -> Result<Self, Problem> {
        let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        match &*media_type.to_ascii_lowercase() {
            "application/json" => Ok(Self::Json),
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Ok(Self::Lines),
            "text/html" | "application/xhtml+xml" | "text/plain" => Ok(Self::Raw),
            _ => Err(Problem::new(
                ProblemKind::UnsupportedMediaType,
                format!(
                    "content-type {media_type:?}: not supported; send application/json (a page, or an array of pages), \
                     application/x-ndjson (one page per line), or the page itself as text/html or text/plain"
                ),
            )),
        }
    }
}

/// The records of a body. `is_batch` is true for an array or lines, even if there is one record or none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) ranges: Vec<Range<usize>>,
    pub(super) is_batch: bool,
}

/// Splits `body` into at most `max` records.
pub(super) fn cut(body: &[u8], form: Form, max: usize) -> Result<Records, Problem> {
    let whole = || Records { ranges: std::iter::once(0..body.len()).collect(), is_batch: false };
    match form {
        Form::Raw => Ok(whole()),
        Form::Lines => lines(body, max),
        Form::Json => {
            let begins = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
            if begins.starts_with(b"[") { array(body, max) } else { Ok(whole()) }
        }
    }
}

fn lines(body: &[u8], max: usize) -> Result<Records, Problem> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', body).chain(std::iter::once(body.len()));
    for end in ends {
        if !body[start..end].trim_ascii().is_empty() {
            ranges.push(start..end);
        }
        if ranges.len() > max {
            return Err(too_many(max));
        }
        start = end + 1;
    }
    Ok(Records { ranges, is_batch: true })
}

fn array(body: &[u8], max: usize) -> Result<Records, Problem> {
    struct Elements<'b, 'f> {
        body: &'b [u8],
        max: usize,
        too_many: &'f Cell<bool>,
    }

    impl<'b> Visitor<'b> for Elements<'b, '_> {
        type Value = Vec<Range<usize>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array of pages")
        }

        fn visit_seq<A: SeqAccess<'b>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut ranges = Vec::new();
            while let Some(element) = elements.next_element::<&'b RawValue>()? {
                if ranges.len() == self.max {
                    // The rest need not be read.
                    self.too_many.set(true);
                    return Err(A::Error::custom("too many"));
                }
                let start = element.get().as_ptr() as usize - self.body.as_ptr() as usize;
                ranges.push(start..start + element.get().len());
            }
            Ok(ranges)
        }
    }

    let body_start = body.len() - body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).len();
    let mut deserializer = serde_json::Deserializer::from_slice(&body[body_start..]);
    let too_many_seen = Cell::new(false);
    let read = deserializer.deserialize_seq(Elements { body, max, too_many: &too_many_seen });
    match read.and_then(|ranges| deserializer.end().map(|()| ranges)) {
        Ok(ranges) => Ok(Records { ranges, is_batch: true }),
        Err(_) if too_many_seen.get() => Err(too_many(max)),
        Err(error) => Err(Problem::new(
            ProblemKind::BrokenBatch,
            format!("the body is not a JSON array of pages: {error}; none of it is stored"),
        )),
    }
}

fn too_many(max: usize) -> Problem {
    Problem::new(
        ProblemKind::TooLarge,
        format!("the body has more than {max} pages; split it into several requests"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(body: &str, form: Form) -> Vec<&str> {
        let records = cut(body.as_bytes(), form, 3).expect("records");
        records.ranges.into_iter().map(|range| &body[range]).collect()
    }

    #[test]
    fn bodies_are_split_into_records() {
        assert_eq!(texts("{\"a\":1}", Form::Json), ["{\"a\":1}"]);
        assert_eq!(texts("\u{feff} [ {\"a\":1} ,2, \"你\" ] ", Form::Json), ["{\"a\":1}", "2", "\"你\""]);
        assert_eq!(texts("[]", Form::Json), [""; 0]);
        assert_eq!(texts("{}\r\n\n \n{}\n1", Form::Lines), ["{}\r", "{}", "1"]);
        assert_eq!(texts("<p>\n", Form::Raw), ["<p>\n"]);
    }

    #[test]
    fn too_many_records_are_refused_before_they_are_kept() {
        for (body, form) in [("1\n2\n3\n4", Form::Lines), ("[1,2,3,4]", Form::Json), ("[1,2,3,4", Form::Json)]
        {
            assert_eq!(cut(body.as_bytes(), form, 3).expect_err(body).kind, ProblemKind::TooLarge, "{body}");
        }
    }

    #[test]
    fn broken_arrays_are_refused() {
        for body in ["[1,2", "[1,,2]", "[1] 2", "[\"\u{1}\"]"] {
            assert_eq!(
                cut(body.as_bytes(), Form::Json, 3).expect_err(body).kind,
                ProblemKind::BrokenBatch,
                "{body}"
            );
        }
        assert_eq!(cut(b"[\"\xff\"]", Form::Json, 3).expect_err("no UTF-8").kind, ProblemKind::BrokenBatch);
        let deep = "[".repeat(1 << 20);
        assert_eq!(cut(deep.as_bytes(), Form::Json, 3).expect_err("deep").kind, ProblemKind::BrokenBatch);
    }

    #[test]
    fn the_content_type_determines_the_format() {
        assert_eq!(Form::from_content_type(Some("text/HTML; charset=gbk")), Ok(Form::Raw));
        assert_eq!(Form::from_content_type(Some("application/json")), Ok(Form::Json));
        for other in [None, Some("application/pdf"), Some("")] {
            assert_eq!(
                Form::from_content_type(other).expect_err("not supported").kind,
                ProblemKind::UnsupportedMediaType
            );
        }
    }
}
