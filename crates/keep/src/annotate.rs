//! Adds fields about the verdict to an unchanged document.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::Decision;
use super::passages::cut::Cut;
use super::verify::Check;
use leitong_base::record::Reason;
use leitong_formats::Framing;
use leitong_formats::source::Input;

/// The fields that are added to a document, each with its group and an example of its value.
const FIELDS: [(&str, Group, Value<'static>); 17] = [
    ("leitong_cluster", Group::Verdict, Value::Text(None)),
    ("leitong_kind", Group::Verdict, Value::Text(None)),
    // The page id of the cluster's canonical document.
    ("leitong_canonical", Group::Verdict, Value::Text(None)),
    // Why the document is undecidable, or the share of a duplicate's text that the canonical document has.
    ("leitong_reason", Group::Details, Value::Text(None)),
    ("leitong_share", Group::Details, Value::Share(None)),
    ("leitong_language", Group::Language, Value::Text(None)),
    ("leitong_cluster_size", Group::ClusterSize, Value::Count(None)),
    ("leitong_kept_by_verify", Group::Check, Value::Flag(None)),
    // The share of the text that is in passages that no kept document has, and the longest of these passages.
    ("leitong_lost_share", Group::Check, Value::Share(None)),
    ("leitong_lost_passage", Group::Check, Value::Text(None)),
    ("leitong_verify_reason", Group::Check, Value::Text(None)),
    // The fact of the document and that of the kept document.
    ("leitong_verify_differs", Group::Check, Value::Text(None)),
    // The url of the kept document with which the document was compared.
    ("leitong_verify_url", Group::Check, Value::Text(None)),
    // The text of a benchmark with which the document shares a passage, as `FILE#ITEM/POINTER`.
    ("leitong_benchmark", Group::Benchmark, Value::Text(None)),
    ("leitong_benchmark_passage", Group::Benchmark, Value::Text(None)),
    // Numbers of passages and bytes that were cut out of the text.
    ("leitong_cut_passages", Group::Cut, Value::Count(None)),
    ("leitong_cut_bytes", Group::Cut, Value::Count(None)),
];

/// A group of fields that are added together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Always added.
    Verdict,
    /// Columns of every table, and fields of documents that have a value.
    Details,
    Language,
    ClusterSize,
    Check,
    Benchmark,
    Cut,
}

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Value<'a> {
    Text(Option<&'a str>),
    Count(Option<u64>),
    Flag(Option<bool>),
    Share(Option<f64>),
}

impl Value<'_> {
    fn is_missing(&self) -> bool {
        matches!(self, Self::Text(None) | Self::Count(None) | Self::Flag(None) | Self::Share(None))
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

/// The groups of fields that become columns of tables, in addition to those about the verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Added {
    /// The language of the text.
    pub language: bool,
    /// The size of the cluster.
    pub cluster_size: bool,
    /// The result of verification.
    pub check: bool,
    /// The passage of a benchmark.
    pub benchmark: bool,
    /// The counts of passages that were cut.
    pub cut: bool,
}

impl Added {
    /// Returns the names of the columns that are added to tables, each with an example of its value.
    pub(super) fn columns(self) -> impl Iterator<Item = (&'static str, Value<'static>)> {
        FIELDS
            .into_iter()
            .filter(move |(_, group, _)| self.has(*group))
            .map(|(name, _, example)| (name, example))
    }

    fn has(self, group: Group) -> bool {
        match group {
            Group::Verdict | Group::Details => true,
            Group::Language => self.language,
            Group::ClusterSize => self.cluster_size,
            Group::Check => self.check,
            Group::Benchmark => self.benchmark,
            Group::Cut => self.cut,
        }
    }
}

/// Returns the names of all fields that may be added.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(name, ..)| *name)
}

/// The facts about a document that are added to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Annotation<'a> {
    /// The decision on the document.
    pub decision: &'a Decision,
    /// The page id of the cluster's canonical document.
    pub canonical: Option<&'a str>,
    /// The number of documents in the cluster, if it is added.
    pub cluster_size: Option<u64>,
    /// Counts of the passages that were cut out of the text, if passages are cut.
    pub cut: Option<Cut>,
    /// The groups of fields that become columns, if the document is a row of a table.
    pub added: Added,
}

impl<'a> Annotation<'a> {
    /// Returns the values of all fields, in order.
    fn values(&self) -> [Value<'a>; FIELDS.len()] {
        let check = self.decision.check.as_deref();
        let benchmark = self.decision.benchmark.as_deref();
        [
            Value::Text(self.decision.cluster_id.as_deref()),
            Value::Text(Some(self.decision.kind.as_str())),
            Value::Text(self.canonical),
            Value::Text(self.decision.reason.map(Reason::as_str)),
            Value::Share(self.decision.share),
            Value::Text(self.decision.language.as_deref()),
            Value::Count(self.cluster_size),
            Value::Flag(check.map(Check::keeps)),
            Value::Share(check.map(|check| check.lost_share)),
            Value::Text(check.map(|check| check.lost_passage.as_str())),
            Value::Text(check.map(|check| check.finding.as_str())),
            Value::Text(check.and_then(|check| check.differs.as_deref())),
            Value::Text(check.and_then(|check| check.kept_url.as_deref())),
            Value::Text(benchmark.map(|found| found.benchmark.as_str())),
            Value::Text(benchmark.map(|found| found.passage.as_str())),
            Value::Count(self.cut.map(|cut| cut.passages)),
            Value::Count(self.cut.map(|cut| cut.bytes)),
        ]
    }

    /// Returns name and value of the fields that a document has outside of tables: those about the verdict, even
    /// without a value, and others with one.
    fn present(&self) -> impl Iterator<Item = (&'static str, Value<'a>)> {
        let fields = FIELDS.into_iter().zip(self.values());
        let fields = fields.filter(|((_, group, _), value)| *group == Group::Verdict || !value.is_missing());
        fields.map(|((name, ..), value)| (name, value))
    }

    /// Returns the values of the fields that rows of tables have.
    pub(super) fn row(&self) -> impl Iterator<Item = Value<'a>> {
        let added = self.added;
        let fields = FIELDS.into_iter().zip(self.values());
        fields.filter(move |((_, group, _), _)| added.has(*group)).map(|(_, value)| value)
    }

    /// Adds the fields to `record`, and replaces those of an earlier run. A line that is not a JSON object is
    /// returned unchanged.
    pub(crate) fn added_to(&self, record: Vec<u8>, framing: Framing) -> Vec<u8> {
        match framing {
            Framing::Line => self.added_to_json(&record).unwrap_or(record),
            Framing::Warc => self.added_to_warc(record),
            // An HTML page has no place for additional fields.
            Framing::Page => record,
            Framing::Csv(dialect) => {
                let mut row = record;
                for value in self.row() {
                    row.push(dialect.delimiter);
                    row.extend_from_slice(dialect.field(&value.to_string()).as_bytes());
                }
                row
            }
        }
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
        let present = self.present().map(|(name, value)| (header_name(name), value.to_string()));
        let present = present.filter(|(_, value)| !value.is_empty());
        let lines: String =
            present.map(|(name, value)| format!("{name}: {}{line_end}", one_line(&value))).collect();
        record.splice(at..at, lines.into_bytes());
        record
    }
}

impl Serialize for Annotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.present())
    }
}

/// Returns the name of a field in the header of a WARC record, such as `Leitong-Cluster`.
fn header_name(field: &str) -> String {
    let capitalised = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    field.split('_').map(capitalised).collect::<Vec<_>>().join("-")
}

/// Replaces the fields of an earlier run by those of the object `added`. Slower than appending, because all
/// fields must be parsed.
fn replaced_in_json(line: &[u8], added: &[u8]) -> Option<Vec<u8>> {
    let line = Input::without_bare_words(line);
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
                    if names().any(|added| added == name) {
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
    use leitong_cluster::verdict::Kind;

    use super::*;

    fn annotated(record: &str, framing: Framing) -> String {
        let decision = Decision {
            cluster_id: Some("c1".to_owned()),
            kind: Kind::NearDuplicate,
            ..Decision::of_cluster(1, 0)
        };
        let (canonical, added) = (Some("a\r\nb"), Added::default());
        let annotation = Annotation { decision: &decision, canonical, cluster_size: None, cut: None, added };
        String::from_utf8(annotation.added_to(record.as_bytes().to_vec(), framing)).expect("UTF-8")
    }

    fn json(line: &str) -> String {
        annotated(line, Framing::Line)
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
            let annotated = annotated(&record, Framing::Warc);
            let expected = [
                "WARC/1.1",
                "Content-Length: 4",
                "Leitong-Cluster: c1",
                "Leitong-Kind: NEAR_DUPLICATE",
                "Leitong-Canonical: a%0D%0Ab",
                "",
                "\n\nab",
            ];
            assert_eq!(annotated, expected.join(line_end));
        }
    }
}
