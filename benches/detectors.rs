//! Measures how many microseconds each detector takes to fingerprint a segmented page of 6 KB, to compare two
//! fingerprints, and to fingerprint texts of other lengths. Documents are pieces of the labelled Chinese streams in
//! `LEITONG_DATA`. Run it with `cargo bench --bench detectors`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use leitong::{Config, DETECTORS, detector};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::BASELINES;
use leitong_fingerprint::resources::Resources;
use leitong_fingerprint::secret::Secret;
use leitong_text::extract::Document;
use leitong_text::segment::{Lexicons, Segmenter, Terms};

const STREAMS: [&str; 2] = ["neardup_zh_lctt", "neardup_zh_xitu"];
const DOCUMENT_BYTES: usize = 6_000;
/// Other lengths, for the second table.
const LENGTHS: [usize; 4] = [1_500, 6_000, 24_000, 48_000];
const DOCUMENTS: usize = 400;
const ROUNDS: usize = 7;

fn main() {
    let data = PathBuf::from(std::env::var("LEITONG_DATA").unwrap_or_else(|_| "../shared/data".into()));
    if !data.exists() {
        println!("{} is not there: set LEITONG_DATA to the folder of labelled pages", data.display());
        return;
    }
    // The settings may be in a detector file, which may refer to lexicons and tables.
    let config = std::env::var("LEITONG_CONFIG").map_or_else(
        |_| Config::default(),
        |path| Config::from_detector_file(path).expect("a right detector file"),
    );
    let resources = config.resources().expect("files that can be read");
    let segmenter = Segmenter::new(&config.segment, &Lexicons::default()).expect("the default settings");
    let mut detectors: Vec<(String, Box<dyn Detector>)> = DETECTORS
        .iter()
        .map(|(name, build)| (format!("`{name}`"), build(&config, &resources).expect("right files")))
        .collect();
    let secret = Some(Secret::new("a secret of this benchmark").expect("long enough"));
    let keyed = Resources { secret, ..resources.clone() };
    detectors.extend(DETECTORS.iter().filter(|(name, _)| !BASELINES.contains(name)).map(|(name, build)| {
        (format!("`{name}`, with a secret"), build(&config, &keyed).expect("right files"))
    }));

    let texts = texts(&data, &segmenter, DOCUMENT_BYTES);
    println!(
        "{} documents of {DOCUMENT_BYTES} bytes, the best of {ROUNDS} rounds, median document\n",
        texts.len()
    );
    println!(
        "| detector | µs a fingerprint | 90th percentile | bytes | µs a comparison |\n|---|---|---|---|---|"
    );
    for (name, detector) in &detectors {
        let Figures { median, tail, bytes, comparison } = measure(&**detector, &texts);
        println!("| {name} | {median:.1} | {tail:.1} | {bytes} | {comparison:.2} |");
    }

    by_length(&detectors, &config, &resources, |bytes| self::texts(&data, &segmenter, bytes));
}

/// Measures the time to fingerprint texts of each length (paper 000), also for a word network of which every node is
/// tried instead of only the hubs.
fn by_length(
    detectors: &[(String, Box<dyn Detector>)],
    config: &Config,
    resources: &Resources,
    texts: impl Fn(usize) -> Vec<Terms>,
) {
    let mut all_nodes = config.clone();
    all_nodes.detector = "word-network".into();
    let settings = serde_json::json!({ "graph": { "hubs": 256 } });
    all_nodes.word_network = serde_json::from_value(settings).expect("settings of the network");
    let all_nodes = detector("word-network", &all_nodes, resources).expect("a detector");
    let all_nodes = ("`word-network`, all nodes tried".to_owned(), all_nodes.expect("right files"));
    let texts: Vec<Vec<Terms>> = LENGTHS.iter().map(|bytes| texts(*bytes)).collect();
    let heads = LENGTHS.iter().zip(&texts).map(|(bytes, texts)| format!("{bytes} bytes ({})", texts.len()));
    println!(
        "\nMedian µs a fingerprint by length of the text (documents)\n\n| detector | {} |\n|---|---|---|---|---|",
        heads.collect::<Vec<_>>().join(" | ")
    );
    for (name, detector) in detectors.iter().chain([&all_nodes]) {
        let medians = texts.iter().map(|texts| format!("{:.1}", measure(&**detector, texts).median));
        println!("| {name} | {} |", medians.collect::<Vec<_>>().join(" | "));
    }
}

/// Figures of one detector; times in µs.
struct Figures {
    median: f64,
    /// 90th percentile.
    tail: f64,
    /// Mean bytes of a fingerprint.
    bytes: usize,
    comparison: f64,
}

fn measure(detector: &dyn Detector, texts: &[Terms]) -> Figures {
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
    Figures {
        median: micros(times[times.len() / 2]),
        tail: micros(times[times.len() * 9 / 10]),
        bytes: prints.iter().map(|print| print.len()).sum::<usize>() / prints.len().max(1),
        comparison: micros(since.elapsed()) / prints.len() as f64,
    }
}

/// Returns the first [`DOCUMENTS`] texts of the streams that are long enough, truncated to `bytes`.
fn texts(data: &Path, segmenter: &Segmenter, bytes: usize) -> Vec<Terms> {
    let mut texts = Vec::new();
    for stream in STREAMS {
        let file = std::fs::File::open(data.join(format!("{stream}.jsonl.gz"))).expect("a stream");
        for line in BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
            let page: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            let text = page["text"].as_str().expect("a text");
            if text.len() > bytes && texts.len() < DOCUMENTS {
                let end = (bytes..).find(|end| text.is_char_boundary(*end)).expect("a boundary");
                let mut terms = Terms::default();
                segmenter.segment(&Document::from_text(None, &text[..end]), &mut terms);
                texts.push(terms);
            }
        }
    }
    texts
}
