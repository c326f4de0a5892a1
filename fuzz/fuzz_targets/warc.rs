//! Reads any bytes as a WARC file: reading ends, with the same result whatever the buffer size; pages keep their
//! limits, and every record that was read is a page, a dead letter or counted.
//!
//! The first byte chooses the size of the buffer. Run: `fuzz/run.sh 60 warc`.
#![no_main]

mod common;

use std::io::BufReader;

use common::{assert_readable, assert_within_limits};
use leitong::config::{Config, PageConfig};
use leitong::pipeline::PageReader;
use leitong_base::record::Place;
use leitong_formats::source::{Source, WarcReader};
use leitong_text::page::mapping::MessageOutcome;
use libfuzzer_sys::fuzz_target;

const PAGE_BYTES_MAX: usize = 1024;

fn outcomes(file: &[u8], buffer: usize) -> Vec<String> {
    let limits = PageConfig { bytes_max: PAGE_BYTES_MAX, ..PageConfig::default() };
    let mut source = WarcReader::new(BufReader::with_capacity(buffer, file), "fuzz.warc".into(), &limits);
    let mut config = Config::default();
    config.page = limits;
    let reader = PageReader::new(&config).expect("right settings");
    let mut outcomes = Vec::new();
    let (mut more, mut last) = (true, 0);
    while more {
        let mut batch = Vec::new();
        more = source.read_batch(&mut batch, 1 << 20).expect("memory can be read");
        for record in batch {
            let Place::Record { record: number, .. } = record.place else { panic!("a record of a file") };
            assert!(number > last, "records are numbered");
            last = number;
            outcomes.push(match reader.record(record.payload) {
                Ok(MessageOutcome::Skipped(why)) => format!("{} {why:?}", record.place),
                Ok(MessageOutcome::Page(page)) => {
                    assert_within_limits(&page, PAGE_BYTES_MAX);
                    format!("{number} {page:?}")
                }
                Err(no_page) => {
                    assert_readable(&no_page.message);
                    format!("{number} {}", no_page.message)
                }
            });
        }
    }
    assert!(outcomes.len() as u64 + source.skipped().warc_records.total() >= last, "none is lost");
    outcomes
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, file)) = data.split_first() else { return };
    let all = outcomes(file, 1 << 20);
    assert!(!all.is_empty() || !file.starts_with(b"no"), "input without a record is reported");
    assert_eq!(outcomes(file, usize::from(*choice) + 1), all, "the size of buffers shows");
});
