//! Reads any bytes as a message of any crawler: the result is a page within its limits, a reason to skip it, or an
//! error in a few words that names the preset. Recognition of the crawler never fails.
//!
//! The first byte chooses the preset, the second is the key's length. Run: `fuzz/run.sh 60 mapping`.
#![no_main]

mod common;

use std::sync::LazyLock;

use common::assert_within_limits;
use leitong::config::InputConfig;
use leitong::config::kafka::PagesConfig;
use leitong::pipeline::Message;
use leitong_base::record::Received;
use leitong_text::page::PageConfig;
use leitong_text::page::mapping::{Mapping, MessageOutcome, Preset, Recognizer, Survey};
use libfuzzer_sys::fuzz_target;

const PAGE_BYTES_MAX: usize = 2048;

/// Each preset, without and with a passthrough.
static MAPPINGS: LazyLock<Vec<Mapping>> = LazyLock::new(|| {
    let mapping = |(at, name): (usize, &str)| {
        let mut config =
            InputConfig { preset: name.to_owned(), warc_dir: Some("/".into()), ..InputConfig::default() };
        if at % 2 == 1 {
            config.passthrough.0.insert("all \"of\" it".to_owned(), "/meta".to_owned());
            config.filter.statuses.push("0-299".to_owned());
        }
        Mapping::new(&config).expect("right settings")
    };
    let twice = Preset::all().iter().flat_map(|preset| [preset.name; 2]);
    twice.enumerate().map(mapping).collect()
});
static RECOGNIZER: LazyLock<Recognizer> = LazyLock::new(Recognizer::default);

fuzz_target!(|data: &[u8]| {
    let [choice, key_bytes, rest @ ..] = data else { return };
    let (key, value) = rest.split_at(usize::from(*key_bytes).min(rest.len()));
    let mapping = &MAPPINGS[usize::from(*choice) % MAPPINGS.len()];
    let received = Received { key: (*key_bytes > 0).then(|| key.to_vec()), ..Received::default() };
    let message = Message { value: Some(value), received: Box::new(received) };
    let limits = PageConfig { bytes_max: PAGE_BYTES_MAX, line_bytes_max: 8192, ..PageConfig::default() };
    match message.read(&PagesConfig::default(), mapping, &limits, true).outcome {
        Ok(MessageOutcome::Page(page)) => assert_within_limits(&page, PAGE_BYTES_MAX),
        Ok(MessageOutcome::Skipped(why)) => assert!(!why.as_str().is_empty()),
        Err(error) => {
            let name = mapping.preset().name;
            assert!(!error.cause().as_str().is_empty());
            assert!(name == "json" || error.to_string().contains(name), "{error}");
        }
    }
    let _ = RECOGNIZER.preset(value);
    for survey in [Survey::of_topic, Survey::of_file] {
        assert_eq!(survey(&[(None, value.to_vec())]).samples, 1);
    }
});
