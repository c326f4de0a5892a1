//! Prints the features of all blocks of pages, for `tools/extraction/train.py`.
//!
//! usage: `cargo run --release --example extraction_features < pages.jsonl > features.jsonl` The
//! first line holds the names of the features; then one object per page: id, text, features,
//! ancestor_ranges, section and similar of each block. Pages have `html` or `html_b64`.

use std::io::{BufRead, BufWriter, Write};

use anyhow::Context;
use base64::Engine;
use leitong::extract::training;
use leitong::extract::{ExtractConfig, Extractor};
use serde_json::{Value, json};

fn html_of(page: &Value) -> anyhow::Result<String> {
    if let Some(html) = page["html"].as_str() {
        return Ok(html.to_owned());
    }
    let encoded = page["html_b64"].as_str().context("a page has neither html nor html_b64")?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded)?;
    let hints = leitong::page::Hints::default();
    Ok(leitong_text::decode::decode(&bytes, &hints)
        .map_or_else(|_| String::new(), |decoded| decoded.text.into_owned()))
}

fn main() -> anyhow::Result<()> {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{}", json!(training::names()))?;
    for line in std::io::stdin().lock().lines() {
        let page: Value = serde_json::from_str(&line?)?;
        let blocks = extractor.block_features(&html_of(&page)?)?;
        let row = json!({
            "id": page["id"],
            "text": blocks.iter().map(|block| &block.text).collect::<Vec<_>>(),
            "features": blocks.iter().map(|block| &block.features).collect::<Vec<_>>(),
            "ancestor_ranges": blocks.iter().map(|block| &block.ancestor_ranges).collect::<Vec<_>>(),
            "section": blocks.iter().map(|block| block.section).collect::<Vec<_>>(),
            "similar": blocks.iter().map(|block| block.similar).collect::<Vec<_>>(),
        });
        writeln!(out, "{row}")?;
    }
    Ok(())
}
