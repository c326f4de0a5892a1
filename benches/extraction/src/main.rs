//! Speed of parsing and extraction, compared with other crates on the same pages in the same run.
//!
//! usage: `LEITONG_DATA=… cargo run --release --manifest-path benches/extraction/Cargo.toml [SET…]` with sets
//! such as `extract_zh_articles`. Prints megabytes of UTF-8 HTML per second on one core: the best of
//! [`ROUNDS`] rounds over all pages of a set, without reading and decoding.

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use base64::Engine;
use leitong_text::extract::{ExtractConfig, Extractor};

/// The best round counts, because other programs share the machine.
const ROUNDS: usize = 3;

const SETS: [&str; 6] = [
    "extract_zh_articles",
    "extract_en_articles",
    "extract_en_cleaneval",
    "extract_en_mixed",
    "pages_zh_netease",
    "templates_zh",
];

type Subject = (&'static str, Box<dyn FnMut(&str) -> usize>);

fn subjects() -> Vec<Subject> {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    vec![
        (
            "leitong extract",
            Box::new(move |html| extractor.extract(html).map_or(0, |document| document.paragraphs.len())),
        ),
        (
            "dom_smoothie",
            Box::new(|html| {
                let readability = dom_smoothie::Readability::new(html, None, None);
                readability.and_then(|mut r| r.parse()).map_or(0, |article| article.text_content.len())
            }),
        ),
        (
            "rs-trafilatura",
            Box::new(|html| rs_trafilatura::extract(html).map_or(0, |result| result.content_text.len())),
        ),
        ("lol_html (parse)", Box::new(lol)),
        ("tl (parse)", Box::new(|html| tl::parse(html, tl::ParserOptions::default()).map_or(0, |dom| dom.nodes().len()))),
        ("html5ever (parse)", Box::new(html5)),
    ]
}

fn lol(html: &str) -> usize {
    let bytes = std::cell::Cell::new(0);
    let text = lol_html::text!("*", |chunk| {
        bytes.set(bytes.get() + chunk.as_str().len());
        Ok(())
    });
    let settings = lol_html::Settings::new().append_element_content_handler(text);
    let mut rewriter = lol_html::HtmlRewriter::new(settings, |_: &[u8]| {});
    let written = rewriter.write(html.as_bytes()).is_ok() && rewriter.end().is_ok();
    bytes.get() + usize::from(written)
}

fn html5(html: &str) -> usize {
    use html5ever::tendril::TendrilSink;
    let dom = html5ever::parse_document(markup5ever_rcdom::RcDom::default(), html5ever::ParseOpts::default());
    dom.one(html).document.children.borrow().len()
}

fn pages(path: &std::path::Path) -> std::io::Result<Vec<String>> {
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(std::fs::File::open(path)?)).lines();
    let mut pages = Vec::new();
    for line in lines {
        let page: serde_json::Value = serde_json::from_str(&line?)?;
        if let Some(html) = page["html"].as_str() {
            pages.push(html.to_owned());
        } else if let Some(encoded) = page["html_b64"].as_str() {
            let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap_or_default();
            let decoded = leitong_text::decode::decode(&bytes, &leitong_text::page::Hints::default());
            pages.push(decoded.map_or_else(|_| String::new(), |decoded| decoded.text.into_owned()));
        }
    }
    Ok(pages)
}

fn main() -> std::io::Result<()> {
    let data = std::env::var("LEITONG_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for set in SETS.iter().filter(|set| wanted.is_empty() || wanted.iter().any(|name| name == *set)) {
        let path = std::path::Path::new(&data).join(format!("{set}.jsonl.gz"));
        let pages = pages(&path)?;
        let bytes: usize = pages.iter().map(String::len).sum();
        println!("{set}: {} pages, {:.1} MB", pages.len(), bytes as f64 / 1e6);
        for (name, mut subject) in subjects() {
            let mut best = Duration::MAX;
            for _ in 0..ROUNDS {
                let start = Instant::now();
                for page in &pages {
                    black_box(subject(black_box(page)));
                }
                best = best.min(start.elapsed());
                if best > Duration::from_secs(8) {
                    break;
                }
            }
            println!("  {name:20} {:8.1} MB/s", bytes as f64 / 1e6 / best.as_secs_f64());
        }
    }
    Ok(())
}
