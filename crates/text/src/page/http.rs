//! Parses an archived HTTP response: status, content type and decompressed body. [`HttpHead`] parses the header.
//!
//! Archives differ in what they keep. Some store the body as it was transferred; others undo chunking or
//! compression but keep the original headers. So a header is trusted only if the bytes agree with it. Gzip and zstd are
//! recognised by their first bytes, whatever coding the header names; in a page, also if it names none.
//!
//! A body may be compressed several times, such as by a server and then by a proxy. At most [`CODINGS_MAX`]
//! codings are undone, and the total size of everything that is decompressed on the way is limited to twice
//! the maximum body size. Without these limits, a response with thousands of codings and a small body would take
//! minutes.

use std::borrow::Cow;
use std::io::Read;

use super::chunks;
use super::http_head::HttpHead;

/// The parts of a response that are needed.
#[derive(Debug, PartialEq)]
pub(super) struct Response {
    /// The status code, if the status line has one.
    pub(super) status: Option<u32>,
    /// `Content-Type`.
    pub(super) content_type: Option<String>,
    /// The decompressed body.
    pub(super) body: Result<Vec<u8>, BodyError>,
    /// True if the body is shorter than its header says, or its chunks or compressed data end too early, so a part of
    /// it may be missing.
    pub(super) breaks_off: bool,
    /// True if the server sent only a part of the page.
    pub(super) is_partial: bool,
}

/// The reason why the body cannot be decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyError {
    /// The body exceeds the size limit.
    TooLarge,
    /// The body has this many codings, which is too many.
    TooManyCodings(usize),
}

/// Maximum number of codings that are undone. Two occur now and then, three hardly ever.
const CODINGS_MAX: usize = 5;
/// Maximum total size of everything that is decompressed for one body, as a multiple of the maximum body
/// size.
const DECOMPRESSED_BODIES_MAX: usize = 2;

/// Maximum zstd window: 8 MiB, the limit of RFC 9659 for content codings. Otherwise a decoder may need up to
/// 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Number of bytes before the compressed data in the zlib format.
const ZLIB_HEAD_BYTES: usize = 2;

/// Parses a response whose decompressed body may have up to `body_bytes_max` bytes. A response without a head
/// is taken as a body.
pub(super) fn parse(response: &[u8], body_bytes_max: usize) -> Response {
    let Some(head) = HttpHead::parse_final(response) else {
        let body = bounded(response.into(), body_bytes_max);
        return Response { status: None, content_type: None, body, breaks_off: false, is_partial: false };
    };
    let mut body = Cow::Borrowed(&response[head.bytes..]);
    let is_chunked = head.transfer_codings.split(',').any(|coding| name_of_coding(coding) == "chunked");
    let joined = match is_chunked {
        true => chunks::join(&body),
        false => chunks::join_unannounced(&body).map(|joined| (joined, true)),
    };
    let mut breaks_off = head.promises_more_than(body.len() as u64);
    if let Some((joined, is_whole)) = joined {
        body = joined.into();
        breaks_off = !is_whole;
    }
    // Codings are listed in the order in which they were applied. Transfer codings were applied last.
    let codings = format!("{},{}", head.content_codings, head.transfer_codings);
    let mut decompressed = decompress_codings(&codings, body, body_bytes_max);
    let is_html = head.content_type.as_deref().is_some_and(|media_type| media_type.contains("html"));
    if let Ok((body, is_whole)) = &decompressed
        && is_html
        && let Some(coding) = recognised_coding(body)
    {
        decompressed = decompress_codings(coding, body.into(), body_bytes_max)
            .map(|(body, is_all)| (body, is_all && *is_whole));
    }
    Response {
        status: head.status,
        is_partial: head.is_partial(),
        content_type: head.content_type,
        breaks_off: breaks_off || matches!(decompressed, Ok((_, false))),
        body: decompressed.map(|(body, _)| body),
    }
}

fn bounded(body: Cow<'_, [u8]>, bytes_max: usize) -> Result<Vec<u8>, BodyError> {
    if body.len() > bytes_max { Err(BodyError::TooLarge) } else { Ok(body.into_owned()) }
}

/// Undoes `codings`, starting with the last one. Also returns false if the data is damaged or ends too early.
pub(super) fn decompress_codings(
    codings: &str,
    mut body: Cow<'_, [u8]>,
    bytes_max: usize,
) -> Result<(Vec<u8>, bool), BodyError> {
    let codings = || known_codings(codings);
    let count = codings().count();
    if count > CODINGS_MAX {
        return Err(BodyError::TooManyCodings(count));
    }
    let mut left = bytes_max.saturating_mul(DECOMPRESSED_BODIES_MAX);
    let mut all_whole = true;
    for coding in codings().rev() {
        match decompress(recognised_coding(&body).unwrap_or(coding), &body, bytes_max.min(left)) {
            Decompressed::Body { body: decompressed, is_whole } => {
                all_whole &= is_whole;
                left -= decompressed.len();
                body = decompressed.into();
            }
            Decompressed::NotInThisCoding => {}
            Decompressed::TooLarge => return Err(BodyError::TooLarge),
        }
    }
    Ok((bounded(body, bytes_max)?, all_whole))
}

/// Returns the codings in a list that can be undone, in their order.
pub(super) fn known_codings(codings: &str) -> impl DoubleEndedIterator<Item = &str> {
    let known = |coding: &&str| matches!(*coding, "gzip" | "x-gzip" | "deflate" | "br" | "zstd");
    codings.split(',').map(name_of_coding).filter(known)
}

/// Returns the coding of data whose first bytes no page has.
fn recognised_coding(body: &[u8]) -> Option<&'static str> {
    match body.starts_with(b"\x1f\x8b\x08") {
        true => Some("gzip"),
        false => begins_zstd(body).then_some("zstd"),
    }
}

/// Returns the name of a coding. Some servers put it into quotes, or add parameters.
fn name_of_coding(coding: &str) -> &str {
    coding.split(';').next().unwrap_or_default().trim().trim_matches('"').trim()
}

/// Removes skippable frames (RFC 8878, section 3.1.2) from the beginning of a zstd body.
fn after_skippable_frames(mut body: &[u8]) -> &[u8] {
    while let Some(([magic @ .., a, b, c, d], rest)) = body.split_first_chunk::<8>()
        && matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
        && let Some(after) =
            usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok().and_then(|bytes| rest.get(bytes..))
    {
        body = after;
    }
    body
}

enum Decompressed {
    Body {
        body: Vec<u8>,
        /// False if the data ended too early.
        is_whole: bool,
    },
    /// The coding is unknown, or the bytes are not in this coding.
    NotInThisCoding,
    TooLarge,
}

fn decompress(coding: &str, body: &[u8], bytes_max: usize) -> Decompressed {
    match coding {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => or_nothing(read_gzip(body, bytes_max)),
        "gzip" | "x-gzip" if begins_zlib(body) => {
            match read_up_to(flate2::read::ZlibDecoder::new(body), bytes_max) {
                Decompressed::Body { is_whole: false, .. } => Decompressed::NotInThisCoding,
                decompressed => decompressed,
            }
        }
        // The standard requires the zlib format, but many servers send raw deflate data.
        "deflate" => match read_up_to(flate2::read::ZlibDecoder::new(body), bytes_max) {
            Decompressed::NotInThisCoding if body.trim_ascii_start().starts_with(b"<") => {
                Decompressed::NotInThisCoding
            }
            Decompressed::NotInThisCoding => read_up_to(flate2::read::DeflateDecoder::new(body), bytes_max),
            // If the checksum is wrong, the decoder withholds the end of the data.
            Decompressed::Body { is_whole: false, .. } => {
                match read_up_to(flate2::read::DeflateDecoder::new(&body[ZLIB_HEAD_BYTES..]), bytes_max) {
                    Decompressed::Body { body, .. } => Decompressed::Body { body, is_whole: false },
                    decompressed => decompressed,
                }
            }
            decompressed => decompressed,
        },
        // The Brotli decoder accepts the beginning of almost any data. If the header is repeated, or a proxy
        // has already decompressed the page, the page must not be lost.
        "br" => match read_up_to(brotli_decompressor::Decompressor::new(body, 4096), bytes_max) {
            Decompressed::Body { is_whole: false, .. } if body.trim_ascii_start().starts_with(b"<") => {
                Decompressed::NotInThisCoding
            }
            decompressed => decompressed,
        },
        "zstd" if begins_zstd(body) => {
            let decoder =
                zstd::stream::read::Decoder::new(after_skippable_frames(body)).and_then(|mut decoder| {
                    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                    Ok(decoder)
                });
            decoder
                .map_or(Decompressed::NotInThisCoding, |decoder| or_nothing(read_up_to(decoder, bytes_max)))
        }
        _ => Decompressed::NotInThisCoding,
    }
}

/// Returns true for the first bytes of zstd, after any skippable frames.
fn begins_zstd(body: &[u8]) -> bool {
    after_skippable_frames(body).starts_with(b"\x28\xb5\x2f\xfd")
}

/// Returns true for the first bytes of the zlib format (RFC 1950) with a window of 32 KiB.
fn begins_zlib(body: &[u8]) -> bool {
    matches!(body, [0x78, flags, ..] if u16::from_be_bytes([0x78, *flags]).is_multiple_of(31))
}

/// Returns the result for a body that begins like data in this coding. If nothing of it can be decompressed, the result
/// is an empty, incomplete body.
fn or_nothing(decompressed: Decompressed) -> Decompressed {
    match decompressed {
        Decompressed::NotInThisCoding => Decompressed::Body { body: Vec::new(), is_whole: false },
        decompressed => decompressed,
    }
}

/// Decompresses all gzip members. Other data after a complete member is left out.
fn read_gzip(mut body: &[u8], bytes_max: usize) -> Decompressed {
    let mut all = Vec::new();
    loop {
        let mut member = flate2::bufread::GzDecoder::new(body);
        match read_up_to(&mut member, bytes_max - all.len()) {
            Decompressed::Body { body, is_whole } => {
                all.extend(body);
                if !is_whole {
                    return Decompressed::Body { body: all, is_whole };
                }
            }
            Decompressed::NotInThisCoding if all.is_empty() => return Decompressed::NotInThisCoding,
            Decompressed::NotInThisCoding => return Decompressed::Body { body: all, is_whole: false },
            Decompressed::TooLarge => return Decompressed::TooLarge,
        }
        body = member.into_inner();
        if !body.starts_with(b"\x1f\x8b") {
            return Decompressed::Body { body: all, is_whole: true };
        }
    }
}

/// Reads everything that `decoder` can read. A page whose transfer ended too early is still a page.
fn read_up_to(decoder: impl Read, bytes_max: usize) -> Decompressed {
    let mut decompressed = Vec::new();
    let result = decoder.take(bytes_max as u64 + 1).read_to_end(&mut decompressed);
    match result {
        _ if decompressed.len() > bytes_max => Decompressed::TooLarge,
        Err(_) if decompressed.is_empty() => Decompressed::NotInThisCoding,
        result => Decompressed::Body { body: decompressed, is_whole: result.is_ok() },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(body).expect("memory");
        encoder.finish().expect("memory")
    }

    fn response(headers: &str, body: &[u8]) -> Vec<u8> {
        [format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes(), body].concat()
    }

    fn body(response: &[u8]) -> Option<String> {
        parse(response, 1000).body.ok().map(|body| String::from_utf8_lossy(&body).into_owned())
    }

    #[test]
    fn reads_status_and_content_type() {
        let parsed = parse(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=GBK\r\n\r\nno", 1000);
        assert_eq!(parsed.status, Some(404));
        assert_eq!(parsed.content_type.as_deref(), Some("text/html; charset=gbk"));
        assert_eq!(parsed.body.as_deref(), Ok(&b"no"[..]));
    }

    #[test]
    fn joins_chunks_if_the_body_is_chunked() {
        let chunked = "Transfer-Encoding: chunked\r\n";
        assert_eq!(
            body(&response(chunked, b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")).as_deref(),
            Some("abcde")
        );
        assert_eq!(
            body(&response(chunked, b"<p>not chunked any more\n")).as_deref(),
            Some("<p>not chunked any more\n")
        );
        assert_eq!(body(&response(chunked, b"5\r\nab")).as_deref(), Some("ab"), "breaks off");
        assert_eq!(body(&response(chunked, b"ffffffffffffffff\r\nab")).as_deref(), Some("ab"));
    }

    #[test]
    fn decompresses_bodies_that_are_compressed() {
        let compressed = gzip(b"hello");
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", &compressed)).as_deref(), Some("hello"));
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", b"hello")).as_deref(), Some("hello"));
        for coding in ["gzip;q=1.0", "\"gzip\"", "gzip ; x", "identity;q=0.5, \"GZIP\""] {
            let line = format!("Content-Encoding: {coding}\r\n");
            assert_eq!(body(&response(&line, &compressed)).as_deref(), Some("hello"), "{coding}");
        }
        assert_eq!(body(&response("Content-Encoding: br\r\n", b"<p>hello")).as_deref(), Some("<p>hello"));
        let cut = &compressed[..compressed.len() - 9];
        assert!(body(&response("Content-Encoding: gzip\r\n", cut)).is_some());
    }

    #[test]
    fn a_decompression_bomb_is_too_large() {
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", &gzip(&[b'a'; 100_000]))), None);
        assert_eq!(body(&response("", &[b'a'; 1001])), None);
    }

    /// A record of 130 KB with thousands of codings must not take more than 100 s.
    #[test]
    fn codings_are_bounded_in_number_and_size() {
        let chain = |codings: usize| {
            "Content-Encoding: ".to_owned() + &["gzip"; 10_000][..codings].join(", ") + "\r\n"
        };
        let compressed = (0..CODINGS_MAX).fold(b"hello".to_vec(), |body, _| gzip(&body));
        assert_eq!(body(&response(&chain(CODINGS_MAX), &compressed)).as_deref(), Some("hello"));
        let parsed = parse(&response(&chain(10_000), &compressed), 1000);
        assert_eq!(parsed.body, Err(BodyError::TooManyCodings(10_000)));
        let others = format!("Content-Encoding: {}gzip\r\n", "identity, ,".repeat(1_000));
        assert_eq!(body(&response(&others, &gzip(b"hello"))).as_deref(), Some("hello"));
        // Each layer fits, but all together exceed the limit.
        let stored = |body: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
            encoder.write_all(body).expect("memory");
            encoder.finish().expect("memory")
        };
        let compressed = (0..3).fold(vec![b'a'; 900], |body, _| stored(&body));
        assert_eq!(parse(&response(&chain(3), &compressed), 1000).body, Err(BodyError::TooLarge));
        assert_eq!(parse(&response(&chain(3), &compressed), 2000).body.map(|body| body.len()), Ok(900));
    }

    #[test]
    fn bad_heads_do_not_lose_the_page() {
        assert_eq!(body(b"HTTP/1.0 200\nBad Header\nServer : x\n\n<p>hi").as_deref(), Some("<p>hi"));
        assert_eq!(body(b"<p>no head").as_deref(), Some("<p>no head"));
    }

    /// If only the first of several header lines were read, such a body would remain compressed.
    #[test]
    fn codings_of_several_lines_are_undone_in_their_order() {
        let zstd = |body: &[u8]| zstd::encode_all(body, 1).expect("memory");
        let twice = zstd(&gzip(b"hello"));
        let lines = "Content-Encoding: gzip\r\nVary: *\r\ncontent-encoding: zstd\r\n";
        assert_eq!(body(&response(lines, &twice)).as_deref(), Some("hello"));
        // Repeating a line changes nothing, even for codings that accept any bytes.
        for coding in ["gzip", "deflate", "br"] {
            let lines = format!("Content-Encoding: {coding}\r\n").repeat(2);
            assert_eq!(body(&response(&lines, b"<p>hello")).as_deref(), Some("<p>hello"), "{coding}");
        }
        let lines = "Content-Encoding: gzip\r\n".repeat(2);
        assert_eq!(body(&response(&lines, &gzip(b"hello"))).as_deref(), Some("hello"));
        let compressed = gzip(b"hello");
        let chunked =
            [format!("{:x}\r\n", compressed.len()).as_bytes(), &compressed, b"\r\n0\r\n\r\n"].concat();
        let lines = "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(body(&response(lines, &chunked)).as_deref(), Some("hello"));
    }

    /// Crawlers lose the header, rename it, or write another coding into it. Such pages were refused as gzip data.
    #[test]
    fn codings_that_the_header_does_not_name_are_undone_in_pages() {
        let zlib = |body: &[u8]| {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(body).expect("memory");
            encoder.finish().expect("memory")
        };
        let zstd = |body: &[u8]| zstd::encode_all(body, 1).expect("memory");
        let html = "Content-Type: text/html; charset=utf-8\r\n";
        for (coding, compressed) in [
            ("identity", gzip(b"<p>hi")),
            ("br", gzip(b"<p>hi")),
            ("deflate", gzip(b"<p>hi")),
            ("gzip", zstd(b"<p>hi")),
            ("gzip", zlib(b"<p>hi")),
            ("gzip", gzip(&gzip(b"<p>hi"))),
            ("none", zstd(b"<p>hi")),
        ] {
            let headers = format!("{html}Content-Encoding: {coding}\r\n");
            assert_eq!(body(&response(&headers, &compressed)).as_deref(), Some("<p>hi"), "{coding}");
        }
        assert_eq!(body(&response(html, &gzip(b"<p>hi"))).as_deref(), Some("<p>hi"));
        assert_eq!(body(&response(html, &gzip(&[b'a'; 1001]))), None, "too large");
        assert!(parse(&response(html, &gzip(b"<p>hi")[..15]), 1000).breaks_off);
        // A file that was compressed before it was sent is not a page.
        let file = gzip(b"<p>hi");
        let parsed = parse(&response("Content-Type: application/gzip\r\n", &file), 1000);
        assert_eq!(parsed.body, Ok(file));
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", b"x^2 + y^2")).as_deref(), Some("x^2 + y^2"));
    }

    /// A body that a broken chunk truncates must be reported.
    #[test]
    fn a_truncated_body_is_reported() {
        let breaks_off = |headers: &str, body: &[u8]| {
            let parsed = parse(&response(headers, body), 1000);
            (parsed.breaks_off, parsed.body.map(|body| String::from_utf8_lossy(&body).into_owned()))
        };
        let chunked = "Transfer-Encoding: chunked\r\n";
        for (body, expected) in [
            (&b"3\r\nabc\r\n0\r\n\r\n"[..], (false, "abc")),
            (b"3\r\nabc\r\n5\r\nde", (true, "abcde")),
            (b"3\r\nabc\r\nxyz\r\nde\r\n0\r\n\r\n", (true, "abc")),
            (b"3\r\nabc\r\n", (true, "abc")),
            (b"not chunked any more", (false, "not chunked any more")),
        ] {
            assert_eq!(breaks_off(chunked, body), (expected.0, Ok(expected.1.to_owned())));
        }
        // Without a coding, the header says how long the body was. A longer one was decompressed by the archive.
        let plain = |length: &str| breaks_off(&format!("Content-Length: {length}\r\n"), b"<p>text").0;
        assert!(plain("8") && plain("9, 9") && !plain("7") && !plain("6") && !plain("x"));
        assert!(!breaks_off("Content-Length: 900\r\n", b"").0, "the answer to HEAD");
        assert!(!breaks_off("Content-Length: 900\r\nContent-Encoding: gzip\r\n", &gzip(b"text")).0);
        assert!(
            !breaks_off("Content-Length: 900\r\nTransfer-Encoding: chunked\r\n", b"1\r\na\r\n0\r\n\r\n").0
        );
        let text: String = (0..100).map(|number| format!("{number} ")).collect();
        let compressed = gzip(text.as_bytes());
        assert!(!breaks_off("Content-Encoding: gzip\r\n", &compressed).0);
        assert!(breaks_off("Content-Encoding: gzip\r\n", &compressed[..compressed.len() - 20]).0);
        // A gzip member is complete whatever other data follows it.
        let twice = [&compressed[..], &gzip(b"more"), b"\0\0garbage"].concat();
        assert_eq!(breaks_off("Content-Encoding: gzip\r\n", &twice), (false, Ok(text.clone() + "more")));
        // A text with a wrong checksum is kept to its end.
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).expect("memory");
        let mut compressed = encoder.finish().expect("memory");
        *compressed.last_mut().expect("a checksum") ^= 1;
        assert_eq!(breaks_off("Content-Encoding: deflate\r\n", &compressed), (true, Ok(text)));
        // A body of which nothing can be decompressed was taken for a page in another format.
        for (coding, body) in [("gzip", &gzip(b"text")[..11]), ("zstd", b"\x28\xb5\x2f\xfd\x04\0")] {
            assert_eq!(
                breaks_off(&format!("Content-Encoding: {coding}\r\n"), body),
                (true, Ok(String::new()))
            );
        }
    }

    /// A part of a page must not be read as if it were the whole page.
    #[test]
    fn partial_responses_are_recognised() {
        for (head, is_partial) in [
            ("206 Partial Content\r\nContent-Range: bytes 0-999/5000", true),
            ("206 Partial Content\r\nContent-Range: bytes 100-4999/5000", true),
            ("206\r\nContent-Range: bytes 0-4999/*", true),
            ("206 Partial Content", true),
            ("206 Partial Content\r\nContent-Range: Bytes 0-4999/5000", false),
            ("200 OK\r\nContent-Range: bytes 0-999/5000", false),
        ] {
            let response = format!("HTTP/1.1 {head}\r\n\r\n<p>text");
            assert_eq!(parse(response.as_bytes(), 1000).is_partial, is_partial, "{head}");
        }
    }

    /// The sizes of chunks must not be in the text if the name of the coding is in quotes or has parameters.
    #[test]
    fn chunks_are_joined_however_the_header_names_them() {
        for header in [
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: chunked;q=1\r\n",
            "Transfer-Encoding: identity\r\nTransfer-Encoding: Chunked \r\n",
            "Content-Encoding: aws-chunked\r\n",
            "",
        ] {
            assert_eq!(
                body(&response(header, b"3\r\n<p>\r\n2\r\nhi\r\n0\r\n\r\n")).as_deref(),
                Some("<p>hi"),
                "{header}"
            );
        }
    }
}
