//! Parses the head of an archived HTTP response: the status line and the headers that describe the body.
//!
//! Parsing is lenient, because archives contain whatever servers and crawlers wrote: any version (`HTTP/2
//! 200`, `ICY 200 OK`) in any case, blank lines before the head, no reason phrase, any number of headers,
//! control bytes in values, values over several lines. Lines that are not headers are skipped. The work is
//! linear in the size of the head. Only the headers that are needed are kept.

use std::borrow::Cow;

/// Names of protocols in status lines, in front of a slash and a version.
const PROTOCOLS: [&str; 7] = ["http", "icy", "spdy", "quic", "h2", "h2c", "h3"];

/// A head, up to and including the blank line that ends it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Size of the head, including interim responses and blank lines before it.
    pub(crate) bytes: usize,
    /// Status code, if the status line has one.
    pub(super) status: Option<u32>,
    /// The first `Content-Type` that is not empty, in lower case.
    pub(super) content_type: Option<String>,
    /// All `Content-Encoding` lines, joined, in lower case.
    pub(super) content_codings: String,
    /// All `Transfer-Encoding` lines, joined, in lower case.
    pub(super) transfer_codings: String,
}

impl Head {
    /// Parses the head of the final response, after any interim responses (100, 103). Returns `None` if
    /// `response` does not begin with a status line.
    pub(crate) fn parse_final(response: &[u8]) -> Option<Self> {
        let mut head = Self::parse(response)?;
        while head.status.is_some_and(|status| (100..200).contains(&status))
            && let Some(next) = Self::parse(&response[head.bytes..])
        {
            head = Self { bytes: head.bytes + next.bytes, ..next };
        }
        Some(head)
    }

    fn parse(response: &[u8]) -> Option<Self> {
        let blank = response.len() - response.trim_ascii_start().len();
        let mut at = blank;
        let status_line = next_line(response, &mut at)?;
        let mut head = Self { status: status(status_line)?, ..Self::default() };
        // A header may continue on the next line, so it is parsed only when it is complete.
        let mut field: Option<(&[u8], Cow<'_, [u8]>)> = None;
        loop {
            let start = at;
            let line = next_line(response, &mut at);
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
        }
    }
}

/// Returns the line at `at` without its line break, and moves `at` past it. Returns `None` at the end.
fn next_line<'r>(response: &'r [u8], at: &mut usize) -> Option<&'r [u8]> {
    let rest = response.get(*at..).filter(|rest| !rest.is_empty())?;
    let end = memchr::memchr(b'\n', rest);
    *at += end.map_or(rest.len(), |end| end + 1);
    let line = &rest[..end.unwrap_or(rest.len())];
    let ends = line.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    Some(&line[..ends])
}

/// Parses a status line. Returns its code, `Some(None)` if it has no code, or `None` if it is not a status
/// line.
fn status(line: &[u8]) -> Option<Option<u32>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let protocol = words.next()?.to_ascii_lowercase();
    let (name, version) = match memchr::memchr(b'/', &protocol) {
        Some(slash) => (&protocol[..slash], Some(&protocol[slash + 1..])),
        None => (&protocol[..], None),
    };
    if !PROTOCOLS.iter().any(|known| known.as_bytes() == name) {
        return None;
    }
    let digits = words.next().and_then(|word| word.first_chunk::<3>().map(|digits| (digits, word.get(3))));
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
        let head = Head::parse_final(response.as_bytes()).expect("a head");
        (head.status, head.content_type, response[head.bytes..].to_owned())
    }

    /// More than 340 files of public news crawls contain `HTTP/2 200`. Their heads were taken as part of the
    /// body, and errors and redirects were taken as pages.
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
            ("h2 404", Some(404)),
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

    #[test]
    fn input_without_a_status_line_has_no_head() {
        for body in ["", "\r\n", "<p>HTTP/1.1 200 OK", "http is a protocol\n\n", "h2 and h3\n\n", "Icy winds"]
        {
            assert_eq!(Head::parse_final(body.as_bytes()), None, "{body:?}");
        }
        let head = Head::parse_final(b"HTTP/2 301\r\nLocation: /x").expect("a head without an end");
        assert_eq!((head.status, head.bytes), (Some(301), 24));
    }

    /// An interim response was taken as the final one, whose head became a part of the body.
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
