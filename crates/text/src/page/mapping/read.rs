//! Reads one message into a page, following the pointers of a [`Mapping`].

use serde_json::value::RawValue;

use super::pointer::PointedValues;
use super::{Mapping, NoPage, Skip, Source, WITHDRAWN, value};
use crate::page::body::{BodyForm, GivenBody};
use crate::page::error::PageError;
use crate::page::field::Field;
use crate::page::json::{self, Given, PageRules};
use crate::page::{Body, Hints, InWarc, Page, Repaired, passthrough};
use leitong_base::record::Cause;

/// A message or a line.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The value, decompressed, and without the head of a schema registry's serialiser.
    pub value: &'a [u8],
    /// The key, if the message has one.
    pub key: Option<&'a [u8]>,
    /// True if the key is the url, regardless of the preset.
    pub key_is_url: bool,
    /// The size of the original value, if it exceeded the limit and long strings were cut out of it.
    pub cut_from: Option<u64>,
    /// A generated address, for a document that has a body but no url.
    pub made_up_url: Option<&'a str>,
}

impl<'a> Message<'a> {
    /// Creates a message from a line, or from a message without a key.
    #[must_use]
    pub fn line(value: &'a [u8]) -> Self {
        Self { value, key: None, key_is_url: false, cut_from: None, made_up_url: None }
    }
}

/// The result of reading a message.
#[derive(Debug)]
pub struct Reading {
    /// A page, a reason to skip the message, or an error.
    pub outcome: Result<MessageOutcome, PageError>,
    /// The pointers that found a value, as a set of bits.
    pub hits: u64,
}

/// The outcome for a message that can be read.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageOutcome {
    /// A page.
    Page(Box<Page>),
    /// No page: the message is skipped and counted.
    Skipped(Skip),
}

impl Mapping {
    /// Reads one message.
    #[must_use]
    pub fn read(&self, message: &Message<'_>, rules: PageRules) -> Reading {
        let mut hits = 0;
        let outcome = self.try_read(message, rules, &mut hits);
        Reading { outcome, hits }
    }

    /// Interprets a message without a value. If `withdraws` is true, it withdraws the page whose url is
    /// `key`.
    ///
    /// # Errors
    /// The preset gives such a message no meaning, or the key is not a url.
    pub fn null_value(&self, key: Option<&[u8]>, withdraws: bool) -> Result<MessageOutcome, PageError> {
        if withdraws {
            let url = key.and_then(|key| std::str::from_utf8(key).ok()).filter(|key| key.contains("://"));
            let url = Page::checked_url(Some(url.ok_or(PageError::NullWithoutUrl)?.to_owned()))?;
            return Ok(MessageOutcome::Page(Box::new(Page::new(url, Body::Withdrawn))));
        }
        if self.skips_null {
            return Ok(MessageOutcome::Skipped(Skip::Deletion));
        }
        Err(self.with_preset(PageError::NullValue))
    }

    /// Adds the name of the preset to an error, except for Leitong's own format.
    #[must_use]
    pub fn with_preset(&self, error: PageError) -> PageError {
        match error {
            PageError::Unfit { .. } | PageError::Internal => error,
            PageError::NullValue if self.preset.name != "json" => {
                self.unfit(Cause::NullValue, "the value is null; expected a page".to_owned())
            }
            error if self.preset.name == "json" => error,
            error => self.unfit(error.cause(), error.to_string()),
        }
    }

    /// Applies the filter to a page that was not read by [`Self::read`].
    #[must_use]
    pub fn filtered(&self, page: Page) -> MessageOutcome {
        match self.filter.skip_page(page.status.map(i64::from), page.hints.content_type.as_deref()) {
            Some(skip) => MessageOutcome::Skipped(skip),
            None => MessageOutcome::Page(Box::new(page)),
        }
    }

    fn try_read(
        &self,
        message: &Message<'_>,
        rules: PageRules,
        hits: &mut u64,
    ) -> Result<MessageOutcome, PageError> {
        if let Some(skip) = self.filter.skip_value(message.value) {
            return Ok(MessageOutcome::Skipped(skip));
        }
        if self.is_plain {
            return self.read_plain(message, rules);
        }
        let json = self.utf8(message.value)?;
        if json.trim_ascii() == "null" {
            return self.null_value(None, false);
        }
        let found = self.selector.select(json);
        let found = found.map_err(|error| self.unfit(Cause::BrokenJson, format!("broken JSON: {error}")))?;
        *hits = found.hits();
        if self.no_page.iter().any(|condition| says_no_page(condition, &found, *hits)) {
            return Ok(MessageOutcome::Skipped(Skip::NoPage));
        }
        Picking { mapping: self, message, found, json, rules, lone_surrogates: 0 }.page()
    }

    /// Reads Leitong's own JSON.
    fn read_plain(&self, message: &Message<'_>, rules: PageRules) -> Result<MessageOutcome, PageError> {
        let page = match message.cut_from {
            None => {
                let given = Given { url: key_as_url(message)?, made_up_url: message.made_up_url };
                json::parse_given(message.value, given, rules)?
            }
            Some(bytes) => {
                let page = json::parse_head(message.value, message.made_up_url)?;
                Page { body: Body::TooLarge(bytes), ..page }
            }
        };
        Ok(self.filtered(page))
    }

    fn utf8<'v>(&self, value: &'v [u8]) -> Result<&'v str, PageError> {
        let value = value.strip_prefix(b"\xef\xbb\xbf").unwrap_or(value);
        simdutf8::compat::from_utf8(value).map_err(|error| {
            self.unfit(Cause::BrokenJson, PageError::NotUtf8 { at: error.valid_up_to() }.to_string())
        })
    }

    fn unfit(&self, cause: Cause, problem: String) -> PageError {
        PageError::Unfit { cause, preset: self.preset.name, problem }
    }
}

fn says_no_page(condition: &NoPage, found: &PointedValues<'_>, hits: u64) -> bool {
    match condition {
        NoPage::Says(slot, truth) => {
            found.value(slot.number).is_some_and(|value| value.get() == if *truth { "true" } else { "false" })
        }
        NoPage::NoneOf(slots) => slots & hits == 0,
    }
}

/// Returns the message's key if it must be the url regardless of the preset.
fn key_as_url(message: &Message<'_>) -> Result<Option<String>, PageError> {
    if !message.key_is_url {
        return Ok(None);
    }
    let key = message.key.ok_or(PageError::MissingKey)?;
    std::str::from_utf8(key).map(|key| Some(key.to_owned())).map_err(|_| PageError::KeyNotUtf8)
}

/// The values found in one message, to be combined into a page.
struct Picking<'m, 'de> {
    mapping: &'m Mapping,
    message: &'m Message<'m>,
    found: PointedValues<'de>,
    json: &'de str,
    rules: PageRules,
    lone_surrogates: u32,
}

impl Picking<'_, '_> {
    fn page(mut self) -> Result<MessageOutcome, PageError> {
        let mut surrogates = 0;
        let mut text = |value: &RawValue| value::text(value, &mut surrogates).filter(|text| !text.is_empty());
        let title = self.pick(Field::Title, "a string", &mut text)?;
        let charset = self.pick(Field::Charset, "a string", &mut text)?;
        let given_url = self.pick(Field::Url, "a string", &mut text)?.filter(|url| !url.trim().is_empty());
        let mut typed = |value: &RawValue| value::content_type(value, &mut surrogates);
        let content_type = self.pick(Field::ContentType, "a string", &mut typed)?;
        self.lone_surrogates += surrogates;
        let status = self.pick(Field::Status, "a whole number", &mut |value| value::number(value))?;
        if let Some(skip) = self.mapping.filter.skip_page(status, content_type.as_deref()) {
            return Ok(MessageOutcome::Skipped(skip));
        }
        let Ok(status) = status.map(u32::try_from).transpose() else {
            return Err(self.wrong(Field::Status, "a negative or too large number", "an HTTP status"));
        };
        let (url, without_url) = self.url(given_url)?;
        let id = self.pick(Field::Id, "a string or a number", &mut |value| value::scalar(value))?;
        let id = Page::checked_id(id, &url).map_err(|error| self.about(Field::Id, &error))?;
        let (fetched_at, bad_fetched_at) = self.fetched_at();
        let body = if self.is_withdrawn()? { Body::Withdrawn } else { self.body()? };
        let (passthrough, passthrough_too_large) = self.passthrough();
        let repaired = Repaired {
            lone_surrogates: self.lone_surrogates,
            bad_fetched_at,
            passthrough_too_large,
            without_url,
            ..Repaired::default()
        };
        let hints = Hints { charset, content_type };
        Ok(MessageOutcome::Page(Box::new(Page {
            id,
            url,
            body,
            title,
            hints,
            status,
            fetched_at,
            passthrough,
            repaired,
        })))
    }

    /// Returns true if the message withdraws its page.
    fn is_withdrawn(&self) -> Result<bool, PageError> {
        let slot = self.mapping.withdrawn.as_ref();
        match slot.and_then(|slot| self.found.value(slot.number)).map(RawValue::get) {
            Some("true") => Ok(true),
            None | Some("false" | "null") => Ok(false),
            Some(_) => Err(self.mapping.unfit(
                Cause::WrongType,
                format!(
                    "`{WITHDRAWN}` is neither true nor false; correct it, or give the field another name"
                ),
            )),
        }
    }

    /// Returns the raw values at the pointers of a field, in order of preference.
    fn values(&self, field: Field) -> impl Iterator<Item = (&RawValue, &str)> {
        let slots = self.mapping.field_slots().filter(move |(known, _)| *known == field);
        slots.filter_map(|(_, slot)| Some((self.found.value(slot.number)?, slot.pointer.as_str())))
    }

    /// Returns the first value of a field that `read` accepts. Fails if there are only other values.
    fn pick<T>(
        &self,
        field: Field,
        expected: &str,
        read: &mut impl FnMut(&RawValue) -> Option<T>,
    ) -> Result<Option<T>, PageError> {
        let mut wrong = None;
        for (value, pointer) in self.values(field) {
            match read(value) {
                Some(value) => return Ok(Some(value)),
                None if is_nothing(value) => {}
                None => {
                    let problem = || {
                        format!(
                            "`{pointer}`, the {}, is {}; expected {expected}",
                            field.name(),
                            value::described(value)
                        )
                    };
                    wrong.get_or_insert_with(problem);
                }
            }
        }
        match wrong {
            None => Ok(None),
            Some(problem) => Err(self.mapping.unfit(Cause::WrongType, problem)),
        }
    }

    /// Returns the url, and true if it is generated.
    fn url(&self, given: Option<String>) -> Result<(String, bool), PageError> {
        let of_mapping = self.mapping;
        let by_key = of_mapping
            .sources
            .iter()
            .any(|(field, sources)| *field == Field::Url && sources.first() == Some(&Source::Key));
        let key = if by_key || self.message.key_is_url { self.message.key } else { None };
        let key = match key.map(std::str::from_utf8) {
            Some(Err(_)) if given.is_none() => return Err(self.about(Field::Url, &PageError::KeyNotUtf8)),
            Some(Ok(key)) if !key.trim().is_empty() => Some(key.to_owned()),
            _ => None,
        };
        let url = key.or(given);
        if let (None, Some(made_up)) = (&url, self.message.made_up_url)
            && self.has_body()
        {
            return Ok((made_up.to_owned(), true));
        }
        if url.is_none() && !self.rules.url_required {
            return Ok((String::new(), false));
        }
        if url.is_none() {
            let pointers = self.pointers(Field::Url);
            let found = value::fields_of(self.json);
            let problem = match self.message.made_up_url {
                Some(_) => {
                    let bodies = self.pointers_of(|field| matches!(field, Field::Body(_)));
                    format!("no text at {bodies} and no url at {pointers}; found {found}")
                }
                None => format!("no url at {pointers}; found {found}"),
            };
            return Err(of_mapping.unfit(Cause::MissingUrl, problem));
        }
        let url = Page::checked_url(url).map_err(|error| self.about(Field::Url, &error))?;
        Ok((url, false))
    }

    /// Returns true if a pointer to a body found a value.
    fn has_body(&self) -> bool {
        let mut slots = self.mapping.field_slots().filter(|(field, _)| matches!(field, Field::Body(_)));
        slots.any(|(_, slot)| self.found.hits() & 1 << slot.number != 0)
    }

    /// Returns the time of the fetch, and true if a value is present but is not a date.
    fn fetched_at(&self) -> (Option<leitong_base::record::Timestamp>, bool) {
        let mut values = self.values(Field::FetchedAt).map(|(value, _)| value::timestamp(value)).peekable();
        let given = values.peek().is_some();
        let time = values.flatten().next();
        (time, given && time.is_none())
    }

    fn body(&mut self) -> Result<Body, PageError> {
        if let Some(bytes) = self.message.cut_from {
            return Ok(Body::TooLarge(bytes));
        }
        let page_bytes_max = self.rules.page_bytes_max;
        let (mut surrogates, mut empty) = (0, None);
        let mapping = self.mapping;
        for (field, _) in &mapping.sources {
            let Field::Body(form) = *field else { continue };
            let is_whole = matches!(form, BodyForm::Text | BodyForm::Content);
            let text = match self.read_texts(*field, is_whole) {
                Some(text) => Some(text),
                None => {
                    let mut is_there = false;
                    let mut read = |value: &RawValue| {
                        let text = match is_whole {
                            true => value::joined(value, &mut surrogates),
                            false => value::text(value, &mut surrogates),
                        }?;
                        is_there = true;
                        Some(text).filter(|text| !text.is_empty())
                    };
                    self.pick(*field, "a string", &mut read)?.or_else(|| is_there.then(String::new))
                }
            };
            let Some(text) = text else { continue };
            let given = GivenBody { form, text };
            if given.text.is_empty() {
                empty.get_or_insert(given);
                continue;
            }
            let body = given.into_body(page_bytes_max).map_err(|error| self.about(*field, &error));
            self.lone_surrogates += surrogates;
            return body;
        }
        match empty {
            Some(empty) => empty.into_body(page_bytes_max),
            None => self.warc_body(),
        }
    }

    /// Returns the first text of a field that is not empty; an empty text if all are empty, and `None` if there is
    /// none. If `is_whole` is true, the texts of an array are one text; otherwise the first that is not empty counts.
    fn read_texts(&mut self, field: Field, is_whole: bool) -> Option<String> {
        let mapping = self.mapping;
        let mut empty = None;
        for (_, slot) in mapping.field_slots().filter(|(known, _)| *known == field) {
            let Some(texts) = self.found.take_texts(slot.number).filter(|texts| !texts.is_empty()) else {
                continue;
            };
            self.lone_surrogates += texts.iter().map(|text| text.lone_surrogates).sum::<u32>();
            let mut texts = texts.into_iter().map(|text| text.text);
            let text = match is_whole {
                true => texts.reduce(|joined, text| joined + "\n" + &text),
                false => texts.find(|text| !text.is_empty()),
            };
            match text {
                Some(text) if !text.is_empty() => return Some(text),
                _ => empty = Some(String::new()),
            }
        }
        empty
    }

    fn warc_body(&self) -> Result<Body, PageError> {
        let mut text = |value: &RawValue| value::text(value, &mut 0).filter(|text| !text.is_empty());
        let Some(file) = self.pick(Field::WarcFile, "the name of a WARC file", &mut text)? else {
            return Ok(Body::Missing);
        };
        if file.contains(['/', '\\', '\0']) || file == ".." || file == "." {
            return Err(self.wrong(Field::WarcFile, "not a plain file name", "a name without folders"));
        }
        let mut offset =
            |value: &RawValue| value::number(value).and_then(|offset| u64::try_from(offset).ok());
        match self.pick(Field::WarcOffset, "a whole number from 0 on", &mut offset)? {
            Some(offset) => Ok(Body::InWarc(Box::new(InWarc { file, offset }))),
            None => Err(self.wrong(Field::WarcOffset, "missing", "the offset of the record")),
        }
    }

    /// Returns the passthrough, and true if it exceeded a limit.
    fn passthrough(&mut self) -> (Option<String>, bool) {
        let mapping = self.mapping;
        let value = |slot: &super::Slot| self.found.value(slot.number).map(RawValue::get);
        let json = match &mapping.whole_passthrough {
            Some(slot) => value(slot).map(str::to_owned),
            None => {
                let values = mapping.passthrough.iter();
                let values = values.filter_map(|(name, slot)| Some(format!("{name}:{}", value(slot)?)));
                let values: Vec<_> = values.collect();
                (!values.is_empty()).then(|| format!("{{{}}}", values.join(",")))
            }
        };
        match json.map(|json| passthrough::compact(&json)) {
            None => (None, false),
            Some(Ok(fitting)) => {
                self.lone_surrogates += fitting.lone_surrogates;
                (Some(fitting.json), false)
            }
            Some(Err(_)) => (None, true),
        }
    }

    fn pointers(&self, field: Field) -> String {
        self.pointers_of(|known| known == field)
    }

    fn pointers_of(&self, is_wanted: impl Fn(Field) -> bool) -> String {
        let lists = self.mapping.sources.iter().filter(|(known, _)| is_wanted(*known));
        let pointers = lists.flat_map(|(_, sources)| sources).map(|source| match source {
            Source::Pointer(slot) => format!("`{}`", slot.pointer),
            Source::Key => "the key".to_owned(),
        });
        pointers.collect::<Vec<_>>().join(" or ")
    }

    fn wrong(&self, field: Field, found: &str, expected: &str) -> PageError {
        let problem =
            format!("{}, the {}, is {found}; expected {expected}", self.pointers(field), field.name());
        self.mapping.unfit(Cause::WrongType, problem)
    }

    /// Rewrites an error about one of our fields so that it names the place in the message.
    fn about(&self, field: Field, error: &PageError) -> PageError {
        let problem = match error {
            PageError::BadBase64(problem) => format!("not base64 (standard alphabet): {problem}"),
            error => error.to_string(),
        };
        self.mapping
            .unfit(error.cause(), format!("{}, the {}: {problem}", self.pointers(field), field.name()))
    }
}

/// Returns true for a value that crawlers write instead of a missing one.
fn is_nothing(value: &RawValue) -> bool {
    matches!(value.get(), "\"\"" | "[]" | "{}")
        || value.get().starts_with('[')
            && value::alternatives(value).iter().all(|value| value.get() == "\"\"")
}
