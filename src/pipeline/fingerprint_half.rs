//! The half left of the log: record → page → document → terms → fingerprint. A pure function of one record,
//! so any number of threads and instances may run it.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::config::load::ConfigError;
use crate::config::{Config, CorpusBy, hash, load};
use crate::decode::{self, DecodeError};
use crate::extract::{Document, ExtractError, Extractor};
use crate::fingerprint::digest::text_digest;
use crate::fingerprint::record::{FingerprintRecord, LogRecord, Outcome, Place, TextDigest, Unreadable};
use crate::fingerprint::{self, Detector};
use crate::limits::DEAD_LETTER_RAW_BYTES_MAX;
use crate::page::host::host;
use crate::page::json;
use crate::page::timestamp::Timestamp;
use crate::page::{Body, Mended, Page};
use crate::segment::{Segmenter, Terms};
use crate::source::{Payload, Record};
use crate::verdict::Reason;

/// Everything that a fingerprint depends on; shared by all threads.
pub struct FingerprintHalf {
    config: Config,
    segmenter: Segmenter,
    detector: Arc<dyn Detector>,
    fingerprint_hash: u64,
    /// No log time is later than this: one page with a wrong clock must not expire the table.
    log_time_max: Timestamp,
}

/// What a thread keeps from page to page.
pub struct Workspace {
    extractor: Extractor,
    terms: Terms,
    digest_buffer: String,
}

/// What became of a record.
pub struct Fingerprinted {
    /// For the log.
    pub record: LogRecord,
    /// What was mended on the way.
    pub mended: Mended,
}

impl FingerprintHalf {
    /// Loads dictionaries and builds the configured detector.
    ///
    /// # Errors
    /// [`ConfigError`], where a file or a setting cannot be used.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let lexicons = load::lexicons(&config)?;
        let segmenter = Segmenter::new(&config.segment, &lexicons)?;
        let detector: Arc<dyn Detector> = fingerprint::detector(&config.detector, &config)
            .ok_or_else(|| ConfigError::UnknownDetector(config.detector.clone()))?
            .into();
        let fingerprint_hash = hash::fingerprint_hash(&config, &lexicons, &*detector);
        Ok(Self { config, segmenter, detector, fingerprint_hash, log_time_max: Timestamp::now() })
    }

    /// The detector.
    #[must_use]
    pub fn detector(&self) -> &Arc<dyn Detector> {
        &self.detector
    }

    /// Of everything that can change a fingerprint.
    #[must_use]
    pub fn fingerprint_hash(&self) -> u64 {
        self.fingerprint_hash
    }

    /// What a thread needs to run this half.
    #[must_use]
    pub fn workspace(&self) -> Workspace {
        Workspace {
            extractor: Extractor::new(&self.config.extract),
            terms: Terms::default(),
            digest_buffer: String::new(),
        }
    }

    /// Makes a record of the log of a record of the source. Never panics: a fault in a library on one page
    /// makes that page undecidable.
    pub fn process(&self, record: Record, workspace: &mut Workspace) -> Fingerprinted {
        let page_bytes_max = self.config.page.bytes_max;
        let (page, raw) = match record.payload {
            Payload::Json(line) => (json::parse(&line, page_bytes_max), line),
            Payload::Warc(record) => (record.into_page(page_bytes_max), Vec::new()),
            Payload::Head(page) => (*page, Vec::new()),
            Payload::Broken(error) => {
                let record = unreadable(record.place, error.cause(), error.to_string(), &[]);
                return Fingerprinted { record, mended: Mended::default() };
            }
        };
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                let record = unreadable(record.place, error.cause(), error.to_string(), &raw);
                return Fingerprinted { record, mended: Mended::default() };
            }
        };
        drop(raw);
        // A fault in a library on one page must not take the others along.
        let analysis = catch_unwind(AssertUnwindSafe(|| self.analyse(&page, workspace)));
        let (text, outcome) = analysis.unwrap_or_else(|_| {
            // Whatever the panic left half done must not reach the next page.
            *workspace = self.workspace();
            (None, Outcome::Undecidable(Reason::Internal))
        });
        let Page { id, url, fetched_at, passthrough, mended, .. } = page;
        let corpus = match self.config.corpus.by {
            CorpusBy::All => "default".to_owned(),
            CorpusBy::Host => host(&url),
        };
        let record = LogRecord::Page(Box::new(FingerprintRecord {
            source: record.place,
            page_id: id,
            url,
            corpus,
            fingerprint_hash: self.fingerprint_hash,
            fetched_at,
            log_time: fetched_at.map(|time| time.min(self.log_time_max)),
            passthrough,
            text,
            outcome,
        }));
        Fingerprinted { record, mended }
    }

    fn analyse(&self, page: &Page, workspace: &mut Workspace) -> (Option<TextDigest>, Outcome) {
        let document = match self.document(page, &mut workspace.extractor) {
            Ok(document) => document,
            Err(reason) => return (None, Outcome::Undecidable(reason)),
        };
        let text = text_digest(&document, &mut workspace.digest_buffer);
        if text.chars == 0 {
            return (None, Outcome::Undecidable(Reason::NoText));
        }
        if text.chars < self.config.page.text_chars_min {
            return (Some(text), Outcome::Undecidable(Reason::TooShort));
        }
        self.segmenter.segment(&document, &mut workspace.terms);
        let outcome = match self.detector.fingerprint(&workspace.terms) {
            Some(fingerprint) => Outcome::Fingerprint(fingerprint),
            None => Outcome::Undecidable(Reason::TooShort),
        };
        (Some(text), outcome)
    }

    /// The main text of a page, or why there is none.
    fn document(&self, page: &Page, extractor: &mut Extractor) -> Result<Document, Reason> {
        if page.status.is_some_and(|status| !(200..300).contains(&status)) {
            return Err(Reason::HttpStatus);
        }
        let html = match &page.body {
            Body::Missing => return Err(Reason::Empty),
            Body::TooLarge(_) => return Err(Reason::TooLarge),
            Body::Text(text) if text.trim().is_empty() => return Err(Reason::Empty),
            Body::Text(text) => return Ok(Document::from_text(page.title.clone(), text)),
            Body::Html(html) => {
                decode::check(html, &page.hints)?;
                Cow::Borrowed(html.as_str())
            }
            Body::HtmlBytes(bytes) => decode::decode(bytes, &page.hints)?.text,
        };
        if html.trim().is_empty() {
            return Err(Reason::Empty);
        }
        if decode::is_plain_text(&html, &page.hints) {
            return Ok(Document::from_text(page.title.clone(), &html));
        }
        let mut document = extractor.extract(&html)?;
        if page.title.is_some() {
            document.title.clone_from(&page.title);
        }
        Ok(document)
    }
}

impl From<DecodeError> for Reason {
    fn from(error: DecodeError) -> Self {
        match error {
            DecodeError::NotHtml(_) => Self::NotHtml,
            DecodeError::NotText { .. } => Self::NotText,
        }
    }
}

impl From<ExtractError> for Reason {
    fn from(error: ExtractError) -> Self {
        match error {
            ExtractError::TooManyNodes { .. } | ExtractError::TooDeep { .. } => Self::TooComplex,
            ExtractError::TooLong { .. } => Self::TooLarge,
        }
    }
}

/// The log's record of something that is no page.
fn unreadable(source: Place, cause: &'static str, message: String, raw: &[u8]) -> LogRecord {
    let start = &raw[..raw.len().min(DEAD_LETTER_RAW_BYTES_MAX)];
    LogRecord::Unreadable(Box::new(Unreadable {
        source,
        cause,
        message,
        raw: String::from_utf8_lossy(start).into_owned(),
        raw_bytes: raw.len() as u64,
    }))
}
