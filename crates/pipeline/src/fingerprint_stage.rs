//! The fingerprint stage, before the log: record → page → document → terms → fingerprint. It is a pure
//! function of one record, so it may run in any number of threads and instances.
//!
//! Invariants: every record has an outcome, because panics are caught for each record; no page costs more
//! than `page.work_max` steps of [work](leitong_base::work); the memory that a thread keeps between pages is
//! bounded, because it gets new buffers after a page of more than [`KEPT_AFTER_BYTES`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use crate::config::detectors;
use crate::config::kafka::VerdictKey;
use crate::config::load::ConfigError;
use crate::config::{Config, CorpusBy, hash};
use crate::document::{self, Charset, DecodedDocument};
use crate::marks::{Marks, Step};
use crate::page_message::Message;
use crate::page_reader::{NoPage, PageReader, bounded};
use crate::written_text::{WrittenForm, written_text};
use leitong_base::record::{
    Carried, Cause, FingerprintRecord, LogRecord, Metadata, Outcome, Place, Reason, Received, TextDigest,
    Timestamp, Unreadable,
};
use leitong_base::work::{TooMuchWork, Work};
use leitong_cluster::log::Unplaced;
use leitong_fingerprint::Detector;
use leitong_fingerprint::digest::{letters, text_digest};
use leitong_fingerprint::secret::DigestHash;
use leitong_formats::source::Record;
use leitong_keep::texts::Text;
use leitong_keep::{PageTexts, TextCompressor};
use leitong_text::extract::{Document, Extractor};
use leitong_text::page::mapping::{MessageOutcome, Skip};
use leitong_text::page::{Body, Page, PageError, Repaired, host};
use leitong_text::segment::{Segmenter, Terms};

/// Size of a page, in bytes, above which the thread's buffers are freed after the page. The buffers can be 60
/// times as large. Allocating them again costs nothing compared with processing such a page.
const KEPT_AFTER_BYTES: usize = 1 << 20;

/// Steps of work per byte of text. No detector needs more.
const TEXT_BYTE_STEPS: u64 = 15;
/// Steps of work per term. No detector needs more.
const TERM_STEPS: u64 = 120;

/// Maximum number of characters by which the language of a text is detected: 99.0 % of 3,559 texts in ten languages are
/// recognised by 3,000, 97.9 % by 1,000.
const LANGUAGE_CHARS_MAX: usize = 3_000;

/// The corpus of pages without a corpus of their own.
const DEFAULT_CORPUS: &str = "default";

/// Everything that a fingerprint depends on. All threads share it.
pub struct FingerprintStage {
    config: Config,
    reader: PageReader,
    segmenter: Segmenter,
    detector: Arc<dyn Detector>,
    digest_hash: DigestHash,
    fingerprint_hash: u64,
    compressed_texts: CompressedTexts,
    /// The start of the run, if it is a run over files.
    started: Option<Timestamp>,
    written_texts: Option<WrittenForm>,
    passes_titles: bool,
    languages: Option<LanguageFilter>,
}

/// A selection of pages by the language of their text.
pub struct LanguageFilter {
    /// Returns the language of a text.
    pub detect: fn(&str) -> &'static str,
    /// The languages of pages that are processed. Empty for all languages.
    pub keeps: Vec<&'static str>,
}

/// The pages whose normalised text is compressed and passed on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CompressedTexts {
    /// No pages.
    #[default]
    None,
    /// Pages with a fingerprint.
    Fingerprinted,
    /// All pages with a text.
    All,
}

/// The buffers that a thread keeps between pages.
pub struct Workspace {
    compressor: Option<TextCompressor>,
    extractor: Extractor,
    terms: Terms,
    digest_buffer: Vec<u8>,
    marks: Marks,
}

// Python's allocator aligns the objects that hold one to 16 bytes.
const _: () = assert!(align_of::<Workspace>() <= 16);

impl Workspace {
    /// Returns the extractor, for reading a document.
    pub(crate) fn extractor(&mut self) -> &mut Extractor {
        &mut self.extractor
    }

    /// Returns the times at which the steps of the last page ended, if pages are traced.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Returns the terms of the last page that had any.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Returns the terms of the last page that had any, and drops the other buffers.
    #[must_use]
    pub fn into_terms(self) -> Terms {
        self.terms
    }
}

/// Findings about a page, apart from its text.
#[derive(Default)]
struct Found {
    metadata: Option<Box<Metadata>>,
    charset: Option<Charset>,
    /// The text to write, if it is requested.
    written: Option<Text>,
    /// The title, if it is requested.
    title: Option<String>,
    /// The language of the text, if it is requested.
    language: Option<&'static str>,
}

/// The result for a record.
pub struct Fingerprinted {
    /// The record for the log, or the reason why it is skipped.
    pub record: Result<LogRecord, Skip>,
    /// The repairs that were made.
    pub repaired: Repaired,
    /// False only for a page without a body.
    pub has_body: bool,
    /// Number of steps of [work](leitong_base::work).
    pub work: u64,
    /// The texts of the page, if they are requested.
    pub texts: PageTexts,
}

impl FingerprintStage {
    /// Loads dictionaries and builds the configured detector.
    ///
    /// # Errors
    /// [`ConfigError`] if a file or setting cannot be used.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let reader = PageReader::new(&config)?;
        let lexicons = config.lexicons()?;
        let segmenter = Segmenter::new(&config.segment, &lexicons)?;
        let resources = config.resources()?;
        let detector: Arc<dyn Detector> = detectors::detector(&config.detector, &config, &resources)
            .ok_or_else(|| ConfigError::UnknownDetector(config.detector.clone()))??
            .into();
        let secret = resources.secret.as_ref();
        let fingerprint_hash = hash::fingerprint_hash(&config, &lexicons, &*detector, secret);
        let digest_hash = DigestHash::new(secret);
        Ok(Self {
            config,
            reader,
            segmenter,
            detector,
            digest_hash,
            fingerprint_hash,
            compressed_texts: CompressedTexts::None,
            started: None,
            written_texts: None,
            passes_titles: false,
            languages: None,
        })
    }

    /// Sets the start of a run over files. Pages that were fetched later by their own dates count as fetched then. So a
    /// repetition decides as the first run did, whenever it is.
    #[must_use]
    pub fn started_at(self, started: Timestamp) -> Self {
        Self { started: Some(started), ..self }
    }

    /// Compresses the texts of these pages as well.
    #[must_use]
    pub fn compressing_texts(self, compressed_texts: CompressedTexts) -> Self {
        Self { compressed_texts, ..self }
    }

    /// Makes the texts to write in this form as well.
    #[must_use]
    pub fn writing_texts(self, written_texts: Option<WrittenForm>) -> Self {
        Self { written_texts, ..self }
    }

    /// Passes titles on as well.
    #[must_use]
    pub fn passing_titles(self, passes_titles: bool) -> Self {
        Self { passes_titles, ..self }
    }

    /// Detects the languages of texts, and skips pages in other languages. Pages without text go on.
    #[must_use]
    pub fn in_languages(self, languages: Option<LanguageFilter>) -> Self {
        Self { languages, ..self }
    }

    /// Returns true if texts, titles or languages of pages are passed on.
    #[must_use]
    pub fn passes_texts_on(&self) -> bool {
        let has_texts = self.compressed_texts != CompressedTexts::None || self.written_texts.is_some();
        has_texts || self.passes_titles || self.languages.is_some()
    }

    /// Returns the corpus of the page with this url.
    #[must_use]
    pub fn corpus_of(&self, url: &str) -> String {
        match self.config.corpus.by {
            // Only messages have headers.
            CorpusBy::All | CorpusBy::Header => DEFAULT_CORPUS.to_owned(),
            CorpusBy::Host => bounded_corpus(host(url)),
        }
    }

    /// Returns the name of the header that names a page's corpus, if it is configured.
    #[must_use]
    pub fn corpus_header(&self) -> Option<&str> {
        (self.config.corpus.by == CorpusBy::Header).then_some(&self.config.corpus.header)
    }

    /// Returns the reader of pages.
    #[must_use]
    pub fn reader(&self) -> &PageReader {
        &self.reader
    }

    /// Returns the segmenter, which splits documents into terms.
    #[must_use]
    pub fn segmenter(&self) -> &Segmenter {
        &self.segmenter
    }

    /// Returns the detector.
    #[must_use]
    pub fn detector(&self) -> &Arc<dyn Detector> {
        &self.detector
    }

    /// Returns a hash of everything that can change a fingerprint.
    #[must_use]
    pub fn fingerprint_hash(&self) -> u64 {
        self.fingerprint_hash
    }

    /// Creates the buffers of a thread.
    #[must_use]
    pub fn workspace(&self) -> Workspace {
        Workspace {
            compressor: self.passes_texts_on().then(TextCompressor::default),
            extractor: match self.written_texts {
                Some(WrittenForm::Markdown) => Extractor::for_markdown(&self.config.extract),
                Some(WrittenForm::Plain) | None => Extractor::new(&self.config.extract),
            },
            terms: Terms::default(),
            digest_buffer: Vec::new(),
            marks: Marks::new(self.config.traces.enabled),
        }
    }

    /// Returns the record of a page, with everything that a decision elsewhere needs:
    /// `Deduplicator::decide_records`, or a log that a
    /// [`LogSource`](super::LogSource) numbers.
    #[must_use]
    pub fn record(&self, page: Page, workspace: &mut Workspace) -> Vec<u8> {
        let place = Place::Line { input: "-".into(), line: 1 };
        match self.process_page(place, page, workspace).record {
            Ok(LogRecord::Page(record)) => Unplaced::new(*record, self.detector.name()).bytes(),
            _ => unreachable!("a page has a record"),
        }
    }

    /// Turns a record of a source into a record of the log.
    pub fn process(&self, record: Record, workspace: &mut Workspace) -> Fingerprinted {
        match self.reader.record_of_file(&record.place, record.payload) {
            Ok(MessageOutcome::Page(page)) => self.process_page(record.place, *page, workspace),
            Ok(MessageOutcome::Skipped(why)) => skipped(why),
            Err(NoPage { cause, message, raw, raw_bytes }) => {
                if cause == Cause::Internal {
                    tracing::error!("{}: {message}", record.place);
                }
                let letter = Unreadable::new(record.place, cause, message);
                unreadable(Unreadable { raw: Some(raw), raw_bytes, ..letter })
            }
        }
    }

    /// Turns a message of a topic into a record of the log. `message` returns the message. Never panics: an
    /// internal error while reading makes it a dead letter.
    pub fn process_message<'m>(
        &self,
        source: &Place,
        message: impl Fn() -> Message<'m>,
        workspace: &mut Workspace,
    ) -> Fingerprinted {
        let page = |message: &Message<'m>| self.reader.message(message);
        self.process_message_by(source, message, page, workspace)
    }

    /// Works like [`Self::process_message`], with any function that reads a page.
    fn process_message_by<'m>(
        &self,
        source: &Place,
        message: impl Fn() -> Message<'m>,
        page: impl Fn(&Message<'m>) -> Result<MessageOutcome, PageError>,
        workspace: &mut Workspace,
    ) -> Fingerprinted {
        let whole = || self.try_message(source.clone(), message(), &page, workspace);
        if let Some(fingerprinted) = guarded(whole) {
            return fingerprinted;
        }
        let fault = PageError::Internal;
        tracing::error!("{source}: {fault}");
        *workspace = self.workspace();
        // The message becomes a dead letter as received, unless getting it has failed.
        let letter = guarded(|| self.unreadable(source.clone(), message(), &fault));
        unreadable(
            letter.unwrap_or_else(|| Unreadable::new(source.clone(), fault.cause(), fault.to_string())),
        )
    }

    fn try_message<'m>(
        &self,
        source: Place,
        message: Message<'m>,
        page: impl Fn(&Message<'m>) -> Result<MessageOutcome, PageError>,
        workspace: &mut Workspace,
    ) -> Fingerprinted {
        let page = match page(&message) {
            Ok(MessageOutcome::Page(page)) => *page,
            Ok(MessageOutcome::Skipped(why)) => return skipped(why),
            Err(error) => return unreadable(self.unreadable(source, message, &error)),
        };
        let mut fingerprinted = self.process_page(source, page, workspace);
        if let Ok(LogRecord::Page(record)) = &mut fingerprinted.record {
            record.log_time = message.received.log_time;
            record.carried = self.carried(&message.received);
            if let Some(header) = self.corpus_header() {
                record.corpus = message.received.header(header).map_or(DEFAULT_CORPUS.into(), corpus_name);
            }
        }
        fingerprinted
    }

    /// Returns the key and headers of a message that its verdict takes over.
    fn carried(&self, received: &Received) -> Option<Box<Carried>> {
        let config = &self.config.kafka.verdicts;
        let mut bytes = 0;
        let headers = received.headers.iter().filter(|(name, value)| {
            if !config.headers.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)) {
                return false;
            }
            let own = name.len() + value.as_ref().map_or(0, Vec::len);
            let fits = bytes + own <= Carried::HEADERS_BYTES_MAX;
            bytes += if fits { own } else { 0 };
            fits
        });
        let headers = headers.cloned().collect();
        let key = match config.key {
            VerdictKey::PageId => None,
            VerdictKey::PageKey => received.key.clone().filter(|key| key.len() <= Carried::KEY_BYTES_MAX),
        };
        Carried::new(key, headers)
    }

    /// Returns the record of a message that cannot be parsed as a page. Value, key and headers are unchanged,
    /// or left out above limits, which together are below the maximum size of a message.
    fn unreadable(&self, source: Place, message: Message<'_>, error: &PageError) -> Unreadable {
        let Message { value, mut received } = message;
        let raw_bytes = value.map_or(0, <[u8]>::len);
        let value_max = self.config.kafka.dead_letters.value_bytes_max;
        let mut explanation = bounded(&error.to_string());
        if received.bytes() > Unreadable::HEADERS_BYTES_MAX {
            let bytes = received.bytes();
            explanation += &format!("; its key and headers of {bytes} bytes are omitted");
            // A header carries the note through the log to the cluster stage, which writes the dead letter.
            let note = format!("key and headers, {bytes} bytes; see the original at {source}");
            let headers = vec![(Received::HEADERS_LEFT_OUT.to_owned(), Some(note.into_bytes()))];
            *received = Received { log_time: received.log_time, headers, key: None };
        }
        Unreadable {
            source,
            cause: error.cause(),
            message: explanation,
            raw: value.filter(|value| value.len() <= value_max).map(<[u8]>::to_vec),
            raw_bytes: raw_bytes as u64,
            received: Some(received),
        }
    }

    /// Turns a page into a record of the log. Never panics: an internal error, for example in a library,
    /// makes the page undecidable.
    pub fn process_page(&self, source: Place, mut page: Page, workspace: &mut Workspace) -> Fingerprinted {
        let mut work = Work::up_to(self.config.page.work_max);
        let (mut found, mut normalised) = (Found::default(), None);
        workspace.marks.begin();
        let analysis = guarded(|| {
            let analysis = self.analyse(&page, workspace, &mut work, &mut found);
            normalised = self.compressed(&page, &analysis.1, workspace);
            analysis
        });
        if let Some(charset) = found.charset.take() {
            charset.note_in(&mut page.repaired);
        }
        if analysis.is_none() {
            tracing::error!(
                page_id = page.id,
                url = page.url,
                "{source}: internal error in Leitong; please report it with this page"
            );
        }
        let written = self.written(found.written.take(), workspace);
        if analysis.is_none() || page.body.bytes() > KEPT_AFTER_BYTES {
            // Neither a state that a panic has left half changed nor the memory of a large page is kept for
            // the next page.
            *workspace = self.workspace();
        }
        let (text, outcome) = analysis.unwrap_or((None, Outcome::Undecidable(Reason::Internal)));
        // A page with the status of an error needs no body.
        let has_body = page.body != Body::Missing || outcome != Outcome::Undecidable(Reason::Empty);
        let Page { id, url, fetched_at, passthrough, repaired, .. } = page;
        let corpus = self.corpus_of(&url);
        let record = LogRecord::Page(Box::new(FingerprintRecord {
            source,
            page_id: id,
            url,
            corpus,
            fingerprint_hash: self.fingerprint_hash,
            fetched_at,
            // A page with a wrong clock must not expire the table, so its time is never in the future. Without a run
            // over files, the record is stored with this time, or decided now.
            log_time: fetched_at.map(|time| time.min(self.started.unwrap_or_else(Timestamp::now))),
            passthrough,
            carried: None,
            metadata: found.metadata,
            text,
            outcome,
        }));
        let work = work.done();
        let texts = PageTexts { normalised, written, title: found.title, language: found.language };
        let record = if self.is_left_out(texts.language) { Err(Skip::Language) } else { Ok(record) };
        Fingerprinted { record, repaired, has_body, work, texts }
    }

    /// Returns true if pages in this language are skipped.
    fn is_left_out(&self, language: Option<&'static str>) -> bool {
        let keeps = self.languages.as_ref().map_or(&[][..], |languages| languages.keeps.as_slice());
        language.is_some_and(|language| !keeps.is_empty() && !keeps.contains(&language))
    }

    /// Returns the compressed text to write, if it is requested. If the page caused an internal error before it was
    /// `made`, the text says so.
    fn written(&self, made: Option<Text>, workspace: &mut Workspace) -> Option<Box<[u8]>> {
        self.written_texts?;
        let text = made.unwrap_or_else(|| Text { reason: Some(Reason::Internal), ..Text::default() });
        text.compress(workspace.compressor.as_mut()?)
    }

    /// Returns the compressed text of a page, if it is requested and there is one.
    fn compressed(&self, page: &Page, outcome: &Outcome, workspace: &mut Workspace) -> Option<Box<[u8]>> {
        let Workspace { compressor, extractor, terms, .. } = workspace;
        let compressor = compressor.as_mut()?;
        match outcome {
            _ if self.compressed_texts == CompressedTexts::None => None,
            Outcome::Fingerprint(_) => compressor.compress(&page.url, terms.text()),
            Outcome::Undecidable(_) if self.compressed_texts == CompressedTexts::All => {
                // The page was not segmented. Such pages are few, so the document is made again.
                let mut work = Work::up_to(self.config.page.work_max);
                let document = document::read(page, extractor, &mut work).ok()?.document;
                let text = self.segmenter.normalized_document(&document, &mut work).ok()?;
                compressor.compress(&page.url, &text)
            }
            Outcome::Undecidable(_) => None,
        }
    }

    fn analyse(
        &self,
        page: &Page,
        workspace: &mut Workspace,
        work: &mut Work,
        found: &mut Found,
    ) -> (Option<TextDigest>, Outcome) {
        let Workspace { extractor, terms, digest_buffer, marks, compressor: _ } = workspace;
        let read = document::read_and_mark(page, self.written_texts.is_some(), extractor, work, marks);
        found.written = self.written_texts.map(|form| written_text(page, &read, form));
        let DecodedDocument { mut document, no_content, charset } = match read {
            Ok((reading, _)) => reading,
            Err(refusal) => return (None, Outcome::Undecidable(refusal.reason)),
        };
        found.title = document.title.clone().filter(|_| self.passes_titles);
        found.metadata = document.metadata.take();
        found.charset = charset;
        let text = text_digest(&document, &self.digest_hash, digest_buffer);
        if let Some(languages) = self.languages.as_ref().filter(|_| text.chars > 0) {
            found.language = Some((languages.detect)(&beginning(&document)));
            if self.is_left_out(found.language) {
                return (Some(text), Outcome::Undecidable(Reason::NoText));
            }
        }
        marks.end(Step::Extract);
        if let Some(reason) = no_content {
            return (Some(text).filter(|text| text.chars > 0), Outcome::Undecidable(reason));
        }
        if text.chars == 0 {
            return (None, Outcome::Undecidable(Reason::NoText));
        }
        let min = self.config.page.text_chars_min;
        if text.chars < min && letters(digest_buffer) < min {
            return (Some(text), Outcome::Undecidable(Reason::TooShort));
        }
        let outcome = match self.fingerprint(&document, terms, work, marks) {
            Ok(Some(fingerprint)) => Outcome::Fingerprint(fingerprint),
            Ok(None) => Outcome::Undecidable(Reason::TooShort),
            Err(TooMuchWork { .. }) => Outcome::Undecidable(Reason::TooComplex),
        };
        (Some(text), outcome)
    }

    fn fingerprint(
        &self,
        document: &Document,
        terms: &mut Terms,
        work: &mut Work,
        marks: &mut Marks,
    ) -> Result<Option<Box<[u8]>>, TooMuchWork> {
        self.segmenter.segment_within(document, terms, work)?;
        marks.end(Step::Segment);
        work.add(terms.text().len(), TEXT_BYTE_STEPS)?;
        work.add(terms.terms().len(), TERM_STEPS)?;
        let fingerprint = self.detector.fingerprint(terms);
        marks.end(Step::Fingerprint);
        Ok(fingerprint)
    }
}

/// Returns the beginning of a document's text, by which its language is detected.
fn beginning(document: &Document) -> String {
    let lines = document.paragraphs.iter().flat_map(|paragraph| [paragraph.text.as_str(), "\n"]);
    lines.flat_map(str::chars).take(LANGUAGE_CHARS_MAX).collect()
}

/// Returns the result of `work`, or `None` if it panics.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    // The panic hook has logged the panic.
    catch_unwind(AssertUnwindSafe(work)).ok()
}

fn unreadable(unreadable: Unreadable) -> Fingerprinted {
    let record = LogRecord::Unreadable(Box::new(unreadable));
    passed_on(Ok(record))
}

fn skipped(why: Skip) -> Fingerprinted {
    passed_on(Err(why))
}

fn passed_on(record: Result<LogRecord, Skip>) -> Fingerprinted {
    let repaired = Repaired::default();
    Fingerprinted { record, repaired, has_body: true, work: 0, texts: PageTexts::default() }
}

/// Returns the corpus in a header's value.
pub fn corpus_name(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok("") => DEFAULT_CORPUS.to_owned(),
        Ok(name) => bounded_corpus(name.to_owned()),
        Err(_) => format!("{:032x}", xxh3_128(value)),
    }
}

/// Returns the name of a corpus. A long name is replaced by its digest, because every centroid contains it.
fn bounded_corpus(name: String) -> String {
    if name.len() > FingerprintRecord::CORPUS_BYTES_MAX {
        format!("{:032x}", xxh3_128(name.as_bytes()))
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::LazyLock;

    use super::*;
    use leitong_base::record::Received;
    use leitong_text::page::{Body, PageRules};

    static STAGE: LazyLock<FingerprintStage> =
        LazyLock::new(|| FingerprintStage::new(Config::default()).expect("defaults"));

    /// Two workers of one group that differ in it would decide the same page differently, and nothing would say so.
    #[test]
    fn the_minimum_length_of_a_text_is_in_the_fingerprint_hash() {
        use leitong_text::page::PageConfig;
        let hash = |page| {
            let stage = FingerprintStage::new(Config { page, ..Config::default() });
            stage.expect("valid settings").fingerprint_hash()
        };
        let with = |text_chars_min| hash(PageConfig { text_chars_min, ..PageConfig::default() });
        let default = PageConfig::default().text_chars_min;
        assert_ne!(with(default), with(30));
        assert_ne!(with(30), with(31));
        // A limit may be raised without losing what a table knows.
        let raised = PageConfig { bytes_max: 1 << 26, ..PageConfig::default() };
        assert_eq!(hash(raised), with(default));
    }

    fn place() -> Place {
        Place::Message { topic: "pages".into(), partition: 3, offset: 77, epoch: 0 }
    }

    fn message(value: &[u8]) -> Message<'_> {
        let received = Received { key: Some(b"key".to_vec()), ..Received::default() };
        Message { value: Some(value), received: Box::new(received) }
    }

    fn letter(fingerprinted: Fingerprinted) -> Unreadable {
        match fingerprinted.record {
            Ok(LogRecord::Unreadable(unreadable)) => *unreadable,
            page => panic!("{page:?} is not a dead letter"),
        }
    }

    /// A panic in a parser of messages must not leave a batch without results, because its partition would
    /// halt permanently.
    #[test]
    fn a_fault_in_a_parser_is_a_dead_letter_and_the_next_message_goes_on() {
        let mut workspace = STAGE.workspace();
        let value = br#"{"url": "http://x/", "text": "t"}"#;
        let fault =
            |_: &Message<'_>| -> Result<MessageOutcome, PageError> { panic!("a fault, made by a test") };
        let found = letter(STAGE.process_message_by(&place(), || message(value), fault, &mut workspace));
        assert_eq!((found.cause, &found.source), (Cause::Internal, &place()));
        assert_eq!(found.raw.as_deref(), Some(&value[..]), "as received");
        assert_eq!(found.received.and_then(|received| received.key).as_deref(), Some(&b"key"[..]));
        let next = STAGE.process_message(&place(), || message(value), &mut workspace);
        assert!(matches!(next.record, Ok(LogRecord::Page(_))));
    }

    #[test]
    fn a_message_that_panics_when_it_is_received_is_a_dead_letter() {
        let mut workspace = STAGE.workspace();
        let asked = Cell::new(0);
        let fault = || -> Message<'static> {
            asked.set(asked.get() + 1);
            panic!("a fault, made by a test")
        };
        let found = letter(STAGE.process_message(&place(), fault, &mut workspace));
        assert_eq!((found.cause, found.raw, found.received), (Cause::Internal, None, None));
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn a_page_that_costs_too_much_is_too_complex() {
        let config = Config::default();
        let page = crate::config::PageConfig { work_max: 1_000_000, ..config.page.clone() };
        let stage = FingerprintStage::new(Config { page, ..config }).expect("right settings");
        let outcome = |body: Body| {
            let page = Page { body, ..Page::from_json(br#"{"url": "http://x/"}"#, RULES).expect("a page") };
            let mut workspace = stage.workspace();
            match stage.process_page(place(), page, &mut workspace).record {
                Ok(LogRecord::Page(page)) => page.outcome,
                letter => panic!("{letter:?}"),
            }
        };
        let text = "春天来了，万物复苏，图书管理员整理旧报纸。".repeat(4_000);
        assert_eq!(outcome(Body::Text(text.clone())), Outcome::Undecidable(Reason::TooComplex));
        let html = format!("<p>{text}</p>");
        assert_eq!(outcome(Body::Html(html)), Outcome::Undecidable(Reason::TooComplex));
        assert_eq!(outcome(Body::TooManyCodings(9)), Outcome::Undecidable(Reason::TooComplex));
        let short: String = text.chars().take(200).collect();
        assert!(matches!(outcome(Body::Text(short)), Outcome::Fingerprint(_)));
    }

    const RULES: PageRules = PageRules { page_bytes_max: 1 << 20, url_required: true };
}
