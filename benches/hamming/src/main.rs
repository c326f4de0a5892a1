//! Look-ups within a Hamming distance, compared with other structures on the same fingerprints and queries,
//! on one core.
//!
//! `cargo run --release -- MILLIONS even|skewed [DISTANCE] [SEED]`. Each round uses new queries, as pages do.
//! Structures, each with 64-bit fingerprints:
//! * `leitong`: the program's own, through `Clusterer::look_up`;
//! * `4 x 16 bits`: four tables of 65,536 lists of slots, fingerprints stored separately;
//! * `10 of 2 of 5`: Manku, Jain & Das Sarma's ten tables, sorted by two of five blocks, with the
//!   fingerprints in them;
//! * `gaoya`: the crate's `SimHashIndex`.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use gaoya::simhash::SimHashIndex;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;
use leitong::bench::table::plain_detector;
use leitong_cluster::{Centroid, ClusterRules, Clusterer, Position, Query};
use leitong::config::ExpiryConfig;
use leitong_fingerprint::detectors::simhash::simhash_of;

const QUERIES: usize = 1_024;
const ROUNDS: usize = 512;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let millions: f64 = arguments.get(1).and_then(|a| a.parse().ok()).unwrap_or(1.0);
    let distance = arguments.get(3).and_then(|a| a.parse().ok()).unwrap_or(3);
    let seed = arguments.get(4).and_then(|a| a.parse().ok()).unwrap_or(1);
    let source = match arguments.get(2).map(String::as_str) {
        Some("skewed") => Fingerprints::skewed(seed),
        _ => Fingerprints::even(seed),
    };
    let count = (millions * 1e6) as usize;
    let hashes: Vec<u64> = (0..count as u64).map(|number| simhash_of(&source.get(number))).collect();
    // Half of the queries are near a centroid.
    let query = |i: u64| match i % 2 {
        0 => source.near(i * 7_919 % count as u64, i as u32 / 2 % (distance + 1)),
        _ => source.get(count as u64 + 1 + i * 104_729),
    };
    let queries: Vec<Box<[u8]>> = (0..(QUERIES * ROUNDS) as u64).map(query).collect();
    let asked: Vec<u64> = queries.iter().map(|query| simhash_of(query)).collect();
    println!("{count} centroids, distance {distance}, median of {ROUNDS} rounds of {QUERIES} look-ups");
    println!("| structure | look-ups/s | insertions/s | bytes a centroid | found |\n|---|---|---|---|---|");

    let expiry = ExpiryConfig { max_age_days: None, centroids_max: u64::from(u32::MAX) };
    let (_, detector) = plain_detector(distance);
    let mut table = Clusterer::with_shards(detector, ClusterRules::expiry_only(expiry), Position::default(), 1);
    let built = timed_in_parts(count, |number| {
        let fingerprint = source.get(number as u64);
        move |table: &mut Clusterer| {
            let centroid = Centroid {
                log_offset: number as u64,
                log_time: None,
                fingerprint,
                text_digest: 0,
                page_id: "".into(),
                url: "".into(),
            };
            table.restore("", 0, &centroid).expect("in memory");
        }
    }, &mut table);
    let bytes = table.bytes().hot as f64 / count as f64;
    row("leitong", built, count, bytes, |round| {
        let query = |fingerprint| Some(Query { corpus: "", fingerprint_hash: 0, fingerprint });
        let batch: Vec<_> = queries[round].iter().map(|fingerprint| query(fingerprint)).collect();
        table.look_up(&batch).expect("in memory").len()
    });
    drop(table);
    if distance != 3 {
        return; // the others are laid out for that
    }

    let since = Instant::now();
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); 4 << 16];
    for (slot, hash) in (0..).zip(&hashes) {
        (0..4).for_each(|block| lists[block << 16 | (hash >> (16 * block) & 0xffff) as usize].push(slot));
    }
    let built = since.elapsed();
    let bytes = lists.iter().map(|list| 24 + list.capacity() * 4).sum::<usize>() as f64 / count as f64 + 8.0;
    row("4 x 16 bits", built, count, bytes, |round| {
        let mut found = Vec::new();
        for (query, hash) in (0_u32..).zip(&asked[round]) {
            for block in 0..4 {
                let list = &lists[block << 16 | (hash >> (16 * block) & 0xffff) as usize];
                let near = list.iter().filter(|slot| (hashes[**slot as usize] ^ hash).count_ones() <= distance);
                found.extend(near.map(|slot| (query, *slot)));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.len()
    });
    drop(lists);

    if count <= 20_000_000 {
        let since = Instant::now();
        let tables: Vec<(u64, Vec<(u64, u32)>)> = pairs()
            .map(|mask| {
                let mut table: Vec<(u64, u32)> = hashes.iter().copied().zip(0..).collect();
                table.sort_unstable_by_key(|(hash, _)| hash & mask);
                (mask, table)
            })
            .collect();
        let built = since.elapsed();
        row("10 of 2 of 5, sorted", built, count, 160.0, |round| {
            let mut found = Vec::new();
            for (query, hash) in (0_u32..).zip(&asked[round]) {
                for (mask, table) in &tables {
                    let from = table.partition_point(|(other, _)| other & mask < hash & mask);
                    let same = table[from..].iter().take_while(|(other, _)| other & mask == hash & mask);
                    let near = same.filter(|(other, _)| (other ^ hash).count_ones() <= distance);
                    found.extend(near.map(|(_, slot)| (query, *slot)));
                }
            }
            found.sort_unstable();
            found.dedup();
            found.len()
        });
    }

    if count <= 2_000_000 {
        let since = Instant::now();
        let mut index: SimHashIndex<u64, u32> = SimHashIndex::new(distance as usize + 1, distance as usize);
        for (slot, hash) in (0..).zip(&hashes) {
            index.insert(slot, *hash);
        }
        let built = since.elapsed();
        row("gaoya", built, count, f64::NAN, |round| asked[round].iter().map(|hash| index.query(hash).len()).sum());
    }
}

/// Returns the bits of two of five blocks.
fn pairs() -> impl Iterator<Item = u64> {
    let widths = [13, 13, 13, 13, 12];
    let mut shift = 0;
    let blocks = widths.map(|width| {
        let mask = ((1_u64 << width) - 1) << shift;
        shift += width;
        mask
    });
    (0..5).flat_map(move |a| (a + 1..5).map(move |b| blocks[a] | blocks[b]))
}

/// Measures steps that are prepared beforehand, some thousands at a time.
fn timed_in_parts<T, S: FnOnce(&mut T)>(count: usize, prepare: impl Fn(usize) -> S, target: &mut T) -> Duration {
    let mut time = Duration::ZERO;
    for from in (0..count).step_by(4_096) {
        let steps: Vec<S> = (from..count.min(from + 4_096)).map(&prepare).collect();
        let since = Instant::now();
        steps.into_iter().for_each(|step| step(target));
        time += since.elapsed();
    }
    time
}

fn row(name: &str, built: Duration, count: usize, bytes: f64, mut look_up: impl FnMut(Range<usize>) -> usize) {
    let mut found = 0;
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|round| {
            let since = Instant::now();
            found += black_box(look_up(round * QUERIES..(round + 1) * QUERIES));
            since.elapsed()
        })
        .collect();
    times.sort_unstable();
    let rate = QUERIES as f64 / times[ROUNDS / 2].as_secs_f64();
    let insertions = count as f64 / built.as_secs_f64();
    println!("| {name} | {:.3} M | {:.2} M | {bytes:.0} | {found} |", rate / 1e6, insertions / 1e6);
}
