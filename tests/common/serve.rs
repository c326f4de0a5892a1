//! Runs `leitong serve` as a separate process, with a client that sends exact bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use super::wait::HANG_LIMIT;

/// A server. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    address: String,
    stderr: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts a server over `table`.
    #[track_caller]
    pub(crate) fn start(table: &Path, more: &[&str]) -> Self {
        let mut command = crate::common::leitong();
        command.arg("serve").args(more);
        Self::try_start(command, table).unwrap_or_else(|stderr| panic!("it does not start: {stderr}"))
    }

    /// Starts `command` with a table and an address added. Returns its standard error if it does not serve.
    pub(crate) fn try_start(mut command: Command, table: &Path) -> Result<Self, String> {
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

    /// Opens a connection to the server.
    pub(crate) fn connect(&self) -> Client {
        Client::to(&self.address)
    }

    /// Returns the address on which the server listens.
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

    /// Stops the server as an orchestrator does; returns its standard error.
    #[track_caller]
    pub(crate) fn stop(mut self) -> String {
        let killed = Command::new("kill").arg(self.pid().to_string()).status().expect("kill");
        assert!(killed.success());
        let (status, stderr) = self.ended();
        assert!(status.success(), "{status}: {stderr}");
        stderr
    }

    /// Kills the server; returns its standard error.
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

/// An HTTP answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Answer {
    /// Returns the last part of a problem's type.
    pub(crate) fn problem(&self) -> &str {
        self.body["type"].as_str().and_then(|name| name.rsplit(':').next()).unwrap_or_default()
    }
}

/// A persistent connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn to(address: &str) -> Self {
        Self::try_to(address).expect("the port is open")
    }

    /// Connects; returns `None` if nobody listens.
    pub(crate) fn try_to(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(*HANG_LIMIT)).ok()?;
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Sends these bytes, as far as the server accepts them.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Receives the next answer; `None` if the connection was closed.
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

    /// Sends a request, with headers given as whole lines; `None` if the connection breaks.
    pub(crate) fn ask(&mut self, request: &str, headers: &str, body: &[u8]) -> Option<Answer> {
        let length = body.len();
        let head =
            format!("{request} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n");
        // The server may answer and close before it has read the whole body.
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

    /// Stores pages given as JSON: one page or an array.
    #[track_caller]
    pub(crate) fn store(&mut self, json: &Value) -> Answer {
        self.post("/v1/pages", "application/json", json.to_string())
    }

    /// Looks up a page.
    #[track_caller]
    pub(crate) fn look_up(&mut self, json: &Value) -> Answer {
        self.post("/v1/lookup", "application/json", json.to_string())
    }
}
