//! Reads any text as a configuration: the result is settings within their limits, or errors in lines of bounded length
//! without control characters.
//!
//! Run: `fuzz/run.sh 60 config`.
#![no_main]

mod common;

use std::path::Path;

use leitong::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let lookup = |name: &str| name.len().is_multiple_of(2).then(|| format!("{name}\"\n[x]\u{1b}"));
    match Config::parse(&text, Path::new("fuzz.toml"), lookup) {
        Ok(config) => {
            let threads = config.pipeline.threads;
            assert!(threads <= 1024 && config.page.bytes_max >= 1024);
            // JSON represents only finite numbers.
            let json = serde_json::to_value(&config).expect("settings can be written");
            assert_eq!(serde_json::from_value(json).ok(), Some(config), "what is written is read");
        }
        Err(error) => {
            for line in error.to_string().lines() {
                assert!(line.starts_with("fuzz.toml: "), "{line:?}");
                common::assert_readable(line);
            }
        }
    }
});
