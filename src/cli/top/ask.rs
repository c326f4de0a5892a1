//! Client for a worker's admin port: `GET /metrics`, `/livez` and `/readyz`.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::config::admin::is_host_and_port;
use crate::config::redact;
use crate::console::frame::Answer;

/// Limits for asking one worker.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Maximum time for all answers of the worker together.
    time: Duration,
    /// Maximum size of one answer, in bytes.
    bytes: usize,
}

/// Limits that leave room: the metrics of a worker take a few tens of thousands of bytes.
const LIMITS: Limits = Limits { time: Duration::from_secs(5), bytes: 4 << 20 };

/// Reason why there is no answer.
enum Fault {
    /// The time is up.
    Late,
    /// The answer has too many bytes.
    TooLong,
    /// The answer is not HTTP.
    NotHttp,
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::Late,
            _ => Self::Io(error),
        }
    }
}

/// Address of a worker's admin port.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// Host and port.
    address: String,
}

impl FromStr for Port {
    type Err = String;

    /// Parses `http://host:port`, with or without the scheme and a path.
    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.strip_prefix("http://").unwrap_or(text);
        let address = address.split('/').next().unwrap_or_default();
        if text.starts_with("https://") || !is_host_and_port(address) {
            return Err(format!(
                "--admin {:?}: must be http://HOST:PORT, as in http://127.0.0.1:9464; admin ports have no TLS and no users",
                redact::address(text)
            ));
        }
        // The address of a worker that listens on all interfaces means this machine.
        let address = match address.rsplit_once(':') {
            Some(("0.0.0.0", port)) => format!("127.0.0.1:{port}"),
            Some(("[::]", port)) => format!("[::1]:{port}"),
            _ => address.to_owned(),
        };
        Ok(Self { address })
    }
}

impl Port {
    /// Returns host and port.
    pub(super) fn name(&self) -> &str {
        &self.address
    }

    /// Returns the worker's answer, or the reason why there is none.
    pub(super) fn ask(&self) -> Result<Answer, String> {
        self.ask_within(LIMITS)
    }

    fn ask_within(&self, limits: Limits) -> Result<Answer, String> {
        let deadline = Instant::now() + limits.time;
        let get = |path| {
            self.get(path, deadline, limits.bytes).map_err(|fault| match fault {
                Fault::Late => format!("no answer within {:?}", limits.time),
                Fault::TooLong => format!(
                    "{path} answered with more than {} bytes: is this the admin port of a worker?",
                    limits.bytes
                ),
                Fault::NotHttp => "the answer is not HTTP: is this the admin port of a worker?".to_owned(),
                Fault::Io(error) => error.to_string(),
            })
        };
        let (status, metrics) = get("/metrics")?;
        if status != 200 {
            return Err(format!(
                "/metrics answered with status {status}: is this the admin port of a worker?"
            ));
        }
        let mut reasons = Vec::new();
        for path in ["/livez", "/readyz"] {
            let (status, body) = get(path)?;
            if status != 200 {
                reasons.extend(body.lines().take(20).map(str::to_owned));
            }
        }
        Ok(Answer { metrics, reasons })
    }

    /// Sends a request and returns status and body. It uses HTTP 1.0, where an answer ends with the
    /// connection.
    fn get(&self, path: &str, deadline: Instant, bytes_max: usize) -> Result<(u16, String), Fault> {
        let address = self.address.to_socket_addrs()?.next();
        let address = address.ok_or_else(|| Fault::Io(io::Error::other("the host name has no address")))?;
        let mut stream = TcpStream::connect_timeout(&address, time_left(deadline)?)?;
        stream.set_write_timeout(Some(time_left(deadline)?))?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes())?;
        let (mut answer, mut part) = (Vec::new(), [0; 8192]);
        loop {
            // A timeout of the socket applies to one read only, so it is set again for each.
            stream.set_read_timeout(Some(time_left(deadline)?))?;
            match stream.read(&mut part)? {
                0 => break,
                count if answer.len() + count > bytes_max => return Err(Fault::TooLong),
                count => answer.extend_from_slice(&part[..count]),
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(Fault::NotHttp)?;
        let status = head.strip_prefix("HTTP/").and_then(|head| head.split(' ').nth(1)?.parse().ok());
        Ok((status.ok_or(Fault::NotHttp)?, body.to_owned()))
    }
}

/// Returns the time until `deadline`.
fn time_left(deadline: Instant) -> Result<Duration, Fault> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Fault::Late) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc;

    use super::*;

    /// Serves a port that writes `part` again and again, with a pause after each, until the client is gone.
    fn endless(part: &'static [u8], pause: Duration) -> Port {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            let (_never, pauses) = mpsc::channel::<()>();
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                while stream.write_all(part).is_ok() {
                    let _ = pauses.recv_timeout(pause);
                }
            }
        });
        Port { address }
    }

    /// A port that sends a byte per second must not hang `leitong top`, so the time limit applies to the
    /// whole answer.
    #[test]
    fn a_port_that_answers_byte_by_byte_is_given_up() {
        let port = endless(b" ", Duration::from_millis(10));
        let limits = Limits { time: Duration::from_millis(300), bytes: 1 << 20 };
        let error = port.ask_within(limits).err().unwrap_or_default();
        assert_eq!(error, "no answer within 300ms");
    }

    /// An answer that never ends must not fill the memory.
    #[test]
    fn an_answer_that_never_ends_is_given_up() {
        let port = endless(&[b'a'; 4096], Duration::ZERO);
        let limits = Limits { time: Duration::from_secs(600), bytes: 1 << 20 };
        let error = port.ask_within(limits).err().unwrap_or_default();
        assert!(error.contains("/metrics answered with more than 1048576 bytes"), "{error}");
    }

    #[test]
    fn credentials_in_an_address_are_refused_and_not_shown() {
        let error = "http://user:hunter2@127.0.0.1:9464".parse::<Port>().expect_err("credentials");
        assert!(error.contains("127.0.0.1:9464") && !error.contains("hunter2"), "{error}");
    }
}
