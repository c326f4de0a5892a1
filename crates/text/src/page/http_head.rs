//! Parses the head of an archived HTTP response: the status line and the headers that describe the body.
//!
//! Parsing is lenient, because archives contain whatever servers and crawlers wrote: any version (`HTTP/2
//! 200`, `ICY 200 OK`) in any case, blank lines before the head, no reason phrase, any number of headers,
//! control bytes in values, values over several lines. A first line in another form is a status line if it has a status
//! code and the headers of a response follow. Lines that are not headers are skipped. The work is linear in the size of
//! the head. Only the headers that are needed are kept.

use std::borrow::Cow;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Names of protocols in status lines, in front of a slash and a version.
const PROTOCOLS: [&str; 8] = ["http", "https", "icy", "spdy", "quic", "h2", "h2c", "h3"];

/// Headers that a response has, and of which one must follow a status line of unknown form.
const RESPONSE_HEADERS: &str = "content-type content-encoding content-length transfer-encoding server location \
    set-cookie last-modified";
/// Number of lines after a status line of unknown form in which headers are looked for.
const HEADERS_LOOKED_AT: usize = 100;

/// A head, up to and including the blank line that ends it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HttpHead {
    /// Size of the head, including interim responses and blank lines before it.
    pub bytes: usize,
    /// Status code, if the status line has one.
    pub(super) status: Option<u32>,
    /// The first `Content-Type` that is not empty, in lower case.
    pub(super) content_type: Option<String>,
    /// All `Content-Encoding` lines, joined, in lower case.
    pub(super) content_codings: String,
    /// All `Transfer-Encoding` lines, joined, in lower case.
    pub(super) transfer_codings: String,
    /// `Content-Length`, if it is a number.
    content_length: Option<u64>,
    /// `Content-Range`, in lower case.
    content_range: Option<String>,
    /// True for a proxy's answer to CONNECT, `200 Connection established`. The response of the server follows.
    opens_tunnel: bool,
}

impl HttpHead {
    /// Parses the head of the final response, after any interim responses (100, 103). Returns `None` if
    /// `response` does not begin with a status line.
    pub fn parse_final(response: &[u8]) -> Option<Self> {
        let mut head = Self::parse(response)?;
        while (head.status.is_some_and(|status| (100..200).contains(&status)) || head.opens_tunnel)
            && let Some(next) = Self::parse(&response[head.bytes..])
        {
            head = Self { bytes: head.bytes + next.bytes, ..next };
        }
        Some(head)
    }

    /// Returns true if `Content-Length` is more than `bytes`, the length of the body. False for a coded body, which the
    /// crawler may have decoded, and for an empty body, because the answer to a HEAD request has none.
    pub(super) fn promises_more_than(&self, bytes: u64) -> bool {
        let is_plain = self.content_codings.is_empty() && self.transfer_codings.is_empty();
        is_plain && bytes > 0 && self.content_length.is_some_and(|length| length > bytes)
    }

    /// Returns true for a partial response (206), unless its range is the whole body.
    pub(super) fn is_partial(&self) -> bool {
        self.status == Some(206) && !self.content_range.as_deref().is_some_and(is_whole_range)
    }

    fn parse(response: &[u8]) -> Option<Self> {
        let unmarked = response.strip_prefix(BYTE_ORDER_MARK).unwrap_or(response);
        let is_blank = |byte: &&u8| **byte == 0 || byte.is_ascii_whitespace();
        let blank = response.len() - unmarked.len() + unmarked.iter().take_while(is_blank).count();
        let mut at = blank;
        let line_end = line_end(&response[blank..]);
        let status_line = next_line(response, &mut at, line_end)?;
        let opens_tunnel = is_tunnel(status_line);
        let unknown = || code_before_headers(status_line, response.get(at..)?, line_end).map(Some);
        let status = match status(status_line) {
            Some(Some(code)) => Some(code),
            status => unknown().or(status)?,
        };
        let mut head = Self { status, opens_tunnel, ..Self::default() };
        // A header may continue on the next line, so it is parsed only when it is complete.
        let mut field: Option<(&[u8], Cow<'_, [u8]>)> = None;
        loop {
            let start = at;
            let line = next_line(response, &mut at, line_end);
            match (line, &mut field) {
                // No header begins with `<`: the blank line is missing.
                (Some([b'<', ..]), _) => at = start,
                (None | Some([]), _) => {}
                (Some(line @ [b' ' | b'\t', ..]), Some((_, value))) => {
                    value.to_mut().push(b' ');
                    value.to_mut().extend_from_slice(line.trim_ascii());
                    continue;
                }
                (Some(line), _) => {
                    head.take(field.take());
                    field = memchr::memchr(b':', line)
                        .map(|colon| (line[..colon].trim_ascii(), line[colon + 1..].into()));
                    continue;
                }
            }
            head.take(field);
            head.bytes = at;
            return Some(head);
        }
    }

    fn take(&mut self, field: Option<(&[u8], Cow<'_, [u8]>)>) {
        let Some((name, value)) = field else { return };
        let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
        let text = || {
            let text = String::from_utf8_lossy(&value).to_ascii_lowercase();
            text.replace(|c: char| c.is_control(), " ").trim().to_owned()
        };
        let join = |codings: &mut String| {
            codings.push(',');
            codings.push_str(&text());
        };
        if is("content-type") && self.content_type.is_none() {
            self.content_type = Some(text()).filter(|text| !text.is_empty());
        } else if is("content-encoding") {
            join(&mut self.content_codings);
        } else if is("transfer-encoding") {
            join(&mut self.transfer_codings);
        } else if is("content-range") && self.content_range.is_none() {
            self.content_range = Some(text());
        } else if is("content-length") && self.content_length.is_none() {
            self.content_length = text().split(',').next().and_then(|length| length.trim().parse().ok());
        }
    }
}

/// Returns true for a range such as `bytes 0-99/100`.
fn is_whole_range(range: &str) -> bool {
    let range = range.strip_prefix("bytes").and_then(|range| range.trim().split_once('/'));
    let Some((range, bytes)) = range else { return false };
    let last = range.trim().strip_prefix("0-").and_then(|last| last.trim().parse::<u64>().ok());
    last.and_then(|last| last.checked_add(1)).is_some_and(|end| bytes.trim().parse() == Ok(end))
}

/// Returns the line at `at` without its line break, and moves `at` past it. Returns `None` at the end. A line ends
/// with `line_end`; if that is CR, an LF after it is part of the line break.
fn next_line<'r>(response: &'r [u8], at: &mut usize, line_end: u8) -> Option<&'r [u8]> {
    let rest = response.get(*at..).filter(|rest| !rest.is_empty())?;
    let end = memchr::memchr(line_end, rest);
    *at += end.map_or(rest.len(), |end| end + 1);
    if line_end == b'\r' && end.is_some() && response.get(*at) == Some(&b'\n') {
        *at += 1;
    }
    let line = &rest[..end.unwrap_or(rest.len())];
    let ends = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    Some(&line[..ends])
}

/// Returns the byte that ends the lines of a head: CR if the status line ends with a bare CR, otherwise LF.
fn line_end(head: &[u8]) -> u8 {
    let status_line = memchr::memchr2(b'\r', b'\n', head).map(|end| &head[end..]);
    let after = status_line.and_then(|rest| rest.strip_prefix(b"\r"));
    // The next line is a header or blank, and never another CR before LF.
    let is_bare = after.is_some_and(|after| {
        let next = &after[..memchr::memchr2(b'\r', b'\n', after).unwrap_or(after.len())];
        after.first() != Some(&b'\n')
            && !after.starts_with(b"\r\n")
            && (next.is_empty() || next.contains(&b':'))
    });
    if is_bare { b'\r' } else { b'\n' }
}

/// Returns true for the status line with which a proxy answers CONNECT.
fn is_tunnel(status_line: &[u8]) -> bool {
    let lower = status_line.to_ascii_lowercase();
    memchr::memmem::find(&lower, b" 200 connection established").is_some()
}

/// Returns the status code in a first line of unknown form, such as `404 Not Found` or `HTTP-1.1 404`, if `rest`, the
/// text after it, begins with the headers of a response and a blank line.
fn code_before_headers(line: &[u8], rest: &[u8], line_end: u8) -> Option<u32> {
    let words = line.split(|byte| !byte.is_ascii_graphic()).filter(|word| !word.is_empty());
    let code = words.take(3).find_map(|word| {
        let digits = std::str::from_utf8(word).ok()?.trim_matches(['"', '\'', '(', ')', ',', '.', ':', ';']);
        digits.parse().ok().filter(|code| (100..600).contains(code) && digits.len() == 3)
    })?;
    let mut at = 0;
    let mut has_response_header = false;
    for _ in 0..HEADERS_LOOKED_AT {
        let header = next_line(rest, &mut at, line_end)?;
        if header.is_empty() {
            return has_response_header.then_some(code);
        }
        let name = header[..memchr::memchr(b':', header)?].trim_ascii();
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)) {
            return None;
        }
        has_response_header |=
            RESPONSE_HEADERS.split(' ').any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    }
    None
}

/// Parses a status line. Returns its code, `Some(None)` if it has no code, or `None` if it is not a status
/// line.
fn status(line: &[u8]) -> Option<Option<u32>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    // HTTP/2 and HTTP/3 have a field instead of a status line.
    if let Some(code) = line.strip_prefix(b":status:").map(<[u8]>::trim_ascii) {
        let code = std::str::from_utf8(code).ok().filter(|code| code.len() == 3)?;
        return code.parse().ok().map(Some);
    }
    let protocol = words.next()?.to_ascii_lowercase();
    let (name, version) = match memchr::memchr(b'/', &protocol) {
        Some(slash) => (&protocol[..slash], Some(&protocol[slash + 1..])),
        None => (&protocol[..], None),
    };
    // Some crawlers omit the slash, as in `HTTP2 404`.
    let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let without_version = &name[..name.iter().rposition(|byte| !is_digit(byte)).map_or(0, |last| last + 1)];
    if !PROTOCOLS.iter().any(|known| known.as_bytes() == name || known.as_bytes() == without_version) {
        return None;
    }
    // Some crawlers write a space after the slash, as in `HTTP/ 1.1 404`.
    let mut word = words.next();
    if word.is_some_and(|word| word.iter().all(is_digit) && (word.len() == 1 || word.contains(&b'.'))) {
        word = words.next();
    }
    let digits = word.and_then(|word| word.first_chunk::<3>().map(|digits| (digits, word.get(3))));
    let code = digits.filter(|(digits, next)| {
        digits.iter().all(u8::is_ascii_digit) && !next.is_some_and(u8::is_ascii_digit)
    });
    let code =
        code.map(|(digits, _)| digits.iter().fold(0, |code, digit| code * 10 + u32::from(digit - b'0')));
    // Ordinary words may begin with "http", too. A status line has a version or a code.
    let has_version = version.is_some_and(|version| version.first().is_some_and(u8::is_ascii_digit));
    (has_version || code.is_some()).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> (Option<u32>, Option<String>, String) {
        let response = format!("{head}<p>body");
        let head = HttpHead::parse_final(response.as_bytes()).expect("a head");
        (head.status, head.content_type, response[head.bytes..].to_owned())
    }

    /// More than 340 files of public news crawls contain `HTTP/2 200`. Their heads must not be taken as part of the
    /// body, nor errors and redirects as pages.
    #[test]
    fn heads_of_all_kinds_give_status_type_and_body() {
        let many: String = (0..400).map(|number| format!("X-{number}: a\r\n")).collect();
        for (status_line, status) in [
            ("HTTP/1.1 404 Not Found", Some(404)),
            ("HTTP/2 404", Some(404)),
            ("HTTP/2 404 ", Some(404)),
            ("HTTP/2.0 404 Not Found", Some(404)),
            ("HTTP/3 404", Some(404)),
            ("http/1.1 404 not found", Some(404)),
            ("ICY 404 OK", Some(404)),
            ("HTTP 404", Some(404)),
            ("HTTP2 404", Some(404)),
            ("HTTP1.1 404 Not Found", Some(404)),
            ("HTTP/ 1.1 404 Not Found", Some(404)),
            ("HTTP/ 2 404", Some(404)),
            ("HTTP 1.1 404 Not Found", Some(404)),
            ("HTTP/ 404", Some(404)),
            ("HTTPS/1.1 404", Some(404)),
            ("\u{feff}HTTP/1.1 404 Not Found", Some(404)),
            ("h2 404", Some(404)),
            (":status: 404", Some(404)),
            ("HTTP/1.1  404\tNot \0 Found", Some(404)),
            ("HTTP/1.1 404Not", Some(404)),
            ("\r\n\n HTTP/1.1 404 Not Found", Some(404)),
            ("HTTP/1.1 4040", None),
            ("HTTP/1.1", None),
        ] {
            for headers in [
                "Content-Type: text/html\r\n",
                "X: a\0b\r\nCONTENT-TYPE:text/html\0\r\n",
                "X: a\rb\r\ncontent-type : Text/HTML\r\r\n",
                "content-type:\r\n text/html\r\nContent-Type: image/png\r\n",
                "Content-Type: \r\nContent-Type: text/html\r\n",
                "no header\r\n: no name\r\nContent-Type: text/html\r\n",
                &format!("{many}Content-Type: text/html\r\n"),
            ] {
                let expected = (status, Some("text/html".to_owned()), "<p>body".to_owned());
                for head in [
                    format!("{status_line}\r\n{headers}\r\n"),
                    format!("{status_line}\n{}\n", headers.replace("\r\n", "\n")),
                    format!("{status_line}\r\n{headers}"),
                ] {
                    assert_eq!(parsed(&head), expected, "{head:?}");
                }
            }
        }
    }

    /// If a status line of unknown form were text, errors would be pages, and the headers their text.
    #[test]
    fn status_lines_of_unknown_form_count_before_headers() {
        let headers = "Server: a\r\nContent-Type: text/html\r\n\r\n";
        for line in [
            "404 Not Found",
            "Status: 404 Not Found",
            "HTTP-1.1 404",
            "HTTP/1.1 - 404",
            "HTTP/1.1 \"404\" Not Found",
            "HTTP/1.1 HTTP/1.1 404",
            "HTTP/1.1\x00404 Not Found",
            "UNKNOWN 404",
            "SHOUTCAST/1.0 404 OK",
            "\"HTTP/1.1 404 Not Found\"",
            "\0\0\r\nHTTP/1.1 404 Not Found",
        ] {
            let expected = (Some(404), Some("text/html".to_owned()), "<p>body".to_owned());
            assert_eq!(parsed(&format!("{line}\r\n{headers}")), expected, "{line:?}");
        }
        for text in [
            format!("404 ways to cook\r\n\r\n{headers}"),
            "404 ways\r\nPotatoes: boil\r\n\r\n".to_owned(),
            "404 ways\r\nserver: a waiter\r\nand more\r\n\r\n".to_owned(),
            format!("From a@example.org Mon Nov 2 10:00:00 2026\r\n{headers}"),
            format!("GET /404 HTTP/1.1\r\n{headers}"),
            format!("<p>404</p>\r\n{headers}"),
        ] {
            assert_eq!(HttpHead::parse_final(text.as_bytes()), None, "{text:?}");
        }
    }

    /// If the whole head were one line, the page would have no type, and its headers would be text.
    #[test]
    fn heads_may_end_lines_with_a_bare_carriage_return() {
        let expected = (Some(404), Some("text/html".to_owned()), "<p>body".to_owned());
        for head in [
            "HTTP/1.1 404 Not Found\rContent-Type: text/html\rX: a\r\r",
            "HTTP/2 404\rContent-Type: text/html\r\r\n",
        ] {
            assert_eq!(parsed(head), expected, "{head:?}");
        }
        assert_eq!(parsed("HTTP/1.1 404\r\r").0, Some(404));
    }

    /// If a proxy's answer to CONNECT were taken for the response, errors would become pages.
    #[test]
    fn the_answer_of_a_proxy_is_skipped() {
        let last = "HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n";
        for answer in [
            "HTTP/1.1 200 Connection established\r\n\r\n",
            "HTTP/1.0 200 Connection Established\r\nVia: a\r\n\r\n",
        ] {
            assert_eq!(parsed(&format!("{answer}{last}")).0, Some(404));
            assert_eq!(parsed(answer).0, Some(200), "nothing follows");
        }
        // The text of a page may look like a response.
        assert_eq!(parsed(&format!("HTTP/1.1 200 OK\r\n\r\n{last}")).0, Some(200));
    }

    #[test]
    fn input_without_a_status_line_has_no_head() {
        for body in ["", "\r\n", "<p>HTTP/1.1 200 OK", "http is a protocol\n\n", "h2 and h3\n\n", "Icy winds"]
        {
            assert_eq!(HttpHead::parse_final(body.as_bytes()), None, "{body:?}");
        }
        let head = HttpHead::parse_final(b"HTTP/2 301\r\nLocation: /x").expect("a head without an end");
        assert_eq!((head.status, head.bytes), (Some(301), 24));
    }

    /// If an interim response were taken as the final one, the head of the final one would become a part of the body.
    #[test]
    fn interim_responses_are_skipped() {
        let last = "HTTP/2 200\r\nContent-Type: text/html\r\n\r\n";
        for interim in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/2 103\r\nlink: </a>; rel=preload\r\n\r\n\r\n"]
        {
            for count in 1..4 {
                let expected = (Some(200), Some("text/html".to_owned()), "<p>body".to_owned());
                assert_eq!(parsed(&format!("{}{last}", interim.repeat(count))), expected);
            }
            assert_ne!(parsed(interim).0, Some(200), "nothing follows");
        }
    }
}
