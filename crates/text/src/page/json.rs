//! Parses a [`Page`] from one JSON object.
//!
//! Known fields: `id, url, html | html_b64 | text, title, charset, content_type, status, fetched_at,
//! passthrough, withdrawn`. Other fields are ignored, `null` counts as absent, and the last of a repeated
//! field is used. If several bodies are given, `text` takes precedence over `html`, and `html` over
//! `html_b64`. Common variants are accepted: an `id` may be a number, a `status` a string, and dates may have
//! any format that [`Timestamp::from_text`](leitong_base::record::Timestamp::from_text) reads. If a field is
//! missing, its [alternative names](aliases) are tried.
//!
//! Crawlers write lone surrogates in strings (`"\ud800"`). Each becomes U+FFFD and is counted. This is why
//! strings are read as bytes here. Memory: the page's own text, once.

use std::cell::Cell;
use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::aliases;
use super::body::{BodyForm, GivenBody};
pub(crate) use super::error::PageError;
use super::field::Field;
use super::scalars::{Scalar, Status, Text, timestamp_from_json};
use super::{Body, Hints, Page, Repaired, id, passthrough};
use leitong_base::limits::{PAGE_ID_BYTES_MAX, URL_BYTES_MAX};

/// The requirements for a JSON page.
#[derive(Debug, Clone, Copy)]
pub struct PageRules {
    /// Maximum size of a body. A larger one becomes [`Body::TooLarge`].
    pub page_bytes_max: usize,
    /// True if the page needs a url. Every verdict needs one; inspecting a single page does not.
    pub url_required: bool,
}

/// Reads a page from one JSON object.
///
/// # Errors
/// [`PageError`] if no page can be read.
pub(crate) fn parse(json: &[u8], rules: PageRules) -> Result<Page, PageError> {
    parse_given(json, Given::default(), rules)
}

/// Information about a page from outside of its JSON object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given<'a> {
    /// A url that replaces the url in the object.
    pub url: Option<String>,
    /// A generated address, for a document that has a body but no url.
    pub made_up_url: Option<&'a str>,
}

/// Reads a page from one JSON object, with the information in `given`.
///
/// # Errors
/// [`PageError`] if no page can be read.
pub(crate) fn parse_given(json: &[u8], given: Given<'_>, rules: PageRules) -> Result<Page, PageError> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let json = simdutf8::compat::from_utf8(json).map_err(|e| PageError::NotUtf8 { at: e.valid_up_to() })?;
    let deserializer = serde_json::Deserializer::from_str(json);
    let mut fields = fields(deserializer, json.trim() == "null")?;
    fields.url = given.url.or(fields.url);
    fields.make_up_url(given.made_up_url);
    fields.into_page(rules)
}

/// Reads the small fields of a page whose JSON exceeds the line limit. In `json`, long strings are cut. The
/// body becomes [`Body::Missing`].
///
/// # Errors
/// [`PageError`] if no page can be read.
pub(crate) fn parse_head(json: impl Read, made_up_url: Option<&str>) -> Result<Page, PageError> {
    let mut fields = fields(serde_json::Deserializer::from_reader(json), false)?;
    fields.make_up_url(made_up_url);
    fields.body = None;
    fields.into_page(PageRules { page_bytes_max: usize::MAX, url_required: true })
}

/// Reads the fields of an object; `is_null` is true for `null` instead of one.
fn fields<'de, R: serde_json::de::Read<'de>>(
    mut deserializer: serde_json::Deserializer<R>,
    is_null: bool,
) -> Result<Fields, PageError> {
    let field = Cell::new("");
    let fields = FieldsSeed { field: &field }.deserialize(&mut deserializer);
    let fields = fields.and_then(|fields| deserializer.end().map(|()| fields));
    fields.map_err(|error| explain(&error, is_null, field.get()))
}

/// Converts serde's error. Its wording of type errors is good, but it does not name the field.
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

/// The fields of the object, as parsed.
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
    /// True if an alternative name of `fetched_at` has a value that is not a date.
    has_bad_date: bool,
    passthrough: Option<Box<RawValue>>,
    /// Values under alternative names of the fields, with the rank of the name.
    others: Vec<(Field, usize, Box<RawValue>)>,
    /// True if the url is generated.
    without_url: bool,
    /// True if the document would get a generated url if it had a body.
    needs_body: bool,
    lone_surrogates: u32,
}

impl Fields {
    /// Uses the generated address as the url of a document that has none. An object without a body is not a
    /// document: its other fields may be needed.
    fn make_up_url(&mut self, made_up_url: Option<&str>) {
        if let Some(url) =
            made_up_url.filter(|_| is_blank(&self.url) && self.body.is_some() && !self.withdrawn)
        {
            self.url = Some(url.to_owned());
            self.without_url = true;
        }
        self.needs_body = made_up_url.is_some() && self.body.is_none() && !self.withdrawn;
    }

    fn into_page(self, rules: PageRules) -> Result<Page, PageError> {
        let url = match self.url {
            url if !rules.url_required && is_blank(&url) => String::new(),
            url if self.needs_body && is_blank(&url) => return Err(PageError::NoDocument),
            url => Page::checked_url(url)?,
        };
        let id = Page::checked_id(self.id, &url)?;
        let fetched_at = self.fetched_at.as_deref().and_then(timestamp_from_json);
        // The value was cut out of valid JSON, so only its size can be wrong.
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
                bad_fetched_at: (self.fetched_at.is_some() || self.has_bad_date) && fetched_at.is_none(),
                passthrough_too_large,
                without_url: self.without_url,
                ..Repaired::default()
            },
            fetched_at,
            passthrough: passthrough.map(|fitting| fitting.json),
        })
    }
}

/// Returns true if there is no url, or one that consists of spaces.
fn is_blank(url: &Option<String>) -> bool {
    url.as_ref().is_none_or(|url| url.trim().is_empty())
}

impl Page {
    /// Returns the url if it is present and within the limit. A url of spaces only counts as absent.
    ///
    /// # Errors
    /// The url is missing or too long.
    pub fn checked_url(url: Option<String>) -> Result<String, PageError> {
        let url = url.filter(|url| !url.trim().is_empty()).ok_or(PageError::MissingUrl)?;
        if url.len() > URL_BYTES_MAX { Err(PageError::UrlTooLong { bytes: url.len() }) } else { Ok(url) }
    }

    /// Returns the id if it is within the limit, or derives it from the url if there is none.
    ///
    /// # Errors
    /// The id is too long.
    pub fn checked_id(id: Option<String>, url: &str) -> Result<String, PageError> {
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| id::from_url(url));
        if id.len() > PAGE_ID_BYTES_MAX { Err(PageError::IdTooLong { bytes: id.len() }) } else { Ok(id) }
    }
}

/// A seed that deserializes [`Fields`]. `field` names the current field, for error messages.
struct FieldsSeed<'a> {
    field: &'a Cell<&'static str>,
}

impl<'de> DeserializeSeed<'de> for FieldsSeed<'_> {
    type Value = Fields;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields, D::Error> {
        // `deserialize_map` would report a string at this position by quoting all of it, however long it is.
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
            // Reads an optional string, and counts repaired characters.
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
                "text" => fields.offer(BodyForm::Text, string("text", &mut map)?),
                "html" => fields.offer(BodyForm::Html, string("html", &mut map)?),
                "html_b64" => fields.offer(BodyForm::Base64, string("html_b64", &mut map)?),
                "status" => {
                    self.field.set("status");
                    fields.status = map.next_value::<Option<Status>>()?.map(|Status(status)| status);
                }
                "withdrawn" => {
                    self.field.set("withdrawn");
                    fields.withdrawn = map.next_value::<Option<bool>>()?.unwrap_or_default();
                }
                // Any JSON is accepted here. A value that is not a date is counted, not refused.
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
    /// Uses `text` as the body unless a body with higher precedence is present.
    fn offer(&mut self, form: BodyForm, text: Option<String>) {
        if let Some(text) = text
            && self.body.as_ref().is_none_or(|present| present.form <= form)
        {
            self.body = Some(GivenBody { form, text });
        }
    }

    /// Returns true if a value under an alternative name of `field` may be needed. A body that is not needed
    /// is not copied.
    fn wants(&self, field: Field) -> bool {
        !matches!(field, Field::Body(_)) || self.body.is_none()
    }

    /// Fills missing fields with values under alternative names. Values of the wrong type are ignored.
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
                Field::Url if is_blank(&self.url) => self.url = text(),
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
                    // `timestamp` and similar names may mean something else, so another name may have the date.
                    match timestamp_from_json(&value) {
                        Some(_) => self.fetched_at = Some(value),
                        None => self.has_bad_date = true,
                    }
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
    use leitong_base::record::Timestamp;

    fn page(json: &str) -> Page {
        parse(json.as_bytes(), PageRules { page_bytes_max: 1000, url_required: true }).expect("a page")
    }

    #[test]
    fn alternative_names_fill_missing_fields() {
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
    fn the_main_name_of_a_field_takes_precedence() {
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
    fn an_alternative_name_with_a_value_of_the_wrong_type_is_ignored_but_a_date_is_counted() {
        let found = page(
            r#"{"url":"http://a/","_id":[1],"body":{"a":1},"content":["x"],"encoding":5,"status_code":"ok",
                "timestamp":"noon","link":{}}"#,
        );
        assert_eq!((found.body, found.status, found.hints), (Body::Missing, None, Hints::default()));
        assert!(found.fetched_at.is_none() && found.repaired.bad_fetched_at);
        assert_eq!(found.id, id::from_url("http://a/"));
        let found = page(r#"{"url":"http://a/","timestamp":"noon","crawled_at":20261121080000}"#);
        let at = found.fetched_at.map(|time| time.to_string());
        assert_eq!((at.as_deref(), found.repaired.bad_fetched_at), (Some("2026-11-21T08:00:00.000Z"), false));
    }
}
