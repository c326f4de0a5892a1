//! The admin port of a worker: `GET /metrics`, `/livez` and `/readyz`.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use crate::console::frame::Answer;
use crate::telemetry::config::is_address;

/// How long a worker may take to answer.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes of an answer that are read; that of a worker has some tens of thousands.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Where a worker answers.
#[derive(Debug, Clone)]
pub(super) struct Port {
    /// Host and port.
    address: String,
}

impl FromStr for Port {
    type Err = String;

    /// `http://host:port`, with or without the scheme and a path.
    fn from_str(text: &str) -> Result<Self, String> {
        let address = text.strip_prefix("http://").unwrap_or(text);
        let address = address.split('/').next().unwrap_or_default();
        if text.starts_with("https://") || !is_address(address, true) {
            return Err(format!(
                "--admin {text:?}: must be http://HOST:PORT, as in http://127.0.0.1:9464; admin ports speak no TLS"
            ));
        }
        // A worker that listens everywhere is asked on this machine.
        let address = match address.rsplit_once(':') {
            Some(("0.0.0.0", port)) => format!("127.0.0.1:{port}"),
            Some(("[::]", port)) => format!("[::1]:{port}"),
            _ => address.to_owned(),
        };
        Ok(Self { address })
    }
}

impl Port {
    /// Host and port.
    pub(super) fn name(&self) -> &str {
        &self.address
    }

    /// What it answers, or why it does not, for people.
    pub(super) fn ask(&self) -> Result<Answer, String> {
        let (status, metrics) = self.get("/metrics")?;
        if status != 200 {
            return Err(format!(
                "/metrics answers with status {status}: is this the admin port of a worker?"
            ));
        }
        let mut reasons = Vec::new();
        for path in ["/livez", "/readyz"] {
            let (status, body) = self.get(path)?;
            if status != 200 {
                reasons.extend(body.lines().take(20).map(str::to_owned));
            }
        }
        Ok(Answer { metrics, reasons })
    }

    /// Status and body. HTTP 1.0, so that an answer ends where the connection does.
    fn get(&self, path: &str) -> Result<(u16, String), String> {
        let said = |error: std::io::Error| error.to_string();
        let address = self.address.to_socket_addrs().map_err(said)?.next();
        let address = address.ok_or("its name has no address")?;
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(said)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(said)?;
        stream.set_write_timeout(Some(TIMEOUT)).map_err(said)?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).map_err(said)?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).map_err(said)?;
        let answer = String::from_utf8_lossy(&answer);
        let no_http = || "what answers there does not speak HTTP".to_owned();
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(no_http)?;
        let status = head.strip_prefix("HTTP/").and_then(|head| head.split(' ').nth(1)?.parse().ok());
        Ok((status.ok_or_else(no_http)?, body.to_owned()))
    }
}
