//! Reads any bytes as a record of the fingerprint log: the result is an entry, or an error in a few words. An entry
//! that is written and read again is the same.
//!
//! Run: `fuzz/run.sh 60 entry`.
#![no_main]

mod common;

use std::sync::{Arc, LazyLock};

use leitong_base::record::{LogRecord, Outcome, Reason};
use leitong_cluster::log::{Entry, MessageOrigin};
use leitong_fingerprint::Detector;
use libfuzzer_sys::fuzz_target;

static DETECTOR: LazyLock<Arc<dyn Detector>> = LazyLock::new(common::detector);

fuzz_target!(|data: &[u8]| {
    match Entry::decode(data, &**DETECTOR) {
        Ok(entry) => {
            if let LogRecord::Page(page) = &entry.record {
                match &page.outcome {
                    Outcome::Fingerprint(fingerprint) => assert!(DETECTOR.is_fingerprint(fingerprint)),
                    // The fingerprint was made by another detector, and is not kept.
                    Outcome::Undecidable(Reason::OtherDetector) => {}
                    Outcome::Undecidable(_) => {}
                }
            }
            let origin = MessageOrigin {
                previous_offset: entry.origin.previous_offset,
                timestamp_ms: entry.origin.timestamp_ms,
                topic_id: entry.origin.topic_id,
            };
            let bytes = Entry::encode(entry.record.clone(), origin, DETECTOR.name());
            assert_eq!(Entry::decode(&bytes, &**DETECTOR), Ok(entry), "what is written is read");
        }
        Err(error) => common::assert_readable(&error.to_string()),
    }
});
