//! Extracts the main text of any text as a page: extraction ends without a panic, gives the same result twice, and
//! gives no more text than the input can contain.
//!
//! Run: `fuzz/run.sh 60 extract`.
#![no_main]

use std::cell::RefCell;

use leitong_text::extract::{ExtractConfig, Extractor, Known, extract};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static REUSED: RefCell<Extractor> = RefCell::new(Extractor::new(&ExtractConfig::default()));
}

fuzz_target!(|data: &[u8]| {
    let html = String::from_utf8_lossy(data);
    let fresh = extract(&html, &ExtractConfig::default());
    let reused = REUSED.with_borrow_mut(|extractor| extractor.extract(&html));
    assert_eq!(fresh, reused, "buffers of the page before leak into this one");
    if let Ok(document) = fresh {
        let known = Known { url: "https://a.example/x", latest: None };
        let credits = REUSED.with_borrow(|extractor| extractor.credits(&html, &document, known));
        assert!(credits.authors.len() <= 8 && credits.publisher.is_none_or(|name| name.len() <= 128));
        let _ = document.text_credits(known);
        let bytes: usize = document.paragraphs.iter().map(|paragraph| paragraph.text.len()).sum();
        // An HTML character reference is never shorter than half of its expansion.
        assert!(bytes <= 2 * html.len() + 16);
        assert!(document.paragraphs.iter().all(|paragraph| !paragraph.text.is_empty()));
    }
});
