//! Fingerprints are fixed: the same text has the same fingerprint in debug and release builds, on every
//! machine and in every release of one format version. `make arm64` runs this file on another processor.
//!
//! If a change is meant to alter fingerprints, raise the VERSION of the stage that changed, then write the
//! file again: `LEITONG_GOLDEN=write cargo test --lib golden::`.

use std::fmt::Write as _;
use std::path::Path;

use leitong_base::record::{LogRecord, Outcome, Place};
use leitong_formats::source::Payload;
use leitong_formats::source::Record;
use leitong_pipeline::FingerprintStage;
use leitong_pipeline::config::Config;
use leitong_pipeline::config::detectors::DETECTORS;

const TEXTS: &str = include_str!("texts.jsonl");
const GOLDEN: &str = "tests/golden/fingerprints.tsv";

/// Returns the whole fingerprint of each text in hexadecimal, and its digest.
fn fingerprints(name: &str, config: Config) -> String {
    let stage = FingerprintStage::new(config).expect("a right configuration");
    let mut workspace = stage.workspace();
    let mut table = String::new();
    for (line, json) in (1..).zip(TEXTS.lines()) {
        let place = Place::Line { input: "texts".into(), line };
        let payload = Payload::Json(json.as_bytes().to_vec());
        let Ok(LogRecord::Page(page)) =
            stage.process(Record { place, span: 0..0, payload }, &mut workspace).record
        else {
            panic!("line {line} is not a page");
        };
        let fingerprint = match &page.outcome {
            Outcome::Fingerprint(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            Outcome::Undecidable(reason) => reason.as_str().to_owned(),
        };
        let digest = page.text.expect("a text").digest;
        let _ = writeln!(table, "{name}\t{}\t{digest:032x}\t{fingerprint}", page.page_id);
    }
    table
}

#[test]
fn fingerprints_are_fixed() {
    let paper = Config::from_detector_file("examples/simhash-paper.toml").expect("the paper's setting");
    let mut found = [fingerprints("default", Config::default()), fingerprints("paper", paper)].concat();
    for (name, _) in DETECTORS.iter().filter(|(name, _)| *name != "simhash") {
        let mut default = Config::default();
        (*name).clone_into(&mut default.detector);
        found.push_str(&fingerprints(name, default));
        let paper = format!("examples/{name}-paper.toml");
        if Path::new(&paper).exists() {
            let config = Config::from_detector_file(&paper).expect("the paper's setting");
            found.push_str(&fingerprints(&format!("{name} (paper)"), config));
        }
    }
    if std::env::var("LEITONG_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(GOLDEN, &found).expect("written");
    }
    let expected = std::fs::read_to_string(GOLDEN).expect("the golden file");
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
