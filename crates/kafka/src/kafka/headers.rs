//! The headers of a message, with any bytes in their names. Kafka specifies UTF-8 names, but accepts any
//! bytes. rdkafka panics on other names and has no function that returns the bytes, so this module calls
//! librdkafka directly.

#![expect(unsafe_code, reason = "rdkafka 0.39 panics on a header whose name is not UTF-8")]

use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr;
use std::slice;

use rdkafka::bindings as sys;
use rdkafka::message::{BorrowedHeaders, Headers, OwnedHeaders};

use leitong_graph::telemetry::traces::context::{TRACEPARENT, TRACESTATE, TraceContext};

/// Headers that can be passed to librdkafka, wherever the message comes from.
pub(crate) trait AsBorrowed: Headers {
    /// Returns the headers in librdkafka's form.
    fn borrowed(&self) -> &BorrowedHeaders;
}

impl AsBorrowed for BorrowedHeaders {
    fn borrowed(&self) -> &BorrowedHeaders {
        self
    }
}

impl AsBorrowed for OwnedHeaders {
    fn borrowed(&self) -> &BorrowedHeaders {
        self.as_borrowed()
    }
}

/// Returns the trace context of a message, from its last `traceparent` and `tracestate` headers.
pub(crate) fn trace_context(headers: &impl AsBorrowed) -> Option<TraceContext> {
    let (mut parent, mut state) = (None, None);
    for (name, value) in all(headers.borrowed()) {
        if name.eq_ignore_ascii_case(TRACEPARENT) {
            parent = value;
        } else if name.eq_ignore_ascii_case(TRACESTATE) {
            state = value;
        }
    }
    TraceContext::read(parent, state)
}

/// Returns all headers in their order. In names, bytes that are not UTF-8 are replaced by U+FFFD, as in
/// Kafka's own client. Values are unchanged.
pub(crate) fn all(headers: &BorrowedHeaders) -> impl Iterator<Item = (Cow<'_, str>, Option<&[u8]>)> {
    (0..).map_while(|at| get(headers, at))
}

/// Returns the header at `at`, or `None` after the last one.
fn get(headers: &BorrowedHeaders, at: usize) -> Option<(Cow<'_, str>, Option<&[u8]>)> {
    let (mut name, mut value, mut size) = (ptr::null(), ptr::null(), 0);
    // SAFETY: rdkafka creates a `&BorrowedHeaders` only from a `*rd_kafka_headers_t` that lives as long, and
    // reads it in the same way. The function writes to the given places, or returns an error and writes
    // nothing.
    let code = unsafe {
        let list = ptr::from_ref(headers).cast::<sys::rd_kafka_headers_t>();
        sys::rd_kafka_header_get_all(list, at, &raw mut name, &raw mut value, &raw mut size)
    };
    if code != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
        return None;
    }
    // SAFETY: name and value belong to the headers, which the result borrows and which are not changed
    // meanwhile. A name ends in a NUL; a value that is not null has `size` bytes.
    let (name, value) = unsafe {
        let value = (!value.is_null()).then(|| slice::from_raw_parts(value.cast::<u8>(), size));
        (CStr::from_ptr(name), value)
    };
    Some((name.to_string_lossy(), value))
}

#[cfg(test)]
mod tests {
    use super::{BorrowedHeaders, OwnedHeaders, all, ptr, sys, trace_context};

    /// Creates headers with these names and values in librdkafka, and reads them.
    fn read(headers: &[(&[u8], Option<&[u8]>)]) -> Vec<(String, Option<Vec<u8>>)> {
        // SAFETY: the list lives until it is destroyed after its last use; sizes are those of the slices.
        unsafe {
            let list = sys::rd_kafka_headers_new(headers.len());
            for (name, value) in headers {
                let (size, value) = value.map_or((0, ptr::null()), |value| (value.len(), value.as_ptr()));
                let name_size = isize::try_from(name.len()).expect("short");
                let size = isize::try_from(size).expect("short");
                sys::rd_kafka_header_add(list, name.as_ptr().cast(), name_size, value.cast(), size);
            }
            let owned = |(name, value): (std::borrow::Cow<'_, str>, Option<&[u8]>)| {
                (name.into_owned(), value.map(<[u8]>::to_vec))
            };
            let read = all(&*list.cast::<BorrowedHeaders>()).map(owned).collect();
            sys::rd_kafka_headers_destroy(list);
            read
        }
    }

    #[test]
    fn the_last_trace_context_counts_among_any_other_headers() {
        let parent = |id: &str| format!("00-{id}{id}-00f067aa0ba902b7-01").into_bytes();
        let (first, last) = (parent("4bf92f3577b34da6"), parent("a3ce929d0e0e4736"));
        let headers = OwnedHeaders::new();
        let add = |headers: OwnedHeaders, key, value: &[u8]| {
            headers.insert(rdkafka::message::Header { key, value: Some(value) })
        };
        assert_eq!(trace_context(&headers), None);
        let headers = add(add(headers, "traceparent", &first), "TraceState", b"a=1");
        let headers = add(add(headers, "other", b"\xff"), "Traceparent", &last);
        let context = trace_context(&headers).expect("a context");
        assert_eq!(context.to_string().into_bytes(), last);
        assert_eq!(context.state.as_deref(), Some("a=1"));
        assert_eq!(trace_context(&add(headers, "traceparent", b"nonsense")), None);
    }

    #[test]
    fn headers_are_read_in_their_order_with_and_without_values() {
        let expected = [("a", Some(vec![0, 255])), ("名", None), ("a", Some(vec![]))];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(read(&[(b"a", Some(&[0, 255])), ("名".as_bytes(), None), (b"a", Some(b""))]), expected);
        assert_eq!(read(&[]), []);
    }

    /// rdkafka itself panics on such names.
    #[test]
    fn names_that_are_not_utf8_keep_their_readable_part() {
        let read = read(&[(b"trace\xffid", Some(b"7")), (b"", Some(b"8"))]);
        assert_eq!(
            read,
            [("trace\u{fffd}id".to_owned(), Some(b"7".to_vec())), (String::new(), Some(b"8".to_vec()))]
        );
    }
}
