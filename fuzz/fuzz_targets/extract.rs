//! Extracts the main text of any text as a page: extraction ends without a panic, gives the same result twice, and
//! gives no more text than the input can contain.
//!
//! Run: `fuzz/run.sh 60 extract`.
#![no_main]

use std::cell::RefCell;

use leitong_base::work::Work;
use leitong_text::extract::{ExtractConfig, ExtractError, Extractor, Known, Syntax, extract};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static REUSED: RefCell<Extractor> = RefCell::new(Extractor::new(&ExtractConfig::default()));
}

fuzz_target!(|data: &[u8]| {
    let html = String::from_utf8_lossy(data);
    let fresh = extract(&html, &ExtractConfig::default());
    let known = Known { url: "https://a.example/x", latest: None };
    let reused: Result<_, ExtractError> = REUSED.with_borrow_mut(|extractor| {
        let page = extractor.extract_page(&html, Syntax::default(), &mut Work::unbounded())?;
        let metadata = page.metadata(known);
        Ok((page.document, metadata))
    });
    let document = reused.as_ref().map(|(document, _)| document);
    assert_eq!(fresh.as_ref(), document, "buffers of the page before leak into this one");
    if let Ok((document, metadata)) = reused {
        assert!(metadata.authors.len() <= 8 && metadata.publisher.is_none_or(|name| name.len() <= 128));
        let _ = document.text_metadata(known);
        let bytes: usize = document.paragraphs.iter().map(|paragraph| paragraph.text.len()).sum();
        // An HTML character reference is never shorter than half of its expansion.
        assert!(bytes <= 2 * html.len() + 16);
        assert!(document.paragraphs.iter().all(|paragraph| !paragraph.text.is_empty()));
    }
});
