//! Reads a message of the verdict or dead-letter topic into fields, which are the same for both formats.

use prost::Message;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use leitong_base::proto::{self, FORMAT_VERSION, source};
use leitong_base::record::{Reason, Timestamp};
use leitong_base::terminal::is_control;
use leitong_cluster::verdict::{Kind, LeftCluster, Number};
use leitong_cluster::{ClusterId, RecrawlOutcome};
use leitong_fingerprint::relation::Relation;
use leitong_kafka::Received;

/// Value of the field `kind` for a dead letter.
pub(crate) const DEAD_LETTER: &str = "DEAD_LETTER";
/// Value of the field `kind` for a message that is not a verdict of this version.
pub(crate) const UNREADABLE: &str = "UNREADABLE";

/// Format of a verdict's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A JSON object.
    Json,
    /// `leitong.v1.Verdict`.
    Protobuf,
}

impl Format {
    /// Returns the format that the header `content-type` names. Without the header, the first byte decides: a
    /// verdict in protobuf never begins with `{`.
    pub(crate) fn detect(content_type: Option<&[u8]>, value: &[u8]) -> Self {
        match content_type {
            Some(b"application/json") => Self::Json,
            Some(b"application/protobuf") => Self::Protobuf,
            _ if value.trim_ascii_start().first() == Some(&b'{') => Self::Json,
            _ => Self::Protobuf,
        }
    }
}

/// A verdict, a dead letter, or another message.
#[derive(Debug, Clone)]
pub(crate) struct Tapped {
    /// Fields by name. For a verdict, those of its JSON form; for other messages, see [`Tapped::dead_letter`]
    /// and [`Tapped::unreadable`].
    pub fields: Map<String, Value>,
    json: String,
}

impl Tapped {
    /// Reads a message of the verdict topic. If it is not a verdict, its kind is [`UNREADABLE`], and
    /// `problem` tells why.
    pub(crate) fn verdict(message: &Received) -> Self {
        let Some(value) = message.value.as_deref() else {
            return Self::unreadable(message, "the message has no value");
        };
        let read = match Format::detect(message.header("content-type"), value) {
            Format::Json => from_json(value),
            Format::Protobuf => from_protobuf(value),
        };
        match read {
            Ok((fields, json)) => Self { fields, json: without_controls(&json) },
            Err(why) => Self::unreadable(message, &why),
        }
    }

    /// Reads a message of the dead-letter topic. Fields: `kind`, `cause`, `message`, `source` (place of the
    /// message that is not a page), `key`, `value_bytes`, `dead_letter` (place of the dead letter), `time`.
    pub(crate) fn dead_letter(message: &Received) -> Self {
        let number = |name: &str| message.text(name)?.parse::<u64>().ok();
        let source = json!({
            "topic": message.text("__connect.errors.topic"),
            "partition": number("__connect.errors.partition"),
            "offset": number("__connect.errors.offset"),
        });
        let key = message.key.as_deref().map(String::from_utf8_lossy);
        Self::from_object(json!({
            "kind": DEAD_LETTER,
            "cause": message.text("__connect.errors.exception.class.name"),
            "message": message.text("__connect.errors.exception.message"),
            "source": source,
            "key": key,
            "value_bytes": message.value.as_ref().map_or(0, Vec::len),
            "dead_letter": message.place(),
            "time": time(message),
        }))
    }

    /// Describes a message that is not a verdict. Fields: `kind`, `problem`, `source` (its place), `time`.
    fn unreadable(message: &Received, why: &str) -> Self {
        let (place, time) = (message.place(), time(message));
        Self::from_object(json!({ "kind": UNREADABLE, "problem": why, "source": place, "time": time }))
    }

    fn from_object(object: Value) -> Self {
        let json = without_controls(&object.to_string());
        let Value::Object(fields) = object else { return Self { fields: Map::new(), json } };
        Self { fields, json }
    }

    /// Returns the text of a field; empty if it has none.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the message as one JSON object on one line. A verdict in JSON is unchanged, except that
    /// control characters are always escaped. A `leitong.v1.Verdict` is converted to the JSON form.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }
}

fn time(message: &Received) -> Option<String> {
    message.timestamp_ms.and_then(Timestamp::from_ms).map(|time| time.to_string())
}

/// Escapes every character in valid JSON that a terminal would obey, and joins its lines. Line ends and tabs
/// occur only between values, other control characters only in strings.
fn without_controls(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            // All of these are in the Basic Multilingual Plane, so four digits are enough.
            _ if is_control(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

type Read = Result<(Map<String, Value>, String), String>;

fn from_json(value: &[u8]) -> Read {
    let text = std::str::from_utf8(value).map_err(|_| "the value is not UTF-8")?;
    let fields: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| format!("the value is not a JSON object: {error}"))?;
    let kind = fields.get("kind").and_then(Value::as_str);
    if !Kind::ALL.iter().any(|known| Some(known.as_str()) == kind) {
        return Err(format!("the kind {:?} is not known to this version", kind.unwrap_or_default()));
    }
    Ok((fields, text.to_owned()))
}

fn from_protobuf(value: &[u8]) -> Read {
    let verdict = proto::Verdict::decode(value)
        .map_err(|error| format!("the value is not a leitong.v1.Verdict: {error}"))?;
    if verdict.format_version == 0 || verdict.format_version > FORMAT_VERSION {
        return Err(format!(
            "format version {} is newer than {FORMAT_VERSION}, the newest that this program reads; update \
             it",
            verdict.format_version
        ));
    }
    let passthrough = verdict.passthrough_json.clone();
    let passthrough =
        passthrough.map(RawValue::from_string).transpose().map_err(|error| error.to_string())?;
    let mut fields = fields(verdict)?;
    // A number in `passthrough` may have more digits than a double can represent, so the text is copied.
    let json = serde_json::to_string(&AsWritten { fields: &fields, passthrough: passthrough.as_deref() });
    let json = json.map_err(|error| error.to_string())?;
    let value = passthrough.and_then(|raw| serde_json::from_str(raw.get()).ok());
    fields.insert("passthrough".to_owned(), value.unwrap_or_default());
    Ok((fields, json))
}

#[derive(Serialize)]
struct AsWritten<'a> {
    #[serde(flatten)]
    fields: &'a Map<String, Value>,
    passthrough: Option<&'a RawValue>,
}

/// Returns the name of an element of `all`, which are numbered from 1. A number that only newer versions know
/// is returned as a number.
fn name(all: &[impl Serialize], number: i32) -> Value {
    let known = usize::try_from(number).ok().and_then(|number| all.get(number.checked_sub(1)?));
    known.map_or(json!(number), |known| json!(known))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn number(value: Option<f64>) -> Option<Number> {
    value.map(Number)
}

/// Returns the JSON form of the place where a page was read.
fn place(place: source::Place) -> Value {
    match place {
        source::Place::Topic(place) => json!({
            "topic": place.topic, "partition": place.partition, "offset": place.offset, "epoch": place.epoch,
        }),
        source::Place::File(place) => json!({ "input": place.input, "line": place.number }),
    }
}

/// Returns the JSON form of a page's metadata.
fn metadata(metadata: &proto::Metadata) -> Value {
    json!({
        "publisher": metadata.publisher,
        "credit_line": metadata.credit_line,
        "authors": metadata.authors,
        "published_at": metadata.published_at,
        "canonical_link": metadata.canonical_link,
        "site_name": metadata.site_name,
        "language": metadata.language,
    })
}

/// Returns the JSON form of the note on a page that was crawled before.
fn recrawl(note: &proto::Recrawl) -> Value {
    json!({
        "outcome": name(&RecrawlOutcome::ALL, note.outcome),
        "similarity": number(note.similarity),
        "share": number(note.share),
        "former_share": number(note.former_share),
        "left_cluster_id": note.left_cluster_id.as_deref().map(hex),
        "left_cluster": note.left_cluster.map(|left| name(&LeftCluster::ALL, left)),
        "successor_page_id": note.successor_page_id,
        "successor_url": note.successor_url,
    })
}

/// Returns the fields of the JSON form, without `passthrough`.
fn fields(verdict: proto::Verdict) -> Result<Map<String, Value>, String> {
    let kind = match verdict.kind() {
        proto::Kind::Unspecified => return Err("the verdict's kind is not known to this version".to_owned()),
        proto::Kind::Unique => Kind::Unique,
        proto::Kind::ExactDuplicate => Kind::ExactDuplicate,
        proto::Kind::NearDuplicate => Kind::NearDuplicate,
        proto::Kind::Undecidable => Kind::Undecidable,
    };
    let time = |ms: i64| Timestamp::from_ms(ms);
    let cluster_id = match verdict.cluster_id.as_deref() {
        None => None,
        Some(bytes) => {
            let bytes = <[u8; 16]>::try_from(bytes).map_err(|_| "the cluster id does not have 16 bytes")?;
            Some(ClusterId::from_bytes(bytes))
        }
    };
    let evidence: Option<Value> = verdict.evidence_json.and_then(|json| serde_json::from_str(&json).ok());
    let object = json!({
        "page_id": verdict.page_id,
        "url": verdict.url,
        "corpus": verdict.corpus,
        "kind": kind,
        "reason": verdict.reason.map(|reason| name(&Reason::ALL, reason)),
        "cluster_id": cluster_id,
        "canonical_page_id": verdict.canonical_page_id,
        "canonical_url": verdict.canonical_url,
        "same_url": verdict.same_url,
        "detector": verdict.detector,
        "distance": number(verdict.distance),
        "similarity": number(verdict.similarity),
        "relation": verdict.relation.map(|relation| name(&Relation::ALL, relation)),
        "share": number(verdict.share),
        "canonical_share": number(verdict.canonical_share),
        "related_page_id": verdict.related_page_id,
        "related_url": verdict.related_url,
        "replaces_page_id": verdict.replaces_page_id,
        "replaces_url": verdict.replaces_url,
        "recrawl": verdict.recrawl.as_ref().map(recrawl),
        "fingerprint": verdict.fingerprint.as_deref().map(hex),
        "text_digest": verdict.text_digest.as_deref().map(hex),
        "text_chars": verdict.text_chars,
        "source": verdict.source.and_then(|source| source.place).map(place),
        "log_partition": verdict.log_partition,
        "log_offset": verdict.log_offset,
        "fetched_at": verdict.fetched_at_ms.and_then(time),
        "metadata": verdict.metadata.as_ref().map(metadata),
        "decided_at": time(verdict.decided_at_ms),
        "fingerprint_hash": format!("{:016x}", verdict.fingerprint_hash),
        "cluster_hash": format!("{:016x}", verdict.cluster_hash),
        "evidence": evidence,
    });
    match object {
        Value::Object(fields) => Ok(fields),
        _ => Err("the verdict is not an object".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Config, Deduplicator, Page};

    fn received(value: Vec<u8>) -> Received {
        Received { topic: "v".into(), value: Some(value), ..Received::default() }
    }

    /// Filters and lines must not depend on the format in which verdicts are written.
    #[test]
    fn both_formats_have_the_same_fields() {
        let mut config = Config::default();
        config.recrawls.enabled = true;
        let mut deduplicator = Deduplicator::new(&config).expect("defaults");
        let text = |salt: &str| {
            let sentence = |at: u32| format!("{salt} sentence {at} says what number {} is about. ", at * at);
            (0..40).map(sentence).collect::<String>()
        };
        let html = format!(
            "<html lang=en><meta name=author content='Jane Doe'><article><p>{}</p></article>",
            text("another")
        );
        let mut pages = vec![
            Page::text("https://a.example/1", text("some")),
            Page::text("https://b.example/1", text("some")),
            Page::text("https://c.example/1", text("some").replacen("sentence 7", "remark 7", 1)),
            Page::text("https://d.example/\u{9b}31m", ""),
            Page::html("https://e.example/1", html),
            Page::text("https://a.example/1", text("new")),
            Page::new("https://a.example/1", Body::Withdrawn),
            Page::new("https://c.example/1", Body::Withdrawn),
            Page::text("https://b.example/1", text("some")),
        ];
        let raw = "{\"digits\":12345678901234567890123,\"x\":\"\\u001b\"}".to_owned();
        pages[1].passthrough = Some(raw);
        for (at, page) in pages.into_iter().enumerate() {
            let verdict = deduplicator.decide(page).expect("a table in memory");
            let json = serde_json::to_string(&verdict).expect("JSON");
            let of_json = Tapped::verdict(&received(json.clone().into_bytes()));
            let of_protobuf = Tapped::verdict(&received(verdict.to_protobuf()));
            assert_eq!(of_json.fields, of_protobuf.fields, "{at}");
            // The order of the fields and the digits of numbers are the same, too.
            assert_eq!(of_protobuf.json(), of_json.json(), "{at}: field by field in one order");
            assert!(!of_json.json().contains(is_control), "{at}");
            let back: Value = serde_json::from_str(of_json.json()).expect("JSON still");
            assert_eq!(back, serde_json::from_str::<Value>(&json).expect("JSON"), "{at}");
        }
    }

    #[test]
    fn messages_that_are_not_verdicts_are_shown_with_the_reason() {
        let problem = |value: &[u8]| {
            let tapped = Tapped::verdict(&received(value.to_vec()));
            assert_eq!(tapped.text("kind"), UNREADABLE);
            tapped.text("problem").to_owned()
        };
        assert!(problem(b"{\"kind\": \"LATER\"}").contains("LATER"));
        assert!(problem(b"{\"kind\"").contains("not a JSON object"));
        assert!(problem(&[0xff; 9]).contains("not a leitong.v1.Verdict"));
        let newer = proto::Verdict { format_version: FORMAT_VERSION + 1, ..proto::Verdict::default() };
        assert!(problem(&newer.encode_to_vec()).contains("format version 2"));
        assert_eq!(Tapped::verdict(&Received::default()).text("problem"), "the message has no value");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(0_u8.., 0..60)) {
            let tapped = Tapped::verdict(&received(bytes));
            let back: Value = serde_json::from_str(tapped.json()).expect("JSON");
            proptest::prop_assert_eq!(back["kind"].as_str(), Some(tapped.text("kind")));
        }
    }
}
