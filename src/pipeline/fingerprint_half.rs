//! The half left of the log: record → page → document → terms → fingerprint. A pure function of one record,
//! so any number of threads and instances may run it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::document;
use crate::config::load::ConfigError;
use crate::config::{Config, CorpusBy, hash, load};
use crate::extract::Extractor;
use crate::fingerprint::digest::text_digest;
use crate::fingerprint::record::{
    FingerprintRecord, LogRecord, Outcome, Place, Received, TextDigest, Unreadable,
};
use crate::fingerprint::{self, Detector};
use crate::limits::{CORPUS_BYTES_MAX, DEAD_LETTER_HEADERS_BYTES_MAX, DEAD_LETTER_RAW_BYTES_MAX};
use crate::page::host::host;
use crate::page::json::{self, PageError, Rules};
use crate::page::message::Message;
use crate::page::timestamp::Timestamp;
use crate::page::{Mended, Page};
use crate::segment::{Segmenter, Terms};
use crate::source::{Payload, Record};
use crate::verdict::Reason;

/// The corpus of pages that have none of their own.
const DEFAULT_CORPUS: &str = "default";

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
    digest_buffer: Vec<u8>,
}

impl Workspace {
    /// For reading a document.
    pub fn extractor(&mut self) -> &mut Extractor {
        &mut self.extractor
    }

    /// The terms of the last page.
    #[must_use]
    pub fn into_terms(self) -> Terms {
        self.terms
    }
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
        let detector: Arc<dyn Detector> =
            fingerprint::detector(&config.detector, &config, &load::resources(&config)?)
                .ok_or_else(|| ConfigError::UnknownDetector(config.detector.clone()))??
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
            digest_buffer: Vec::new(),
        }
    }

    /// Makes a record of the log of a record of the source.
    pub fn process(&self, record: Record, workspace: &mut Workspace) -> Fingerprinted {
        let rules = Rules { page_bytes_max: self.config.page.bytes_max, url_required: true };
        match read_page(record.payload, rules) {
            Ok(page) => self.process_page(record.place, page, workspace),
            Err(NoPage { cause, message, raw, raw_bytes }) => {
                let (raw, cause) = (Some(raw), cause.into());
                let unreadable =
                    Unreadable { source: record.place, cause, message, raw, raw_bytes, received: None };
                Fingerprinted {
                    record: LogRecord::Unreadable(Box::new(unreadable)),
                    mended: Mended::default(),
                }
            }
        }
    }

    /// Makes a record of the log of a message of a topic.
    pub fn process_message(
        &self,
        source: Place,
        message: Message<'_>,
        workspace: &mut Workspace,
    ) -> Fingerprinted {
        let page = match message.page(&self.config.kafka.pages, self.config.page.bytes_max) {
            Ok(page) => page,
            Err(error) => {
                let unreadable = self.unreadable(source, message, &error);
                let record = LogRecord::Unreadable(Box::new(unreadable));
                return Fingerprinted { record, mended: Mended::default() };
            }
        };
        let mut fingerprinted = self.process_page(source, page, workspace);
        if let LogRecord::Page(record) = &mut fingerprinted.record {
            record.log_time = message.received.log_time;
            if self.config.corpus.by == CorpusBy::Header {
                let corpus = message.received.header(&self.config.corpus.header);
                record.corpus = corpus.map_or(DEFAULT_CORPUS.into(), corpus_name);
            }
        }
        fingerprinted
    }

    /// What is no page travels on as received, as far as the log takes it: value, key and headers each have a cap,
    /// together below the size of a message.
    fn unreadable(&self, source: Place, message: Message<'_>, error: &PageError) -> Unreadable {
        let Message { value, mut received } = message;
        let raw_bytes = value.map_or(0, <[u8]>::len);
        let value_max = self.config.kafka.dead_letters.value_bytes_max;
        let mut explanation = error.to_string();
        // An error may quote the value, which may be of any length.
        explanation.truncate(explanation.floor_char_boundary(DEAD_LETTER_RAW_BYTES_MAX));
        if received.bytes() > DEAD_LETTER_HEADERS_BYTES_MAX {
            let bytes = received.bytes();
            explanation += &format!("; its key and headers of {bytes} bytes are left out");
            *received = Received { log_time: received.log_time, ..Received::default() };
        }
        Unreadable {
            source,
            cause: error.cause().into(),
            message: explanation,
            raw: value.filter(|value| value.len() <= value_max).map(<[u8]>::to_vec),
            raw_bytes: raw_bytes as u64,
            received: Some(received),
        }
    }

    /// Makes a record of the log of a page. Never panics: a fault in a library on one page makes that page
    /// undecidable.
    pub fn process_page(&self, source: Place, page: Page, workspace: &mut Workspace) -> Fingerprinted {
        let analysis = catch_unwind(AssertUnwindSafe(|| self.analyse(&page, workspace)));
        let (text, outcome) = analysis.unwrap_or_else(|_| {
            tracing::error!(
                page_id = page.id,
                url = page.url,
                "a fault in Leitong: please report it with this page"
            );
            // Whatever the panic left half done must not reach the next page.
            *workspace = self.workspace();
            (None, Outcome::Undecidable(Reason::Internal))
        });
        let Page { id, url, fetched_at, passthrough, mended, .. } = page;
        let corpus = match self.config.corpus.by {
            // The header is known for messages alone.
            CorpusBy::All | CorpusBy::Header => DEFAULT_CORPUS.to_owned(),
            CorpusBy::Host => host(&url),
        };
        let record = LogRecord::Page(Box::new(FingerprintRecord {
            source,
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
        let document = match document::read(page, &mut workspace.extractor) {
            Ok(reading) => reading.document,
            Err(refusal) => return (None, Outcome::Undecidable(refusal.reason)),
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
}

/// The corpus of a header's value; of a long one, whose bytes would go into every centre, the digest.
fn corpus_name(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(name) if (1..=CORPUS_BYTES_MAX).contains(&name.len()) => name.to_owned(),
        Ok("") => DEFAULT_CORPUS.to_owned(),
        _ => format!("{:032x}", xxh3_128(value)),
    }
}

/// Why a record is no page.
#[derive(Debug)]
pub struct NoPage {
    /// A stable word for the kind of fault.
    pub cause: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
    raw: Vec<u8>,
    raw_bytes: u64,
}

/// The page in a record of a source.
///
/// # Errors
/// [`NoPage`], where none can be read.
pub fn read_page(payload: Payload, rules: Rules) -> Result<Page, NoPage> {
    let no_page = |cause, message, raw: &[u8]| NoPage {
        cause,
        message,
        raw: raw[..raw.len().min(DEAD_LETTER_RAW_BYTES_MAX)].to_vec(),
        raw_bytes: raw.len() as u64,
    };
    let (page, raw) = match payload {
        Payload::Json(line) => (json::parse(&line, rules), line),
        Payload::Warc(record) => (record.into_page(rules.page_bytes_max), Vec::new()),
        Payload::Head(page) => (*page, Vec::new()),
        Payload::Broken(error) => return Err(no_page(error.cause(), error.to_string(), &[])),
    };
    page.map_err(|error| no_page(error.cause(), error.to_string(), &raw))
}
