//! Builds the message of a dead letter from an [`Unreadable`]: key, value and headers as received, followed
//! by headers that tell where the message was and what is wrong with it, with the names of Kafka Connect.

use std::borrow::Cow;

use super::ports::Header;
use leitong_base::record::{Place, Unreadable};

/// Header of a letter whose value was left out. It tells where the value is.
const VALUE_LEFT_OUT: &str = "leitong.value.left.out";

/// Returns the headers. If the letter has no value because the value is too long, the last one tells where it is.
pub(crate) fn headers(letter: &Unreadable, app: &str) -> Vec<Header> {
    let received = letter.received.iter().flat_map(|received| &received.headers);
    let mut headers: Vec<Header> =
        received.map(|(name, value)| (name.clone().into(), value.clone())).collect();
    let mut add = |name, value: &str| headers.push((Cow::Borrowed(name), Some(value.into())));
    if let Place::Message { topic, partition, offset, .. } = &letter.source {
        add("__connect.errors.topic", topic);
        add("__connect.errors.partition", &partition.to_string());
        add("__connect.errors.offset", &offset.to_string());
    }
    add("__connect.errors.connector.name", app);
    add("__connect.errors.stage", "VALUE_CONVERTER");
    add("__connect.errors.exception.class.name", letter.cause.as_str());
    add("__connect.errors.exception.message", &letter.message);
    if letter.raw.is_none() && letter.raw_bytes > 0 {
        headers.push(place_of_value(letter));
    }
    headers
}

/// Returns the header of a letter without its value.
pub(crate) fn place_of_value(letter: &Unreadable) -> Header {
    let value = format!("{} bytes; the value is at {}", letter.raw_bytes, letter.source);
    (VALUE_LEFT_OUT.into(), Some(value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_base::record::{Cause, Received};

    #[test]
    fn headers_keep_those_received_and_tell_where_the_value_is() {
        let received = Received {
            key: None,
            headers: vec![("trace".into(), Some(b"1".to_vec())), ("empty".into(), None)],
            log_time: None,
        };
        let source = Place::Message { topic: "pages".into(), partition: 2, offset: 7, epoch: 0 };
        let letter = Unreadable {
            raw_bytes: 9_000_000,
            received: Some(Box::new(received)),
            ..Unreadable::new(source, Cause::BrokenJson, "broken JSON: …".into())
        };
        let shown = headers(&letter, "leitong").into_iter().map(|(name, value)| {
            let value = value.map(|value| String::from_utf8(value).expect("UTF-8"));
            format!("{name}={}", value.as_deref().unwrap_or("null"))
        });
        assert_eq!(
            shown.collect::<Vec<_>>(),
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
