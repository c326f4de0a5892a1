//! Text-only throughput on one core: documents of 6 KB a second, and where the time goes. Part of `make bench`.
//!
//! Documents are cut from the labelled Chinese streams in `LEITONG_DATA`. Each round takes every document through
//! all stages; of each document and stage the fastest round counts, so that a noisy machine disturbs little.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use leitong::cluster::{Clusterer, Position};
use leitong::config::Config;
use leitong::extract::Document;
use leitong::fingerprint::digest::text_digest;
use leitong::fingerprint::record::Place;
use leitong::page::Body;
use leitong::page::json::{self, Rules};
use leitong::page::timestamp::Timestamp;
use leitong::pipeline::cluster_half::{ClusterHalf, Conclusion};
use leitong::pipeline::fingerprint_half::FingerprintHalf;
use leitong::segment::{Lexicons, Segmenter, Terms};
use leitong::source::{Payload, Record};

const STREAMS: [&str; 2] = ["neardup_zh_fudan", "neardup_zh_xitu"];
const DOCUMENT_BYTES: usize = 6_000;
const DOCUMENTS: usize = 3_000;
const ROUNDS: usize = 9;

fn main() {
    let data = PathBuf::from(std::env::var("LEITONG_DATA").unwrap_or_else(|_| "../shared/data".into()));
    if !data.exists() {
        println!("{} is not there: set LEITONG_DATA to the folder of labelled pages", data.display());
        return;
    }
    let lines = documents(&data);
    let config = Config::default();
    let half = FingerprintHalf::new(config.clone()).expect("the default settings");
    let segmenter = Segmenter::new(&config.segment, &Lexicons::default()).expect("the default settings");
    let detector = Arc::clone(half.detector());
    let jieba = jieba_rs::Jieba::new();
    let bytes: usize = lines.iter().map(Vec::len).sum();
    println!("{} documents, {} bytes of JSON on average, {ROUNDS} rounds", lines.len(), bytes / lines.len());

    let clusterer = Clusterer::new(Arc::clone(&detector), config.expiry.clone(), Position::default());
    let mut cluster_half = ClusterHalf::new(clusterer, Arc::clone(&detector), 0);
    let mut workspace = half.workspace();
    let mut terms = Terms::default();
    let mut buffer = Vec::new();
    let mut stages: Vec<(&str, Vec<Duration>)> = Vec::new();
    for _ in 0..ROUNDS {
        for (number, line) in lines.iter().enumerate() {
            let mut since = Instant::now();
            let mut done = |stage: &'static str| {
                let time = since.elapsed();
                let times = match stages.iter().position(|(name, _)| *name == stage) {
                    Some(at) => &mut stages[at].1,
                    None => {
                        stages.push((stage, vec![Duration::MAX; lines.len()]));
                        &mut stages.last_mut().expect("just pushed").1
                    }
                };
                times[number] = times[number].min(time);
                since = Instant::now();
            };
            let page =
                json::parse(line, Rules { page_bytes_max: 1 << 20, url_required: true }).expect("a page");
            done("parse JSON");
            let Body::Text(text) = &page.body else { panic!("{page:?}") };
            let document = Document::from_text(None, text);
            done("paragraphs");
            std::hint::black_box(text_digest(&document, &mut buffer));
            done("digest");
            segmenter.segment(&document, &mut terms);
            done("segment");
            std::hint::black_box(detector.fingerprint(&terms));
            done("fingerprint");
            // For comparison: what the whole is worth depends on the machine.
            std::hint::black_box(jieba.cut(text, true));
            done("(jieba-rs alone)");
            let place = Place::Line { input: "bench".into(), line: 1 };
            let record = Record { place, payload: Payload::Json(line.clone()) };
            done("(copy)");
            let record = half.process(record, &mut workspace).record;
            done("whole left half");
            let conclusion = cluster_half.conclude(record, Timestamp::now());
            done("decide");
            let Conclusion::Verdict(verdict) = &conclusion else { panic!("{conclusion:?}") };
            std::hint::black_box(serde_json::to_vec(verdict).expect("JSON"));
            done("write JSON");
        }
    }
    let whole = ["whole left half", "decide", "write JSON"];
    let sum = |names: &[&str]| {
        let chosen = stages.iter().filter(|(name, _)| names.contains(name));
        chosen.flat_map(|(_, times)| times).sum::<Duration>().as_secs_f64() / lines.len() as f64
    };
    println!("| stage | µs a document | documents/s and core |\n|---|---|---|");
    let rows = stages.iter().map(|(name, _)| (*name, sum(&[*name])));
    for (name, seconds) in rows.chain([("line → verdict line", sum(&whole))]) {
        println!("| {name} | {:.1} | {:.0} |", seconds * 1e6, 1.0 / seconds);
    }
}

/// Documents of about [`DOCUMENT_BYTES`] as JSON lines.
fn documents(data: &Path) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for stream in STREAMS {
        let file = std::fs::File::open(data.join(format!("{stream}.jsonl.gz"))).expect("a stream");
        for line in BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
            let page: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            let mut text = page["text"].as_str().expect("a text");
            while text.len() > DOCUMENT_BYTES && lines.len() < DOCUMENTS {
                let end = (DOCUMENT_BYTES..).find(|end| text.is_char_boundary(*end)).expect("a boundary");
                let url = format!("https://bench.test/{}", lines.len());
                let page = serde_json::json!({ "url": url, "text": text[..end] });
                lines.push(page.to_string().into_bytes());
                text = &text[end..];
            }
        }
    }
    lines
}
