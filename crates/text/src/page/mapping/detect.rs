//! Recognises the crawler that wrote a message by fields that only its messages have.
//!
//! In: the value of a message. Out: a preset. Cost: one pass over the message, for the pointers of all
//! presets together. Used only for messages that could not be read, and for samples.

use serde_json::Value;

use super::pointer::{Pointer, Selector, to_field};
use super::preset::Preset;
use super::{PRESETS, frontera};

/// A recogniser of the preset that fits a message.
#[derive(Debug)]
pub struct Recognizer {
    selector: Selector,
    /// The presets that can be recognised by their fields, each with several lists of pointer numbers. A
    /// preset fits if at least one pointer in each of its lists finds a value.
    signatures: Vec<(&'static Preset, Vec<Vec<usize>>)>,
}

impl Default for Recognizer {
    fn default() -> Self {
        let mut selector = Selector::default();
        // Leitong's own fields are so common that they are tried last.
        let (own, others): (Vec<&Preset>, Vec<&Preset>) = PRESETS
            .iter()
            .filter(|preset| !preset.signature.is_empty())
            .partition(|preset| preset.name == "json");
        let mut numbers = |pointers: &[&str]| {
            pointers
                .iter()
                .filter_map(|text| Some(selector.add(&Pointer::parse(text)?, false)))
                .collect::<Vec<_>>()
        };
        let signatures = others.into_iter().chain(own);
        let signatures = signatures
            .map(|preset| (preset, preset.signature.iter().map(|pointers| numbers(pointers)).collect()))
            .collect();
        Self { selector, signatures }
    }
}

impl Recognizer {
    /// Returns the preset that fits this value.
    #[must_use]
    pub fn preset(&self, value: &[u8]) -> Option<&'static Preset> {
        let named = |name| Preset::named(name).ok();
        if value.starts_with(b"WARC/") {
            return named("warc-record");
        }
        if frontera::begins(value) {
            return named("frontera");
        }
        let value = value.trim_ascii_start();
        if value.starts_with(b"<") {
            return named("raw-body");
        }
        if let Some(preset) = PRESETS
            .iter()
            .find(|preset| preset.literals.iter().any(|literal| value.trim_ascii_end() == literal.as_bytes()))
        {
            return Some(preset);
        }
        let found = self.selector.select(std::str::from_utf8(value).ok()?).ok()?;
        let hits = |numbers: &Vec<usize>| numbers.iter().any(|number| found.value(*number).is_some());
        let fits = |(_, lists): &&(_, Vec<Vec<usize>>)| lists.iter().all(hits);
        self.signatures.iter().find(fits).map(|(preset, _)| *preset)
    }
}

/// Maximum depth at which fields are guessed.
const GUESS_DEPTH: usize = 3;
/// Maximum number of fields that are examined.
const GUESS_FIELDS: usize = 500;

/// Collects all scalar values of a message down to [`GUESS_DEPTH`], with their pointers.
fn leaves<'v>(value: &'v Value, at: &str, depth: usize, found: &mut Vec<(String, &'v Value)>) {
    if found.len() >= GUESS_FIELDS {
        return;
    }
    match value {
        Value::Object(fields) if depth < GUESS_DEPTH => {
            for (name, value) in fields {
                let at = at.to_owned() + &to_field(name);
                leaves(value, &at, depth + 1, found);
            }
        }
        // Crawlers write some values as an array of one element.
        Value::Array(values) if values.len() == 1 && !values[0].is_object() => {
            leaves(&values[0], at, depth, found);
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {}
        value => found.push((at.to_owned(), value)),
    }
}

/// Returns pointers to the fields of a message.
#[must_use]
pub(crate) fn pointers(message: &Value) -> Vec<String> {
    let mut found = Vec::new();
    leaves(message, "", 0, &mut found);
    found.into_iter().map(|(pointer, _)| pointer).collect()
}

/// The probable content of a field, judged by its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Looks {
    /// A url.
    Url,
    /// HTML, or a long text in Base64.
    Body,
    /// A long text.
    Text,
    /// An HTTP status.
    Status,
    /// A date.
    Date,
}

impl Looks {
    /// Returns the matching key in `[input.fields]`.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Body => "body",
            Self::Text => "text",
            Self::Status => "status",
            Self::Date => "fetched_at",
        }
    }
}

/// Guesses the fields of an unknown message. Returns for each the pointer, the probable content, and a score
/// that grows with the length of the value and with a typical name.
#[must_use]
pub(crate) fn guess(message: &Value) -> Vec<(String, Looks, usize)> {
    let mut found = Vec::new();
    leaves(message, "", 0, &mut found);
    let named = |pointer: &str, words: &[&str]| {
        let pointer = pointer.to_lowercase();
        words.iter().any(|word| pointer.ends_with(word))
    };
    let look = |(pointer, value): (String, &Value)| {
        let is_time = || named(&pointer, &["time", "date", "_at", "timestamp", "tstamp"]);
        let (looks, weight) = match value {
            Value::String(text) if text.starts_with("http://") || text.starts_with("https://") => (
                Looks::Url,
                if named(&pointer, &["url", "uri", "link", "endpoint", "href"]) { 1000 } else { 100 },
            ),
            Value::String(text) if text.len() > 60 && text.trim_start().starts_with('<') => {
                (Looks::Body, text.len() * 2)
            }
            Value::String(text) if text.len() > 200 && !text.contains(' ') && text.is_ascii() => {
                (Looks::Body, text.len())
            }
            Value::String(text) if text.chars().count() > 60 => (Looks::Text, text.len()),
            Value::String(text) if is_time() => {
                leitong_base::record::Timestamp::from_text(text)?;
                (Looks::Date, 1)
            }
            Value::Number(number) if named(&pointer, &["status", "code", "statuscode"]) => {
                number.as_u64().filter(|number| (100..600).contains(number))?;
                (Looks::Status, 1)
            }
            Value::Number(number) if is_time() => {
                leitong_base::record::Timestamp::from_number(number.as_f64()?)?;
                (Looks::Date, 1)
            }
            _ => return None,
        };
        // Prefer the value that is less deeply nested.
        let depth = pointer.matches('/').count();
        Some((pointer, looks, weight * 10 / depth.max(1)))
    };
    found.into_iter().filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(value: &str) -> Option<&'static str> {
        Recognizer::default().preset(value.as_bytes()).map(|preset| preset.name)
    }

    #[test]
    fn crawlers_are_recognised_by_their_fields() {
        for (value, expected) in [
            (r#"{"url":"http://a/","html":"<p>"}"#, Some("json")),
            (r#"{"url":"http://a/","appid":"x","crawlid":"y","body":"<p>"}"#, Some("scrapy-cluster")),
            ("json failed to parse", Some("scrapy-cluster")),
            (r#"{"url":["http://a/"],"content":["x"],"tstamp":["y"]}"#, Some("nutch")),
            (r#"{"id":"http://a/","content":"x","document.reference":"y"}"#, Some("norconex")),
            (r#"{"request":{"url":"http://a/"},"response":{"body":"x"}}"#, Some("os-scrapy")),
            (r#"["dict", []]"#, Some("frontera")),
            (r#"{"url":"http://a/","hop_path":"L","warc_filename":"x"}"#, Some("heritrix-log")),
            (r#"{"url":"http://a/","raw_content":"x","team":"y"}"#, Some("cdr3")),
            (r#"{"request":{"endpoint":"http://a/"}}"#, Some("katana")),
            (r#"{"url":"http://a/","html":"x","success":true,"links":{}}"#, Some("crawl4ai")),
            (r#"{"url":"http://a/","crawl":{"loadedUrl":"http://a/"},"text":"x"}"#, Some("apify")),
            (r#"{"url":"http://a/","content":"x","costs":{}}"#, Some("spider")),
            (r#"{"text":"x","id":"y","dump":"CC","url":"http://a/","token_count":1}"#, Some("fineweb")),
            (
                r#"{"id":"y","text":"x","source":"c4","version":"v0","metadata":{"url":"http://a/"}}"#,
                Some("dolma"),
            ),
            (r#"{"text":"x","id":"y","metadata":{"url":"http://a/"}}"#, Some("datatrove")),
            (r#"{"content":"x","warc_headers":{"warc-target-uri":"http://a/"}}"#, Some("oscar")),
            (r#"{"text":"x","meta":{"pile_set_name":"Pile-CC"}}"#, Some("the-pile")),
            ("WARC/1.0\r\n", Some("warc-record")),
            ("\n<!doctype html>", Some("raw-body")),
            (r#"{"a":1}"#, None),
            ("{", None),
            ("", None),
        ] {
            assert_eq!(preset(value), expected, "{value}");
        }
    }

    #[test]
    fn fields_of_unknown_messages_are_guessed() {
        let message = serde_json::json!({
            "meta": { "link": "https://a.example/1", "code": 200, "date": "2026-11-21", "n": 5 },
            "image": "https://a.example/1.png",
            "page~": [format!("<html>{}", "x".repeat(100))],
        });
        let mut found: Vec<_> = guess(&message);
        found.sort_by_key(|(_, looks, weight)| (*looks, usize::MAX - weight));
        let found: Vec<_> = found.iter().map(|(pointer, looks, _)| (pointer.as_str(), *looks)).collect();
        assert_eq!(
            found,
            [
                ("/meta/link", Looks::Url),
                ("/image", Looks::Url),
                ("/page~0", Looks::Body),
                ("/meta/code", Looks::Status),
                ("/meta/date", Looks::Date),
            ]
        );
    }
}
