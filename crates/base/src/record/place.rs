//! The place where a page was read: a line, a WARC record or a message.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// The place where a page was read: a line, a WARC record or a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Place {
    /// A line of a JSON lines file.
    Line {
        /// The file as named on the command line; `-` is standard input.
        input: Arc<str>,
        /// The line number, from 1.
        line: u64,
    },
    /// A record of a WARC file.
    Record {
        /// The file as named on the command line; `-` is standard input.
        input: Arc<str>,
        /// The record number, from 1. Records that are not pages count too.
        record: u64,
    },
    /// A message of a topic.
    Message {
        /// The topic.
        topic: Arc<str>,
        /// The partition of the topic.
        partition: u32,
        /// The offset of the message in the partition.
        offset: u64,
        /// The epoch setting. An operator raises it to have all pages processed again.
        epoch: u32,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { input, line } => write!(f, "{input}: line {line}"),
            Self::Record { input, record } => write!(f, "{input}: record {record}"),
            Self::Message { topic, partition, offset, .. } => write!(f, "{topic}[{partition}]@{offset}"),
        }
    }
}
