//! What lies around the value of a message: content codings, gzip without a word about
//! it, and the five bytes that a schema registry's serialisers write before JSON.
//!
//! As with HTTP, a header is only believed where the bytes agree. Memory: one
//! unpacked value, bounded, and at most twice that on the way ([`unpack_all`]).

use std::borrow::Cow;

use super::http::{StillPacked, known_codings, unpack_all};
use super::json::PageError;

/// The bytes before a value that a schema registry's serialiser wrote: 0, and the schema's number.
const SCHEMA_HEAD_BYTES: usize = 5;

/// Why a value stays wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StillWrapped {
    /// Unpacked, it is above the limit.
    TooLarge,
    /// So many codings lie over one another.
    TooManyCodings(usize),
}

/// The value without its content codings, which may have `bytes_max` bytes
/// then. Without a header that names one, gzip is told by its first bytes.
pub(crate) fn unpacked<'v>(
    value: &'v [u8],
    content_encoding: Option<&[u8]>,
    bytes_max: usize,
) -> Result<Cow<'v, [u8]>, StillWrapped> {
    let named = content_encoding.map(|codings| String::from_utf8_lossy(codings).to_ascii_lowercase());
    let codings = match &named {
        Some(codings) if known_codings(codings).next().is_some() => codings.as_str(),
        _ if value.starts_with(b"\x1f\x8b\x08") => "gzip",
        _ => return Ok(value.into()),
    };
    if is_object(value) {
        return Ok(value.into());
    }
    match unpack_all(codings, value.into(), bytes_max) {
        Ok(unpacked) => Ok(unpacked.into()),
        Err(StillPacked::TooLarge) => Err(StillWrapped::TooLarge),
        Err(StillPacked::TooManyCodings(count)) => Err(StillWrapped::TooManyCodings(count)),
    }
}

/// Whether this is JSON already, whatever a header says:
/// Brotli and bare deflate take almost any bytes for theirs.
fn is_object(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    value.starts_with(b"{") && value.ends_with(b"}")
}

/// JSON without a schema registry's head.
pub(crate) fn without_schema_head(value: &[u8]) -> &[u8] {
    match value.split_at_checked(SCHEMA_HEAD_BYTES) {
        Some(([0, ..], json)) if json.trim_ascii_start().starts_with(b"{") => json,
        _ => value,
    }
}

impl From<StillWrapped> for PageError {
    fn from(wrapped: StillWrapped) -> Self {
        Self::StillPacked(match wrapped {
            StillWrapped::TooLarge => "unpacked, it is larger than page.line_bytes_max".to_owned(),
            StillWrapped::TooManyCodings(count) => {
                format!("it has {count} content codings over one another; 5 are undone at most")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn codings_are_undone_where_header_and_bytes_agree() {
        let json = br#"{"url":"http://a/"}"#;
        let packed = gzip(json);
        let zstd = zstd::encode_all(&json[..], 1).expect("memory");
        for (value, header) in [
            (&packed[..], Some(&b"gzip"[..])),
            (&packed, Some(b"GZIP")),
            (&packed, None),
            (&packed, Some(b"identity")),
            (&gzip(&packed), Some(b"gzip, x-gzip")),
            (&zstd, Some(b"zstd")),
            (json, Some(b"gzip")),
            (json, Some(b"br")),
            (json, Some(b"deflate")),
            (json, Some(b"\xff")),
        ] {
            assert_eq!(unpacked(value, header, 100).as_deref(), Ok(&json[..]), "{header:?}");
        }
        // A page may be packed twice by mistake; what is found within is not unpacked on a guess.
        assert_eq!(unpacked(&gzip(&packed), None, 100).as_deref(), Ok(&packed[..]));
    }

    #[test]
    fn bombs_are_refused() {
        let packed = gzip(&[b' '; 1001]);
        assert_eq!(unpacked(&packed, None, 1000), Err(StillWrapped::TooLarge));
        let header = ["gzip"; 9].join(",");
        assert_eq!(unpacked(&packed, Some(header.as_bytes()), 2000), Err(StillWrapped::TooManyCodings(9)));
    }

    #[test]
    fn a_schema_registrys_head_is_taken_off() {
        assert_eq!(without_schema_head(b"\0\0\0\0\x07{}"), b"{}");
        assert_eq!(without_schema_head(b"\0\0\0\0\x07 \n{}"), b" \n{}");
        for as_it_is in [&b"{}"[..], b"", b"\0\0\0\0", b"\0\0\0\0\x07x", b"\x01\0\0\0\x07{}"] {
            assert_eq!(without_schema_head(as_it_is), as_it_is);
        }
    }
}
