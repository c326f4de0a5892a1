//! The outputs of one transaction or of a part of it: everything that it writes. They are kept until the
//! commit, so they can be sent again.

use crate::kafka::dead_letter;
use crate::kafka::ports::Header;
use crate::worker::registry::{KeptVerdict, TableRegistry};
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::{ChangelogRecord, POSITION_KEY};
use leitong_cluster::verdict::{Conclusion, Verdict};
use leitong_graph::telemetry::metrics;
use leitong_graph::telemetry::traces::context::{TRACEPARENT, TRACESTATE, TraceContext};
use leitong_graph::telemetry::traces::page::LogTrace;
use leitong_pipeline::config::kafka::KafkaConfig;
use leitong_pipeline::config::kafka::VerdictFormat;
use leitong_pipeline::templates::Noticed;
use leitong_pipeline::verdict_message::cloud_events;
use leitong_pipeline::verdict_message::log_origin::{LOG_ORIGIN, LogOrigin};
use leitong_pipeline::verdict_message::verdict_headers;

/// The records of a transaction, or of a part of it.
#[derive(Default)]
pub(crate) struct Outputs {
    /// Verdicts and dead letters, in the order of the log.
    pub(crate) records: Vec<OutputRecord>,
    /// Records of the changelog. They go to the changelog partition with the number of the log partition.
    pub(crate) changelog: Vec<ChangelogRecord>,
    /// The counters of metrics to raise for each outcome after the commit, and the time at which the page's message was
    /// written.
    pub(crate) outcomes: Vec<(metrics::Counts, Option<Timestamp>)>,
    /// Verdicts to keep for look-ups after the commit.
    pub(crate) kept: Vec<KeptVerdict>,
    /// Observations to pass to the template alarm after the commit.
    pub(crate) noticed: Vec<Noticed>,
    /// The offset that the group commits with these outputs.
    pub(crate) next_log_offset: u64,
    /// The log offset of the first record whose outputs these are.
    pub(crate) first_log_offset: u64,
}

/// A message to write.
pub(crate) struct OutputRecord {
    /// The destination topic.
    pub(crate) to: To,
    /// The key of the message.
    pub(crate) key: Option<Vec<u8>>,
    /// The value of the message.
    pub(crate) value: Option<Vec<u8>>,
    /// The headers of the message.
    pub(crate) headers: Vec<Header>,
    /// A further header for the same dead letter without its value, if it has a value.
    pub(crate) header_without_value: Option<Header>,
    /// The trace of the record of the log, which is recorded after the commit.
    pub(crate) trace: Option<Box<LogTrace>>,
}

/// A topic that users read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// Verdicts.
    Verdicts,
    /// Dead letters.
    DeadLetters,
}

/// Returns true if a header carries a trace context.
fn is_context(name: &str) -> bool {
    name.eq_ignore_ascii_case(TRACEPARENT) || name.eq_ignore_ascii_case(TRACESTATE)
}

/// Returns a header with a text.
fn text((name, value): (&'static str, String)) -> Header {
    (name.into(), Some(value.into_bytes()))
}

/// Returns the headers that repeat fields of the verdict, and those of CloudEvents if they are configured.
fn describe(verdict: &Verdict, content_type: &'static str, config: &KafkaConfig) -> Vec<Header> {
    let values = verdict_headers::values(verdict, content_type);
    let mut headers: Vec<Header> = verdict_headers::NAMES.into_iter().zip(values).map(text).collect();
    if config.verdicts.cloud_events {
        let values = cloud_events::values(verdict, &config.app);
        headers.extend(cloud_events::NAMES.into_iter().zip(values).map(text));
    }
    headers
}

impl Outputs {
    /// Adds the output for the record at `origin` in the log. `log_time` is the time of the page's message.
    /// `trace` is the trace of the record, which the headers of the output pass on. Verdicts are kept for
    /// look-ups if there is an API.
    ///
    /// # Errors
    /// A verdict cannot be written as JSON, which is a bug.
    pub(crate) fn push(
        &mut self,
        conclusion: Conclusion,
        origin: LogOrigin,
        (log_time, mut trace): (Option<Timestamp>, Option<Box<LogTrace>>),
        (config, tables): (&KafkaConfig, &TableRegistry),
    ) -> serde_json::Result<()> {
        self.outcomes.push((metrics::counts(&conclusion), log_time));
        let context = trace.as_mut().map(|trace| trace.decided(&conclusion));
        let traced = context.iter().flat_map(TraceContext::headers).map(text);
        self.noticed.extend(Noticed::from_conclusion(&conclusion));
        let record = match conclusion {
            Conclusion::Verdict(verdict) => {
                let (value, content_type) = match config.verdicts.format {
                    VerdictFormat::Json => (serde_json::to_vec(&verdict)?, "application/json"),
                    VerdictFormat::Protobuf => (verdict.to_protobuf(), "application/protobuf"),
                };
                let json = Some(&*value).filter(|_| config.verdicts.format == VerdictFormat::Json);
                self.kept.extend(tables.kept(&verdict, json));
                let mut headers = describe(&verdict, content_type, config);
                let Verdict { page_id, carried, .. } = *verdict;
                let carried = carried.map(|carried| *carried).unwrap_or_default();
                // If the page's trace continues, the received context belongs to an earlier span.
                let received = carried.headers.into_iter();
                let received = received.filter(|(name, _)| context.is_none() || !is_context(name));
                headers.extend(received.map(|(name, value)| (name.into(), value)));
                headers.extend(traced);
                OutputRecord {
                    to: To::Verdicts,
                    headers,
                    key: Some(carried.key.unwrap_or_else(|| page_id.into_bytes())),
                    value: Some(value),
                    header_without_value: None,
                    trace,
                }
            }
            Conclusion::DeadLetter(letter) => {
                // Received headers are kept; if a name occurs twice, the last one counts.
                let mut headers = dead_letter::headers(&letter, &config.app);
                headers.push(text((LOG_ORIGIN, origin.to_string())));
                headers.extend(traced);
                OutputRecord {
                    to: To::DeadLetters,
                    headers,
                    header_without_value: letter.raw.is_some().then(|| dead_letter::place_of_value(&letter)),
                    trace,
                    key: letter.received.as_ref().and_then(|received| received.key.clone()),
                    value: letter.raw,
                }
            }
        };
        self.records.push(record);
        Ok(())
    }

    /// Returns the changelog records of consecutive `parts`, with only the last position record.
    pub(crate) fn changelog_of(parts: &[Self]) -> impl Iterator<Item = &ChangelogRecord> {
        parts.iter().enumerate().flat_map(|(at, part)| {
            let is_last = at + 1 == parts.len();
            part.changelog.iter().filter(move |record| is_last || record.key != POSITION_KEY)
        })
    }

    /// Removes the values of all dead letters. Returns how many had one.
    pub(crate) fn leave_out_values(&mut self) -> u64 {
        let mut left_out = 0;
        for record in self.records.iter_mut().filter(|record| record.to == To::DeadLetters) {
            if let Some(header) = record.header_without_value.take() {
                record.value = None;
                record.headers.push(header);
                left_out += 1;
            }
        }
        left_out
    }
}
