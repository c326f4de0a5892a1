//! A small HTTP server for simulated stores. One connection carries one request, and answers may be wrong on purpose.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path, decoded.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    /// Values by names in small letters.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// An answer.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// True if the connection breaks in the middle of the body.
    pub(crate) breaks: bool,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the requested range of `bytes` with its headers, or all of them.
    pub(crate) fn range_of(&self, bytes: &[u8]) -> Answer {
        let all = bytes.len();
        let Some(range) = self.header("range").strip_prefix("bytes=") else {
            return Answer { status: 200, body: bytes.to_vec(), ..Answer::default() };
        };
        let (start, end) = range.split_once('-').expect("a range");
        let Range { start, end } =
            start.parse().expect("a number")..(end.parse::<usize>().expect("a number") + 1).min(all);
        if start >= all {
            let headers = vec![("Content-Range", format!("bytes */{all}"))];
            return Answer { status: 416, headers, ..Answer::default() };
        }
        let headers = vec![("Content-Range", format!("bytes {start}-{}/{all}", end - 1))];
        Answer { status: 206, headers, body: bytes[start..end].to_vec(), ..Answer::default() }
    }
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Starts a server, and returns its address.
pub(crate) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || serve(client, &*answer));
        }
    });
    address
}

fn serve(mut client: TcpStream, answer: &dyn Fn(&Request) -> Answer) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if !client.read(&mut byte).is_ok_and(|count| count == 1) {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    let headers: BTreeMap<_, _> = lines.filter_map(header).collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().expect("a number"));
    let mut body = vec![0; length];
    if client.read_exact(&mut body).is_err() {
        return;
    }
    let request = Request {
        method: method.to_owned(),
        path: decoded(path),
        query: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        headers,
        body,
    };
    let Answer { status, headers, body, breaks } = answer(&request);
    let mut head =
        format!("HTTP/1.1 {status} Told\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    let sent = match method {
        "HEAD" => 0,
        _ if breaks => body.len() / 2,
        _ => body.len(),
    };
    // A client that has gone is not an error of the store.
    let _ = client.write_all(&[head.as_bytes(), b"\r\n", &body[..sent]].concat());
}

/// Decodes the escapes of a path.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("an escape"));
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).expect("UTF-8")
}
