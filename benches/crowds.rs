//! Measures look-ups when very many centroids share one key: pages per CPU second, and the peak memory beyond the
//! table. Run it with `cargo bench --bench crowds`; a number after `--` multiplies all sizes.

use std::sync::Arc;

use leitong::config::{Config, ExpiryConfig};
use leitong::detector;
use leitong_base::random::Random;
use leitong_base::record::FingerprintRecord;
use leitong_cluster::{Centroid, ClusterRules, Clusterer, Position};
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash;
use leitong_fingerprint::resources::Resources;
use leitong_text::extract::Document;
use leitong_text::page::Address;
use leitong_text::segment::{Lexicons, Segmenter, Terms};

/// Number of pages decided at once.
const BATCH: usize = 250;
type Page = Option<Box<[u8]>>;

fn main() {
    let scale: f64 = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(1.0);
    let sized = |size: usize| (size as f64 * scale) as usize;
    let segmenter = Segmenter::new(&Config::default().segment, &Lexicons::default()).expect("the defaults");
    println!("| pages | centroids | pages/s | MB beyond the table |\n|---|---|---|---|");

    let simhash = build("simhash");
    let no_key = |number| random_simhash(number, None, None);
    run("`simhash`, no key in common", &simhash, sized(400_000), 40_000, no_key);
    let one_band = |number| random_simhash(number, Some(7), None);
    run("`simhash`, one band in common", &simhash, sized(400_000), 500, one_band);
    let one_passage = |number| random_simhash(number, None, Some(7));
    run("`simhash`, one sampled passage in common", &simhash, sized(400_000), 500, one_passage);
    let passage = words(0, 120);
    let template = |number: usize| {
        // The passage is two fifths of the page, so most pages share several bands with many others.
        let text = format!("{}\n{passage}\n{}", words(2 * number + 1, 90), words(2 * number + 2, 90));
        fingerprint(&*simhash, &segmenter, "", &text)
    };
    run("`simhash`, one passage in common", &simhash, sized(40_000), 1_000, template);
    for size in [50_000, 100_000] {
        for (sites, name) in [(1, "one site"), (10_000, "10,000 sites")] {
            let ordinary =
                |number: usize| fingerprint(&*simhash, &segmenter, &url(number, sites), &words(number, 180));
            run(&format!("`simhash`, ordinary pages of {name}"), &simhash, sized(size), 2_000, ordinary);
            let two_numbers = |number: usize| {
                let (before, after) = (words(0, 90), words(1, 80));
                let text =
                    format!("{before}Gauge number {number} stood at {} today. {after}", number * 7 % 991);
                fingerprint(&*simhash, &segmenter, &url(number, sites), &text)
            };
            run(&format!("`simhash`, a template on {name}"), &simhash, sized(size), 2_000, two_numbers);
            let footer = |number: usize| {
                let text = words(number + 1, 90) + &words(0, 90);
                fingerprint(&*simhash, &segmenter, &url(number, sites), &text)
            };
            run(&format!("`simhash`, a footer on {name}"), &simhash, sized(size), 2_000, footer);
        }
    }
    let paragraph = build("paragraph");
    run("`paragraph`, one paragraph in common", &paragraph, sized(40_000), 500, common_paragraph);
    let agglomerate = build("agglomerate-term");
    let same_top = |number: usize| {
        let own: String = (0..17).map(|i| format!("{} ", word(number * 17 + i)).repeat(3)).collect();
        let text = format!("{}{own}", "alpha alpha alpha alpha beta beta beta beta gamma gamma gamma gamma ");
        fingerprint(&*agglomerate, &segmenter, "", &text)
    };
    run("`agglomerate-term`, the same best terms", &agglomerate, sized(40_000), 500, same_top);
}

fn build(name: &str) -> Arc<dyn Detector> {
    let mut config = Config::default();
    config.detector = name.to_owned();
    let built = detector(name, &config, &Resources::default()).expect("a name").expect("no files");
    built.into()
}

fn random_simhash(number: usize, band: Option<u32>, passage: Option<u32>) -> Page {
    let mut random = Random::new(1, number as u64);
    let hash = random.next_bits();
    let values = std::array::from_fn(|_| random.next_bits() as u8);
    let mut bands: [u32; 4] = std::array::from_fn(|_| random.next_bits() as u32);
    let mut passages: [u32; 10] = std::array::from_fn(|_| random.next_bits() as u32);
    bands[3] = band.unwrap_or(bands[3]);
    passages[3] = passage.unwrap_or(passages[3]);
    Some(simhash::encode(hash, 3_000, &values, [[0; 12]; 3], [0; 12], (bands, passages)))
}

/// Returns the fingerprint of twelve paragraphs, the heaviest of which is on every page.
fn common_paragraph(number: usize) -> Page {
    let mut random = Random::new(2, number as u64);
    let paragraph = |at| match at {
        5 => (0x1234_5678_9abc_def0_u64, 120_u16),
        _ => (random.next_bits(), 60 + random.below(50) as u16),
    };
    let entries = (0..12)
        .map(paragraph)
        .map(|(hash, weight)| [&hash.to_be_bytes()[..], &weight.to_be_bytes()].concat());
    Some(entries.collect::<Vec<_>>().concat().into())
}

fn fingerprint(detector: &dyn Detector, segmenter: &Segmenter, url: &str, text: &str) -> Page {
    let (mut terms, mut document) = (Terms::default(), Document::from_text(None, text));
    document.address = Address::from_url(url);
    segmenter.segment(&document, &mut terms);
    detector.fingerprint(&terms)
}

fn url(number: usize, sites: usize) -> String {
    format!("https://site{}.example/gauge/{number}", number % sites)
}

/// Returns `count` words that no other number has.
fn words(number: usize, count: usize) -> String {
    (0..count).map(|i| word(number * 1_000 + i) + " ").collect()
}

fn word(number: usize) -> String {
    let mut random = Random::new(3, number as u64);
    (0..7).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// Fills a table with the first `size` pages and decides on the next `queries` pages.
fn run(name: &str, detector: &Arc<dyn Detector>, size: usize, queries: usize, page: impl Fn(usize) -> Page) {
    let expiry = ExpiryConfig { max_age_days: None, centroids_max: u64::from(u32::MAX) };
    let mut clusterer = Clusterer::with_shards(
        Arc::clone(detector),
        ClusterRules::expiry_only(expiry),
        Position::default(),
        1,
    );
    for (number, fingerprint) in (0..size).filter_map(|number| Some((number, page(number)?))) {
        let centroid = Centroid {
            log_offset: number as u64,
            log_time: None,
            fingerprint,
            text_digest: number as u128,
            page_id: "".into(),
            url: "".into(),
        };
        clusterer.restore("", 0, &centroid).expect("in memory");
    }
    let records: Vec<FingerprintRecord> =
        (size..size + queries).map(|number| FingerprintRecord::numbered(number, page(number))).collect();
    let batches: Vec<Vec<_>> =
        records.chunks(BATCH).map(|chunk| (0..).zip(chunk.iter().map(Some)).collect()).collect();
    // A look-up's memory is released before the next one, so only the peak shows it.
    let before = reset_peak();
    let since = cpu_seconds();
    for (first, batch) in (size as u64..).step_by(BATCH).zip(batches) {
        let batch: Vec<_> =
            batch.into_iter().map(|(offset, record): (u64, _)| (first + offset, record)).collect();
        std::hint::black_box(clusterer.decide_batch(&batch).expect("in memory"));
    }
    let pages_per_second = queries as f64 / (cpu_seconds() - since);
    let beyond = peak().saturating_sub(before) >> 10;
    println!("| {name} | {} | {pages_per_second:.0} | {beyond} |", clusterer.centroid_count());
}

/// Returns the KiB in use now, and restarts the peak from there.
fn reset_peak() -> u64 {
    // On Linux, 5 resets the peak to the current use.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

/// Returns the CPU time of this process in seconds, to a hundredth of a second. Other programs on the machine do not
/// count. Linux only.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_the_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        after_the_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn peak() -> u64 {
    status("VmHWM:")
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0)
}
