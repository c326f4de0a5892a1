//! Turns a record of a file or a message of a topic into a page, by the settings in `[input]`. Fetches bodies
//! that are stored elsewhere. If the settings do not fit the input, names a preset that fits better, and
//! pointers that never match.
//!
//! Invariants: the result for each record is a page, a reason to skip it, or an error; nothing panics; the
//! counters do not affect the pages.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use metrics::gauge;
use serde::de::IgnoredAny;

use crate::config::Config;
use crate::config::kafka::PagesConfig;
use crate::config::load::ConfigError;
use crate::page_message::Message;
use leitong_base::record::{Cause, Place, Unreadable};
use leitong_base::terminal::escape;
use leitong_formats::source::{Input, Payload, WarcFolder};
use leitong_text::page::mapping::{self, Mapping, MessageOutcome, Preset, Reading, Recognizer, Skip};
use leitong_text::page::{Body, Page, PageConfig, PageError, PageRules};

/// Number of messages after which pointers that never matched are reported.
const TELL_AFTER_MESSAGES: u64 = 1_000;
/// Number of messages whose fields are known by name, for an error about a field that no message has.
const NAMES_OF_MESSAGES: u64 = 20;

/// Reader of pages, shared by all threads.
#[derive(Debug)]
pub struct PageReader {
    mapping: Mapping,
    rules: PageRules,
    limits: PageConfig,
    pages: PagesConfig,
    /// True if a message without a value withdraws a page.
    withdraws: bool,
    /// True if a document of a file needs no url.
    may_make_up: bool,
    warcs: Option<WarcFolder>,
    recognizer: Recognizer,
    messages: AtomicU64,
    /// The names of the fields of the first messages, if the configuration names fields.
    names: Mutex<Names>,
    /// The pointers that have matched so far, one bit each.
    hits: AtomicU64,
    /// Numbers of unreadable messages that look like those of a preset, by index in [`Preset::all`].
    look_like: Vec<AtomicU64>,
}

/// The names of fields in messages.
#[derive(Debug, Default)]
struct Names {
    /// Number of messages that were looked at.
    messages: u64,
    names: BTreeSet<String>,
}

/// The reason why a record is not a page.
#[derive(Debug)]
pub struct NoPage {
    /// The kind of error.
    pub cause: Cause,
    /// The error, and what to do about it.
    pub message: String,
    /// The beginning of the record.
    pub raw: Vec<u8>,
    /// Number of bytes in the whole record.
    pub raw_bytes: u64,
}

impl PageReader {
    /// Creates a reader as configured. A page without a url is an error, because verdicts name it.
    ///
    /// # Errors
    /// The error in `[input]`.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let mapping = Mapping::new(&config.input).map_err(|faults| ConfigError::Faults { faults })?;
        Ok(Self {
            mapping,
            rules: PageRules { page_bytes_max: config.page.bytes_max, url_required: true },
            limits: config.page.clone(),
            pages: config.kafka.pages.clone(),
            withdraws: config.recrawls.enabled,
            may_make_up: config.input.fields.url.is_empty(),
            warcs: config.input.warc_dir.as_deref().map(WarcFolder::new),
            recognizer: Recognizer::default(),
            messages: AtomicU64::new(0),
            names: Mutex::default(),
            hits: AtomicU64::new(0),
            look_like: Preset::all().iter().map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Returns this reader for commands that only look at pages, which may have no url.
    #[must_use]
    pub fn without_urls(self) -> Self {
        Self { rules: PageRules { url_required: false, ..self.rules }, ..self }
    }

    /// Returns the mapping.
    #[must_use]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Reads a record of a source. A panic of a parser is returned as [`NoPage`].
    ///
    /// # Errors
    /// [`NoPage`] if the record is not a page.
    pub fn record(&self, payload: Payload) -> Result<MessageOutcome, NoPage> {
        self.read(payload, None)
    }

    /// Reads the record of a file at `place`. A document without a url gets one that is made from the place,
    /// unless the configuration names the field of the url.
    ///
    /// # Errors
    /// [`NoPage`] if the record is not a page.
    pub fn record_of_file(&self, place: &Place, payload: Payload) -> Result<MessageOutcome, NoPage> {
        // Sources of tables make urls for their rows, because they know the columns.
        let made_up = match place {
            Place::Line { input, line } if self.may_make_up && Input::delimiter(input).is_none() => {
                Some(Page::made_up_url(input, *line))
            }
            _ => None,
        };
        self.read(payload, made_up.as_deref())
    }

    fn read(&self, payload: Payload, made_up_url: Option<&str>) -> Result<MessageOutcome, NoPage> {
        let no_page = |cause, message: String, raw: &[u8], raw_bytes: u64| NoPage {
            cause,
            message: bounded(&message),
            raw: raw[..raw.len().min(Unreadable::RAW_BYTES_MAX)].to_vec(),
            raw_bytes,
        };
        let (taken, raw, raw_bytes) = match payload {
            Payload::Json(line) => (or_fault(|| self.line(&line, None, made_up_url)), Some(line), None),
            Payload::Warc(record) => {
                let bytes = record.content_bytes;
                let page = or_fault(|| {
                    record.into_page(self.rules.page_bytes_max).map(|page| self.mapping.filtered(page))
                });
                (page, None, Some(bytes))
            }
            Payload::Head { json: Ok(json), bytes } => {
                (or_fault(|| self.line(&json, Some(bytes), made_up_url)), None, Some(bytes))
            }
            Payload::Head { json: Err(problem), bytes } => {
                (Err(PageError::BrokenJson(problem)), None, Some(bytes))
            }
            Payload::NoPage => return Ok(MessageOutcome::Skipped(Skip::OtherKind)),
            Payload::Broken(error) => return Err(no_page(error.cause(), error.to_string(), &[], 0)),
        };
        taken.map_err(|error| {
            let raw = raw.unwrap_or_default();
            no_page(error.cause(), error.to_string(), &raw, raw_bytes.unwrap_or(raw.len() as u64))
        })
    }

    /// Returns the page in a record, or `None` if it has none, for commands that look only at pages.
    #[must_use]
    pub fn page(&self, place: &Place, payload: Payload) -> Option<Page> {
        match self.record_of_file(place, payload).ok()? {
            MessageOutcome::Page(page) => Some(*page),
            MessageOutcome::Skipped(_) => None,
        }
    }

    /// Reads a message of a topic.
    ///
    /// # Errors
    /// [`PageError`] if the message cannot be read as a page.
    pub fn message(&self, message: &Message<'_>) -> Result<MessageOutcome, PageError> {
        self.finished(
            message.read(&self.pages, &self.mapping, &self.limits, self.withdraws),
            message.value.unwrap_or_default(),
        )
    }

    fn line(
        &self,
        line: &[u8],
        cut_from: Option<u64>,
        made_up_url: Option<&str>,
    ) -> Result<MessageOutcome, PageError> {
        let message = mapping::Message { cut_from, made_up_url, ..mapping::Message::line(line) };
        self.finished(self.mapping.read(&message, self.rules), line)
    }

    /// Fetches a body that is stored elsewhere, and updates the counters.
    fn finished(&self, reading: Reading, value: &[u8]) -> Result<MessageOutcome, PageError> {
        self.count(reading.hits, !matches!(reading.outcome, Ok(MessageOutcome::Skipped(_))), value);
        match reading.outcome {
            Ok(MessageOutcome::Page(page)) => match page.body {
                Body::Withdrawn if !self.withdraws => Err(PageError::RecrawlsOff),
                Body::InWarc(_) => self.with_body(*page),
                // The missing field may have another name in this message.
                _ if page.body == Body::Missing || page.repaired.without_url => {
                    self.look_alike(value);
                    Ok(MessageOutcome::Page(page))
                }
                _ => Ok(MessageOutcome::Page(page)),
            },
            Err(error) => Err(match self.look_alike(value) {
                Some(preset) => PageError::LooksLike { error: Box::new(error), preset },
                None => error,
            }),
            skipped => skipped,
        }
    }

    fn with_body(&self, mut page: Page) -> Result<MessageOutcome, PageError> {
        let Body::InWarc(place) = &page.body else { return Ok(MessageOutcome::Page(Box::new(page))) };
        let folder = self.warcs.as_ref().ok_or(PageError::Internal)?;
        let record = folder.record(place, &self.limits).map_err(PageError::BodyNotFound)?;
        let Some(record) = record else { return Ok(MessageOutcome::Skipped(Skip::NoPage)) };
        let archived = record.into_page(self.rules.page_bytes_max)?;
        page.body = archived.body;
        page.repaired.breaks_off = archived.repaired.breaks_off;
        page.repaired.cut_short = archived.repaired.cut_short;
        // The archived record has the charset, which a crawl log lacks.
        page.hints.content_type = archived.hints.content_type.or(page.hints.content_type);
        Ok(MessageOutcome::Page(Box::new(page)))
    }

    /// Returns a preset that fits a message better than the configured one.
    fn look_alike(&self, value: &[u8]) -> Option<&'static str> {
        let preset = self.recognizer.preset(value)?;
        if preset.name == self.mapping.preset().name {
            return None;
        }
        let at = Preset::all().iter().position(|known| known.name == preset.name)?;
        let count = self.look_like[at].fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() && count.trailing_zeros().is_multiple_of(10) {
            tracing::warn!(
                "{count} message(s) without a readable page look like those of {name}; to read them, set \
                 preset = {name:?} under [input]",
                name = preset.name
            );
        }
        Some(preset.name)
    }

    /// Returns the preset that most of the unreadable messages look like, and their number.
    #[must_use]
    pub fn likeliest(&self) -> Option<(&'static str, u64)> {
        let counts = self.look_like.iter().map(|count| count.load(Ordering::Relaxed));
        let named = Preset::all().iter().map(|preset| preset.name).zip(counts);
        named.max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0)
    }

    /// Returns the names of the fields in the first messages if `pointer` found a value in no message. `None` if it did, or
    /// if there were no messages.
    #[must_use]
    pub fn names_without(&self, pointer: &str) -> Option<Vec<String>> {
        let hits = self.hits.load(Ordering::Relaxed);
        let slots = self.mapping.slots();
        if slots.iter().any(|(_, known, number)| known == pointer && hits & 1 << number != 0) {
            return None;
        }
        let names: Vec<String> = self.names().names.iter().cloned().collect();
        (!names.is_empty()).then_some(names)
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the pointers that matched. Reports those that never did.
    fn count(&self, hits: u64, read: bool, value: &[u8]) {
        if !read || self.mapping.is_plain() {
            return;
        }
        if hits & !self.hits.load(Ordering::Relaxed) != 0 {
            self.hits.fetch_or(hits, Ordering::Relaxed);
        }
        if self.messages.load(Ordering::Relaxed) >= TELL_AFTER_MESSAGES {
            return;
        }
        let mut names = self.names();
        if names.messages < NAMES_OF_MESSAGES {
            names.messages += 1;
            let fields = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(value).unwrap_or_default();
            names.names.extend(fields.into_keys());
        }
        drop(names);
        if self.messages.fetch_add(1, Ordering::Relaxed) + 1 == TELL_AFTER_MESSAGES {
            let never = self.mapping.never_hit(self.hits.load(Ordering::Relaxed));
            gauge!("leitong_input_pointers_without_hits").set(never.len() as f64);
            for field in never {
                tracing::warn!(
                    "preset {}: nothing was found for {field} in the first {TELL_AFTER_MESSAGES} messages; see [input.fields]",
                    self.mapping.preset().name
                );
            }
        }
    }
}

/// Returns an explanation cut to the limit, with its full length. It is escaped, so quoted input cannot
/// control a terminal.
pub(super) fn bounded(explanation: &str) -> String {
    let mut explanation = escape(explanation).into_owned();
    let bytes = explanation.len();
    if bytes > Unreadable::MESSAGE_BYTES_MAX {
        explanation.truncate(explanation.floor_char_boundary(Unreadable::MESSAGE_BYTES_MAX));
        explanation += &format!("… ({bytes} bytes in all)");
    }
    explanation
}

fn or_fault<T>(read: impl FnOnce() -> Result<T, PageError>) -> Result<T, PageError> {
    // The panic hook has logged the panic.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or(Err(PageError::Internal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_a_record_is_an_error() {
        assert_eq!(or_fault::<()>(|| panic!("a fault, made by a test")), Err(PageError::Internal));
    }

    #[test]
    fn pointers_that_never_hit_are_known() {
        let mut config = Config::default();
        config.input.preset = "scrapy-cluster".to_owned();
        config.input.fields.charset = vec!["/charst".to_owned()];
        let reader = PageReader::new(&config).expect("right");
        let line = br#"{"url":"http://a/","body":"<p>","appid":"x","status_code":200,"timestamp":1}"#;
        for _ in 0..TELL_AFTER_MESSAGES {
            let place = Place::Line { input: "a".into(), line: 1 };
            assert!(reader.page(&place, Payload::Json(line.to_vec())).is_some());
        }
        let names: Vec<String> =
            ["appid", "body", "status_code", "timestamp", "url"].map(str::to_owned).into();
        assert_eq!((reader.names_without("/charst"), reader.names_without("/body")), (Some(names), None));
        assert_eq!(
            reader.mapping.never_hit(reader.hits.load(Ordering::Relaxed)),
            [
                "charset (/charst)",
                "content_type (/response_headers/Content-Type, /response_headers/content-type)",
                "passthrough \"attrs\" (/attrs)",
                "passthrough \"crawlid\" (/crawlid)",
            ]
        );
    }
}
