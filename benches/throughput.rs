//! Measures the throughput of texts on one core: the number of documents of 6 KB per second with a million centroids in
//! the table, and the time of each stage. Part of `make bench`.
//!
//! Documents are cut from the labelled Chinese streams in `LEITONG_DATA`. Each round takes all documents through
//! jieba-rs, then through all stages one by one, then from line to verdict in one go. Each of the three has a separate
//! loop, so no loop finds another's data in the caches. The fastest round of each document and stage counts, so a noisy
//! machine disturbs little.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use leitong::config::Config;
use leitong::pipeline::ClusterStage;
use leitong::pipeline::FingerprintStage;
use leitong_base::record::{Place, Timestamp};
use leitong_cluster::verdict::Conclusion;
use leitong_cluster::{Centroid, ClusterRules, Clusterer, Position};
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong_fingerprint::digest::text_digest;
use leitong_fingerprint::secret::DigestHash;
use leitong_formats::source::{Payload, Record};
use leitong_text::extract::Document;
use leitong_text::page::Page;
use leitong_text::page::{Body, PageRules};
use leitong_text::segment::{Lexicons, Segmenter, Terms};

const STREAMS: [&str; 2] = ["neardup_zh_fudan", "neardup_zh_xitu"];
const DOCUMENT_BYTES: usize = 6_000;
const DOCUMENTS: usize = 3_000;
const ROUNDS: usize = 9;
const CENTROIDS: u64 = 1_000_000;

fn main() {
    let data = PathBuf::from(std::env::var("LEITONG_DATA").unwrap_or_else(|_| "../shared/data".into()));
    if !data.exists() {
        println!("{} is not there: set LEITONG_DATA to the folder of labelled pages", data.display());
        return;
    }
    let lines = documents(&data);
    let config = Config::default();
    let stage = FingerprintStage::new(config.clone()).expect("the default settings");
    let segmenter = Segmenter::new(&config.segment, &Lexicons::default()).expect("the default settings");
    let detector = Arc::clone(stage.detector());
    let jieba = jieba_rs::Jieba::new();
    let texts: Vec<String> = lines.iter().map(|line| text_of(line)).collect();
    let bytes: usize = lines.iter().map(Vec::len).sum();
    println!("{} documents, {} bytes of JSON on average, {ROUNDS} rounds", lines.len(), bytes / lines.len());

    let position = Position { next_log_offset: CENTROIDS, ..Position::default() };
    let mut clusterer =
        Clusterer::new(Arc::clone(&detector), ClusterRules::expiry_only(config.expiry.clone()), position);
    let unrelated = Fingerprints::even(1);
    for number in 0..CENTROIDS {
        let url = format!("https://www.example.com/{number}");
        let centroid = Centroid {
            log_offset: number,
            log_time: None,
            fingerprint: unrelated.get(number),
            text_digest: u128::from(number),
            page_id: url.as_str().into(),
            url: url.into(),
        };
        clusterer.restore("default", stage.fingerprint_hash(), &centroid).expect("in memory");
    }
    let mut cluster_stage = ClusterStage::new(clusterer, Arc::clone(&detector), 0);
    let mut workspace = stage.workspace();
    let mut terms = Terms::default();
    let mut buffer = Vec::new();
    let mut times = Times::default();
    for _ in 0..ROUNDS {
        for (number, text) in texts.iter().enumerate() {
            let mut watch = times.watch(number);
            std::hint::black_box(jieba.cut(text, true));
            watch.lap(JIEBA);
        }
        for (number, line) in lines.iter().enumerate() {
            let mut watch = times.watch(number);
            let page = Page::from_json(line, PageRules { page_bytes_max: 1 << 20, url_required: true })
                .expect("a page");
            watch.lap("parse JSON");
            let Body::Text(text) = &page.body else { panic!("{page:?}") };
            let document = Document::from_text(None, text);
            watch.lap("paragraphs");
            std::hint::black_box(text_digest(&document, &DigestHash::default(), &mut buffer));
            watch.lap("digest");
            segmenter.segment(&document, &mut terms);
            watch.lap("segment");
            std::hint::black_box(detector.fingerprint(&terms));
            watch.lap("fingerprint");
        }
        for (number, line) in lines.iter().enumerate() {
            let place = Place::Line { input: "bench".into(), line: 1 };
            let record = Record { place, span: 0..0, payload: Payload::Json(line.clone()) };
            let mut watch = times.watch(number);
            let record = stage.process(record, &mut workspace).record;
            watch.lap("line → fingerprint");
            let record = record.expect("nothing is filtered");
            let conclusion = cluster_stage.decide(record, Timestamp::now()).expect("in memory");
            watch.lap("decide");
            let Conclusion::Verdict(verdict) = &conclusion else { panic!("{conclusion:?}") };
            std::hint::black_box(serde_json::to_vec(verdict).expect("JSON"));
            watch.lap("write JSON");
        }
    }
    println!("| stage | µs a document | documents/s and core |\n|---|---|---|");
    for (stage, seconds) in times.means() {
        println!("| {stage} | {:.1} | {:.0} |", seconds * 1e6, 1.0 / seconds);
    }
    let means: HashMap<_, _> = times.means().collect();
    let whole = means["line → fingerprint"] + means["decide"] + means["write JSON"];
    println!("| **line → verdict line** | {:.1} | {:.0} |", whole * 1e6, 1.0 / whole);
    println!("{:.2} times the time of jieba-rs alone", whole / means[JIEBA]);
}

const JIEBA: &str = "jieba-rs 0.11 alone";

/// The shortest time of each document, by stage.
#[derive(Default)]
struct Times(Vec<(&'static str, HashMap<usize, Duration>)>);

impl Times {
    fn watch(&mut self, document: usize) -> Watch<'_> {
        Watch { times: self, document, since: Instant::now() }
    }

    /// Returns the seconds per document of each stage, in the order of the first round.
    fn means(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        let mean = |times: &HashMap<usize, Duration>| {
            times.values().sum::<Duration>().as_secs_f64() / times.len() as f64
        };
        self.0.iter().map(move |(stage, times)| (*stage, mean(times)))
    }
}

/// Times one document.
struct Watch<'a> {
    times: &'a mut Times,
    document: usize,
    since: Instant,
}

impl Watch<'_> {
    /// Adds the time since the last lap to `stage`.
    fn lap(&mut self, stage: &'static str) {
        let time = self.since.elapsed();
        let stages = &mut self.times.0;
        let at = stages.iter().position(|(name, _)| *name == stage).unwrap_or_else(|| {
            stages.push((stage, HashMap::new()));
            stages.len() - 1
        });
        let shortest = stages[at].1.entry(self.document).or_insert(Duration::MAX);
        *shortest = time.min(*shortest);
        self.since = Instant::now();
    }
}

/// Returns the text of a document.
fn text_of(line: &[u8]) -> String {
    let page: serde_json::Value = serde_json::from_slice(line).expect("JSON");
    page["text"].as_str().expect("a text").to_owned()
}

/// Returns documents of about [`DOCUMENT_BYTES`] as JSON lines.
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
