//! Builds the message of a dead letter from an [`Unreadable`]: key, value and headers as received, followed
//! by headers that tell where the message was and what is wrong with it, with the names of Kafka Connect.

use rdkafka::message::{Header, OwnedHeaders};

use leitong_base::record::{Place, Unreadable};

/// Header of a letter whose value was left out. It tells where the value is.
const VALUE_LEFT_OUT: &str = "leitong.value.left.out";

/// Returns the headers. With `without_value`, a further header tells where the value is.
#[must_use]
pub(crate) fn headers(letter: &Unreadable, app: &str, without_value: bool) -> OwnedHeaders {
    let received = letter.received.as_deref();
    let mut headers = OwnedHeaders::new();
    for (name, value) in received.into_iter().flat_map(|received| &received.headers) {
        headers = headers.insert(Header { key: name, value: value.as_deref() });
    }
    let mut add = |name: &str, value: &str| {
        headers = std::mem::take(&mut headers).insert(Header { key: name, value: Some(value.as_bytes()) });
    };
    if let Place::Message { topic, partition, offset, .. } = &letter.source {
        add("__connect.errors.topic", topic);
        add("__connect.errors.partition", &partition.to_string());
        add("__connect.errors.offset", &offset.to_string());
    }
    add("__connect.errors.connector.name", app);
    add("__connect.errors.stage", "VALUE_CONVERTER");
    add("__connect.errors.exception.class.name", letter.cause.as_str());
    add("__connect.errors.exception.message", &letter.message);
    if without_value {
        add(VALUE_LEFT_OUT, &format!("{} bytes; the value is at {}", letter.raw_bytes, letter.source));
    }
    headers
}

/// Returns true if the letter is sent without its value, because the value is too long.
#[must_use]
pub(crate) fn is_without_value(letter: &Unreadable) -> bool {
    letter.raw.is_none() && letter.raw_bytes > 0
}

#[cfg(test)]
mod tests {
    use rdkafka::message::Headers;

    use super::*;
    use leitong_base::record::{Cause, Received};

    #[test]
    fn headers_keep_those_received_and_tell_where_the_value_is() {
        let received = Received {
            key: None,
            headers: vec![("trace".into(), Some(b"1".to_vec())), ("empty".into(), None)],
            log_time: None,
        };
        let letter = Unreadable {
            source: Place::Message { topic: "pages".into(), partition: 2, offset: 7, epoch: 0 },
            cause: Cause::BrokenJson,
            message: "broken JSON: …".into(),
            raw: None,
            raw_bytes: 9_000_000,
            received: Some(Box::new(received)),
        };
        assert!(is_without_value(&letter));
        let headers = headers(&letter, "leitong", true);
        let shown: Vec<String> = headers
            .iter()
            .map(|header| {
                format!("{}={}", header.key, header.value.map_or("null".into(), String::from_utf8_lossy))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "trace=1",
                "empty=null",
                "__connect.errors.topic=pages",
                "__connect.errors.partition=2",
                "__connect.errors.offset=7",
                "__connect.errors.connector.name=leitong",
                "__connect.errors.stage=VALUE_CONVERTER",
                "__connect.errors.exception.class.name=BROKEN_JSON",
                "__connect.errors.exception.message=broken JSON: …",
                "leitong.value.left.out=9000000 bytes; the value is at pages[2]@7",
            ]
        );
    }
}
