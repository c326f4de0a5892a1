//! Measures how often the default configuration calls two unrelated texts near: per pair, and extrapolated to 1, 10
//! and 100 million centroids. Part of `make quality`.
//!
//! One page of each gold cluster of the labelled Chinese streams in `LEITONG_DATA` is cut into pieces, so pieces of
//! different clusters are unrelated. Each cluster has its own site, because pages of different sites need the fewest
//! matching values to be near. Every near pair is found through the keys that clustering uses. Pairs that share a
//! passage of [`PASSAGE_CHARS`] letters, such as a translators' footer or a licence, are related after all, and are
//! counted separately.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use leitong::config::Config;
use leitong::detector;
use leitong_fingerprint::Detector;
use leitong_fingerprint::resources::Resources;
use leitong_text::extract::Document;
use leitong_text::page::Address;
use leitong_text::segment::{Lexicons, Segmenter, Terms};

const STREAMS: [&str; 3] = ["neardup_zh_lctt", "neardup_zh_xitu", "neardup_zh_fudan"];
/// Number of letters of a piece: a short article, and a length that gives enough pairs for the bound.
const PIECE_CHARS: [usize; 2] = [250, 100];
/// Number of consecutive letters that two texts must have in common to count as related.
const PASSAGE_CHARS: usize = 20;
/// Number of sampled pairs, at any distance, to see how the two fingerprints of unrelated texts agree.
const SAMPLED_PAIRS: u64 = 200_000_000;

struct Piece {
    /// Pieces of one gold cluster are related.
    cluster: String,
    text: String,
    fingerprint: Box<[u8]>,
}

fn main() {
    let data = PathBuf::from(std::env::var("LEITONG_DATA").unwrap_or_else(|_| "../shared/data".into()));
    if !data.exists() {
        println!("{} is not there: set LEITONG_DATA to the folder of labelled pages", data.display());
        return;
    }
    let config = Config::default();
    let detector = detector(&config.detector, &config, &Resources::default());
    let detector = detector.expect("the default detector").expect("no files");
    println!(
        "| pieces | of letters | unrelated pairs | near, sharing a passage | near, sharing none | related, sharing none |"
    );
    println!("|---|---|---|---|---|---|");
    let mut measured = Vec::new();
    for chars in PIECE_CHARS {
        let pieces = pieces(&data, chars, &config, &*detector);
        let pairs = unrelated_pairs(&pieces);
        let (near, related) = found_pairs(&pieces, &*detector);
        let sharing = |(a, b): &(usize, usize)| share_a_passage(&pieces[*a].text, &pieces[*b].text);
        let (sharing_one, wrong): (Vec<_>, Vec<_>) = near.into_iter().partition(sharing);
        let related = related.iter().filter(|pair| !sharing(pair)).count();
        let (count, sharing_one) = (pieces.len(), sharing_one.len());
        println!("| {count} | {chars} | {pairs:.2e} | {sharing_one} | {} | {related} |", wrong.len());
        measured.push((chars, pieces, pairs, wrong.len()));
    }
    let [(letters, pieces, ..), .., (short_letters, _, pairs, wrong)] = &measured[..] else {
        panic!("two lengths")
    };
    print!("\nOf {letters} letters: ");
    model(pieces, &*detector, config.simhash.near.max_distance as usize);
    // Without a single error in n pairs, the rate is below 3/n with 95 % confidence.
    let (how, errors) = if *wrong == 0 { ("below, with 95 % confidence, ", 3) } else { ("", *wrong) };
    let rate = errors as f64 / pairs;
    println!("Of {short_letters} letters: error per pair, counted: {how}{rate:.1e}. Extrapolated:");
    extrapolate(rate);
}

fn extrapolate(rate: f64) {
    println!("\n| centroids | false duplicates |\n|---|---|");
    for (name, centroids) in [("1 M", 1e6), ("10 M", 1e7), ("100 M", 1e8)] {
        println!("| {name} | {:.3} % |", (1.0 - (-rate * centroids).exp()) * 100.0);
    }
}

/// Computes the error as a sum over distances *d*: the share of unrelated texts whose SimHashes are *d* apart, times
/// the share whose sketches agree in as many values as *d* requires. Both shares are sampled. The samples do not reach
/// high numbers of equal values; their share is extrapolated at the last sampled rate of decrease.
fn model(pieces: &[Piece], detector: &dyn Detector, max_distance: usize) {
    let mut distances = [0_u64; 65];
    let mut matches = [0_u64; 65];
    // All pieces have one size, so the required matches depend only on the distance.
    let mut needed = [64_u64; 65];
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        &pieces[(state >> 33) as usize % pieces.len()]
    };
    for _ in 0..SAMPLED_PAIRS {
        let (a, b) = (next(), next());
        let distance = detector.compare(&a.fingerprint, &b.fingerprint).distance as usize;
        if distance > max_distance || a.cluster == b.cluster || share_a_passage(&a.text, &b.text) {
            continue;
        }
        let evidence = detector.evidence(&a.fingerprint, &b.fingerprint);
        distances[distance] += 1;
        matches[evidence["sketch_matches"].as_u64().expect("a number") as usize] += 1;
        needed[distance] = evidence["sketch_matches_needed"].as_u64().expect("a number");
    }
    let candidates: u64 = distances.iter().sum();
    let at_least = |k: usize| matches[k..].iter().sum::<u64>() as f64 / candidates as f64;
    // The greatest number of equal values that ten pairs have, and the decrease per value up to there.
    let last = (0..64).rev().find(|k| matches[*k..].iter().sum::<u64>() >= 10).expect("a sample");
    let fall = (at_least(last) / at_least(last - 4)).powf(0.25);
    let tail = |k: usize| if k <= last { at_least(k) } else { at_least(last) * fall.powi((k - last) as i32) };
    let rate: f64 = (0..=max_distance)
        .filter(|d| distances[*d] > 0)
        .map(|d| distances[d] as f64 / SAMPLED_PAIRS as f64 * tail(needed[d] as usize))
        .sum();
    println!(
        "sampled unrelated pairs: {SAMPLED_PAIRS:.1e}; SimHashes at most {max_distance} apart: {candidates}"
    );
    println!(
        "Values of the sketch that agree in these: at most {}",
        matches.iter().rposition(|n| *n > 0).unwrap_or(0)
    );
    println!("Error per pair, modelled, before the bands: {rate:.1e}\n");
}

fn pieces(data: &Path, chars: usize, config: &Config, detector: &dyn Detector) -> Vec<Piece> {
    let segmenter = Segmenter::new(&config.segment, &Lexicons::default()).expect("the default settings");
    let mut terms = Terms::default();
    let mut pieces = Vec::new();
    for stream in STREAMS {
        let file = std::fs::File::open(data.join(format!("{stream}.jsonl.gz"))).expect("a stream");
        let mut seen = HashSet::new();
        for line in BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
            let page: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            let cluster = page["cluster"].as_str().expect("a cluster").to_owned();
            if !seen.insert(cluster.clone()) {
                continue;
            }
            for text in cut(page["text"].as_str().expect("a text"), chars) {
                let mut document = Document::from_text(None, &text);
                document.address = Address::from_url(&format!("https://{cluster}.example/{}", pieces.len()));
                segmenter.segment(&document, &mut terms);
                if let Some(fingerprint) = detector.fingerprint(&terms) {
                    pieces.push(Piece { cluster: cluster.clone(), text, fingerprint });
                }
            }
        }
    }
    pieces
}

/// Splits the text into pieces of this many letters; a shorter rest is dropped.
fn cut(text: &str, letters: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut piece, mut count) = (String::new(), 0);
    for c in text.chars() {
        piece.push(c);
        count += usize::from(c.is_alphanumeric());
        if count == letters {
            pieces.push(std::mem::take(&mut piece));
            count = 0;
        }
    }
    pieces
}

fn unrelated_pairs(pieces: &[Piece]) -> f64 {
    let mut sizes = HashMap::<&str, f64>::new();
    for piece in pieces {
        *sizes.entry(&piece.cluster).or_default() += 1.0;
    }
    let n = pieces.len() as f64;
    let related: f64 = sizes.values().map(|size| size * (size - 1.0) / 2.0).sum();
    n * (n - 1.0) / 2.0 - related
}

/// Pairs of pieces, by their numbers.
type Pairs = HashSet<(usize, usize)>;

/// Returns all pairs of different clusters that the detector calls near, and those that it calls related,
/// found through its keys.
fn found_pairs(pieces: &[Piece], detector: &dyn Detector) -> (Pairs, Pairs) {
    let mut index = HashMap::<u64, Vec<usize>>::new();
    let mut keys = Vec::new();
    let (mut near, mut related) = (HashSet::new(), HashSet::new());
    for (b, piece) in pieces.iter().enumerate() {
        keys.clear();
        detector.probe_keys(&piece.fingerprint, &mut keys);
        for &a in keys.iter().filter_map(|key| index.get(key)).flatten() {
            let (older, younger) = (&pieces[a].fingerprint, &piece.fingerprint);
            if pieces[a].cluster == piece.cluster {
                continue;
            }
            if detector.compare(younger, older).near {
                near.insert((a, b));
            } else if detector.related(younger, older) {
                related.insert((a, b));
            }
        }
        keys.clear();
        detector.insert_keys(&piece.fingerprint, &mut keys);
        for &key in &keys {
            index.entry(key).or_default().push(b);
        }
    }
    (near, related)
}

fn share_a_passage(a: &str, b: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let passages: HashSet<&[char]> = a.windows(PASSAGE_CHARS).collect();
    b.windows(PASSAGE_CHARS).any(|passage| passages.contains(passage))
}
