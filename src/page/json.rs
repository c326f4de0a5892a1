//! One JSON object → [`Page`].
//!
//! Known fields:
//! `id, url, html | html_b64 | text, title, charset, content_type, status, fetched_at, passthrough`;
//! others are ignored, `null` counts as absent, the last of a repeated field wins. Where several
//! bodies are given, `text` wins over `html`, and `html` over `html_b64`. What crawlers write in
//! several ways is read in all of them: an `id` may be a number, a `status` a string, and dates see
//! [`Timestamp::from_text`](crate::record::timestamp::Timestamp::from_text); a field that is
//! missing may stand under one of its [other names](aliases).
//!
//! Strings may hold lone surrogates (`"\ud800"`), which crawlers do write: each becomes U+FFFD
//! and is counted. That is why strings are read as bytes here. Memory: the page's own text, once.

use std::cell::Cell;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

use super::aliases;
use super::body::{Form, GivenBody};
use super::field::Field;
use super::scalars::{Scalar, Status, Text, timestamp_from_json};
use super::{Body, Hints, Page, Repaired, id, passthrough};
use crate::limits::{PAGE_ID_BYTES_MAX, URL_BYTES_MAX};
use crate::record::Cause;

/// Why a record is no page; each goes to the dead letters.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum PageError {
    /// The bytes are not UTF-8, so they are not JSON.
    #[error("byte {at} is not UTF-8; write JSON in UTF-8, and pages in other encodings as `html_b64`")]
    NotUtf8 {
        /// Offset of the first wrong byte.
        at: usize,
    },
    /// Not JSON.
    #[error("broken JSON: {0}")]
    BrokenJson(String),
    /// The whole value is `null`.
    #[error("the value is null; write one JSON object a page")]
    NullValue,
    /// The message has no value, and its key is no url.
    #[error(
        "no value, which withdraws the page whose url is the key, and the key is no url; write the url as key"
    )]
    NullWithoutUrl,
    /// A value has another type than the contract says.
    #[error("{field}: {problem}")]
    WrongType {
        /// The field's name, in back-quotes, or `the value` for the whole record.
        field: String,
        /// What was found and what was expected.
        problem: String,
    },
    /// No url, or an empty one.
    #[error("no `url`; every page needs one")]
    MissingUrl,
    /// The message's key is to be the url, and there is none, or an empty one.
    #[error("no key, which is to be the url; write the url as key, or set kafka.pages.url_from")]
    MissingKey,
    /// The url is above the limit.
    #[error("`url` has {bytes} bytes, more than the {URL_BYTES_MAX} that are allowed")]
    UrlTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The id is above the limit.
    #[error("`id` has {bytes} bytes, more than the {PAGE_ID_BYTES_MAX} that are allowed")]
    IdTooLong {
        /// Its length.
        bytes: usize,
    },
    /// Not a `Page` of `proto/leitong/v1/page.proto`.
    #[error("broken protobuf: {0}; write leitong.v1.Page, or say with `content-type` what the value is")]
    BrokenProtobuf(String),
    /// The key is to be the url, and is no text.
    #[error("the key is not UTF-8 and so is no url; write the url as key, or set kafka.pages.url_from")]
    KeyNotUtf8,
    /// A message's value cannot be unpacked within its limits.
    #[error("the value is packed, and stays so: {0}")]
    StillPacked(String),
    /// A message does not fit what writes it, as the configuration says.
    #[error("preset {preset}: {problem}")]
    Unfit {
        /// As for messages of Leitong's own format.
        cause: Cause,
        /// The preset.
        preset: &'static str,
        /// Where in the message, what was found and what was expected.
        problem: String,
    },
    /// The body is to stand in a WARC file, and does not.
    #[error("no body: {0}")]
    BodyNotFound(String),
    /// Another preset would read it.
    #[error(
        "{error}; this looks like a message of {preset}: to read it so, set preset = {preset:?} under [input]"
    )]
    LooksLike {
        /// Why it is no page as things are.
        error: Box<PageError>,
        /// The preset.
        preset: &'static str,
    },
    /// The page is to be withdrawn, and pages cannot be.
    #[error(
        "`withdrawn` is true, but no page can be withdrawn while recrawls.enabled is false; set enabled = true under [recrawls]"
    )]
    RecrawlsOff,
    /// A fault of the program.
    #[error("a fault in Leitong while reading this record: please report it with the record")]
    Internal,
    /// `html_b64` is not base64.
    #[error("`html_b64` is not base64 (standard alphabet): {0}")]
    BadBase64(String),
}

impl PageError {
    /// The kind of fault: metric label and field of the dead letter.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self {
            Self::NotUtf8 { .. } | Self::BrokenJson(_) => Cause::BrokenJson,
            Self::NullValue | Self::NullWithoutUrl => Cause::NullValue,
            Self::WrongType { .. } => Cause::WrongType,
            Self::MissingUrl | Self::MissingKey => Cause::MissingUrl,
            Self::UrlTooLong { .. } => Cause::UrlTooLong,
            Self::IdTooLong { .. } => Cause::IdTooLong,
            Self::BadBase64(_) => Cause::BadBase64,
            Self::BrokenProtobuf(_) => Cause::BrokenProtobuf,
            Self::KeyNotUtf8 => Cause::BadKey,
            Self::StillPacked(_) => Cause::StillPacked,
            Self::BodyNotFound(_) => Cause::BodyNotFound,
            Self::Unfit { cause, .. } => cause.clone(),
            Self::LooksLike { error, .. } => error.cause(),
            Self::RecrawlsOff => Cause::RecrawlsOff,
            Self::Internal => Cause::Internal,
        }
    }
}

/// What a JSON page must keep.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Bytes of a body; a larger one becomes [`Body::TooLarge`].
    pub page_bytes_max: usize,
    /// Whether a page needs a url. Every verdict does; a look at one page does not.
    pub url_required: bool,
}

/// Reads a page from one JSON object.
///
/// # Errors
/// [`PageError`], where no page can be read.
pub fn parse(json: &[u8], rules: Rules) -> Result<Page, PageError> {
    parse_given(json, Given::default(), rules)
}

/// What is known of a page besides its object.
#[derive(Debug, Clone, Default)]
pub struct Given<'a> {
    /// A url that replaces the one in the object.
    pub url: Option<String>,
    /// The address of a document that has a body and no url.
    pub made_up_url: Option<&'a str>,
}

/// Reads a page from one JSON object, of which something is known already.
///
/// # Errors
/// [`PageError`], where no page can be read.
pub fn parse_given(json: &[u8], given: Given<'_>, rules: Rules) -> Result<Page, PageError> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let json = simdutf8::compat::from_utf8(json).map_err(|e| PageError::NotUtf8 { at: e.valid_up_to() })?;
    let field = Cell::new("");
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let fields = FieldsSeed { field: &field }.deserialize(&mut deserializer);
    let fields = fields.and_then(|fields| deserializer.end().map(|()| fields));
    let mut fields = fields.map_err(|error| explain(&error, json.trim() == "null", field.get()))?;
    fields.url = given.url.or(fields.url);
    fields.make_up_url(given.made_up_url);
    fields.into_page(rules)
}

/// Reads what can be kept of a page whose JSON is above the limit for a line:
/// `json` gives it with long strings cut. The body is left [`Body::Missing`].
///
/// # Errors
/// [`PageError`], where no page can be read.
pub fn parse_head(json: impl Read, made_up_url: Option<&str>) -> Result<Page, PageError> {
    let field = Cell::new("");
    let mut deserializer = serde_json::Deserializer::from_reader(json);
    let fields = FieldsSeed { field: &field }.deserialize(&mut deserializer);
    let fields = fields.and_then(|fields| deserializer.end().map(|()| fields));
    let mut fields = fields.map_err(|error| explain(&error, false, field.get()))?;
    fields.make_up_url(made_up_url);
    fields.body = None;
    fields.into_page(Rules { page_bytes_max: usize::MAX, url_required: true })
}

/// Turns serde's error into ours; serde words type errors well, but does not name the field.
fn explain(error: &serde_json::Error, is_null: bool, field: &'static str) -> PageError {
    match error.classify() {
        serde_json::error::Category::Data if is_null => PageError::NullValue,
        serde_json::error::Category::Data => PageError::WrongType {
            field: if field.is_empty() { "the value".to_owned() } else { format!("`{field}`") },
            problem: error.to_string(),
        },
        _ => PageError::BrokenJson(error.to_string()),
    }
}

/// The object's fields as they came.
#[derive(Default)]
struct Fields {
    id: Option<String>,
    url: Option<String>,
    body: Option<GivenBody>,
    withdrawn: bool,
    title: Option<String>,
    charset: Option<String>,
    content_type: Option<String>,
    status: Option<u32>,
    fetched_at: Option<Box<RawValue>>,
    passthrough: Option<Box<RawValue>>,
    /// Values under other names of the fields, with the rank of the name.
    others: Vec<(Field, usize, Box<RawValue>)>,
    /// The url is not the object's.
    without_url: bool,
    lone_surrogates: u32,
}

impl Fields {
    /// Gives a document its place as address. Without a body it is no document, but perhaps a message
    /// of which other fields should be read.
    fn make_up_url(&mut self, made_up_url: Option<&str>) {
        if let Some(url) =
            made_up_url.filter(|_| is_empty(&self.url) && self.body.is_some() && !self.withdrawn)
        {
            self.url = Some(url.to_owned());
            self.without_url = true;
        }
    }

    fn into_page(self, rules: Rules) -> Result<Page, PageError> {
        let url = match self.url {
            url if !rules.url_required && url.as_ref().is_none_or(String::is_empty) => String::new(),
            url => checked_url(url)?,
        };
        let id = checked_id(self.id, &url)?;
        let fetched_at = self.fetched_at.as_deref().and_then(timestamp_from_json);
        // It was cut out of a JSON text as it stands, so all that can be wrong with it is its size.
        let passthrough = self.passthrough.map(|value| passthrough::compact(value.get()).ok());
        let passthrough_too_large = matches!(passthrough, Some(None));
        let passthrough = passthrough.flatten();
        Ok(Page {
            id,
            url,
            body: match self.body {
                _ if self.withdrawn => Body::Withdrawn,
                None => Body::Missing,
                Some(body) => body.into_body(rules.page_bytes_max)?,
            },
            title: self.title,
            hints: Hints { charset: self.charset, content_type: self.content_type },
            status: self.status,
            repaired: Repaired {
                lone_surrogates: self.lone_surrogates
                    + passthrough.as_ref().map_or(0, |fitting| fitting.lone_surrogates),
                bad_fetched_at: self.fetched_at.is_some() && fetched_at.is_none(),
                passthrough_too_large,
                without_url: self.without_url,
                ..Repaired::default()
            },
            fetched_at,
            passthrough: passthrough.map(|fitting| fitting.json),
        })
    }
}

/// The url within its limit.
pub(crate) fn checked_url(url: Option<String>) -> Result<String, PageError> {
    let url = url.filter(|url| !url.is_empty()).ok_or(PageError::MissingUrl)?;
    if url.len() > URL_BYTES_MAX { Err(PageError::UrlTooLong { bytes: url.len() }) } else { Ok(url) }
}

/// The id within its limit, or the one that the url gives.
pub(crate) fn checked_id(id: Option<String>, url: &str) -> Result<String, PageError> {
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| id::from_url(url));
    if id.len() > PAGE_ID_BYTES_MAX { Err(PageError::IdTooLong { bytes: id.len() }) } else { Ok(id) }
}

/// Deserializes [`Fields`]; `field` names the field at hand, for error messages.
struct FieldsSeed<'a> {
    field: &'a Cell<&'static str>,
}

impl<'de> DeserializeSeed<'de> for FieldsSeed<'_> {
    type Value = Fields;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields, D::Error> {
        // Not as a map: serde_json quotes a string that stands
        // in its place in full, escaped, whatever its length.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FieldsSeed<'_> {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON object")
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Fields, E> {
        Err(E::custom("invalid type: string, expected one JSON object"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        let mut surrogates = 0;
        while let Some(Text { text: key, .. }) = map.next_key()? {
            // Reads one optional string, and counts what had to be repaired in it.
            let mut string = |name: &'static str, map: &mut A| -> Result<Option<String>, A::Error> {
                self.field.set(name);
                let text: Option<Text> = map.next_value()?;
                Ok(text.map(|text| {
                    surrogates += text.lone_surrogates;
                    text.text
                }))
            };
            match key.as_str() {
                "id" => {
                    self.field.set("id");
                    let id: Option<Scalar> = map.next_value()?;
                    fields.id = id.map(|Scalar(id)| {
                        surrogates += id.lone_surrogates;
                        id.text
                    });
                }
                "url" => fields.url = string("url", &mut map)?,
                "title" => fields.title = string("title", &mut map)?,
                "charset" => fields.charset = string("charset", &mut map)?,
                "content_type" => fields.content_type = string("content_type", &mut map)?,
                "text" => {
                    fields.offer(string("text", &mut map)?.map(|text| GivenBody { form: Form::Text, text }));
                }
                "html" => {
                    fields.offer(string("html", &mut map)?.map(|text| GivenBody { form: Form::Html, text }));
                }
                "html_b64" => fields
                    .offer(string("html_b64", &mut map)?.map(|text| GivenBody { form: Form::Base64, text })),
                "status" => {
                    self.field.set("status");
                    fields.status = map.next_value::<Option<Status>>()?.map(|Status(status)| status);
                }
                "withdrawn" => {
                    self.field.set("withdrawn");
                    fields.withdrawn = map.next_value::<Option<bool>>()?.unwrap_or_default();
                }
                // Any JSON may stand here: what is no date is counted, not refused.
                "fetched_at" => fields.fetched_at = not_null(map.next_value()?),
                "passthrough" => fields.passthrough = not_null(map.next_value()?),
                other => match aliases::field_of(other).filter(|(field, _)| fields.wants(*field)) {
                    Some((field, rank)) => fields.others.push((field, rank, map.next_value()?)),
                    None => _ = map.next_value::<IgnoredAny>()?,
                },
            }
            self.field.set("");
        }
        fields.lone_surrogates = surrogates;
        fields.fill();
        Ok(fields)
    }
}

impl Fields {
    /// Takes `body` unless one of higher precedence is there.
    fn offer(&mut self, body: Option<GivenBody>) {
        let Some(body) = body else { return };
        if self.body.as_ref().is_none_or(|present| present.form <= body.form) {
            self.body = Some(body);
        }
    }

    /// Whether a value under another name of `field` may be
    /// of use; a body that is not is not even copied.
    fn wants(&self, field: Field) -> bool {
        !matches!(field, Field::Body(_)) || self.body.is_none()
    }

    /// Fills what is missing with values under other names. One of a wrong type says nothing.
    fn fill(&mut self) {
        let mut others = std::mem::take(&mut self.others);
        others.sort_by_key(|(_, rank, _)| *rank);
        for (field, _, value) in others.into_iter().filter(|(_, _, value)| value.get() != "null") {
            let mut text = || {
                let text: Text = serde_json::from_str(value.get()).ok()?;
                self.lone_surrogates += text.lone_surrogates;
                Some(text.text)
            };
            match field {
                Field::Url if is_empty(&self.url) => self.url = text(),
                Field::Charset if is_empty(&self.charset) => self.charset = text(),
                Field::ContentType if is_empty(&self.content_type) => self.content_type = text(),
                Field::Body(form) if self.body.is_none() => {
                    self.body = text().map(|text| GivenBody { form, text });
                }
                Field::Id if is_empty(&self.id) => {
                    self.id = serde_json::from_str(value.get()).ok().map(|Scalar(id)| id.text);
                }
                Field::Status if self.status.is_none() => {
                    self.status = serde_json::from_str(value.get()).ok().map(|Status(status)| status);
                }
                Field::FetchedAt if self.fetched_at.is_none() => {
                    // `timestamp` and the like may mean something else: no fault if it is no date.
                    self.fetched_at = timestamp_from_json(&value).map(|_| value);
                }
                _ => {}
            }
        }
    }
}

fn is_empty(field: &Option<String>) -> bool {
    field.as_ref().is_none_or(String::is_empty)
}

fn not_null(value: Box<RawValue>) -> Option<Box<RawValue>> {
    (value.get() != "null").then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::timestamp::Timestamp;

    fn page(json: &str) -> Page {
        parse(json.as_bytes(), Rules { page_bytes_max: 1000, url_required: true }).expect("a page")
    }

    #[test]
    fn other_names_stand_in_for_missing_fields() {
        let found = page(
            r#"{"_id":7,"uri":"http://a/","body":"<p>x","encoding":"gbk","mime_type":"text/html",
                "statusCode":"404","timestamp":1795248000,"content":"not this"}"#,
        );
        assert_eq!((&*found.id, &*found.url, found.status), ("7", "http://a/", Some(404)));
        assert_eq!(found.body, Body::Html("<p>x".to_owned()));
        assert_eq!(found.hints.charset.as_deref(), Some("gbk"));
        assert_eq!(found.hints.content_type.as_deref(), Some("text/html"));
        assert_eq!(found.fetched_at, Timestamp::from_ms(1_795_248_000_000));
        let raw = page(r#"{"url":"http://a/","raw_content":"PHA+xOM8L3A+"}"#);
        assert_eq!(raw.body, Body::HtmlBytes(b"<p>\xc4\xe3</p>".to_vec()));
        assert_eq!(page(r#"{"url":"http://a/","content":"words"}"#).body, Body::Text("words".to_owned()));
    }

    #[test]
    fn a_fields_own_name_wins_over_others() {
        for json in [
            r#"{"url":"http://a/","text":"t","content":"<p>c","response_url":"http://b/","status":200}"#,
            r#"{"content":"<p>c","response_url":"http://b/","status":200,"text":"t","url":"http://a/"}"#,
        ] {
            let found = page(json);
            assert_eq!((&*found.url, found.body), ("http://a/", Body::Text("t".to_owned())));
        }
        assert_eq!(page(r#"{"url":"","uri":"http://b/","text":"t"}"#).url, "http://b/");
    }

    #[test]
    fn an_other_name_with_a_wrong_type_says_nothing() {
        let found = page(
            r#"{"url":"http://a/","_id":[1],"body":{"a":1},"content":["x"],"encoding":5,"status_code":"ok",
                "timestamp":"noon","link":{}}"#,
        );
        assert_eq!((found.body, found.status, found.hints), (Body::Missing, None, Hints::default()));
        assert!(found.fetched_at.is_none() && !found.repaired.bad_fetched_at);
        assert_eq!(found.id, id::from_url("http://a/"));
    }
}
