//! Prints the facts of all blocks of pages, for `tools/extraction/train.py`.
//!
//! usage: `cargo run --release --example extraction_facts < pages.jsonl > facts.jsonl`
//! The first line holds the names of the facts; then one object a page: id, text, facts, rings, section and kin of each
//! block. Pages have `html` or `html_b64`.

use std::io::{BufRead, BufWriter, Write};

use anyhow::Context;
use base64::Engine;
use leitong::extract::{ExtractConfig, Extractor, training};
use serde_json::{Value, json};

fn html_of(page: &Value) -> anyhow::Result<String> {
    if let Some(html) = page["html"].as_str() {
        return Ok(html.to_owned());
    }
    let encoded = page["html_b64"].as_str().context("a page has neither html nor html_b64")?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded)?;
    let hints = leitong::page::Hints::default();
    Ok(leitong::decode::decode(&bytes, &hints)
        .map_or_else(|_| String::new(), |decoded| decoded.text.into_owned()))
}

fn main() -> anyhow::Result<()> {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{}", json!(training::names()))?;
    for line in std::io::stdin().lock().lines() {
        let page: Value = serde_json::from_str(&line?)?;
        let blocks = extractor.block_facts(&html_of(&page)?)?;
        let row = json!({
            "id": page["id"],
            "text": blocks.iter().map(|block| &block.text).collect::<Vec<_>>(),
            "facts": blocks.iter().map(|block| &block.facts).collect::<Vec<_>>(),
            "rings": blocks.iter().map(|block| &block.rings).collect::<Vec<_>>(),
            "section": blocks.iter().map(|block| block.section).collect::<Vec<_>>(),
            "kin": blocks.iter().map(|block| block.kin).collect::<Vec<_>>(),
        });
        writeln!(out, "{row}")?;
    }
    Ok(())
}
