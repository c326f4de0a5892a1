//! Everything that one transaction writes, ready to be sent, and to be sent again: one part, or several in a row, each of
//! which could be a transaction of its own.

use rdkafka::message::{Header, OwnedHeaders};

use super::dead_letter;
use crate::changelog::{ChangelogRecord, POSITION_KEY};
use crate::config::KafkaConfig;
use crate::config::kafka::VerdictFormat;
use crate::page::timestamp::Timestamp;
use crate::pipeline::cluster_half::Conclusion;
use crate::telemetry::metrics::Outcome;

/// A transaction's records, or a part of them.
#[derive(Default)]
pub struct Outputs {
    /// In the order of the log.
    pub records: Vec<OutputRecord>,
    /// The changelog's, which go to the partition of the same number as the log's.
    pub changelog: Vec<ChangelogRecord>,
    /// For the counts, once it is committed.
    pub outcomes: Vec<(Outcome, Option<Timestamp>)>,
    /// The offset that the group commits with it.
    pub next_log_offset: u64,
    /// Offset in the log before it.
    pub first_log_offset: u64,
}

/// One message.
pub struct OutputRecord {
    /// Which topic.
    pub to: To,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// Its value.
    pub value: Option<Vec<u8>>,
    /// Its headers.
    pub headers: OwnedHeaders,
    /// The headers of the same letter without its value; for letters that have one.
    pub headers_without_value: Option<OwnedHeaders>,
}

/// A topic that users read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Verdicts.
    Verdicts,
    /// Dead letters.
    DeadLetters,
}

impl Outputs {
    /// Adds what came of one record of the log; `log_time` is the page's.
    pub fn push(&mut self, conclusion: Conclusion, log_time: Option<Timestamp>, config: &KafkaConfig) {
        self.outcomes.push((Outcome::of(&conclusion), log_time));
        let record = match conclusion {
            Conclusion::Verdict(verdict) => {
                let (value, content_type) = match config.verdicts.format {
                    // A verdict has no keys that are no strings, which is all that can go wrong here.
                    VerdictFormat::Json => {
                        (serde_json::to_vec(&verdict).unwrap_or_default(), "application/json")
                    }
                    VerdictFormat::Protobuf => (verdict.to_protobuf(), "application/protobuf"),
                };
                let header = Header { key: "content-type", value: Some(content_type) };
                OutputRecord {
                    to: To::Verdicts,
                    key: Some(verdict.page_id.into_bytes()),
                    value: Some(value),
                    headers: OwnedHeaders::new().insert(header),
                    headers_without_value: None,
                }
            }
            Conclusion::DeadLetter(letter) => {
                let without = dead_letter::is_without_value(&letter);
                OutputRecord {
                    to: To::DeadLetters,
                    headers: dead_letter::headers(&letter, &config.app, without),
                    headers_without_value: letter
                        .raw
                        .is_some()
                        .then(|| dead_letter::headers(&letter, &config.app, true)),
                    key: letter.received.as_ref().and_then(|received| received.key.clone()),
                    value: letter.raw,
                }
            }
        };
        self.records.push(record);
    }

    /// The changelog's records of `parts`, which follow one another: of their positions only the last one.
    pub fn changelog_of(parts: &[Self]) -> impl Iterator<Item = &ChangelogRecord> {
        parts.iter().enumerate().flat_map(|(at, part)| {
            let is_last = at + 1 == parts.len();
            part.changelog.iter().filter(move |record| is_last || record.key != POSITION_KEY)
        })
    }

    /// Takes the values out of all dead letters; how many had one.
    pub fn leave_out_values(&mut self) -> u64 {
        let mut left_out = 0;
        for record in self.records.iter_mut().filter(|record| record.to == To::DeadLetters) {
            if let Some(headers) = record.headers_without_value.take() {
                (record.value, record.headers) = (None, headers);
                left_out += 1;
            }
        }
        left_out
    }
}
