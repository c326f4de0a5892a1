//! Removes the wrapping of message values: content codings, gzip without a header, and the five bytes that
//! serialisers of a schema registry write in front of JSON.
//!
//! As with HTTP, a header is trusted only if the bytes agree with it. Memory: one decompressed value of
//! limited size, and at most twice that in the process ([`decompress_codings`]).

use std::borrow::Cow;

use super::error::PageError;
use super::http::{BodyError, decompress_codings, known_codings};

/// Length of the header of a schema registry's serialiser: a zero byte, and the number of the schema.
const SCHEMA_HEAD_BYTES: usize = 5;

/// The reason why a value cannot be decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecompressError {
    /// The decompressed value exceeds the limit.
    TooLarge,
    /// The value has this many codings, which is too many.
    TooManyCodings(usize),
    /// The compressed data is damaged or ends too early. Unlike an archived page, the value can be sent again.
    Damaged,
}

/// Removes the content codings from a value. The result may have up to `bytes_max` bytes. Without a header,
/// gzip is recognised by its first bytes.
pub fn decompressed<'v>(
    value: &'v [u8],
    content_encoding: Option<&[u8]>,
    bytes_max: usize,
) -> Result<Cow<'v, [u8]>, DecompressError> {
    let named = content_encoding.map(|codings| String::from_utf8_lossy(codings).to_ascii_lowercase());
    let codings = match &named {
        Some(codings) if known_codings(codings).next().is_some() => codings.as_str(),
        _ if value.starts_with(b"\x1f\x8b\x08") => "gzip",
        _ => return Ok(value.into()),
    };
    if is_object(value) {
        return Ok(value.into());
    }
    match decompress_codings(codings, value.into(), bytes_max) {
        Ok((decompressed, true)) => Ok(decompressed.into()),
        Ok((_, false)) => Err(DecompressError::Damaged),
        Err(BodyError::TooLarge) => Err(DecompressError::TooLarge),
        Err(BodyError::TooManyCodings(count)) => Err(DecompressError::TooManyCodings(count)),
    }
}

/// Returns true if the value is already JSON. The headers must not decide this, because Brotli and raw
/// deflate accept almost any bytes.
fn is_object(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    value.starts_with(b"{") && value.ends_with(b"}")
}

/// Removes the header of a schema registry from JSON.
pub fn without_schema_head(value: &[u8]) -> &[u8] {
    match value.split_at_checked(SCHEMA_HEAD_BYTES) {
        Some(([0, ..], json)) if json.trim_ascii_start().starts_with(b"{") => json,
        _ => value,
    }
}

impl From<DecompressError> for PageError {
    fn from(wrapped: DecompressError) -> Self {
        Self::CannotDecompress(match wrapped {
            DecompressError::TooLarge => {
                "it exceeds page.line_bytes_max; raise that setting, or write smaller messages".to_owned()
            }
            DecompressError::TooManyCodings(count) => {
                format!("it has {count} content codings, but at most 5 are supported")
            }
            DecompressError::Damaged => {
                "its compressed data is damaged or ends early; write the message again".to_owned()
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
    fn codings_are_undone_if_header_and_bytes_agree() {
        let json = br#"{"url":"http://a/"}"#;
        let compressed = gzip(json);
        let zstd = zstd::encode_all(&json[..], 1).expect("memory");
        for (value, header) in [
            (&compressed[..], Some(&b"gzip"[..])),
            (&compressed, Some(b"GZIP")),
            (&compressed, None),
            (&compressed, Some(b"identity")),
            (&gzip(&compressed), Some(b"gzip, x-gzip")),
            (&zstd, Some(b"zstd")),
            (json, Some(b"gzip")),
            (json, Some(b"br")),
            (json, Some(b"deflate")),
            (json, Some(b"\xff")),
        ] {
            assert_eq!(decompressed(value, header, 100).as_deref(), Ok(&json[..]), "{header:?}");
        }
        // A page may be compressed twice by mistake. The inner value is not decompressed without a header.
        assert_eq!(decompressed(&gzip(&compressed), None, 100).as_deref(), Ok(&compressed[..]));
    }

    #[test]
    fn bombs_are_refused() {
        let compressed = gzip(&[b' '; 1001]);
        assert_eq!(decompressed(&compressed, None, 1000), Err(DecompressError::TooLarge));
        let header = ["gzip"; 9].join(",");
        assert_eq!(
            decompressed(&compressed, Some(header.as_bytes()), 2000),
            Err(DecompressError::TooManyCodings(9))
        );
    }

    /// A page whose compression is cut off is not read as far as it goes, unlike pages of archives.
    #[test]
    fn damaged_values_are_refused() {
        let page = b"<p>text".repeat(1000);
        let zstd = zstd::encode_all(&page[..], 1).expect("memory");
        for (value, header) in [(gzip(&page), "gzip"), (zstd, "zstd")] {
            for cut in [1, 6] {
                let cut = &value[..value.len() - cut];
                let read = decompressed(cut, Some(header.as_bytes()), 10_000);
                assert_eq!(read, Err(DecompressError::Damaged), "{header}");
            }
        }
    }

    #[test]
    fn the_header_of_a_schema_registry_is_removed() {
        assert_eq!(without_schema_head(b"\0\0\0\0\x07{}"), b"{}");
        assert_eq!(without_schema_head(b"\0\0\0\0\x07 \n{}"), b" \n{}");
        for as_it_is in [&b"{}"[..], b"", b"\0\0\0\0", b"\0\0\0\0\x07x", b"\x01\0\0\0\x07{}"] {
            assert_eq!(without_schema_head(as_it_is), as_it_is);
        }
    }
}
