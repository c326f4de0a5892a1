//! Turns requests into answers, without sockets: parses the request and the page, and asks for the verdict.
//!
//! Everything here runs on the [CPU threads](super::pool), each with its own [`Tools`], and uses the
//! [tables](super::tables). Storing takes two steps, with a wait for the disk in between: [`Core::prepare`]
//! makes records from a body, and [`Core::stored`] makes an answer from their verdicts.
//!
//! Invariant: no body causes a panic, or more work than its pages may cost (`page.work_max`).

use std::ops::Range;
use std::sync::Arc;

use hyper::header::ALLOW;

use super::answer::{self, Answer, LookUp, NearPage, Outcome};
use super::options::{CLUSTER_OPTIONS, LOOK_UP_OPTIONS, Options, PAGE_OPTIONS, STORE_OPTIONS};
use super::problem::{Problem, ProblemKind};
use super::records::{self, Form, Records};
use super::store::place;
use super::tables::{LookedUp, Tables};
use leitong_base::record::{FingerprintRecord, LogRecord, Outcome as Fingerprinting, Timestamp};
use leitong_cluster::{ClusterId, Scratch};
use leitong_formats::source::Payload;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::NoPage;
use leitong_pipeline::PageReader;
use leitong_pipeline::Workspace;
use leitong_pipeline::config::Config;
use leitong_pipeline::config::load::ConfigError;
use leitong_pipeline::corpus_name;
use leitong_text::page::mapping::MessageOutcome;
use leitong_text::page::{Body, DecompressError, Hints, Page, PageError, decompressed};

/// Converter of requests to answers, shared by all threads.
pub struct Core {
    pub(super) stage: Arc<FingerprintStage>,
    /// Reader for look-ups, whose pages need no url.
    look_up_reader: PageReader,
    pub(super) tables: Arc<dyn Tables>,
    body_bytes_max: usize,
    page_bytes_max: usize,
    batch_pages_max: usize,
}

/// Working memory of one thread.
pub(crate) struct Tools {
    workspace: Workspace,
    scratch: Scratch,
}

/// A request with a body.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    /// Part of the address after the `?`.
    pub(super) query: String,
    pub(super) content_type: Option<String>,
    /// Value of the header that names the corpus.
    pub(super) corpus: Option<Vec<u8>>,
    pub(super) body: Vec<u8>,
}

/// A request to store or look up pages, split into records.
pub(super) struct Batch {
    request: Request,
    options: Options,
    form: Form,
    records: Records,
}

impl Batch {
    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.records.ranges.len()
    }
}

/// The result of a request to look up: the answer, or a batch that is still to be looked up.
pub(super) enum LookedUpOrBatch {
    LookedUp(Answer),
    Batch(Batch),
}

/// The result of preparing a record for storage.
pub(super) type Prepared = Result<Box<FingerprintRecord>, Problem>;

impl Core {
    /// Creates a core for these tables.
    ///
    /// # Errors
    /// Fails if a file that the configuration names cannot be used.
    pub fn new(
        config: &Config,
        stage: Arc<FingerprintStage>,
        tables: Arc<dyn Tables>,
    ) -> Result<Self, ConfigError> {
        Ok(Self {
            look_up_reader: PageReader::new(config)?.without_urls(),
            stage,
            tables,
            body_bytes_max: config.api.body_bytes_max,
            page_bytes_max: config.page.bytes_max,
            batch_pages_max: config.api.batch_pages_max,
        })
    }

    /// Returns the working memory for a thread.
    pub(crate) fn tools(&self) -> Tools {
        Tools { workspace: self.stage.workspace(), scratch: Scratch::default() }
    }

    /// Decompresses a body by its content codings into at most `max` bytes. Returns `None` if it is larger than that, but
    /// may be within the limit of bodies.
    pub(super) fn decompressed(
        &self,
        body: &[u8],
        codings: Option<&[u8]>,
        max: usize,
    ) -> Result<Option<Vec<u8>>, Problem> {
        match decompressed(body, codings, max) {
            Ok(decompressed) => Ok(Some(decompressed.into_owned())),
            Err(DecompressError::TooLarge) if max < self.body_bytes_max => Ok(None),
            Err(DecompressError::Damaged) => Err(Problem::new(
                ProblemKind::BrokenBody,
                "the compressed body is damaged or ends early; send it again",
            )),
            Err(DecompressError::TooLarge | DecompressError::TooManyCodings(_)) => Err(Problem::new(
                ProblemKind::TooLarge,
                format!(
                    "the body cannot be decompressed within {} bytes (api.body_bytes_max) and 5 content codings",
                    self.body_bytes_max
                ),
            )),
        }
    }

    /// Handles `POST /v1/lookup`: returns the answer for one page, or a batch that is still to be looked up.
    pub(super) fn look_up(&self, request: Request, tools: &mut Tools) -> Result<LookedUpOrBatch, Problem> {
        let batch = self.cut(request, LOOK_UP_OPTIONS)?;
        if batch.records.is_batch {
            return Ok(LookedUpOrBatch::Batch(batch));
        }
        self.look_up_one(&batch, 0..batch.request.body.len(), tools).map(LookedUpOrBatch::LookedUp)
    }

    /// Looks up some pages of a batch, and returns the results as JSON.
    pub(super) fn look_some_up(&self, batch: &Batch, some: Range<usize>, tools: &mut Tools) -> Vec<Vec<u8>> {
        let each =
            |range: &Range<usize>| answer::look_up_result(self.look_up_one(batch, range.clone(), tools));
        batch.records.ranges[some].iter().map(each).collect()
    }

    fn look_up_one(&self, batch: &Batch, range: Range<usize>, tools: &mut Tools) -> Result<Answer, Problem> {
        let (request, options) = (&batch.request, &batch.options);
        let page = match batch.form {
            Form::Raw => raw_page(request, self.page_bytes_max),
            Form::Json | Form::Lines => {
                accepted(self.look_up_reader.record(Payload::Json(request.body[range].to_vec())))?
            }
        };
        let page = named(page, options)?;
        let mut record = self.fingerprinted(page, request.corpus.as_deref(), tools);
        if let Some(corpus) = &options.corpus {
            record.corpus = corpus_name(corpus.as_bytes());
        }
        let fingerprint = match &record.outcome {
            Fingerprinting::Fingerprint(fingerprint) => fingerprint.clone(),
            Fingerprinting::Undecidable(_) => Box::default(),
        };
        let LookedUp { verdict, nearest, as_of } =
            self.tables.look_up(record, options.preview, Timestamp::now(), &mut tools.scratch)?;
        let detector = &**self.stage.detector();
        let near_page = |canonical| NearPage::new(canonical, &fingerprint, detector);
        let nearest = nearest.into_iter().map(near_page).collect();
        Ok(Answer::json(&LookUp { verdict, nearest, as_of }))
    }

    /// Splits the body of `POST /v1/pages` into records.
    pub(super) fn batch(&self, request: Request) -> Result<Batch, Problem> {
        self.cut(request, STORE_OPTIONS)
    }

    fn cut(&self, request: Request, known: &[&str]) -> Result<Batch, Problem> {
        let form = Form::from_content_type(request.content_type.as_deref())?;
        let options = Options::parse(&request.query, known)?;
        let records = records::cut(&request.body, form, self.batch_pages_max)?;
        if records.is_batch {
            options.check_batch()?;
        }
        Ok(Batch { request, options, form, records })
    }

    /// Makes log records from some records of a batch.
    pub(super) fn prepare(&self, batch: &Batch, some: Range<usize>, tools: &mut Tools) -> Vec<Prepared> {
        let each = |range: &Range<usize>| {
            let page = self.page(batch, range.clone())?;
            Ok(Box::new(self.fingerprinted(page, batch.request.corpus.as_deref(), tools)))
        };
        batch.records.ranges[some].iter().map(each).collect()
    }

    fn page(&self, batch: &Batch, range: Range<usize>) -> Result<Page, Problem> {
        let Batch { request, options, form, .. } = batch;
        if *form != Form::Raw {
            let line = Payload::Json(request.body[range].to_vec());
            // With a url in the query, the record needs none of its own.
            let reader = if options.url.is_some() { &self.look_up_reader } else { self.stage.reader() };
            return named(accepted(reader.record(line))?, options);
        }
        Page::checked_url(options.url.clone()).map_err(|error| {
            let mut problem = unreadable(&error);
            problem.detail += "; pass the url as ?url=…, percent-encoded";
            problem
        })?;
        named(raw_page(request, self.page_bytes_max), options)
    }

    /// Returns the log record of a page, without its final place.
    fn fingerprinted(&self, page: Page, corpus: Option<&[u8]>, tools: &mut Tools) -> FingerprintRecord {
        let fingerprinted = self.stage.process_page(place(0), page, &mut tools.workspace);
        let Ok(LogRecord::Page(mut record)) = fingerprinted.record else {
            unreachable!("a page is never skipped")
        };
        if let (Some(_), Some(corpus)) = (self.stage.corpus_header(), corpus) {
            record.corpus = corpus_name(corpus);
        }
        *record
    }

    /// Returns the answer to `POST /v1/pages`, from the prepared records and the verdicts on their pages.
    pub(super) fn stored(
        batch: &Batch,
        prepared: Vec<Result<(), Problem>>,
        verdicts: Vec<Box<[u8]>>,
    ) -> Answer {
        let mut verdicts = verdicts.into_iter();
        let outcome = |prepared: Result<(), Problem>| prepared.map(|()| verdicts.next().unwrap_or_default());
        let mut outcomes: Vec<Outcome> = prepared.into_iter().map(outcome).collect();
        match outcomes.pop() {
            Some(Ok(verdict)) if !batch.records.is_batch => answer::single_result(&verdict),
            Some(Err(problem)) if !batch.records.is_batch => problem.into(),
            last => {
                outcomes.extend(last);
                answer::batch_results(&outcomes)
            }
        }
    }

    /// Handles `GET /v1/pages?url=…`.
    pub(super) fn page_of_url(&self, query: &str) -> Result<Answer, Problem> {
        let Some(url) = Options::parse(query, PAGE_OPTIONS)?.url else {
            let detail = "pass the page's url as ?url=…, percent-encoded, or its id as /v1/pages/{id}";
            return Err(Problem::new(ProblemKind::BadOption, detail));
        };
        Ok(answer::single_result(&self.tables.page_of_url(&url)?))
    }

    /// Handles `GET /v1/pages/{id}`.
    pub(super) fn stored_page(&self, page_id: &str, query: &str) -> Result<Answer, Problem> {
        Options::parse(query, &[])?;
        Ok(answer::single_result(&self.tables.page(page_id)?))
    }

    /// Handles `GET /v1/clusters/{id}`.
    pub(super) fn cluster(&self, id: &str, query: &str, tools: &mut Tools) -> Result<Answer, Problem> {
        let options = Options::parse(query, CLUSTER_OPTIONS)?;
        let unknown = |why: &str| Problem::new(ProblemKind::UnknownCluster, format!("{id:?}: {why}"));
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(id, 16).ok().filter(|_| is_id);
        let number = number.ok_or_else(|| unknown("a cluster id must have 32 hexadecimal digits"))?;
        let id_read = ClusterId::from_bytes(number.to_be_bytes());
        let known = self.tables.cluster(id_read, options.members, &mut tools.scratch)?;
        if known.centroid.is_none() && known.members_kept == 0 {
            return Err(unknown("unknown cluster, or its canonical page has expired"));
        }
        Ok(answer::cluster_answer(id_read, known, &**self.stage.detector()))
    }

    /// Returns an error if pages are not stored over HTTP. It names the alternative.
    pub(super) fn stores(&self) -> Result<(), Problem> {
        self.tables
            .instead_of_storing()
            .map_or(Ok(()), |instead| Err(Problem::new(ProblemKind::NoSuchPath, instead)))
    }

    /// Returns the answer for a path that allows only the methods in `allow`.
    pub(super) fn not_allowed(path: &str, allow: &'static str) -> Answer {
        let problem = Problem::new(ProblemKind::MethodNotAllowed, format!("{path:?} allows only {allow}"));
        Answer { header: Some((ALLOW, allow)), ..problem.into() }
    }

    /// Returns the problem for a path that does not exist.
    pub(super) fn nowhere(&self, path: &str) -> Problem {
        let store = if self.stores().is_ok() { "POST /v1/pages, " } else { "" };
        Problem::new(
            ProblemKind::NoSuchPath,
            format!(
                "{path:?}: no such path; choose one of POST /v1/lookup, {store}GET /v1/pages?url=…, GET /v1/pages/{{id}} and \
                 GET /v1/clusters/{{id}}"
            ),
        )
    }
}

/// Returns the page that is the body of a request.
fn raw_page(request: &Request, page_bytes_max: usize) -> Page {
    let body = match request.body.len() {
        bytes if bytes > page_bytes_max => Body::TooLarge(bytes as u64),
        _ => Body::HtmlBytes(request.body.clone()),
    };
    let hints = Hints { charset: None, content_type: request.content_type.clone() };
    Page { hints, ..Page::new("", body) }
}

/// Replaces url and id of the page by those in the query.
fn named(mut page: Page, options: &Options) -> Result<Page, Problem> {
    if let Some(url) = &options.url {
        let has_own_id = page.id != Page::id_for_url(&page.url);
        page.url = Page::checked_url(Some(url.clone())).map_err(|error| unreadable(&error))?;
        if !has_own_id {
            page.id = Page::id_for_url(&page.url);
        }
    }
    if options.id.is_some() {
        page.id = Page::checked_id(options.id.clone(), &page.url).map_err(|error| unreadable(&error))?;
    }
    Ok(page)
}

fn accepted(read: Result<MessageOutcome, NoPage>) -> Result<Page, Problem> {
    match read {
        Ok(MessageOutcome::Page(page)) => Ok(*page),
        Ok(MessageOutcome::Skipped(why)) => {
            let detail = format!("the settings under [input] skip this page ({})", why.as_str());
            Err(Problem { cause: Some(why.as_str()), ..Problem::new(ProblemKind::PassedOver, detail) })
        }
        Err(NoPage { cause, message, .. }) => {
            Err(Problem { cause: Some(cause.label()), ..Problem::new(ProblemKind::UnreadablePage, message) })
        }
    }
}

fn unreadable(error: &PageError) -> Problem {
    Problem {
        cause: Some(error.cause().label()),
        ..Problem::new(ProblemKind::UnreadablePage, error.to_string())
    }
}
