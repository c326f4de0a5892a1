//! Measures the cost of presets: reading a page from a crawler's message, compared with Leitong's own JSON, as a share
//! of all work on the page. Each figure is the smallest of many rounds; the formats take turns.
//!
//! `cargo bench --bench presets -- pages.jsonl.gz`; the pages need `html`. Without a file: the sample pages.

use std::path::Path;
use std::time::{Duration, Instant};

use leitong::config::Config;
use leitong::pipeline::FingerprintStage;
use leitong_base::record::Place;
use leitong_formats::source::{Input, InputRules, Inputs, Payload, Record, Source};
use serde_json::{Value, json};

const ROUNDS: usize = 15;
const PAGES_MAX: usize = 200;
const PRESETS: [&str; 7] = ["json", "scrapy-cluster", "os-scrapy", "nutch", "crawl4ai", "cdr3", "katana"];

/// Returns the page as the crawler of a preset writes it.
fn message(preset: &str, html: &str) -> Value {
    let url = "http://a.example/news/2026/11/21/1.html";
    let date = "2026-11-21T08:00:00Z";
    let headers = json!({ "Content-Type": ["text/html; charset=utf-8"], "Server": ["nginx"], "Vary": ["Accept-Encoding"],
        "Date": ["Sat, 21 Nov 2026 08:00:00 GMT"], "Cache-Control": ["max-age=60"], "Etag": ["5f1d7a84-1a2b"],
        "Connection": ["keep-alive"], "X-Cache": ["HIT"], "Age": ["5"] });
    match preset {
        "json" => {
            json!({ "url": url, "html": html, "status": 200, "content_type": "text/html", "fetched_at": date,
            "passthrough": { "appid": "x", "crawlid": "y" } })
        }
        "scrapy-cluster" => {
            json!({ "appid": "x", "attrs": { "a": 1 }, "body": html, "crawlid": "y", "encoding": "utf-8",
            "links": [], "request_headers": { "User-Agent": ["x"] }, "response_headers": headers, "response_url": url,
            "status_code": 200, "status_msg": "OK", "timestamp": date, "url": url })
        }
        "os-scrapy" => json!({ "request": { "url": url }, "meta": { "depth": 1 },
            "response": { "status": 200, "headers": headers, "body": html } }),
        "nutch" => {
            json!({ "id": [url], "url": [url], "binaryContent": [html], "content": ["x"], "digest": ["0f"],
            "tstamp": ["Sat Nov 21 08:00:00 UTC 2026"], "boost": ["1.0"], "type": ["text", "text/html", "html"] })
        }
        "crawl4ai" => {
            json!({ "url": url, "html": html, "cleaned_html": "", "success": true, "media": {}, "links": {},
            "markdown": { "raw_markdown": "" }, "metadata": { "title": "t" }, "status_code": 200,
            "response_headers": { "content-type": "text/html" } })
        }
        "cdr3" => {
            json!({ "_id": "A1", "url": url, "raw_content": html, "content_type": "text/html", "team": "t",
            "timestamp_crawl": date, "response_headers": headers })
        }
        "katana" => json!({ "timestamp": date, "request": { "endpoint": url },
            "response": { "status_code": 200, "headers": { "content_type": "text/html" }, "body": html } }),
        other => panic!("{other} has no message here"),
    }
}

fn pages(path: &Path) -> Vec<String> {
    let input = Input::open(path).expect("a file of pages");
    let config = Config::default();
    let rules = InputRules::new(&config.page, &config.input).expect("the default");
    let mut source = Inputs::new(vec![input], rules, std::sync::Arc::default());
    let (mut pages, mut more) = (Vec::new(), true);
    while more && pages.len() < PAGES_MAX {
        let mut batch = Vec::new();
        more = source.read_batch(&mut batch, 1 << 20).expect("lines");
        for record in batch {
            let Payload::Json(line) = record.payload else { continue };
            let page: Value = serde_json::from_slice(&line).unwrap_or_default();
            pages.extend(page["html"].as_str().map(str::to_owned));
        }
    }
    pages.truncate(PAGES_MAX);
    pages
}

/// Returns the shortest time of a round over all pages, in microseconds.
fn least(times: &[Duration]) -> f64 {
    times.iter().min().map_or(0.0, Duration::as_secs_f64) * 1e6
}

fn main() {
    let file = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let pages = pages(Path::new(file.as_deref().unwrap_or("examples/pages.jsonl")));
    let stages = PRESETS.map(|preset| {
        let mut config = Config::default();
        config.input.preset = preset.to_owned();
        FingerprintStage::new(config).expect("right settings")
    });
    let lines = PRESETS.map(|preset| {
        pages.iter().map(|html| message(preset, html).to_string().into_bytes()).collect::<Vec<_>>()
    });
    let mut reading = PRESETS.map(|_| Vec::new());
    let mut all = Vec::new();
    let mut workspace = stages[0].workspace();
    for _ in 0..ROUNDS {
        for ((stage, lines), times) in stages.iter().zip(&lines).zip(&mut reading) {
            let copies: Vec<Payload> = lines.iter().cloned().map(Payload::Json).collect();
            let since = Instant::now();
            for payload in copies {
                std::hint::black_box(stage.reader().record(payload).expect("a page"));
            }
            times.push(since.elapsed());
        }
        let copies: Vec<Vec<u8>> = lines[0].clone();
        let since = Instant::now();
        for line in copies {
            let place = Place::Line { input: "bench".into(), line: 1 };
            std::hint::black_box(
                stages[0].process(Record { place, span: 0..0, payload: Payload::Json(line) }, &mut workspace),
            );
        }
        all.push(since.elapsed());
    }
    let count = pages.len().max(1) as f64;
    let bytes = pages.iter().map(String::len).sum::<usize>() as f64 / count;
    let (own, all) = (least(&reading[0]) / count, least(&all) / count);
    println!(
        "{count} pages of {bytes:.0} bytes; line to fingerprint {all:.1} µs a page, of which reading {own:.1} µs"
    );
    for (preset, times) in PRESETS.iter().zip(&reading) {
        let time = least(times) / count;
        println!("{preset:<16} {time:>8.1} µs to read, {:+.1} % of all", (time - own) / all * 100.0);
    }
}
