//! Runs the program as users do, and reads what it writes.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of this")]

pub(crate) mod article;
pub(crate) mod literals;
pub(crate) mod openapi;
pub(crate) mod serve;
pub(crate) mod sources;
pub(crate) mod tables;
pub(crate) mod wait;

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

pub(crate) use article::article;

/// Environment variable, with its value, that lets settings files lower every limit, so tests can reach the
/// limits.
pub(crate) const EVERY_SETTING: (&str, &str) = ("LEITONG_EVERY_SETTING", "1");

/// Returns a command for the program, with an environment that does not depend on the machine.
pub(crate) fn leitong() -> Command {
    let mut command = leitong_of_users();
    command.env(EVERY_SETTING.0, EVERY_SETTING.1);
    command
}

/// Returns a command for the program as users have it, with only the settings that a user may change.
pub(crate) fn leitong_of_users() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leitong"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command.env_remove("RUST_LOG").env_remove(EVERY_SETTING.0);
    command
}

/// The result of a run.
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    pub(crate) fn from_output(output: Output) -> Self {
        Self {
            status: output.status.code().expect("the program was not killed"),
            stdout: String::from_utf8(output.stdout).expect("the program writes UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("the program writes UTF-8"),
        }
    }

    /// Returns the verdicts on standard output.
    pub(crate) fn verdicts(&self) -> Vec<Value> {
        assert!(self.stdout.is_empty() || self.stdout.ends_with('\n'), "no half line");
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("a verdict is JSON")).collect()
    }
}

/// Runs the program with these arguments.
pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Run {
    Run::from_output(leitong().args(arguments).output().expect("the program starts"))
}

/// Returns the number of centroids of a saved table.
#[track_caller]
pub(crate) fn centroids(table: &Path) -> u64 {
    let info = run(["table", "info", "--json", name(table)]);
    let info: Value = serde_json::from_str(&info.stdout).unwrap_or_else(|_| panic!("{}", info.stderr));
    info["centroids"].as_u64().expect("a number")
}

/// Returns a path as an argument.
pub(crate) fn name(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// Deduplicates these files.
pub(crate) fn dedup_files(options: &[&str], inputs: &[&Path]) -> Run {
    run(["dedup"].into_iter().chain(options.iter().copied()).chain(inputs.iter().map(|path| name(path))))
}

/// Runs the program with these arguments and this standard input.
pub(crate) fn run_with_input<S: AsRef<std::ffi::OsStr>>(
    arguments: impl IntoIterator<Item = S>,
    input: impl AsRef<[u8]>,
) -> Run {
    let mut child = leitong()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it has an input");
    let input = input.as_ref().to_vec();
    let writer = std::thread::spawn(move || {
        // The program may stop before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the input is written");
    Run::from_output(output)
}

/// Runs `dedup` on pages given as JSON lines on standard input.
pub(crate) fn dedup(lines: impl AsRef<[u8]>) -> Run {
    run_with_input(["dedup", "-"], lines)
}

/// Removes the time of each decision, the only difference between two runs over the same input.
pub(crate) fn timeless(verdicts: &[Value]) -> Vec<Value> {
    let strip = |verdict: &Value| {
        let mut verdict = verdict.clone();
        verdict.as_object_mut().expect("an object").remove("decided_at").expect("a time");
        verdict
    };
    verdicts.iter().map(strip).collect()
}

/// Removes the place of each page as well, to compare formats.
pub(crate) fn placeless(verdicts: &[Value]) -> Vec<Value> {
    let mut verdicts = timeless(verdicts);
    for verdict in &mut verdicts {
        verdict.as_object_mut().expect("an object").remove("source").expect("a source");
    }
    verdicts
}

/// Writes a file in a temporary folder.
pub(crate) fn write(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("a file can be written");
    path
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

/// Returns the pages that ship with the program.
pub(crate) fn sample_pages() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/pages.jsonl");
    let text = std::fs::read_to_string(path).expect("the sample pages are there");
    text.lines().map(|line| serde_json::from_str(line).expect("a page is JSON")).collect()
}

/// Returns one page as a JSON line.
pub(crate) fn page(id: &str, text: &str) -> String {
    let page = serde_json::json!({ "id": id, "url": format!("https://example.test/{id}"), "text": text });
    format!("{page}\n")
}

/// Removes terminal colours.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// Returns the fields that must be equal for two verdicts to count as the same: without times and places, and
/// with centroids instead of `cluster_id`s.
pub(crate) fn stable_fields(verdict: &Value) -> Value {
    let mut verdict = verdict.clone();
    let object = verdict.as_object_mut().expect("an object");
    for field in ["decided_at", "log_partition", "log_offset", "cluster_id"] {
        object.remove(field);
    }
    // Verdicts of older versions do not have this field.
    if let Some(recrawl) = object.get_mut("recrawl").and_then(Value::as_object_mut) {
        recrawl.remove("left_cluster_id");
    }
    verdict
}

/// Compares verdicts one by one, and shows the first two that differ.
#[track_caller]
pub(crate) fn assert_same(what: &str, left: &[Value], right: &[Value]) {
    for (at, (left, right)) in left.iter().zip(right).enumerate() {
        assert!(left == right, "{what}: verdict {at} differs:\n{left}\n{right}");
    }
    assert_eq!(left.len(), right.len(), "{what}");
}

/// Percent-encodes every byte, for use in the query of a URL.
pub(crate) fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns a command for one of Prometheus' programs: the copy unpacked by `make all-tools`, or the system's.
pub(crate) fn prometheus_tool(name: &str) -> Command {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/prometheus/usr/bin").join(name);
    let program = if unpacked.is_file() { unpacked } else { PathBuf::from(name) };
    let found = Command::new(&program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "this test needs Prometheus' `{name}`: `make all-tools` unpacks Debian's package `prometheus` below \
         target/tools, where it starts no service"
    );
    Command::new(program)
}

/// Returns the seed of a randomised test: the value of the environment `variable`, or a new one. Printed, so
/// that a failure can be repeated.
pub(crate) fn seed(variable: &str) -> u64 {
    let fresh = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_micros() as u64;
    let seed = std::env::var(variable).map_or(fresh, |seed| seed.parse().expect("a number"));
    eprintln!("{variable}={seed}");
    seed
}

/// Returns ports for servers that need a fixed one. Nobody listens on them, and no other test on this machine
/// gets them before this process ends. They are below the range for outgoing connections. Otherwise a
/// connection could take a port before its server does, or while the server is down.
pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Servers here use TCP. The UDP port of the same number, which only one process can have, marks it as
    // taken.
    static TAKEN: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());
    // Each process begins at another port, since test binaries run in parallel.
    let begin = std::process::id() % 600 * 20;
    let mut ports = Vec::new();
    while ports.len() < count {
        let step = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + ((begin + step) % 12_000) as u16;
        let Ok(taken) = UdpSocket::bind(("127.0.0.1", port)) else { continue };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            ports.push(port);
            TAKEN.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
        }
    }
    ports
}
