//! Builds spans and their attributes for OTLP. Names are those of OpenTelemetry's semantic conventions
//! ([`SCHEMA_URL`]); our own names begin with `leitong.`.
//!
//! Values that pages choose are cut after [`VALUE_BYTES_MAX`] bytes. User and password are removed from urls.

use super::context::TraceContext;
use super::otlp::{AnyValue, KeyValue, Span, SpanKind, Status, StatusCode, Value};

/// Version of the conventions.
pub(super) const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.43.0";
/// Limit on the bytes of a value that a page chooses.
const VALUE_BYTES_MAX: usize = 512;
/// Flag of a span (bit 8): bit 9 is valid.
const PARENT_IS_KNOWN: u32 = 0x100;
/// Flag of a span (bit 9): the parent is in another process.
const PARENT_IS_REMOTE: u32 = 0x200;

/// Start and end of a span, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    pub(super) began: u64,
    pub(super) ended: u64,
}

/// Builds a span at `context`, below the span `parent` of the same trace (0 if there is none). `is_remote` is
/// true if the parent is in another process.
pub(super) fn span(
    (context, (parent, is_remote)): (&TraceContext, (u64, bool)),
    (name, kind): (String, SpanKind),
    time: Time,
    attributes: Vec<KeyValue>,
) -> Span {
    let remote = if is_remote { PARENT_IS_REMOTE } else { 0 };
    let parent_span_id = if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() };
    Span {
        trace_id: context.trace_id.to_be_bytes().to_vec(),
        span_id: context.span_id.to_be_bytes().to_vec(),
        trace_state: context.state.as_deref().unwrap_or_default().to_owned(),
        parent_span_id,
        name,
        kind: kind.into(),
        // Clocks of machines differ, so this makes sure that no span ends before it begins.
        start_time_unix_nano: time.began.min(time.ended),
        end_time_unix_nano: time.ended,
        attributes,
        status: None,
        flags: u32::from(context.flags) | PARENT_IS_KNOWN | remote,
    }
}

/// Marks a span as failed.
pub(super) fn failed(mut span: Span, message: &str) -> Span {
    span.status = Some(Status { message: short(message).to_owned(), code: StatusCode::Error.into() });
    span
}

/// Builds a text attribute.
pub(super) fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, Value::Text(short(value).to_owned()))
}

/// Builds a number attribute.
pub(super) fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::Number(i64::try_from(value).unwrap_or(i64::MAX)))
}

/// Builds the attribute with the url of a page, without user and password.
pub(super) fn url(value: &str) -> KeyValue {
    text("url.full", &without_credentials(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn short(value: &str) -> &str {
    &value[..value.floor_char_boundary(VALUE_BYTES_MAX)]
}

fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://REDACTED:REDACTED@{host}{}", &rest[authority.len()..]),
        None => url.to_owned(),
    }
}

/// Operations on messages, with the names of the conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Receive,
    Process,
    Send,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Process => "process",
            Self::Send => "send",
        }
    }

    /// Builds the operation's span at `at`, for a message: its topic, its partition and offset if they are known, and
    /// the group if it is read. It has the attributes that the conventions require, and those of the page.
    pub(super) fn span(
        self,
        at: (&TraceContext, (u64, bool)),
        (topic, place, group): (&str, Option<(u32, u64)>, Option<&str>),
        time: Time,
        page: &[KeyValue],
    ) -> Span {
        let kind = match self {
            Self::Receive | Self::Process => SpanKind::Consumer,
            Self::Send => SpanKind::Producer,
        };
        let mut attributes = vec![
            text("messaging.system", "kafka"),
            text("messaging.operation.name", self.name()),
            text("messaging.operation.type", self.name()),
            text("messaging.destination.name", topic),
        ];
        if let Some((partition, offset)) = place {
            attributes.push(text("messaging.destination.partition.id", &partition.to_string()));
            attributes.push(number("messaging.kafka.offset", offset));
        }
        attributes.extend(group.map(|group| text("messaging.consumer.group.name", group)));
        attributes.extend_from_slice(page);
        span(at, (format!("{} {topic}", self.name()), kind), time, attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_pages_are_bounded_and_contain_no_password() {
        let value = |attribute: KeyValue| match attribute.value.and_then(|value| value.value) {
            Some(Value::Text(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(value(url("http://a/?x=y@z")), "http://a/?x=y@z");
        assert_eq!(value(url("http://u:p@ss@a:80/x@y")), "http://REDACTED:REDACTED@a:80/x@y");
        assert_eq!(value(url("urn:x@y")), "urn:x@y");
        let long = format!("http://a/{}", "雷".repeat(1_000));
        let kept = value(url(&long));
        assert!(kept.len() <= VALUE_BYTES_MAX && kept.len() > VALUE_BYTES_MAX - 4 && long.starts_with(&kept));
    }

    #[test]
    fn no_span_ends_before_it_begins() {
        let context = TraceContext::sampled(1, 2);
        let named = ("x".to_owned(), SpanKind::Internal);
        let span = span((&context, (0, false)), named, Time { began: 9, ended: 5 }, Vec::new());
        assert_eq!((span.start_time_unix_nano, span.end_time_unix_nano), (5, 5));
        assert!(span.parent_span_id.is_empty() && span.span_id.len() == 8 && span.trace_id.len() == 16);
    }
}
