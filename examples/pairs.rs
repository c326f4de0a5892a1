//! Compares each labelled page with all earlier ones, for `tools/measure/representatives.py`.
//!
//! usage: `cargo run --release --example pairs < fingerprints.jsonl > pairs.jsonl` In: the output of
//! `examples/fingerprints.rs`. Out: one object per page with a fingerprint: `cluster`, `label`, `text`; the earlier pages
//! that are `near` it, nearest first, as [number, both shares]; and, if there are any, those that are `related` to it, in
//! the order in which a verdict names them, as [number, both shares, the reason why they are not near].

use std::io::{BufRead, BufWriter, Write};

use leitong::{Config, Detector, detector};
use rayon::prelude::*;
use serde_json::{Value, json};

fn fingerprint_of(row: &Value) -> Option<Vec<u8>> {
    let digits = row["fingerprint"].as_str()?.as_bytes().as_chunks::<2>().0;
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    digits.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Compares the page with this number with all earlier ones. Returns those that are near, and those that are related.
fn compared(detector: &dyn Detector, pages: &[(Value, Vec<u8>)], number: usize) -> (Vec<Value>, Vec<Value>) {
    let page = &pages[number].1;
    let (mut near, mut related) = (Vec::new(), Vec::new());
    for (other, (_, fingerprint)) in pages[..number].iter().enumerate() {
        let comparison = detector.compare(page, fingerprint);
        let shares =
            || detector.shares(page, fingerprint).map_or([0, 0], |shares| [shares.of_a, shares.of_b]);
        if comparison.near {
            let [own, others] = shares();
            let rank = detector.rank(page, fingerprint, comparison.distance);
            near.push((rank, other, json!([other, own, others])));
        } else if detector.related(page, fingerprint) {
            let [own, others] = shares();
            let reason = detector.evidence(page, fingerprint).remove("decided_by");
            let rank = detector.related_rank(page, fingerprint);
            related.push((rank, other, json!([other, own, others, reason])));
        }
    }
    if near.is_empty() {
        related.clear();
    }
    let in_order = |mut found: Vec<(u32, usize, Value)>| {
        found.sort_by_key(|(rank, other, _)| (*rank, *other));
        found.into_iter().map(|(_, _, row)| row).collect()
    };
    (in_order(near), in_order(related))
}

fn main() -> anyhow::Result<()> {
    let config = Config::default();
    let detector = detector(&config.detector, &config, &config.resources()?)
        .ok_or_else(|| anyhow::anyhow!("the default detector is unknown"))??;
    let mut pages = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        pages.extend(fingerprint_of(&row).map(|fingerprint| (row, fingerprint)));
    }
    let found: Vec<_> =
        (0..pages.len()).into_par_iter().map(|number| compared(&*detector, &pages, number)).collect();
    let mut out = BufWriter::new(std::io::stdout().lock());
    for ((row, _), (near, related)) in pages.iter().zip(found) {
        let of = |name: &str| row[name].clone();
        let page = json!({
            "cluster": of("cluster"), "label": of("label"), "text": of("text"), "near": near, "related": related,
        });
        writeln!(out, "{page}")?;
    }
    Ok(())
}
