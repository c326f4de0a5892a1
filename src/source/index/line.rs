//! A line of an index → where the record stands that it is about.

use serde_json::{Map, Value};

/// Characters of a line that messages show.
const SHOWN_MAX: usize = 80;

/// Places of a line in which its JSON is looked for.
const STARTS_MAX: usize = 4;

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
        match json_of(line).filter(|_| columns.is_none()) {
            Some(fields) => fields.and_then(|fields| Self::of_json(&fields)),
            None => Self::of_columns(line, columns),
        }
        .map_err(|problem| {
            let shown: String = line.chars().take(SHOWN_MAX).collect();
            format!("{problem}: {shown:?}")
        })
    }

    /// What Common Crawl, pywb and others write behind key and time. Numbers may be strings.
    fn of_json(fields: &Map<String, Value>) -> Result<Self, String> {
        let number = |name: &str| match fields.get(name)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let text = |name: &str| fields.get(name)?.as_str().filter(|text| !text.is_empty());
        Ok(Self {
            file: text("filename").ok_or("no filename")?.to_owned(),
            offset: number("offset").ok_or("no offset, or none that is a number")?,
            length: number("length").filter(|length| *length > 0),
            status: number("status").and_then(|status| i64::try_from(status).ok()),
            mime: text("mime").map(str::to_owned),
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

/// The JSON object of a CDXJ line, the last value of a repeated field; none if there is none. Key and time stand
/// before it, and the key may have braces as well.
fn json_of(line: &str) -> Option<Result<Map<String, Value>, String>> {
    let braces = line.match_indices('{').map(|(at, _)| at);
    let starts = braces.filter(|at| line[..*at].chars().next_back().is_none_or(char::is_whitespace));
    let mut parsed = starts.take(STARTS_MAX).map(|at| serde_json::from_str(&line[at..]));
    let first = parsed.next()?.map_err(|error| format!("no CDXJ ({error})"));
    Some(first.or_else(|problem| parsed.find_map(Result::ok).ok_or(problem)))
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

    /// A brace in the key was taken for the beginning of the JSON, and a repeated field for a fault.
    #[test]
    fn braces_in_keys_and_repeated_fields_cost_no_line() {
        let json = r#"{"filename": "a.warc.gz", "offset": "5", "status": null, "mime": 7, "offset": "567"}"#;
        for key in ["example)/a?t={{name}}", "example)/b{", "{", "{x", "example)/ {y", "example)/\u{65b0}{"] {
            let line = IndexLine::of(&format!("{key} 20260101000000 {json}"), None).expect("a line");
            assert_eq!((line.file.as_str(), line.offset, line.status), ("a.warc.gz", 567, None), "{key}");
        }
        assert_eq!(IndexLine::of(json, None).map(|line| line.offset), Ok(567));
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
