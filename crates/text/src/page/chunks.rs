//! Joins the chunks of an HTTP body (RFC 9112, section 7.1).
//!
//! Archives keep the header `Transfer-Encoding: chunked` whether or not they keep the chunks. Servers and proxies write
//! chunks with other line ends, or twice. So the bytes decide: a body that does not begin with a chunk is returned
//! unchanged, and a chunked body that is cut off is reported.

use std::num::IntErrorKind;

/// Maximum number of times that a body may have been divided into chunks, by one server after the other.
const TIMES_MAX: usize = 3;
/// Maximum length of a size line in bytes.
const SIZE_LINE_BYTES_MAX: usize = 1024;
/// Maximum length, in bytes, of a first line that is taken for a damaged size.
const WRONG_SIZE_BYTES_MAX: usize = 16;
/// The end of a chunked body without trailers.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// The data of a chunked body.
#[derive(Debug, Default)]
struct Joined {
    data: Vec<u8>,
    /// True if nothing is missing or left over.
    is_whole: bool,
    /// Number of chunks with data and a line end after it.
    framed: usize,
}

/// Joins the chunks of a body. Returns the data, and true if nothing was missing or cut off. A body that ends too
/// early or has a broken chunk is returned up to that point. If the first size is damaged, all of the body is
/// returned. Returns `None` if the body is not chunked.
pub(super) fn join(body: &[u8]) -> Option<(Vec<u8>, bool)> {
    // Some servers write a blank line before the chunks.
    let after_blank = || join_once(body.trim_ascii_start()).filter(|joined| joined.is_whole);
    let Some(mut joined) = join_once(body).or_else(after_blank) else {
        return begins_with_wrong_size(body).then(|| (body.to_vec(), false));
    };
    // A server and a proxy may both have divided the body into chunks. Text does not look like chunks by chance.
    for _ in 1..TIMES_MAX {
        let inner =
            join_once(&joined.data).filter(|inner| inner.framed > 1 || (inner.framed == 1 && inner.is_whole));
        let Some(inner) = inner else { break };
        joined = Joined { is_whole: inner.is_whole && joined.is_whole, ..inner };
    }
    Some((joined.data, joined.is_whole))
}

/// Joins the chunks of a body whose headers do not mention them. Returns `None` unless the body has chunks only, from
/// its first byte to its last one.
pub(super) fn join_unannounced(body: &[u8]) -> Option<Vec<u8>> {
    let (_, line_end, rest) = chunk_size(body).filter(|(size, ..)| (1..=body.len()).contains(size))?;
    let is_whole = |joined: &Joined| joined.is_whole && joined.framed > 0;
    (line_end == "\r\n" && rest.ends_with(LAST_CHUNK))
        .then(|| join_once(body).filter(is_whole))
        .flatten()
        .map(|joined| joined.data)
}

fn join_once(mut body: &[u8]) -> Option<Joined> {
    let mut joined = Joined { is_whole: true, ..Joined::default() };
    let mut chunks = 0;
    loop {
        let Some((size, line_end, rest)) = chunk_size(body) else {
            return (chunks > 0).then_some(Joined { is_whole: false, ..joined });
        };
        let is_first = chunks == 0;
        chunks += 1;
        if size == 0 {
            let mut left = after_trailers(rest);
            // Some servers end a body twice.
            while let Some((0, _, rest)) = chunk_size(left) {
                left = after_trailers(rest);
            }
            match left.trim_ascii().is_empty() {
                true => return Some(joined),
                // This is a text that begins with the line `0`.
                false if is_first => return None,
                false => joined.is_whole = false,
            }
            match chunk_size(left) {
                Some((size, _, data)) if size > 0 && begins_with_line_end(data.get(size..)) => body = left,
                _ => return Some(joined),
            }
            continue;
        }
        let Some((data, rest)) = rest.split_at_checked(size) else {
            // This is a text that begins with a number, or a chunk that is cut off. By the standard, chunks have CRLF,
            // and no text begins with a number that overflows, or with one before markup.
            let is_chunk = line_end == "\r\n" || size == usize::MAX || begins_with_markup(rest);
            if is_first && !is_chunk {
                return None;
            }
            joined.data.extend_from_slice(rest);
            return Some(Joined { is_whole: false, ..joined });
        };
        let is_framed = begins_with_line_end(Some(rest));
        // The archive may end within the line end.
        if is_first && !is_framed && !matches!(rest, b"" | b"\r") && chunk_size(rest).is_none() {
            // No page begins with a number and CRLF before its markup, so this is a chunk with a wrong size.
            let is_markup = line_end == "\r\n" && begins_with_markup(data);
            let data = [data, rest].concat();
            return is_markup.then_some(Joined { data, is_whole: false, ..joined });
        }
        joined.framed += usize::from(is_framed);
        joined.data.extend_from_slice(data);
        body = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
    }
}

/// Returns true if the body begins with a damaged size of a chunk: a short line of characters that sizes have, which is
/// not a valid size. Markup must follow, or the body must end as chunked bodies do.
fn begins_with_wrong_size(body: &[u8]) -> bool {
    let start = &body[..body.len().min(WRONG_SIZE_BYTES_MAX + 2)];
    let Some(end) = memchr::memmem::find(start, b"\r\n") else { return false };
    let looks_like_size = |byte: &u8| byte.is_ascii_alphanumeric() || b";=+-_ ".contains(byte);
    let (line, rest) = (&body[..end], &body[end + 2..]);
    let is_size = chunk_size(body).is_some();
    let looks_chunked = rest.starts_with(b"<") || rest.ends_with(LAST_CHUNK);
    !is_size && !line.trim_ascii().is_empty() && line.iter().all(looks_like_size) && looks_chunked
}

fn begins_with_markup(data: &[u8]) -> bool {
    data.trim_ascii_start().starts_with(b"<")
}

fn begins_with_line_end(rest: Option<&[u8]>) -> bool {
    rest.is_some_and(|rest| rest.starts_with(b"\r\n") || rest.starts_with(b"\n"))
}

/// Parses the size line of a chunk. Returns the size, the line end, and the bytes after it.
fn chunk_size(body: &[u8]) -> Option<(usize, &'static str, &[u8])> {
    let end = memchr::memchr(b'\n', &body[..body.len().min(SIZE_LINE_BYTES_MAX)])?;
    let line = std::str::from_utf8(&body[..end]).ok()?;
    let digits = line.split(';').next()?.trim();
    // A size above any body is taken as the size of a chunk that is cut off.
    let size = usize::from_str_radix(digits, 16).or_else(|error| {
        if *error.kind() == IntErrorKind::PosOverflow { Ok(usize::MAX) } else { Err(error) }
    });
    let size = size.ok().filter(|_| !digits.starts_with('+'))?;
    Some((size, if line.ends_with('\r') { "\r\n" } else { "\n" }, &body[end + 1..]))
}

/// Returns the bytes after the trailers, which follow the last chunk up to a blank line.
fn after_trailers(mut rest: &[u8]) -> &[u8] {
    while let Some(end) = memchr::memchr(b'\n', rest) {
        let line = rest[..end].trim_ascii();
        let is_name =
            |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        let is_trailer = memchr::memchr(b':', line).is_some_and(|colon| colon > 0 && is_name(&line[..colon]));
        if !line.is_empty() && !is_trailer {
            break;
        }
        rest = &rest[end + 1..];
        if line.is_empty() {
            break;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(body: &str) -> Option<(String, bool)> {
        join(body.as_bytes()).map(|(data, is_whole)| (String::from_utf8_lossy(&data).into_owned(), is_whole))
    }

    /// Text after a chunk `0` must not be lost without a report, bodies with bare line feeds must not be cut off after
    /// the first chunk, and chunks within chunks must not become part of the text.
    #[test]
    fn chunks_of_all_kinds_are_joined_and_truncation_is_reported() {
        for (body, data, is_whole) in [
            ("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", "abcde", true),
            ("3\nabc\n2\nde\n0\n\n", "abcde", true),
            ("3\nabc\n2\nde\n0\n", "abcde", true),
            ("3\r\nabc2\r\nde0\r\n\r\n", "abcde", true),
            ("3\r\nabc\r\n0\r\nX-Sum: 5\r\nX-Time: 1\r\n\r\n", "abc", true),
            ("\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", true),
            ("0\r\n\r\n", "", true),
            ("0\r\n\r\n0\r\n\r\n", "", true),
            ("3\r\nabc\r\n0\r\n\r\n2\r\nde\r\n0\r\n\r\n", "abcde", false),
            ("3\r\nabc\r\n0\r\n\r\n2\r\nde\r\n", "abcde", false),
            ("3\r\nabc\r\n0\r\n\r\nmore", "abc", false),
            ("3\r\nabc\r\n0\r\nmore\r\n\r\n", "abc", false),
            ("3\r\nabc\r\n5\r\nde", "abcde", false),
            ("3\r\nabc\r\n", "abc", false),
            ("3\r\nabc\r", "abc", false),
            ("3\r\nabc", "abc", false),
            ("2\r\n<p>text", "<p>text", false),
            ("5\r\nab", "ab", false),
            // A body whose first size is not hexadecimal was not reported.
            ("xyz\r\n<p>text\r\n0\r\n\r\n", "xyz\r\n<p>text\r\n0\r\n\r\n", false),
            ("1g;a=b\r\ntext\r\n0\r\n\r\n", "1g;a=b\r\ntext\r\n0\r\n\r\n", false),
            ("-5\r\n<p>text", "-5\r\n<p>text", false),
            // A size of more than 64 bits was taken for text, and not reported.
            ("10000000000000000\r\nplain text", "plain text", false),
            ("10000000000000000\nplain text", "plain text", false),
            // With bare line feeds, a first chunk that is cut off was taken for text as well.
            ("500\n<p>text", "<p>text", false),
            ("3\r\nabc\r\nfffffffffffffffffffff\r\nde\r\n", "abcde\r\n", false),
            ("00000000000000000000003\r\nabc\r\n0\r\n\r\n", "abc", true),
            ("8\r\n3\r\nabc\r\n\r\n7\r\n2\r\nde\r\n\r\n5\r\n0\r\n\r\n\r\n0\r\n\r\n", "abcde", true),
            ("8\n3\nabc\n2\n\n8\nde\n0\n\nxx\n0\n\n", "abcde", false),
        ] {
            assert_eq!(joined(body), Some((data.to_owned(), is_whole)), "{body:?}");
        }
    }

    /// Archives may lack the header, or have another name in it (`aws-chunked`). The sizes of chunks must not be in the
    /// text.
    #[test]
    fn chunks_without_a_header_are_joined_if_the_whole_body_has_them() {
        let joined = |body: &str| {
            join_unannounced(body.as_bytes()).map(|data| String::from_utf8_lossy(&data).into_owned())
        };
        for body in
            ["3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "5;chunk-signature=ab\r\nabcde\r\n0;x=y\r\n\r\n0\r\n\r\n"]
        {
            assert_eq!(joined(body).as_deref(), Some("abcde"));
        }
        for body in [
            "3\r\nabc\r\n2\r\nde\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "0\r\n\r\n",
            "<p>\r\n0\r\n\r\n",
            "3\nabc\n0\n\n",
        ] {
            assert_eq!(joined(body), None, "{body:?}");
        }
    }

    /// A body without chunks that begins with the line `0` must not become empty, and one that begins with another
    /// number must not lose its beginning.
    #[test]
    fn a_body_without_chunks_is_unchanged() {
        for body in [
            "<p>text\n",
            "0\n<p>text",
            "0\r\n\r\n<p>text",
            "2\nlines of text\n",
            "2024\nwas a year\n",
            "1\n<p>text",
            "+3\r\nabc\r\n",
            "\r\n<p>text",
            "<p>\r\n<p>text",
            "A title\r\nand a text\r\n",
            "",
        ] {
            assert_eq!(joined(body), None, "{body:?}");
        }
    }
}
