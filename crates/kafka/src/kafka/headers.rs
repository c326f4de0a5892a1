//! The headers of a message, with any bytes in their names. Kafka specifies UTF-8 names, but accepts any
//! bytes. rdkafka panics on other names and has no function that returns the bytes, so this module calls
//! librdkafka directly.

#![expect(unsafe_code, reason = "rdkafka 0.39 panics on a header whose name is not UTF-8")]

use std::borrow::Cow;
use std::ffi::CStr;
use std::ptr;
use std::slice;

use rdkafka::bindings as sys;
use rdkafka::message::{BorrowedHeaders, Header, OwnedHeaders};

/// Returns headers in librdkafka's form.
pub(super) fn to_native<N: AsRef<str>, V: AsRef<[u8]>>(
    headers: impl IntoIterator<Item = (N, Option<V>)>,
) -> OwnedHeaders {
    headers.into_iter().fold(OwnedHeaders::new(), |all, (name, value)| {
        all.insert(Header { key: name.as_ref(), value: value.as_ref().map(AsRef::as_ref) })
    })
}

/// Copies the headers of a message, if it has any.
pub(super) fn copy(headers: Option<&BorrowedHeaders>) -> Vec<(String, Option<Vec<u8>>)> {
    let all = headers.into_iter().flat_map(all);
    all.map(|(name, value)| (name.into_owned(), value.map(<[u8]>::to_vec))).collect()
}

/// Returns all headers in their order. In names, bytes that are not UTF-8 are replaced by U+FFFD, as in
/// Kafka's own client. Values are unchanged.
pub(super) fn all(headers: &BorrowedHeaders) -> impl Iterator<Item = (Cow<'_, str>, Option<&[u8]>)> {
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
    use super::{BorrowedHeaders, copy, ptr, sys};

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
            let read = copy(Some(&*list.cast::<BorrowedHeaders>()));
            sys::rd_kafka_headers_destroy(list);
            read
        }
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
