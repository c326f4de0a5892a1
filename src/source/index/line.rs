//! A line of an index → where the record stands that it is about.

use serde::Deserialize;
use serde_json::Value;

/// Characters of a line that messages show.
const SHOWN_MAX: usize = 80;

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexLine {
    /// The WARC file.
    pub(super) file: String,
    /// The first byte of the record, or of its gzip member.
    pub(super) offset: u64,
    /// Its bytes as they are packed; none where the index does not say.
    pub(super) length: Option<u64>,
    /// The HTTP status.
    pub(super) status: Option<i64>,
    /// The media type.
    pub(super) mime: Option<String>,
}

/// In which columns a CDX file has what matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    count: usize,
    mime: Option<usize>,
    status: Option<usize>,
    length: Option<usize>,
    offset: usize,
    file: usize,
}

/// With 11 columns: `N b a m s k r M S V g`.
const ELEVEN: Columns =
    Columns { count: 11, mime: Some(3), status: Some(4), length: Some(8), offset: 9, file: 10 };
/// With 9: `N b a m s k r V g`.
const NINE: Columns = Columns { count: 9, mime: Some(3), status: Some(4), length: None, offset: 7, file: 8 };

/// What Common Crawl, pywb and others write behind key and time. Numbers may be strings.
#[derive(Debug, Deserialize)]
struct Fields {
    filename: Option<String>,
    offset: Option<Value>,
    length: Option<Value>,
    status: Option<Value>,
    mime: Option<String>,
}

impl Columns {
    /// Those that the first line of a CDX file names, ` CDX N b a …`; none if it is no such line.
    pub(super) fn of_header(line: &str) -> Option<Result<Self, String>> {
        let letters: Vec<&str> = line.strip_prefix(" CDX ")?.split_whitespace().collect();
        let at = |letter: &str| letters.iter().position(|found| *found == letter);
        Some(match (at("V").or_else(|| at("v")), at("g")) {
            (Some(offset), Some(file)) => Ok(Self {
                count: letters.len(),
                mime: at("m"),
                status: at("s"),
                length: at("S"),
                offset,
                file,
            }),
            _ => Err("the header names no columns V and g, offset and file".to_owned()),
        })
    }
}

impl IndexLine {
    /// The line `line`; `columns` are those of the header, if there was one.
    ///
    /// # Errors
    /// Why it names no record.
    pub(super) fn of(line: &str, columns: Option<Columns>) -> Result<Self, String> {
        match line.find('{').filter(|_| columns.is_none()) {
            Some(json) => Self::of_json(&line[json..]),
            None => Self::of_columns(line, columns),
        }
        .map_err(|problem| {
            let shown: String = line.chars().take(SHOWN_MAX).collect();
            format!("{problem}: {shown:?}")
        })
    }

    fn of_json(json: &str) -> Result<Self, String> {
        let fields: Fields = serde_json::from_str(json).map_err(|error| format!("no CDXJ ({error})"))?;
        let number = |value: &Value| match value {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let file = fields.filename.filter(|name| !name.is_empty());
        let file = file.ok_or("no filename")?;
        let offset = fields.offset.as_ref().and_then(number).ok_or("no offset, or none that is a number")?;
        let status = fields.status.as_ref().and_then(number).and_then(|status| i64::try_from(status).ok());
        Ok(Self {
            file,
            offset,
            length: fields.length.as_ref().and_then(number).filter(|length| *length > 0),
            status,
            mime: fields.mime,
        })
    }

    fn of_columns(line: &str, columns: Option<Columns>) -> Result<Self, String> {
        let values: Vec<&str> = line.split(' ').filter(|value| !value.is_empty()).collect();
        let columns = match (columns, values.len()) {
            (Some(columns), count) if columns.count == count => columns,
            (None, 11) => ELEVEN,
            (None, 9) => NINE,
            (Some(columns), count) => {
                return Err(format!("{count} columns where the header has {}", columns.count));
            }
            (None, count) => return Err(format!("no CDXJ, and {count} columns where CDX has 9 or 11")),
        };
        let value = |at: Option<usize>| values.get(at?).filter(|value| **value != "-");
        Ok(Self {
            file: values[columns.file].to_owned(),
            offset: values[columns.offset].parse().map_err(|_| "an offset that is no number")?,
            length: value(columns.length).and_then(|length| length.parse().ok()).filter(|length| *length > 0),
            status: value(columns.status).and_then(|status| status.parse().ok()),
            mime: value(columns.mime).map(|mime| (*mime).to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_kinds_name_their_record() {
        let expected = |length| IndexLine {
            file: "w/a.warc.gz".to_owned(),
            offset: 567,
            length,
            status: Some(200),
            mime: Some("text/html".to_owned()),
        };
        let key = "org,example)/ 20260101000000";
        for (line, length) in [
            // Common Crawl writes numbers as strings, others as numbers.
            (
                format!(
                    r#"{key} {{"url": "http://example.org/", "mime": "text/html", "status": "200", "length": "1234", "offset": "567", "filename": "w/a.warc.gz"}}"#
                ),
                Some(1234),
            ),
            (
                format!(
                    r#"{key} {{"mime": "text/html", "status": 200, "length": 1234, "offset": 567, "filename": "w/a.warc.gz"}}"#
                ),
                Some(1234),
            ),
            (format!("{key} http://example.org/ text/html 200 ABC - - 1234 567 w/a.warc.gz"), Some(1234)),
            (format!("{key} http://example.org/{{x}} text/html 200 ABC - 567 w/a.warc.gz"), None),
        ] {
            // A brace in a url makes no CDXJ of a line with columns.
            let columns = Columns::of_header(" CDX N b a m s k r V g").and_then(Result::ok);
            let columns = columns.filter(|_| length.is_none());
            assert_eq!(IndexLine::of(&line, columns), Ok(expected(length)), "{line}");
        }
    }

    #[test]
    fn a_header_may_name_other_columns() {
        let columns = Columns::of_header(" CDX b a V g S").expect("a header").expect("enough");
        let line = IndexLine::of("20260101000000 http://a/ 5 f.warc 7", Some(columns)).expect("a line");
        assert_eq!((line.file.as_str(), line.offset, line.length, line.status), ("f.warc", 5, Some(7), None));
        assert!(Columns::of_header(" CDX N b a").expect("a header").is_err());
        assert_eq!(Columns::of_header("org,example)/ 2026"), None);
    }

    #[test]
    fn what_names_no_record_says_why() {
        for (line, told) in [
            ("key 2026 {\"offset\": 1}", "no filename"),
            ("key 2026 {\"filename\": \"a\", \"offset\": \"x\"}", "no offset"),
            ("key 2026 {", "no CDXJ"),
            ("a b c", "3 columns where CDX has 9 or 11"),
            ("k t u m s d r - 12 x f", "an offset that is no number"),
        ] {
            let problem = IndexLine::of(line, None).expect_err("nothing");
            assert!(problem.contains(told) && problem.contains(&line[..3]), "{problem}");
        }
    }
}
