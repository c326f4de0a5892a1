//! Recognises the crawler that wrote a message by fields that only its messages have.
//!
//! In: the value of a message. Out: a preset. Cost: one pass over the message, for the pointers of all
//! presets together. Used only for messages that could not be read, and for samples.

use super::pointer::{Pointer, Selector};
use super::preset::Preset;

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
        let (own, others): (Vec<&Preset>, Vec<&Preset>) = Preset::all()
            .iter()
            .filter(|preset| !preset.signature.is_empty())
            .partition(|preset| preset.name == "json");
        let mut numbers = |pointers: &[String]| {
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
        let value = value.trim_ascii_start();
        if value.starts_with(b"<") {
            return named("raw-body");
        }
        if let Some(preset) = Preset::all().iter().find(|preset| {
            preset
                .input
                .filter
                .skip_if
                .get("")
                .is_some_and(|literal| value.trim_ascii_end() == literal.as_bytes())
        }) {
            return Some(preset);
        }
        let found = self.selector.select(std::str::from_utf8(value).ok()?).ok()?;
        let hits = |numbers: &Vec<usize>| numbers.iter().any(|number| found.value(*number).is_some());
        let fits = |(_, lists): &&(_, Vec<Vec<usize>>)| lists.iter().all(hits);
        self.signatures.iter().find(fits).map(|(preset, _)| *preset)
    }
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
            (r#"["dict", []]"#, None),
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
}
