//! The spans of one page, from its message to its verdict.
//!
//! In: places, times and headers, as each stage knows them. Out: spans for the exporter, and the trace
//! context for the headers of the log record and of the verdict. Cost: about ten spans per page whose trace
//! is recorded.

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::Tracer;
use super::context::TraceContext;
use super::otlp::{KeyValue, Span, SpanKind};
use super::spans::{self, Operation, Time};
use leitong_base::record::{FingerprintRecord, LogRecord, Outcome, Place};
use leitong_cluster::log::Origin;
use leitong_cluster::verdict::Conclusion;
use leitong_pipeline::marks::{Marks, now};
use leitong_text::page::mapping::Skip;

/// The part of a page's way through the worker that a span covers. The numbers are fixed, since span ids are
/// computed from them.
#[derive(Debug, Clone, Copy)]
enum Part {
    Receive = 1,
    Process = 2,
    Send = 3,
    ReceiveFromLog = 4,
    Decide = 5,
    SendOutcome = 6,
    /// The first step of the fingerprint stage. Its other steps follow in order.
    FirstStep = 16,
}

/// Hash of the place of a page's message, from which its ids are computed. It is the same each time the message
/// is read, and the id of its trace if the message names none.
#[derive(Debug, Clone, Copy)]
struct PageHash(u128);

impl PageHash {
    fn new(topic: &str, numbers: (u32, u64, u32), timestamp_ms: Option<i64>) -> Self {
        let (partition, offset, epoch) = numbers;
        let time = timestamp_ms.unwrap_or(-1).to_be_bytes();
        let numbers = [&partition.to_be_bytes()[..], &offset.to_be_bytes(), &epoch.to_be_bytes(), &time];
        let place = [&numbers[..], &[topic.as_bytes()]].concat().concat();
        Self(xxh3_128(&place).max(1))
    }

    /// Returns `said` at the span for this part.
    fn at(self, said: &TraceContext, part: u8) -> TraceContext {
        let bytes = [&self.0.to_be_bytes()[..], &said.trace_id.to_be_bytes(), &[part]].concat();
        said.at(xxh3_64(&bytes).max(1))
    }
}

/// The trace of a page on its way to the log.
#[derive(Debug)]
pub struct PageTrace {
    /// Context at the span `receive`; for a trace that is not recorded, the context as received.
    context: TraceContext,
    hash: PageHash,
    page: Vec<KeyValue>,
    /// Time when the record was passed to the producer, in nanoseconds since 1970.
    sending_since: u64,
}

/// A page's message, as the fingerprint stage saw it.
pub struct Seen<'a> {
    /// Place of the message.
    pub place: &'a Place,
    /// Timestamp of the message, in milliseconds since 1970.
    pub timestamp_ms: Option<i64>,
    /// Trace context in its headers.
    pub said: Option<TraceContext>,
    /// Time when the message was read, in nanoseconds since 1970.
    pub read_at: u64,
    /// Time when processing began, in nanoseconds since 1970.
    pub began_at: u64,
    /// Times of the processing steps.
    pub marks: &'a Marks,
    /// The record that the message became, or the reason why it is skipped.
    pub record: Result<&'a LogRecord, Skip>,
}

impl Tracer {
    /// Records how a message was received and processed. Returns the trace that continues with its record to
    /// the log.
    pub fn seen(&self, seen: &Seen<'_>) -> Option<Box<PageTrace>> {
        let Place::Message { topic, partition, offset, epoch } = seen.place else { return None };
        let hash = PageHash::new(topic, (*partition, *offset, *epoch), seen.timestamp_ms);
        let said = self.trace_of(seen.said.clone(), hash.0)?;
        if !said.is_sampled() {
            let trace = PageTrace { context: said, hash, page: Vec::new(), sending_since: 0 };
            return Some(Box::new(trace));
        }
        let (receive, process) = (hash.at(&said, Part::Receive as u8), hash.at(&said, Part::Process as u8));
        let message = (&**topic, Some((*partition, *offset)), Some(self.names.pages_group.as_str()));
        let page = match seen.record {
            Ok(record) => record_attributes(record),
            Err(why) => vec![spans::text("leitong.skipped", why.as_str())],
        };
        let ended = now();
        let sent_at = seen.timestamp_ms.and_then(|ms| u64::try_from(ms).ok()).map(|ms| ms * 1_000_000);
        let mut made = vec![
            Operation::Receive.span(
                (&receive, (said.span_id, true)),
                message,
                Time { began: sent_at.unwrap_or(seen.read_at), ended: seen.read_at },
                &page,
            ),
            Operation::Process.span(
                (&process, (receive.span_id, false)),
                message,
                Time { began: seen.began_at, ended },
                &page,
            ),
        ];
        let mut began = seen.marks.began;
        for (step, ended) in &seen.marks.ended {
            let context = hash.at(&said, Part::FirstStep as u8 + *step as u8);
            let named = (step.name().to_owned(), SpanKind::Internal);
            let time = Time { began, ended: *ended };
            made.push(spans::span((&context, (process.span_id, false)), named, time, Vec::new()));
            began = *ended;
        }
        self.hand_over(made);
        Some(Box::new(PageTrace { context: receive, hash, page, sending_since: 0 }))
    }

    /// Records that the record of a page was delivered to the log.
    pub fn delivered(&self, trace: &PageTrace, log_partition: u32, log_offset: u64) {
        if trace.context.is_sampled() {
            self.hand_over([self.sent(trace, Some((log_partition, log_offset)))]);
        }
    }

    /// Records that the record of a page could not be delivered.
    pub fn not_delivered(&self, trace: &PageTrace, why: &str) {
        if trace.context.is_sampled() {
            self.hand_over([spans::failed(self.sent(trace, None), why)]);
        }
    }

    fn sent(&self, trace: &PageTrace, at: Option<(u32, u64)>) -> Span {
        let time = Time { began: trace.sending_since, ended: now() };
        let context = (&trace.sent(), (trace.context.span_id, false));
        Operation::Send.span(context, (&self.names.log, at, None), time, &trace.page)
    }

    /// Returns the trace of a log record that its owner has read at `log`, if the trace is recorded. `said` is the
    /// context in the record's headers.
    pub fn read_from_log(
        &self,
        said: Option<TraceContext>,
        (record, origin): (&LogRecord, &Origin),
        log: (u32, u64),
        timestamp_ms: Option<i64>,
    ) -> Option<Box<LogTrace>> {
        let Origin { topic, partition, offset, epoch, timestamp_ms: of_page, .. } = origin;
        let hash = PageHash::new(topic, (*partition, *offset, *epoch), *of_page);
        // If the writer of the record does not trace, the context of the page's message is used.
        let said = self.trace_of(said.or_else(|| carried(record)), hash.0)?;
        let began = timestamp_ms.and_then(|ms| u64::try_from(ms).ok()).map(|ms| ms * 1_000_000);
        said.is_sampled().then(|| {
            let read_at = now();
            Box::new(LogTrace {
                said,
                hash,
                log,
                written_at: began.unwrap_or(read_at),
                read_at,
                decided_at: 0,
                is_verdict: false,
                outcome: Vec::new(),
            })
        })
    }

    /// Records that the verdict or dead letter of a record is committed, in a transaction that began at `began`.
    /// `at` is its partition and offset, if they are known.
    pub fn committed(&self, trace: &LogTrace, at: Option<(u32, u64)>, began: u64) {
        let receive = trace.context(Part::ReceiveFromLog);
        let message = (&*self.names.log, Some(trace.log), Some(self.names.log_group.as_str()));
        let topic = if trace.is_verdict { &self.names.verdicts } else { &self.names.dead_letters };
        self.hand_over([
            Operation::Receive.span(
                (&receive, (trace.said.span_id, true)),
                message,
                Time { began: trace.written_at, ended: trace.read_at },
                &trace.outcome,
            ),
            Operation::Process.span(
                (&trace.context(Part::Decide), (receive.span_id, false)),
                message,
                Time { began: trace.read_at, ended: trace.decided_at },
                &trace.outcome,
            ),
            Operation::Send.span(
                (&trace.context(Part::SendOutcome), (receive.span_id, false)),
                (topic, at, None),
                Time { began, ended: now() },
                &trace.outcome,
            ),
        ]);
    }
}

impl PageTrace {
    /// Returns the context for the log record, and records the start of sending.
    pub fn sending(&mut self) -> TraceContext {
        self.sending_since = now();
        if self.context.is_sampled() { self.sent() } else { self.context.clone() }
    }

    fn sent(&self) -> TraceContext {
        self.hash.at(&self.context, Part::Send as u8)
    }
}

/// The trace of a log record on its way to its verdict or dead letter.
#[derive(Debug)]
pub struct LogTrace {
    said: TraceContext,
    hash: PageHash,
    log: (u32, u64),
    written_at: u64,
    read_at: u64,
    decided_at: u64,
    is_verdict: bool,
    outcome: Vec<KeyValue>,
}

impl LogTrace {
    fn context(&self, part: Part) -> TraceContext {
        self.hash.at(&self.said, part as u8)
    }

    /// Records the decision, and returns the context for the message of the verdict or dead letter.
    pub fn decided(&mut self, conclusion: &Conclusion) -> TraceContext {
        self.decided_at = now();
        self.is_verdict = matches!(conclusion, Conclusion::Verdict(_));
        self.outcome = conclusion_attributes(conclusion);
        self.context(Part::SendOutcome)
    }
}

/// Returns the trace context of the page's message, if the log record has carried it on.
fn carried(record: &LogRecord) -> Option<TraceContext> {
    let headers = match record {
        LogRecord::Page(page) => &page.carried.as_ref()?.headers,
        LogRecord::Unreadable(unreadable) => &unreadable.received.as_ref()?.headers,
    };
    TraceContext::from_headers(headers.iter().map(|(name, value)| (name.into(), value.as_deref())))
}

fn record_attributes(record: &LogRecord) -> Vec<KeyValue> {
    match record {
        LogRecord::Page(page) => {
            let FingerprintRecord { page_id, url, corpus, outcome, .. } = &**page;
            let mut attributes = page_attributes(page_id, url, corpus);
            if let Outcome::Undecidable(reason) = outcome {
                attributes.push(spans::text("leitong.reason", reason.as_str()));
            }
            attributes
        }
        LogRecord::Unreadable(letter) => vec![spans::text("leitong.cause", letter.cause.label())],
    }
}

fn page_attributes(page_id: &str, url: &str, corpus: &str) -> Vec<KeyValue> {
    vec![spans::text("leitong.page.id", page_id), spans::url(url), spans::text("leitong.corpus", corpus)]
}

fn conclusion_attributes(conclusion: &Conclusion) -> Vec<KeyValue> {
    match conclusion {
        Conclusion::Verdict(verdict) => {
            let mut attributes = page_attributes(&verdict.page_id, &verdict.url, &verdict.corpus);
            attributes.push(spans::text("leitong.kind", verdict.kind.as_str()));
            if let Some(reason) = verdict.reason {
                attributes.push(spans::text("leitong.reason", reason.as_str()));
            }
            if let Some(id) = verdict.cluster_id {
                attributes.push(spans::text("leitong.cluster.id", &id.to_string()));
            }
            attributes
        }
        Conclusion::DeadLetter(letter) => vec![spans::text("leitong.cause", letter.cause.label())],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokio::sync::mpsc::Receiver;

    use super::super::tests::tracer;
    use super::*;
    use leitong_base::record::{Carried, Cause, Unreadable};

    fn place(offset: u64) -> Place {
        Place::Message { topic: "pages".into(), partition: 3, offset, epoch: 1 }
    }

    fn origin(offset: u64) -> Origin {
        Origin {
            topic: "pages".into(),
            partition: 3,
            offset,
            epoch: 1,
            previous_offset: None,
            timestamp_ms: Some(5),
            topic_id: None,
        }
    }

    fn page(carried: Option<&str>) -> LogRecord {
        let headers = carried.map(|parent| ("TraceParent".to_owned(), Some(parent.as_bytes().to_vec())));
        let record = FingerprintRecord {
            carried: Carried::new(None, headers.into_iter().collect()),
            ..FingerprintRecord::numbered(7, None)
        };
        LogRecord::Page(Box::new(record))
    }

    fn letter(offset: u64) -> Conclusion {
        Conclusion::DeadLetter(Box::new(Unreadable::new(place(offset), Cause::BrokenJson, "no".to_owned())))
    }

    /// Traces a page from its message to its outcome. Returns the contexts of its log record and of its
    /// outcome.
    fn trace_page(
        tracer: &Tracer,
        offset: u64,
        said: Option<TraceContext>,
    ) -> Option<(TraceContext, TraceContext)> {
        let (record, marks) = (page(None), Marks::default());
        let seen = Seen {
            place: &place(offset),
            timestamp_ms: Some(5),
            said,
            read_at: now(),
            began_at: now(),
            marks: &marks,
            record: Ok(&record),
        };
        let mut trace = tracer.seen(&seen)?;
        let sent = trace.sending();
        tracer.delivered(&trace, 0, 9);
        let entry = (&record, &origin(offset));
        let mut trace = tracer.read_from_log(Some(sent.clone()), entry, (0, 9), Some(6))?;
        let outcome = trace.decided(&letter(offset));
        tracer.committed(&trace, Some((1, 2)), now());
        Some((sent, outcome))
    }

    fn sent_spans(waiting: &mut Receiver<Span>) -> Vec<Span> {
        std::iter::from_fn(|| waiting.try_recv().ok()).collect()
    }

    fn ids(spans: &[Span]) -> BTreeSet<(String, Vec<u8>, Vec<u8>)> {
        let id = |span: &Span| (span.name.clone(), span.span_id.to_vec(), span.parent_span_id.to_vec());
        spans.iter().map(id).collect()
    }

    #[test]
    fn a_page_that_is_read_again_has_the_same_spans_and_another_page_has_others() {
        let (tracer, mut waiting) = tracer(1.0, 100);
        let (sent, outcome) = trace_page(&tracer, 7, None).expect("the trace is recorded");
        let first = sent_spans(&mut waiting);
        let of_trace = |span: &Span| span.trace_id == sent.trace_id.to_be_bytes().to_vec();
        assert!(first.len() == 6 && first.iter().all(of_trace), "{first:?}");
        assert_eq!(first.iter().filter(|span| span.parent_span_id.is_empty()).count(), 1);
        let last = first.iter().find(|span| span.name == "send dead").expect("the letter's");
        assert_eq!(last.span_id, outcome.span_id.to_be_bytes().to_vec());
        assert_eq!(trace_page(&tracer, 7, None), Some((sent.clone(), outcome)));
        assert_eq!(ids(&first), ids(&sent_spans(&mut waiting)));
        let (other, _) = trace_page(&tracer, 8, None).expect("the trace is recorded");
        assert_ne!(other.trace_id, sent.trace_id);
        assert!(ids(&first).is_disjoint(&ids(&sent_spans(&mut waiting))));
    }

    #[test]
    fn the_context_of_an_unrecorded_trace_is_passed_on_unchanged() {
        let (tracer, mut waiting) = tracer(0.0, 100);
        assert_eq!(trace_page(&tracer, 7, None), None, "the trace begins here, and no page is sampled");
        let said = TraceContext::read(Some(b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"), None);
        let (record, marks) = (page(None), Marks::default());
        let seen = Seen {
            place: &place(7),
            timestamp_ms: None,
            said: said.clone(),
            read_at: 1,
            began_at: 2,
            marks: &marks,
            record: Ok(&record),
        };
        let mut trace = tracer.seen(&seen).expect("the context is passed on");
        assert_eq!(Some(trace.sending()), said);
        tracer.delivered(&trace, 0, 9);
        assert_eq!(sent_spans(&mut waiting), []);
        // A context that is sampled is recorded, whatever the ratio.
        let said = said.map(|said| TraceContext { flags: 1, ..said });
        assert!(trace_page(&tracer, 7, said).is_some() && sent_spans(&mut waiting).len() == 6);
    }

    #[test]
    fn a_record_without_a_context_has_that_of_its_page() {
        let (tracer, _waiting) = tracer(0.0, 100);
        let read = |carried| {
            let record = page(carried);
            let entry = (&record, &origin(7));
            tracer.read_from_log(None, entry, (0, 9), None)
        };
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(read(Some(parent)).map(|trace| trace.said.to_string()).as_deref(), Some(parent));
        assert!(read(Some("malformed")).is_none() && read(None).is_none());
    }
}
