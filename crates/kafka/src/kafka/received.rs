//! A message of any topic, in the form in which tools that only read get it.

use serde_json::{Value, json};

/// A message as it was received.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Topic of the message.
    pub topic: String,
    /// Partition of the message.
    pub partition: i32,
    /// Offset of the message.
    pub offset: i64,
    /// Timestamp in milliseconds since 1970, if the broker knows it.
    pub timestamp_ms: Option<i64>,
    /// Key of the message.
    pub key: Option<Vec<u8>>,
    /// Value of the message.
    pub value: Option<Vec<u8>>,
    /// Headers of the message, in their order.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

impl Received {
    /// Returns the last header with this name. Headers that Leitong adds come after those of the page.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().rfind(|(known, _)| known == name)?.1.as_deref()
    }

    /// Returns the last header with this name as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.header(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// Returns the place of the message as JSON.
    pub fn place(&self) -> Value {
        json!({ "topic": self.topic, "partition": self.partition, "offset": self.offset })
    }
}
