//! Adds fields about the verdict to an unchanged document.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Decision;
use super::passages::cut::Cut;
use super::verify::Check;
use crate::formats::framing::{Dialect, Framing};
use crate::formats::jsonl::bare_words;
use leitong_cluster::verdict::Kind;

/// The fields that are added to a document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Annotation<'a> {
    /// The cluster id. Null for undecidable pages.
    pub leitong_cluster: Option<&'a str>,
    /// The kind of the verdict.
    pub leitong_kind: Kind,
    /// The page id of the cluster's canonical document.
    pub leitong_canonical: Option<&'a str>,
    /// The number of documents in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_cluster_size: Option<u64>,
    /// True if the document is kept only because of `--verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_kept_by_verify: Option<bool>,
    /// The share of the text that is in passages that no kept document has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_lost_share: Option<f64>,
    /// The longest passage that no kept document has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_lost_passage: Option<&'a str>,
    /// The finding of `--verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_verify_reason: Option<&'a str>,
    /// The fact of the document and that of the kept document, if facts differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_verify_differs: Option<&'a str>,
    /// The text of a benchmark with which the document shares a passage, as `FILE#ITEM/POINTER`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_benchmark: Option<&'a str>,
    /// The passage that the document and the benchmark share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_benchmark_passage: Option<&'a str>,
    /// Number of passages that were cut out of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_cut_passages: Option<u64>,
    /// Number of bytes that were cut out of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leitong_cut_bytes: Option<u64>,
    /// The groups of fields that become columns, if the document is a row of a table.
    #[serde(skip)]
    pub added: Added,
}

/// The groups of fields that are added in addition to those about the verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// The size of the cluster.
    pub cluster_size: bool,
    /// The result of verification.
    pub check: bool,
    /// The passage of a benchmark.
    pub benchmark: bool,
    /// The counts of passages that were cut.
    pub cut: bool,
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Text(Option<&'a str>),
    Count(Option<u64>),
    Flag(Option<bool>),
    Share(Option<f64>),
}

/// The names of all fields in JSON.
pub(super) const FIELDS: [&str; 13] = [
    "leitong_cluster",
    "leitong_kind",
    "leitong_canonical",
    "leitong_cluster_size",
    "leitong_kept_by_verify",
    "leitong_lost_share",
    "leitong_lost_passage",
    "leitong_verify_reason",
    "leitong_verify_differs",
    "leitong_benchmark",
    "leitong_benchmark_passage",
    "leitong_cut_passages",
    "leitong_cut_bytes",
];

impl Added {
    /// Returns the names of the fields that are added to rows of tables, each with an example of its value.
    pub(super) fn columns(self) -> impl Iterator<Item = (&'static str, Value<'static>)> {
        let example = Annotation {
            leitong_cluster: None,
            leitong_kind: Kind::Unique,
            leitong_canonical: None,
            leitong_cluster_size: None,
            leitong_kept_by_verify: None,
            leitong_lost_share: None,
            leitong_lost_passage: None,
            leitong_verify_reason: None,
            leitong_verify_differs: None,
            leitong_benchmark: None,
            leitong_benchmark_passage: None,
            leitong_cut_passages: None,
            leitong_cut_bytes: None,
            added: self,
        };
        example.all().into_iter().filter(move |(name, _)| self.has(name))
    }

    fn has(self, name: &str) -> bool {
        match name {
            "leitong_cluster_size" => self.cluster_size,
            "leitong_kept_by_verify" | "leitong_lost_share" | "leitong_lost_passage" => self.check,
            "leitong_verify_reason" | "leitong_verify_differs" => self.check,
            "leitong_benchmark" | "leitong_benchmark_passage" => self.benchmark,
            "leitong_cut_passages" | "leitong_cut_bytes" => self.cut,
            _ => true,
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(Some(text)) => f.write_str(text),
            Self::Count(Some(count)) => count.fmt(f),
            Self::Flag(Some(flag)) => flag.fmt(f),
            Self::Share(Some(share)) => share.fmt(f),
            Self::Text(None) | Self::Count(None) | Self::Flag(None) | Self::Share(None) => Ok(()),
        }
    }
}

impl<'a> Annotation<'a> {
    /// Returns the fields for the document of `decision`, whose cluster has this canonical page and size.
    #[must_use]
    pub(crate) fn new(
        decision: &'a Decision,
        canonical: Option<&'a str>,
        cluster_size: Option<u64>,
        added: Added,
    ) -> Self {
        let check = decision.check.as_deref();
        let benchmark = decision.benchmark.as_deref();
        Self {
            leitong_cluster: decision.cluster_id.as_deref(),
            leitong_kind: decision.kind,
            leitong_canonical: canonical,
            leitong_cluster_size: cluster_size,
            leitong_kept_by_verify: check.map(Check::keeps),
            leitong_lost_share: check.map(|check| check.lost_share),
            leitong_lost_passage: check.map(|check| check.lost_passage.as_str()),
            leitong_verify_reason: check.map(|check| check.finding.as_str()),
            leitong_verify_differs: check.and_then(|check| check.differs.as_deref()),
            leitong_benchmark: benchmark.map(|found| found.benchmark.as_str()),
            leitong_benchmark_passage: benchmark.map(|found| found.passage.as_str()),
            leitong_cut_passages: None,
            leitong_cut_bytes: None,
            added,
        }
    }

    /// Adds the counts of passages and bytes that were cut out of the text.
    pub(super) fn with_cut(self, cut: Option<Cut>) -> Self {
        let leitong_cut_passages = cut.map(|cut| cut.passages);
        Self { leitong_cut_passages, leitong_cut_bytes: cut.map(|cut| cut.bytes), ..self }
    }

    /// Returns the names and values of all fields, in order.
    fn all(&self) -> [(&'static str, Value<'a>); FIELDS.len()] {
        let values = [
            Value::Text(self.leitong_cluster),
            Value::Text(Some(self.leitong_kind.as_str())),
            Value::Text(self.leitong_canonical),
            Value::Count(self.leitong_cluster_size),
            Value::Flag(self.leitong_kept_by_verify),
            Value::Share(self.leitong_lost_share),
            Value::Text(self.leitong_lost_passage),
            Value::Text(self.leitong_verify_reason),
            Value::Text(self.leitong_verify_differs),
            Value::Text(self.leitong_benchmark),
            Value::Text(self.leitong_benchmark_passage),
            Value::Count(self.leitong_cut_passages),
            Value::Count(self.leitong_cut_bytes),
        ];
        std::array::from_fn(|at| (FIELDS[at], values[at]))
    }

    /// Returns the values of the fields that rows of tables have.
    pub(super) fn row(&self) -> impl Iterator<Item = Value<'a>> {
        let added = self.added;
        self.all().into_iter().filter(move |(name, _)| added.has(name)).map(|(_, value)| value)
    }
}

impl Annotation<'_> {
    /// Adds the fields to `record`, and replaces those of an earlier run. A line that is not a JSON object is
    /// returned unchanged.
    #[must_use]
    pub(crate) fn added_to(&self, record: Vec<u8>, framing: Framing) -> Vec<u8> {
        match framing {
            Framing::Line => self.added_to_json(&record).unwrap_or(record),
            Framing::Warc => self.added_to_warc(record),
            // An HTML page has no place for additional fields.
            Framing::Page => record,
            Framing::Csv(dialect) => self.added_to_csv(record, dialect),
        }
    }

    fn added_to_csv(&self, mut row: Vec<u8>, dialect: Dialect) -> Vec<u8> {
        for value in self.row() {
            row.push(dialect.delimiter);
            row.extend_from_slice(csv_field(&value.to_string(), dialect).as_bytes());
        }
        row
    }

    fn added_to_json(&self, line: &[u8]) -> Option<Vec<u8>> {
        let added = serde_json::to_vec(self).ok()?;
        if memchr::memmem::find(line, b"leitong_").is_some() {
            return replaced_in_json(line, &added);
        }
        let end = line.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
        let is_empty = end.ends_with(b"{") && end.trim_ascii_start().len() == 1;
        let mut annotated = Vec::with_capacity(line.len() + added.len());
        annotated.extend_from_slice(end);
        annotated.extend_from_slice(if is_empty { b"" } else { b"," });
        annotated.extend_from_slice(&added[1..]);
        Some(annotated)
    }

    /// Adds fields to the header of the record. Other programs ignore unknown fields.
    fn added_to_warc(&self, mut record: Vec<u8>) -> Vec<u8> {
        let (at, line_end) = match memchr::memmem::find(&record, b"\r\n\r\n") {
            Some(at) => (at + 2, "\r\n"),
            None => match memchr::memmem::find(&record, b"\n\n") {
                Some(at) => (at + 1, "\n"),
                None => return record,
            },
        };
        let present = self.all().into_iter().map(|(name, value)| (header_name(name), value.to_string()));
        let present = present.filter(|(_, value)| !value.is_empty());
        let lines: String =
            present.map(|(name, value)| format!("{name}: {}{line_end}", one_line(&value))).collect();
        record.splice(at..at, lines.into_bytes());
        record
    }
}

/// Returns the name of a field in the header of a WARC record, such as `Leitong-Cluster`.
fn header_name(field: &str) -> String {
    let capitalised = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    field.split('_').map(capitalised).collect::<Vec<_>>().join("-")
}

/// Formats `value` as a CSV field, with quotes if needed. If quotes are not allowed, characters that need
/// them become spaces.
fn csv_field(value: &str, Dialect { delimiter, quotes }: Dialect) -> Cow<'_, str> {
    let breaks = |byte: u8| byte == delimiter || matches!(byte, b'\n' | b'\r');
    match value.bytes().any(|byte| breaks(byte) || (quotes && byte == b'"')) {
        true if !quotes => value.replace(|c: char| u8::try_from(c).is_ok_and(breaks), " ").into(),
        true => format!("\"{}\"", value.replace('"', "\"\"")).into(),
        false => value.into(),
    }
}

/// Replaces the fields of an earlier run by those of the object `added`. Slower than appending, because all
/// fields must be parsed.
fn replaced_in_json(line: &[u8], added: &[u8]) -> Option<Vec<u8>> {
    let line = bare_words::replaced(line);
    let Others(others) = serde_json::from_slice(&line).ok()?;
    let mut annotated = vec![b'{'];
    for (name, value) in others {
        serde_json::to_writer(&mut annotated, &name).ok()?;
        annotated.push(b':');
        annotated.extend_from_slice(value.get().as_bytes());
        annotated.push(b',');
    }
    annotated.extend_from_slice(&added[1..]);
    Some(annotated)
}

/// Percent-encodes control characters in `value`, so it stays on one line.
fn one_line(value: &str) -> String {
    let mut line = String::with_capacity(value.len());
    for c in value.chars() {
        if c.is_control() {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| line.push_str(&format!("%{byte:02X}")));
        } else {
            line.push(c);
        }
    }
    line
}

/// The fields of an object that Leitong did not add, in their order.
struct Others<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Others<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Others<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Others<'de>, A::Error> {
                let mut others = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if FIELDS.contains(&name.as_str()) {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        others.push((name, map.next_value()?));
                    }
                }
                Ok(Others(others))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNOTATION: Annotation<'static> = Annotation {
        leitong_cluster: Some("c1"),
        leitong_kind: Kind::NearDuplicate,
        leitong_canonical: Some("a\r\nb"),
        leitong_cluster_size: None,
        leitong_kept_by_verify: None,
        leitong_lost_share: None,
        leitong_lost_passage: None,
        leitong_verify_reason: None,
        leitong_verify_differs: None,
        leitong_benchmark: None,
        leitong_benchmark_passage: None,
        leitong_cut_passages: None,
        leitong_cut_bytes: None,
        added: Added { cluster_size: false, check: false, benchmark: false, cut: false },
    };

    fn json(line: &str) -> String {
        String::from_utf8(ANNOTATION.added_to(line.as_bytes().to_vec(), Framing::Line)).expect("UTF-8")
    }

    #[test]
    fn fields_are_added_after_those_of_the_document() {
        let added = r#""leitong_cluster":"c1","leitong_kind":"NEAR_DUPLICATE","leitong_canonical":"a\r\nb"}"#;
        assert_eq!(json(r#" {"b": 1.50,"a":"\u4e2d" } "#), format!(r#" {{"b": 1.50,"a":"\u4e2d",{added}"#));
        assert_eq!(json(" { } "), format!(" {{{added}"));
        assert_eq!(json(r#"{"a":{}}"#), format!(r#"{{"a":{{}},{added}"#));
        assert_eq!(json("[1]"), "[1]", "not an object");
    }

    #[test]
    fn fields_of_an_earlier_run_are_replaced() {
        let once = json(r#"{"b":1,"text":"of leitong_kind","a":[1, 2]}"#);
        assert_eq!(json(&once), once);
    }

    #[test]
    fn each_field_in_a_warc_header_is_on_one_line() {
        for line_end in ["\r\n", "\n"] {
            let record = ["WARC/1.1", "Content-Length: 4", "", "\n\nab"].join(line_end);
            let annotated = ANNOTATION.added_to(record.into_bytes(), Framing::Warc);
            let expected = [
                "WARC/1.1",
                "Content-Length: 4",
                "Leitong-Cluster: c1",
                "Leitong-Kind: NEAR_DUPLICATE",
                "Leitong-Canonical: a%0D%0Ab",
                "",
                "\n\nab",
            ];
            assert_eq!(String::from_utf8(annotated).expect("UTF-8"), expected.join(line_end));
        }
    }
}
