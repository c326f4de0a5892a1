//! Microseconds that each detector takes for the fingerprint of a page of 6 KB, after segmentation, and to compare two.
//! Documents are pieces of the labelled Chinese streams in `LEITONG_DATA`. Run it with
//! `cargo bench --bench detectors`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use leitong::config::{Config, load};
use leitong::extract::Document;
use leitong::fingerprint::DETECTORS;
use leitong::segment::{Lexicons, Segmenter, Terms};

const STREAMS: [&str; 2] = ["neardup_zh_lctt", "neardup_zh_xitu"];
const DOCUMENT_BYTES: usize = 6_000;
const DOCUMENTS: usize = 400;
const ROUNDS: usize = 7;

fn main() {
    let data = PathBuf::from(std::env::var("LEITONG_DATA").unwrap_or_else(|_| "../shared/data".into()));
    if !data.exists() {
        println!("{} is not there: set LEITONG_DATA to the folder of labelled pages", data.display());
        return;
    }
    // A configuration may name lexicons and tables.
    let config = std::env::var("LEITONG_CONFIG").map_or_else(
        |_| Config::default(),
        |path| load::load(std::path::Path::new(&path)).expect("a right configuration"),
    );
    let resources = load::resources(&config).expect("files that can be read");
    let segmenter = Segmenter::new(&config.segment, &Lexicons::default()).expect("the default settings");
    let texts: Vec<Terms> = texts(&data)
        .iter()
        .map(|text| {
            let mut terms = Terms::default();
            segmenter.segment(&Document::from_text(None, text), &mut terms);
            terms
        })
        .collect();
    println!(
        "{} documents of {DOCUMENT_BYTES} bytes, the best of {ROUNDS} rounds, median document\n",
        texts.len()
    );
    println!(
        "| detector | µs a fingerprint | 90th percentile | bytes | µs a comparison |\n|---|---|---|---|---|"
    );
    for (name, build) in DETECTORS {
        let detector = build(&config, &resources).expect("right files");
        let mut times = vec![Duration::MAX; texts.len()];
        let mut prints = Vec::new();
        for _ in 0..ROUNDS {
            prints.clear();
            for (terms, best) in texts.iter().zip(&mut times) {
                let since = Instant::now();
                let print = std::hint::black_box(detector.fingerprint(terms));
                *best = since.elapsed().min(*best);
                prints.extend(print);
            }
        }
        times.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let since = Instant::now();
        for pair in prints.windows(2) {
            std::hint::black_box(detector.compare(&pair[0], &pair[1]));
        }
        println!(
            "| `{name}` | {:.1} | {:.1} | {} | {:.2} |",
            micros(times[times.len() / 2]),
            micros(times[times.len() * 9 / 10]),
            prints.iter().map(|print| print.len()).sum::<usize>() / prints.len().max(1),
            micros(since.elapsed()) / prints.len() as f64
        );
    }
}

/// Texts of about [`DOCUMENT_BYTES`].
fn texts(data: &std::path::Path) -> Vec<String> {
    let mut texts = Vec::new();
    for stream in STREAMS {
        let file = std::fs::File::open(data.join(format!("{stream}.jsonl.gz"))).expect("a stream");
        for line in BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
            let page: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            let text = page["text"].as_str().expect("a text");
            if text.len() > DOCUMENT_BYTES && texts.len() < DOCUMENTS {
                let end = (DOCUMENT_BYTES..).find(|end| text.is_char_boundary(*end)).expect("a boundary");
                texts.push(text[..end].to_owned());
            }
        }
    }
    texts
}
