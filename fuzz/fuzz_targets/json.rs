//! Reads any bytes as lines of JSON: there is one record per line, whatever the buffer size; pages keep their limits,
//! and errors say in a few words why a line is not a page. Lines above the limit are skimmed.
//!
//! The first byte chooses the size of the buffer. Run: `fuzz/run.sh 60 json`.
#![no_main]

mod common;

use std::io::BufReader;

use common::{assert_readable, assert_within_limits};
use leitong::config::{Config, PageConfig};
use leitong::pipeline::PageReader;
use leitong_formats::source::{JsonLines, Source};
use leitong_text::page::mapping::MessageOutcome;
use libfuzzer_sys::fuzz_target;

const PAGE_BYTES_MAX: usize = 2048;

/// Returns the outcome of each line, and the number of blank lines.
fn outcomes(lines: &[u8], buffer: usize) -> (Vec<String>, u64) {
    let limits = PageConfig { bytes_max: PAGE_BYTES_MAX, line_bytes_max: 3000, ..PageConfig::default() };
    let reader = BufReader::with_capacity(buffer, lines);
    let mut source = JsonLines::new(reader, "fuzz.jsonl".into(), &limits);
    let mut config = Config::default();
    config.page = limits;
    let reader = PageReader::new(&config).expect("right settings");
    let mut outcomes = Vec::new();
    let mut more = true;
    while more {
        let mut batch = Vec::new();
        more = source.read_batch(&mut batch, 1 << 20).expect("memory can be read");
        for record in batch {
            outcomes.push(match reader.record(record.payload) {
                Ok(MessageOutcome::Skipped(why)) => format!("{} {why:?}", record.place),
                Ok(MessageOutcome::Page(page)) => {
                    assert_within_limits(&page, PAGE_BYTES_MAX);
                    format!("{} {page:?}", record.place)
                }
                Err(no_page) => {
                    assert_readable(&no_page.message);
                    format!("{} {}", record.place, no_page.message)
                }
            });
        }
    }
    (outcomes, source.skipped().blank_lines)
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, lines)) = data.split_first() else { return };
    let (all, blank) = outcomes(lines, 1 << 20);
    let ended = lines.is_empty() || lines.ends_with(b"\n");
    let count = lines.iter().filter(|byte| **byte == b'\n').count() + usize::from(!ended);
    assert_eq!(all.len() as u64 + blank, count as u64, "one outcome a line");
    assert_eq!(outcomes(lines, usize::from(*choice) + 1), (all, blank), "the size of buffers shows");
});
