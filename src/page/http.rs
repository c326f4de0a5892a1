//! HTTP response as archived → status, content type and unpacked body. Its head is read by [`Head`].
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

use super::http_head::Head;

/// The parts of a response that are used.
#[derive(Debug, PartialEq)]
pub(super) struct Response {
    /// Status code, if there is a status line that has one.
    pub(super) status: Option<u32>,
    /// `Content-Type`.
    pub(super) content_type: Option<String>,
    /// The body, unpacked.
    pub(super) body: Result<Vec<u8>, StillPacked>,
    /// The body's chunks or its compression break off, so that some of it may be missing.
    pub(super) breaks_off: bool,
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

/// Reads a response, whose unpacked body may have
/// `body_bytes_max` bytes. What has no head is all body.
pub(super) fn parse(response: &[u8], body_bytes_max: usize) -> Response {
    let Some(head) = Head::of_final(response) else {
        let body = bounded(response.into(), body_bytes_max);
        return Response { status: None, content_type: None, body, breaks_off: false };
    };
    let mut body = Cow::Borrowed(&response[head.bytes..]);
    let mut breaks_off = false;
    if head.transfer_codings.split(',').any(|coding| coding.trim() == "chunked")
        && let Some((joined, is_whole)) = join_chunks(&body)
    {
        body = joined.into();
        breaks_off = !is_whole;
    }
    // The codings stand in the order in which they were applied, those of the transfer last.
    let codings = format!("{},{}", head.content_codings, head.transfer_codings);
    let unpacked = unpack_codings(&codings, body, body_bytes_max);
    Response {
        status: head.status,
        content_type: head.content_type,
        breaks_off: breaks_off || matches!(unpacked, Ok((_, false))),
        body: unpacked.map(|(body, _)| body),
    }
}

fn bounded(body: Cow<'_, [u8]>, bytes_max: usize) -> Result<Vec<u8>, StillPacked> {
    if body.len() > bytes_max { Err(StillPacked::TooLarge) } else { Ok(body.into_owned()) }
}

/// Undoes `codings`, the last first.
pub(super) fn unpack_all(
    codings: &str,
    body: Cow<'_, [u8]>,
    bytes_max: usize,
) -> Result<Vec<u8>, StillPacked> {
    unpack_codings(codings, body, bytes_max).map(|(body, _)| body)
}

/// The same, and whether all of it was unpacked.
fn unpack_codings(
    codings: &str,
    mut body: Cow<'_, [u8]>,
    bytes_max: usize,
) -> Result<(Vec<u8>, bool), StillPacked> {
    let codings = || known_codings(codings);
    let count = codings().count();
    if count > CODINGS_MAX {
        return Err(StillPacked::TooManyCodings(count));
    }
    let mut left = bytes_max.saturating_mul(UNPACKED_BODIES_MAX);
    let mut all_whole = true;
    for coding in codings().rev() {
        match unpack(coding, &body, bytes_max.min(left)) {
            Unpacked::Body { body: unpacked, is_whole } => {
                all_whole &= is_whole;
                left -= unpacked.len();
                body = unpacked.into();
            }
            Unpacked::AsItWas => {}
            Unpacked::TooLarge => return Err(StillPacked::TooLarge),
        }
    }
    Ok((bounded(body, bytes_max)?, all_whole))
}

/// Those of a list of content codings that can be undone, in their order.
pub(super) fn known_codings(codings: &str) -> impl DoubleEndedIterator<Item = &str> {
    let known = |coding: &&str| matches!(*coding, "gzip" | "x-gzip" | "deflate" | "br" | "zstd");
    codings.split(',').map(str::trim).filter(known)
}

/// The data of a chunked body (RFC 9112, section 7.1), and whether all of it is there; none where it
/// is not chunked. A body that breaks off, or has a broken chunk, is taken as far as it goes.
fn join_chunks(mut body: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut joined = Vec::with_capacity(body.len());
    let mut first = true;
    loop {
        let Some((size, rest)) = chunk_size(body) else { return (!first).then_some((joined, false)) };
        first = false;
        let data = &rest[..size.min(rest.len())];
        joined.extend_from_slice(data);
        if size == 0 || data.len() < size {
            return Some((joined, size == 0));
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
    Body {
        body: Vec<u8>,
        /// Else it breaks off.
        is_whole: bool,
    },
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
            Unpacked::AsItWas if body.trim_ascii_start().starts_with(b"<") => Unpacked::AsItWas,
            Unpacked::AsItWas => read_up_to(flate2::read::DeflateDecoder::new(body), bytes_max),
            unpacked => unpacked,
        },
        // Brotli takes the beginning of almost anything for its own. A second line about it, or a proxy that unpacks,
        // must not cost a page that is not packed any more.
        "br" => match read_up_to(brotli_decompressor::Decompressor::new(body, 4096), bytes_max) {
            Unpacked::Body { is_whole: false, .. } if body.trim_ascii_start().starts_with(b"<") => {
                Unpacked::AsItWas
            }
            unpacked => unpacked,
        },
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
        result => Unpacked::Body { body: unpacked, is_whole: result.is_ok() },
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

    /// Only the first of several lines was read, so that such a body stayed packed.
    #[test]
    fn codings_of_several_lines_are_undone_in_their_order() {
        let zstd = |body: &[u8]| zstd::encode_all(body, 1).expect("memory");
        let twice = zstd(&gzip(b"hello"));
        let lines = "Content-Encoding: gzip\r\nVary: *\r\ncontent-encoding: zstd\r\n";
        assert_eq!(body(&response(lines, &twice)).as_deref(), Some("hello"));
        // A line that is only repeated changes nothing, with codings that take any bytes for theirs as well.
        for coding in ["gzip", "deflate", "br"] {
            let lines = format!("Content-Encoding: {coding}\r\n").repeat(2);
            assert_eq!(body(&response(&lines, b"<p>hello")).as_deref(), Some("<p>hello"), "{coding}");
        }
        let lines = "Content-Encoding: gzip\r\n".repeat(2);
        assert_eq!(body(&response(&lines, &gzip(b"hello"))).as_deref(), Some("hello"));
        let packed = gzip(b"hello");
        let chunked = [format!("{:x}\r\n", packed.len()).as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
        let lines = "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(body(&response(lines, &chunked)).as_deref(), Some("hello"));
    }

    /// A broken chunk cut the body, and nothing said so.
    #[test]
    fn a_body_that_breaks_off_is_told() {
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
        let text: String = (0..100).map(|number| format!("{number} ")).collect();
        let packed = gzip(text.as_bytes());
        assert!(!breaks_off("Content-Encoding: gzip\r\n", &packed).0);
        assert!(breaks_off("Content-Encoding: gzip\r\n", &packed[..packed.len() - 20]).0);
    }
}
