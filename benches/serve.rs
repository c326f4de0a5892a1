//! Measures `leitong serve` under load: look-ups per second, how long they take at 500 per second, and how storing
//! compares with `leitong dedup` on the same pages. `cargo bench --bench serve`.
//!
//! Pages are generated from a seed: small ones of some 300 bytes of text, and HTML of some 6 KB. Server,
//! clients and `dedup` share the machine, so the clients' work counts against the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_leitong");
/// Number of pages in the table while look-ups are measured.
const STORED: usize = 20_000;
const CONNECTIONS: usize = 8;
const SECONDS: u64 = 8;
const BATCH_PAGES: usize = 100;

struct Server(Child, String);

impl Server {
    fn start(table: &Path) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["serve", "--address", "127.0.0.1:0", "--table"])
            .arg(table)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().expect("standard error")).read_line(&mut line).expect("a line");
        let address = line.trim().split_once("http://").expect("an address").1.to_owned();
        Self(child, address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns sentences about a topic, of some `bytes` bytes in all.
fn text(topic: usize, bytes: usize) -> String {
    const WORDS: [&str; 24] = [
        "编辑部",
        "老船长",
        "图书管理员",
        "气象站",
        "登山队",
        "修表匠",
        "天文台",
        "整理了",
        "寻找着",
        "记录下",
        "讨论过",
        "修理好",
        "比较了",
        "收集到",
        "旧地图",
        "铁路时刻表",
        "一封长信",
        "河边的柳树",
        "望远镜",
        "秋天的收成",
        "港口的灯塔",
        "收音机",
        "古代的星图",
        "渡船的票价",
    ];
    let mut state = topic as u64 + 1;
    let mut out = String::new();
    while out.len() < bytes {
        for _ in 0..6 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            out += WORDS[(state >> 33) as usize % WORDS.len()];
        }
        out += "。";
    }
    out
}

/// Returns a page as a line of JSON.
fn small_page(topic: usize) -> String {
    format!("{{\"url\":\"https://a.example/{topic}\",\"text\":\"{}\"}}", text(topic, 300))
}

/// Returns HTML of some 6 KB, of which some 4 KB are text.
fn html_page(topic: usize) -> String {
    let links: String = (0..20).map(|n| format!("<li><a href='/section/{n}'>栏目 {n}</a></li>")).collect();
    let paragraphs: String = (0..6).map(|n| format!("<p>{}</p>", text(7 * topic + n, 680))).collect();
    let html = format!(
        "<html><head><title>第 {topic} 篇</title></head><body><ul class='nav'>{links}</ul><article>{paragraphs}\
         </article><div class='footer'>版权所有 联系我们 网站地图</div></body></html>"
    );
    format!("{{\"url\":\"https://a.example/{topic}\",\"html\":\"{html}\"}}")
}

/// Sends a request, and receives the body of its answer in `into`.
fn ask(stream: &mut BufReader<TcpStream>, path: &str, content_type: &str, body: &str, into: &mut Vec<u8>) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().write_all(head.as_bytes()).expect("written");
    let (mut line, mut length, mut status) = (String::new(), 0, String::new());
    while line != "\r\n" {
        line.clear();
        stream.read_line(&mut line).expect("a line");
        if status.is_empty() {
            status.clone_from(&line);
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().expect("a number");
        }
    }
    into.resize(length, 0);
    stream.read_exact(into).expect("a body");
    assert!(status.contains(" 200 "), "{status}{}", String::from_utf8_lossy(into));
}

fn connect(address: &str) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).expect("the port is open");
    stream.set_nodelay(true).expect("an option");
    BufReader::new(stream)
}

/// Stores `pages` in batches over several connections; returns pages per second.
fn store(address: &str, pages: &[String]) -> f64 {
    let batches: Vec<String> = pages.chunks(BATCH_PAGES).map(|some| some.join("\n")).collect();
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let (mut stream, mut answer) = (connect(address), Vec::new());
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    ask(&mut stream, "/v1/pages", "application/x-ndjson", batch, &mut answer);
                }
            });
        }
    });
    pages.len() as f64 / began.elapsed().as_secs_f64()
}

/// Looks up pages for [`SECONDS`] seconds, at most `per_second` per second. Returns the number of look-ups per second,
/// and their durations in ascending order.
fn look_up(
    address: &str,
    pages: &[String],
    connections: usize,
    per_second: Option<f64>,
) -> (f64, Vec<Duration>) {
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    let took = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| {
                scope.spawn(|| {
                    let (mut stream, mut answer, mut took) = (connect(address), Vec::new(), Vec::new());
                    while began.elapsed() < Duration::from_secs(SECONDS) {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        // A late look-up counts from its due time, whatever delayed it.
                        let mut due = Instant::now();
                        if let Some(per_second) = per_second {
                            due = began + Duration::from_secs_f64(number as f64 / per_second);
                            std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
                        }
                        let page = &pages[number % pages.len()];
                        ask(&mut stream, "/v1/lookup", "application/json", page, &mut answer);
                        took.push(due.elapsed());
                    }
                    took
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("no fault")).collect::<Vec<_>>()
    });
    let rate = took.len() as f64 / began.elapsed().as_secs_f64();
    let mut took = took;
    took.sort_unstable();
    (rate, took)
}

fn dedup_seconds(input: &Path) -> f64 {
    let began = Instant::now();
    let mut command = Command::new(PROGRAM);
    command.args(["dedup", "--output", "/dev/null"]).arg(input).stderr(Stdio::null());
    assert!(command.status().expect("the program starts").success());
    began.elapsed().as_secs_f64()
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    for (what, page) in [("small", small_page as fn(usize) -> String), ("HTML", html_page)] {
        let pages: Vec<String> = (0..STORED).map(page).collect();
        let bytes = pages.iter().map(String::len).sum::<usize>() / pages.len();
        let input = folder.path().join("pages.jsonl");
        std::fs::write(&input, pages.join("\n")).expect("written");
        // The start-up time is subtracted, since the server has already started when requests arrive.
        let dedup = pages.len() as f64 / (dedup_seconds(&input) - dedup_seconds(Path::new("/dev/null")));
        let server = Server::start(&folder.path().join(what));
        let stored = store(&server.1, &pages);
        println!(
            "{what} pages of {bytes} bytes: dedup {dedup:.0} pages/s, serve in batches of {BATCH_PAGES} {stored:.0} pages/s \
             ({:.0} %)",
            100.0 * stored / dedup
        );
        let new: Vec<String> = (STORED..STORED + 2_000).map(page).chain(pages[..2_000].to_vec()).collect();
        for (connections, per_second) in [(1, None), (CONNECTIONS, None), (CONNECTIONS, Some(500.0))] {
            let (rate, took) = look_up(&server.1, &new, connections, per_second);
            let at = |share: f64| took[(took.len() as f64 * share) as usize].as_secs_f64() * 1e3;
            println!(
                "{what} pages of {bytes} bytes: {rate:.0} look-ups/s over {connections} connection(s), p50 {:.2} ms, p99 {:.2} ms, p99.9 \
                 {:.2} ms",
                at(0.5),
                at(0.99),
                at(0.999)
            );
        }
    }
}
