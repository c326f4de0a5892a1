//! Parses a message of the page topic into a [`Page`].
//!
//! The preset determines the format of the value. With the preset `json`, it is determined by the message's
//! `content-type` header, or else by the configuration: JSON as in files, protobuf (`leitong.v1.Page`), or
//! the page's body itself, in any charset, with the url as the key. Outer layers (`content-encoding`, gzip,
//! the head of a schema registry) are removed first.

use std::io::BufReader;

use crate::config::kafka::{PageFormat, PagesConfig, UrlFrom};
use leitong_base::record::{Cause, Received};
use leitong_formats::source::{Payload, Source, WarcReader};
use leitong_text::page::mapping::{self, Framing, Mapping, MessageOutcome, Reading, Skip};
use leitong_text::page::{
    Body, DecompressError, Hints, Page, PageConfig, PageError, PageRules, decompressed, without_schema_head,
};

/// A message as received.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<'a> {
    /// The value; `None` for a null value.
    pub value: Option<&'a [u8]>,
    /// Key, headers and time.
    pub received: Box<Received>,
}

impl Message<'_> {
    /// Parses the message. With `withdraws`, a message without a value withdraws a page.
    #[must_use]
    pub fn read(
        &self,
        config: &PagesConfig,
        mapping: &Mapping,
        limits: &PageConfig,
        withdraws: bool,
    ) -> Reading {
        let mut hits = 0;
        let outcome = match self.value {
            None => mapping.null_value(self.received.key.as_deref(), withdraws),
            Some(value) => self.try_read(value, config, mapping, limits, &mut hits),
        };
        Reading { outcome: outcome.map_err(|error| mapping.with_preset(error)), hits }
    }

    fn try_read(
        &self,
        value: &[u8],
        config: &PagesConfig,
        mapping: &Mapping,
        limits: &PageConfig,
        hits: &mut u64,
    ) -> Result<MessageOutcome, PageError> {
        let codings = self.received.header("content-encoding");
        let decompressed = || decompressed(value, codings, limits.line_bytes_max);
        let json = |hits: &mut u64| {
            let decompressed = decompressed()?;
            let message = mapping::Message {
                value: without_schema_head(&decompressed),
                key: self.received.key.as_deref(),
                key_is_url: config.url_from == UrlFrom::Key,
                cut_from: None,
                made_up_url: None,
            };
            let rules = PageRules { page_bytes_max: limits.bytes_max, url_required: true };
            let reading = mapping.read(&message, rules);
            *hits = reading.hits;
            reading.outcome
        };
        // For the preset `json`, a header may name another format; messages of crawlers have the format of
        // their preset.
        let format = match (mapping.framing(), mapping.preset().name) {
            (Framing::Json, "json") => self.content_type().and_then(format_of).unwrap_or(config.format),
            (Framing::Json, _) => PageFormat::Json,
            (Framing::RawBody, _) => PageFormat::Html,
            (Framing::WarcRecord, _) => return warc_page(&decompressed()?, mapping, limits),
        };
        match format {
            PageFormat::Json => json(hits),
            PageFormat::Protobuf => {
                let url = if config.url_from == UrlFrom::Key { Some(self.url()?) } else { None };
                Ok(mapping.filtered(Page::from_protobuf(&decompressed()?, url, limits.bytes_max)?))
            }
            PageFormat::Html => Ok(mapping.filtered(self.body(value, codings, limits)?)),
        }
    }

    /// Returns the page whose body is the value.
    fn body(&self, value: &[u8], codings: Option<&[u8]>, limits: &PageConfig) -> Result<Page, PageError> {
        let url = Page::checked_url(Some(self.url()?)).map_err(|error| match error {
            PageError::MissingUrl => PageError::MissingKey,
            error => error,
        })?;
        let body = match decompressed(value, codings, limits.bytes_max) {
            Ok(body) if body.len() > limits.bytes_max => Body::TooLarge(body.len() as u64),
            Ok(body) => Body::HtmlBytes(body.into_owned()),
            Err(DecompressError::TooLarge) => Body::TooLarge(value.len() as u64),
            Err(DecompressError::TooManyCodings(codings)) => Body::TooManyCodings(codings),
            Err(damaged @ DecompressError::Damaged) => return Err(damaged.into()),
        };
        let hints = Hints { charset: None, content_type: self.content_type().map(str::to_owned) };
        Ok(Page { hints, ..Page::new(url, body) })
    }

    fn content_type(&self) -> Option<&str> {
        self.received.header("content-type").and_then(|value| std::str::from_utf8(value).ok())
    }

    fn url(&self) -> Result<String, PageError> {
        let key = self.received.key.clone().ok_or(PageError::MissingKey)?;
        String::from_utf8(key).map_err(|_| PageError::KeyNotUtf8)
    }
}

/// Parses a message that contains one WARC record.
fn warc_page(record: &[u8], mapping: &Mapping, limits: &PageConfig) -> Result<MessageOutcome, PageError> {
    let mut source = WarcReader::new(BufReader::new(record), "-".into(), limits);
    let mut batch = Vec::new();
    let unfit = |cause, problem: String| PageError::Unfit { cause, preset: mapping.preset().name, problem };
    while source
        .read_batch(&mut batch, usize::MAX)
        .map_err(|error| unfit(Cause::BrokenWarc, error.to_string()))?
    {}
    let pages = batch.len();
    match batch.into_iter().next().map(|record| record.payload) {
        None if source.skipped().warc_records.total() > 0 => Ok(MessageOutcome::Skipped(Skip::OtherKind)),
        None => Err(unfit(Cause::BrokenWarc, "an empty value; expected a WARC record".to_owned())),
        Some(Payload::Broken(error)) => Err(unfit(error.cause(), error.to_string())),
        Some(_) if pages > 1 => Err(unfit(
            Cause::BrokenWarc,
            format!("the value has {pages} WARC records with pages; write one per message"),
        )),
        Some(Payload::Warc(record)) => Ok(mapping.filtered(record.into_page(limits.bytes_max)?)),
        Some(Payload::Json(_) | Payload::Head { .. } | Payload::NoPage) => Err(PageError::Internal),
    }
}

/// Returns the format that a content type stands for, or `None` if it is unknown.
fn format_of(content_type: &str) -> Option<PageFormat> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media.as_str() {
        "application/json" | "text/json" => Some(PageFormat::Json),
        "application/protobuf" | "application/x-protobuf" | "application/vnd.google.protobuf" => {
            Some(PageFormat::Protobuf)
        }
        "text/html" | "application/xhtml+xml" | "text/plain" => Some(PageFormat::Html),
        _ if media.ends_with("+json") => Some(PageFormat::Json),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use leitong_base::proto;

    const LIMITS: PageConfig =
        PageConfig { bytes_max: 100, line_bytes_max: 200, work_max: 1_000_000, text_chars_min: 1 };

    fn message<'a>(content_type: Option<&str>, key: Option<&[u8]>, value: Option<&'a [u8]>) -> Message<'a> {
        let headers = content_type.map(|value| ("Content-Type".to_owned(), Some(value.as_bytes().to_vec())));
        let received =
            Received { key: key.map(<[u8]>::to_vec), headers: headers.into_iter().collect(), log_time: None };
        Message { value, received: Box::new(received) }
    }

    fn page(message: &Message<'_>, config: &PagesConfig) -> Result<Page, PageError> {
        match message.read(config, &Mapping::default(), &LIMITS, false).outcome? {
            MessageOutcome::Page(page) => Ok(*page),
            MessageOutcome::Skipped(why) => panic!("{why:?}"),
        }
    }

    fn read(message: &Message<'_>, url_from: UrlFrom) -> Result<(String, Body), PageError> {
        let config = PagesConfig { url_from, ..PagesConfig::default() };
        page(message, &config).map(|page| (page.url, page.body))
    }

    #[test]
    fn the_content_type_header_decides_the_format() {
        let json = br#"{"url": "http://field/", "text": "t"}"#;
        let protobuf = proto::Page {
            url: "http://field/".into(),
            body: Some(proto::page::Body::Text("t".into())),
            ..proto::Page::default()
        }
        .encode_to_vec();
        let text = || Ok(("http://field/".to_owned(), Body::Text("t".to_owned())));
        for (content_type, value) in [
            (None, &json[..]),
            (Some("application/json; charset=utf-8"), json),
            (Some("application/cloudevents+json"), json),
            (Some("application/octet-stream"), json),
            (Some("application/x-protobuf"), &protobuf),
        ] {
            assert_eq!(
                read(&message(content_type, None, Some(value)), UrlFrom::Field),
                text(),
                "{content_type:?}"
            );
        }
        let keyed = message(Some("text/html; charset=gbk"), Some(b"http://key/"), Some(b"\xc4\xe3"));
        let found = page(&keyed, &PagesConfig::default()).expect("a page");
        assert_eq!((found.url.as_str(), found.body), ("http://key/", Body::HtmlBytes(vec![0xc4, 0xe3])));
        assert_eq!(found.hints.content_type.as_deref(), Some("text/html; charset=gbk"));
    }

    #[test]
    fn the_key_may_be_the_url() {
        let json = br#"{"url": "http://field/", "text": "t"}"#;
        let url = |key: Option<&[u8]>| read(&message(None, key, Some(json)), UrlFrom::Key).map(|page| page.0);
        assert_eq!(url(Some(b"http://key/")), Ok("http://key/".to_owned()));
        assert_eq!(url(None), Err(PageError::MissingKey));
        assert_eq!(url(Some(b"\xff")), Err(PageError::KeyNotUtf8));
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    /// Compressed and framed values must not become `BROKEN_JSON` or `NOT_HTML`.
    #[test]
    fn compressed_and_framed_values_are_read() {
        let json = br#"{"url": "http://field/", "text": "t"}"#;
        let compressed = gzip(json);
        let framed = [b"\0\0\0\0\x09", &json[..]].concat();
        let mut with_header = message(None, None, Some(&compressed));
        with_header.received.headers.push(("Content-Encoding".into(), Some(b"gzip".to_vec())));
        for read_as in
            [with_header, message(None, None, Some(&compressed)), message(None, None, Some(&framed))]
        {
            let expected = ("http://field/".to_owned(), Body::Text("t".to_owned()));
            assert_eq!(read(&read_as, UrlFrom::Field), Ok(expected));
        }
        let body = gzip(b"<p>hello");
        let mut page = message(Some("text/html"), Some(b"http://key/"), Some(&body));
        let expected = |body: &[u8]| Ok(("http://key/".to_owned(), Body::HtmlBytes(body.to_vec())));
        assert_eq!(read(&page, UrlFrom::Field), expected(b"<p>hello"));
        page.received.headers.push(("content-encoding".into(), Some(b"br".to_vec())));
        assert_eq!(read(&page, UrlFrom::Field), expected(b"<p>hello"), "the header names another coding");
        let bomb = gzip(&[b' '; 201]);
        let error = read(&message(None, None, Some(&bomb)), UrlFrom::Field).expect_err("too large");
        assert_eq!(error.cause(), Cause::StillPacked);
        let bomb = message(Some("text/html"), Some(b"http://key/"), Some(&bomb));
        assert!(matches!(read(&bomb, UrlFrom::Field), Ok((_, Body::TooLarge(_)))));
    }

    #[test]
    fn messages_that_are_not_pages_are_errors() {
        let error = |content_type, value| {
            read(&message(content_type, Some(b"http://key/"), value), UrlFrom::Field)
                .expect_err("no page")
                .cause()
        };
        assert_eq!(error(None, None), Cause::NullValue);
        assert_eq!(error(None, Some(b"\xff\xfe")), Cause::BrokenJson);
        assert_eq!(error(None, Some(b"{}")), Cause::MissingUrl);
        assert_eq!(error(Some("application/protobuf"), Some(b"\xff\xfe")), Cause::BrokenProtobuf);
        assert_eq!(error(Some("application/protobuf"), Some(b"")), Cause::MissingUrl);
        let large = message(Some("text/html"), Some(b"http://key/"), Some(&[b'x'; 101]));
        assert_eq!(read(&large, UrlFrom::Field), Ok(("http://key/".to_owned(), Body::TooLarge(101))));
    }
}
