//! Parses a line of an index: the place of a WARC record.

use serde_json::{Map, Value};

/// Maximum number of characters of a line in a message.
const SHOWN_MAX: usize = 80;

/// Maximum number of braces at which parsing the JSON of a line is tried, besides the brace after the time.
const STARTS_MAX: usize = 4;

/// Number of digits of the shortest time, a year.
const TIME_DIGITS_MIN: usize = 4;

/// The mark at the beginning of some files in UTF-8.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The content of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexLine {
    /// The WARC file.
    pub(super) file: String,
    /// Offset of the record, or of its gzip member.
    pub(super) offset: u64,
    /// Compressed size in bytes. `None` if the index does not have it.
    pub(super) length: Option<u64>,
    /// The HTTP status.
    pub(super) status: Option<i64>,
    /// The media type.
    pub(super) mime: Option<String>,
}

/// The columns of a CDX file that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    count: usize,
    /// True if commas are between the columns, instead of spaces or tabs.
    has_commas: bool,
    mime: Option<usize>,
    status: Option<usize>,
    length: Option<usize>,
    offset: usize,
    file: usize,
}

/// The standard format with 11 columns: `N b a m s k r M S V g`.
const ELEVEN: Columns = Columns {
    count: 11,
    has_commas: false,
    mime: Some(3),
    status: Some(4),
    length: Some(8),
    offset: 9,
    file: 10,
};
/// The format with 10 columns: `N b a m s k r M V g`, or `S` instead of `M`.
const TEN: Columns = Columns {
    count: 10,
    has_commas: false,
    mime: Some(3),
    status: Some(4),
    length: Some(7),
    offset: 8,
    file: 9,
};
/// The standard format with 9 columns: `N b a m s k r V g`.
const NINE: Columns =
    Columns { count: 9, has_commas: false, mime: Some(3), status: Some(4), length: None, offset: 7, file: 8 };

impl Columns {
    /// Parses a line that names the columns of a CDX file, ` CDX N b a …`. Returns `None` if it is not such a line.
    pub(super) fn parse_header(line: &str) -> Option<Result<Self, String>> {
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        let names = line.strip_prefix([' ', '\t', ',']).unwrap_or(line).strip_prefix("CDX")?;
        // The character before the names is also between the columns.
        let has_commas = names.starts_with(',');
        let names = names.strip_prefix([' ', '\t', ','])?;
        let letters: Vec<&str> =
            names.split([' ', '\t', ',']).map(str::trim).filter(|name| !name.is_empty()).collect();
        let at = |letter: &str| letters.iter().position(|found| *found == letter);
        Some(match (at("V").or_else(|| at("v")), at("g")) {
            (Some(offset), Some(file)) => Ok(Self {
                count: letters.len(),
                has_commas,
                mime: at("m"),
                status: at("s"),
                length: at("S"),
                offset,
                file,
            }),
            _ => Err("the header lacks the column V (offset) or g (file)".to_owned()),
        })
    }
}

impl IndexLine {
    /// Parses a line. `columns` are the columns of the header, if there was one.
    ///
    /// # Errors
    /// The reason why the line names no record.
    pub(super) fn parse(line: &str, columns: Option<Columns>) -> Result<Self, String> {
        match json_of(line).filter(|_| columns.is_none()) {
            Some(fields) => fields.and_then(|fields| Self::from_json(&fields)),
            None => Self::from_columns(line, columns),
        }
        .map_err(|problem| {
            let shown: String = line.chars().take(SHOWN_MAX).collect();
            format!("{problem}: {shown:?}")
        })
    }

    /// Reads the JSON that Common Crawl, pywb and others write after key and time. Numbers may be strings.
    fn from_json(fields: &Map<String, Value>) -> Result<Self, String> {
        let number = |name: &str| match fields.get(name)? {
            Value::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let text = |name: &str| fields.get(name)?.as_str().filter(|text| !text.is_empty());
        Ok(Self {
            file: text("filename").ok_or("no filename")?.to_owned(),
            offset: number("offset").ok_or("no offset, or one that is not a number")?,
            length: number("length").filter(|length| *length > 0),
            status: number("status").and_then(|status| i64::try_from(status).ok()),
            mime: text("mime").map(str::to_owned),
        })
    }

    fn from_columns(line: &str, columns: Option<Columns>) -> Result<Self, String> {
        let by_spaces =
            || line.split([' ', '\t', '\r']).filter(|value| !value.is_empty()).collect::<Vec<_>>();
        let by_commas = || line.split(',').map(str::trim).collect::<Vec<_>>();
        let standard = |count| [NINE, TEN, ELEVEN].into_iter().find(|columns| columns.count == count);
        let mut values =
            if columns.is_some_and(|columns| columns.has_commas) { by_commas() } else { by_spaces() };
        if columns.is_none() && values.len() == 1 {
            values = by_commas();
        }
        let columns = match (columns, values.len()) {
            (Some(columns), count) if columns.count == count => columns,
            // Keys and urls may contain commas. The needed columns come after them.
            (Some(columns), count) if columns.has_commas && columns.count < count => {
                values.drain(..count - columns.count);
                columns
            }
            (Some(columns), count) => {
                return Err(format!("{count} columns, but the header has {}", columns.count));
            }
            (None, count) => standard(count)
                .ok_or_else(|| format!("not CDXJ, and not CDX: {count} columns, but CDX has 9 to 11"))?,
        };
        let value = |at: Option<usize>| values.get(at?).filter(|value| **value != "-");
        Ok(Self {
            file: values[columns.file].to_owned(),
            offset: values[columns.offset].parse().map_err(|_| "an offset that is not a number")?,
            length: value(columns.length).and_then(|length| length.parse().ok()).filter(|length| *length > 0),
            status: value(columns.status).and_then(|status| status.parse().ok()),
            mime: value(columns.mime).map(|mime| (*mime).to_owned()),
        })
    }
}

/// Parses the JSON object of a CDXJ line; the last value of a repeated field is used. Returns `None` if the
/// line has no object. Key and time come before the object, and the key may contain braces, too.
fn json_of(line: &str) -> Option<Result<Map<String, Value>, String>> {
    let braces = line.match_indices('{').map(|(at, _)| at);
    let starts = braces.filter(|at| line[..*at].chars().next_back().is_none_or(char::is_whitespace));
    // A time comes before the object, but hardly ever before a brace in the key.
    let is_after_time = |at: &usize| {
        let word = line[..*at].split_whitespace().next_back().unwrap_or_default();
        word.len() >= TIME_DIGITS_MIN && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parsed = starts
        .clone()
        .filter(is_after_time)
        .take(1)
        .chain(starts.clone().take(STARTS_MAX))
        .map(|at| (at, serde_json::from_str(&line[at..])));
    let first = parsed.next()?.1.map_err(|error| format!("not CDXJ ({error})"));
    Some(first.or_else(|problem| {
        let (at, fields) = parsed.find_map(|(at, fields)| Some((at, fields.ok()?))).ok_or(problem)?;
        // A record at an earlier brace is a second one. Braces in the key begin no record.
        match starts.clone().take_while(|start| *start < at).any(|start| names_record(&line[start..])) {
            true => Err("several records in one line".to_owned()),
            false => Ok(fields),
        }
    }))
}

/// Returns true if `text` begins with the JSON object of a record, whatever follows it.
fn names_record(text: &str) -> bool {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    objects.next().is_some_and(|object| object.is_ok_and(|fields| fields.contains_key("filename")))
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
            // A brace in a url does not make a CDX line a CDXJ line.
            let columns = Columns::parse_header(" CDX N b a m s k r V g").and_then(Result::ok);
            let columns = columns.filter(|_| length.is_none());
            assert_eq!(IndexLine::parse(&line, columns), Ok(expected(length)), "{line}");
        }
    }

    /// A brace in the key must not be taken for the start of the JSON, nor a repeated field for an error.
    #[test]
    fn braces_in_keys_and_repeated_fields_do_not_lose_a_line() {
        let json = r#"{"filename": "a.warc.gz", "offset": "5", "status": null, "mime": 7, "offset": "567"}"#;
        for key in ["example)/a?t={{name}}", "example)/b{", "{", "{x", "example)/ {y", "example)/\u{65b0}{"] {
            let line = IndexLine::parse(&format!("{key} 20260101000000 {json}"), None).expect("a line");
            assert_eq!((line.file.as_str(), line.offset, line.status), ("a.warc.gz", 567, None), "{key}");
        }
        assert_eq!(IndexLine::parse(json, None).map(|line| line.offset), Ok(567));
    }

    /// Lines with many braces or other delimiters must not be rejected as if they named no record.
    #[test]
    fn lines_with_many_braces_or_other_delimiters_name_their_record() {
        let json = r#"{"filename": "a.warc.gz", "offset": "567"}"#;
        let line = ["example)/a", &" {".repeat(9), " 20260101000000 ", json].concat();
        let line = IndexLine::parse(&line, None).expect("a line");
        assert_eq!((line.file.as_str(), line.offset), ("a.warc.gz", 567));
        let columns = |header: &str| Columns::parse_header(header).map(|columns| columns.expect("a header"));
        for (header, line, length) in [
            ("", "k 2026 u text/html 200 ABC - - 567 f.warc", None),
            ("", "k 2026 u text/html 200 ABC - 12 567 f.warc", Some(12)),
            ("", "k\t2026\tu\ttext/html\t200\tABC\t-\t567\tf.warc", None),
            ("", "k,2026,u,text/html,200,ABC,-,567,f.warc", None),
            (
                ",CDX,N,b,a,m,s,k,r,S,V,g",
                "org,example)/a,2026,http://example.org/a,text/html,200,ABC,-,12,567,f.warc",
                Some(12),
            ),
            (
                "\tCDX\tN\tb\ta\tm\ts\tk\tr\tS\tV\tg",
                "k\t2026\tu\ttext/html\t200\tABC\t-\t12\t567\tf.warc",
                Some(12),
            ),
            ("\u{feff} CDX N b a m s k r V g", "k 2026 u text/html 200 ABC - 567 f.warc", None),
            ("CDX N b a m s k r V g", "k 2026 u text/html 200 ABC - 567 f.warc", None),
        ] {
            let found = IndexLine::parse(line, columns(header)).expect(line);
            assert_eq!((found.file.as_str(), found.offset, found.length), ("f.warc", 567, length), "{line}");
            assert_eq!((found.status, found.mime.as_deref()), (Some(200), Some("text/html")), "{line}");
        }
    }

    #[test]
    fn a_header_may_name_other_columns() {
        let columns = Columns::parse_header(" CDX b a V g S").expect("a header").expect("enough");
        let line = IndexLine::parse("20260101000000 http://a/ 5 f.warc 7", Some(columns)).expect("a line");
        assert_eq!((line.file.as_str(), line.offset, line.length, line.status), ("f.warc", 5, Some(7), None));
        assert!(Columns::parse_header(" CDX N b a").expect("a header").is_err());
        assert_eq!(Columns::parse_header("org,example)/ 2026"), None);
    }

    #[test]
    fn a_line_without_a_record_is_refused_with_the_reason() {
        for (line, reason) in [
            ("key 2026 {\"offset\": 1}", "no filename"),
            ("key 2026 {\"filename\": \"a\", \"offset\": \"x\"}", "no offset"),
            ("key 2026 {", "not CDXJ"),
            // If lines ended with bare carriage returns, only the last one was read.
            (
                "k 2026 {\"filename\": \"a\", \"offset\": 1}\rk 2026 {\"filename\": \"a\", \"offset\": 2}",
                "several records in one line",
            ),
            ("a b c", "3 columns, but CDX has 9 to 11"),
            ("k t u m s d r - 12 x f", "an offset that is not a number"),
        ] {
            let problem = IndexLine::parse(line, None).expect_err("no record");
            assert!(problem.contains(reason) && problem.contains(&line[..3]), "{problem}");
        }
    }
}
