//! HTTP/1.x response as archived → status, content type and unpacked body.
//!
//! Archives differ in what they keep: some hold the body as it came over
//! the wire, some undo chunking or compression and leave the headers as
//! they were. So a header is only believed where the bytes agree.
//!
//! Codings may lie over one another, as a proxy's gzip over a server's: at most
//! [`CODINGS_MAX`], and all that is unpacked on the way is at most twice what the body may
//! have. A head with thousands of codings over a small packed body cost minutes before.

use std::borrow::Cow;
use std::io::Read;

/// What a response says.
#[derive(Debug, PartialEq)]
pub(super) struct Response {
    /// Status code, if there is a status line.
    pub(super) status: Option<u32>,
    /// `Content-Type`.
    pub(super) content_type: Option<String>,
    /// The body, unpacked.
    pub(super) body: Result<Vec<u8>, StillPacked>,
}

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StillPacked {
    /// It is above the limit.
    TooLarge,
    /// So many codings lie over one another.
    TooManyCodings(usize),
}

/// Codings that are undone. Two are seen now and then, three hardly ever.
const CODINGS_MAX: usize = 5;
/// All that is unpacked of a body, one coding after the other, in bodies of the largest size.
const UNPACKED_BODIES_MAX: usize = 2;

/// What zstd may look back: 8 MiB, as RFC 9659 has it for
/// content codings. It would take up to 128 MiB otherwise.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Headers that are read; servers send a few dozen at most.
const HEADERS_MAX: usize = 256;

/// Reads a response, whose unpacked body may have
/// `body_bytes_max` bytes. What has no head is all body.
pub(super) fn parse(response: &[u8], body_bytes_max: usize) -> Response {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Response::new(&mut headers);
    let mut lenient = httparse::ParserConfig::default();
    lenient
        .ignore_invalid_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true);
    let Ok(httparse::Status::Complete(head)) = lenient.parse_response(&mut parsed, response) else {
        let body = bounded(response.into(), body_bytes_max);
        return Response { status: None, content_type: None, body };
    };
    let header = |name: &str| {
        let header = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(header.value).trim().to_ascii_lowercase())
    };
    let mut body = Cow::Borrowed(&response[head..]);
    if header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"))
        && let Some(joined) = join_chunks(&body)
    {
        body = joined.into();
    }
    // The codings stand in the order in which they were applied.
    let codings = header("content-encoding").unwrap_or_default();
    Response {
        status: parsed.code.map(u32::from),
        content_type: header("content-type"),
        body: unpack_all(&codings, body, body_bytes_max),
    }
}

fn bounded(body: Cow<'_, [u8]>, bytes_max: usize) -> Result<Vec<u8>, StillPacked> {
    if body.len() > bytes_max { Err(StillPacked::TooLarge) } else { Ok(body.into_owned()) }
}

/// Undoes `codings`, the last first.
pub(super) fn unpack_all(
    codings: &str,
    mut body: Cow<'_, [u8]>,
    bytes_max: usize,
) -> Result<Vec<u8>, StillPacked> {
    let codings = || known_codings(codings);
    let count = codings().count();
    if count > CODINGS_MAX {
        return Err(StillPacked::TooManyCodings(count));
    }
    let mut left = bytes_max.saturating_mul(UNPACKED_BODIES_MAX);
    for coding in codings().rev() {
        match unpack(coding, &body, bytes_max.min(left)) {
            Unpacked::Body(unpacked) => {
                left -= unpacked.len();
                body = unpacked.into();
            }
            Unpacked::AsItWas => {}
            Unpacked::TooLarge => return Err(StillPacked::TooLarge),
        }
    }
    bounded(body, bytes_max)
}

/// Those of a list of content codings that can be undone, in their order.
pub(super) fn known_codings(codings: &str) -> impl DoubleEndedIterator<Item = &str> {
    let known = |coding: &&str| matches!(*coding, "gzip" | "x-gzip" | "deflate" | "br" | "zstd");
    codings.split(',').map(str::trim).filter(known)
}

/// The data of a chunked body (RFC 9112, section 7.1); none where it
/// is not chunked. A body that breaks off is taken as far as it goes.
fn join_chunks(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut joined = Vec::with_capacity(body.len());
    let mut first = true;
    loop {
        let Some((size, rest)) = chunk_size(body) else { return (!first).then_some(joined) };
        first = false;
        let data = &rest[..size.min(rest.len())];
        joined.extend_from_slice(data);
        if size == 0 || data.len() < size {
            return Some(joined);
        }
        body = rest[size..].strip_prefix(b"\r\n").unwrap_or(&rest[size..]);
    }
}

/// A chunk's size line and what stands behind it.
fn chunk_size(body: &[u8]) -> Option<(usize, &[u8])> {
    let end = memchr::memchr(b'\n', &body[..body.len().min(1024)])?;
    let line = std::str::from_utf8(&body[..end]).ok()?;
    let digits = line.split(';').next()?.trim();
    Some((usize::from_str_radix(digits, 16).ok()?, &body[end + 1..]))
}

enum Unpacked {
    Body(Vec<u8>),
    /// The coding is not known, or the bytes do not have it.
    AsItWas,
    TooLarge,
}

fn unpack(coding: &str, body: &[u8], bytes_max: usize) -> Unpacked {
    match coding {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => {
            read_up_to(flate2::read::MultiGzDecoder::new(body), bytes_max)
        }
        // Meant to be zlib's format; many servers send bare deflate.
        "deflate" => match read_up_to(flate2::read::ZlibDecoder::new(body), bytes_max) {
            Unpacked::AsItWas => read_up_to(flate2::read::DeflateDecoder::new(body), bytes_max),
            unpacked => unpacked,
        },
        "br" => read_up_to(brotli_decompressor::Decompressor::new(body, 4096), bytes_max),
        "zstd" if body.starts_with(b"\x28\xb5\x2f\xfd") => {
            let decoder = zstd::stream::read::Decoder::new(body).and_then(|mut decoder| {
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Ok(decoder)
            });
            decoder.map_or(Unpacked::AsItWas, |decoder| read_up_to(decoder, bytes_max))
        }
        _ => Unpacked::AsItWas,
    }
}

/// What `decoder` gives, as far as it goes: pages whose transfer broke off are still pages.
fn read_up_to(decoder: impl Read, bytes_max: usize) -> Unpacked {
    let mut unpacked = Vec::new();
    let result = decoder.take(bytes_max as u64 + 1).read_to_end(&mut unpacked);
    match result {
        _ if unpacked.len() > bytes_max => Unpacked::TooLarge,
        Err(_) if unpacked.is_empty() => Unpacked::AsItWas,
        _ => Unpacked::Body(unpacked),
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
    fn joins_chunks_where_there_are_any() {
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
    fn unpacks_what_is_packed() {
        let packed = gzip(b"hello");
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", &packed)).as_deref(), Some("hello"));
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", b"hello")).as_deref(), Some("hello"));
        assert_eq!(body(&response("Content-Encoding: br\r\n", b"<p>hello")).as_deref(), Some("<p>hello"));
        let cut = &packed[..packed.len() - 9];
        assert!(body(&response("Content-Encoding: gzip\r\n", cut)).is_some());
    }

    #[test]
    fn a_bomb_is_too_large() {
        assert_eq!(body(&response("Content-Encoding: gzip\r\n", &gzip(&[b'a'; 100_000]))), None);
        assert_eq!(body(&response("", &[b'a'; 1001])), None);
    }

    /// A record of 130 KB with thousands of codings took more than 100 s.
    #[test]
    fn codings_are_bounded_in_number_and_size() {
        let chain = |codings: usize| {
            "Content-Encoding: ".to_owned() + &["gzip"; 10_000][..codings].join(", ") + "\r\n"
        };
        let packed = (0..CODINGS_MAX).fold(b"hello".to_vec(), |body, _| gzip(&body));
        assert_eq!(body(&response(&chain(CODINGS_MAX), &packed)).as_deref(), Some("hello"));
        let parsed = parse(&response(&chain(10_000), &packed), 1000);
        assert_eq!(parsed.body, Err(StillPacked::TooManyCodings(10_000)));
        let others = format!("Content-Encoding: {}gzip\r\n", "identity, ,".repeat(1_000));
        assert_eq!(body(&response(&others, &gzip(b"hello"))).as_deref(), Some("hello"));
        // Each of the layers fits, and all together do not.
        let stored = |body: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
            encoder.write_all(body).expect("memory");
            encoder.finish().expect("memory")
        };
        let packed = (0..3).fold(vec![b'a'; 900], |body, _| stored(&body));
        assert_eq!(parse(&response(&chain(3), &packed), 1000).body, Err(StillPacked::TooLarge));
        assert_eq!(parse(&response(&chain(3), &packed), 2000).body.map(|body| body.len()), Ok(900));
    }

    #[test]
    fn bad_heads_do_not_lose_the_page() {
        assert_eq!(body(b"HTTP/1.0 200\nBad Header\nServer : x\n\n<p>hi").as_deref(), Some("<p>hi"));
        assert_eq!(body(b"<p>no head").as_deref(), Some("<p>no head"));
    }
}
