//! Prints the fingerprints of labelled pages, for `tools/measure/judge.py` and `examples/pairs.rs`.
//!
//! usage: `cargo run --release --example fingerprints < pages.jsonl > fingerprints.jsonl` One object per page: id,
//! cluster, label, fingerprint and text digest in hexadecimal digits (null if the page has none). Pages have `html` or
//! `text`.

use std::io::{BufRead, BufWriter, Write};

use leitong::pipeline::FingerprintStage;
use leitong::{Config, Page};
use leitong_base::record::{LogRecord, Place};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Number of pages that are fingerprinted at once.
const BATCH: usize = 512;

fn page_of(line: &Value) -> Page {
    let field = |name: &str| line[name].as_str().unwrap_or_default();
    let mut page = match line["html"].as_str() {
        Some(html) => Page::html(field("url"), html),
        None => Page::text(field("url"), field("text")),
    };
    page.title = line["title"].as_str().map(str::to_owned);
    page
}

fn main() -> anyhow::Result<()> {
    let stage = FingerprintStage::new(Config::default())?;
    let place = Place::Line { input: "-".into(), line: 1 };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let lines: Vec<Value> = std::io::stdin()
        .lock()
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<anyhow::Result<_>>()?;
    for lines in lines.chunks(BATCH) {
        let records = lines.par_iter().map_init(
            || stage.workspace(),
            |workspace, line| stage.process_page(place.clone(), page_of(line), workspace).record,
        );
        let records: Vec<_> = records.collect();
        for (line, record) in lines.iter().zip(records) {
            let (fingerprint, text) = match &record {
                Ok(LogRecord::Page(page)) => (page.outcome.fingerprint(), page.text),
                _ => (None, None),
            };
            let digits =
                fingerprint.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
            let row = json!({
                "id": line["id"], "cluster": line["cluster"], "label": line["label"], "fingerprint": digits,
                "text": text.map(|text| format!("{:032x}", text.digest)),
            });
            writeln!(out, "{row}")?;
        }
    }
    Ok(())
}
