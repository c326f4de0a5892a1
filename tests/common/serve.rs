//! `leitong serve` as a process of its own, and a client that says exactly what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use super::wait::HANG_LIMIT;

/// A server, which is killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    address: String,
    stderr: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts one over `table`.
    #[track_caller]
    pub(crate) fn start(table: &Path, more: &[&str]) -> Self {
        let mut command = crate::common::leitong();
        command.arg("serve").args(more);
        Self::of(command, table).unwrap_or_else(|stderr| panic!("it does not start: {stderr}"))
    }

    /// Starts `command`, which lacks table and address; or what it says where it does not serve.
    pub(crate) fn of(mut command: Command, table: &Path) -> Result<Self, String> {
        command.arg("--table").arg(table).args(["--address", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("standard error"));
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            if stderr.read_line(&mut line).expect("the program writes UTF-8") == 0 {
                let status = child.wait().expect("it ends");
                return Err(format!("{said}({status})"));
            }
            said += &line;
            if let Some((_, address)) = line.trim().split_once("serving http://") {
                break address.to_owned();
            }
        };
        let stderr = std::thread::spawn(move || {
            let _ = stderr.read_to_string(&mut said);
            said
        });
        Ok(Self { child, address, stderr: Some(stderr) })
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> Client {
        Client::to(&self.address)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ended(&mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("it ends");
        let stderr = self.stderr.take().expect("it is ended once").join().expect("read");
        (status, stderr)
    }

    /// Stops it as an orchestrator does; what it wrote to standard error.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        let killed = Command::new("kill").arg(self.pid().to_string()).status().expect("kill");
        assert!(killed.success());
        let (status, stderr) = self.ended();
        assert!(status.success(), "{status}: {stderr}");
        stderr
    }

    /// Kills it without a warning.
    pub(crate) fn kill(mut self) -> String {
        self.child.kill().expect("it runs");
        self.ended().1
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.stderr.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Answer {
    /// The last part of a problem's type.
    pub(crate) fn problem(&self) -> &str {
        self.body["type"].as_str().and_then(|name| name.rsplit(':').next()).unwrap_or_default()
    }
}

/// A connection that is kept.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn to(address: &str) -> Self {
        Self::try_to(address).expect("the port is open")
    }

    /// The same; none where nobody listens.
    pub(crate) fn try_to(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(*HANG_LIMIT)).ok()?;
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Sends these bytes, as far as they are taken.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// The next answer; none where the connection was closed.
    pub(crate) fn receive(&mut self) -> Option<Answer> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let status = head.split(' ').nth(1)?.parse().ok()?;
        if status == 100 {
            return self.receive();
        }
        let length = head.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1)?.split('\r').next()?.parse().ok()?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        let is_text = head.to_ascii_lowercase().contains("content-type: text/plain");
        let body = match () {
            () if body.is_empty() => Value::Null,
            () if is_text => Value::from(String::from_utf8_lossy(&body)),
            () => serde_json::from_slice(&body).expect("JSON"),
        };
        Some(Answer { status, head, body })
    }

    /// Asks, with headers that are whole lines; none where the connection breaks.
    pub(crate) fn ask(&mut self, request: &str, headers: &str, body: &[u8]) -> Option<Answer> {
        let length = body.len();
        let head =
            format!("{request} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n");
        // It may be answered and closed before all of the body is taken.
        let _ = self.send(&[head.as_bytes(), body].concat());
        self.receive()
    }

    #[track_caller]
    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), "", b"").expect("an answer")
    }

    #[track_caller]
    pub(crate) fn post(&mut self, path: &str, content_type: &str, body: impl AsRef<[u8]>) -> Answer {
        let headers = format!("Content-Type: {content_type}\r\n");
        self.ask(&format!("POST {path}"), &headers, body.as_ref()).expect("an answer")
    }

    /// Stores JSON: one page, an array of pages.
    #[track_caller]
    pub(crate) fn store(&mut self, json: &Value) -> Answer {
        self.post("/v1/pages", "application/json", json.to_string())
    }

    /// Looks a page up.
    #[track_caller]
    pub(crate) fn look_up(&mut self, json: &Value) -> Answer {
        self.post("/v1/lookup", "application/json", json.to_string())
    }
}
