//! Reads the texts of pages, for programs that want no verdicts.

use super::document::{self, DecodedDocument, Refusal};
use crate::config::Config;
use leitong_base::work::Work;
use leitong_text::extract::{Document, Extractor};
use leitong_text::page::Page;

/// Reads pages: text, metadata and kind in one call, the same that decisions use.
///
/// ```
/// # mod leitong { pub use leitong_pipeline::{config::Config, text_reader::TextReader}; pub use leitong_text::page::Page; }
/// use leitong::{Config, Page, TextReader};
///
/// let mut reader = TextReader::new(&Config::default());
/// // Bytes in any charset, as a crawler has fetched them.
/// let html = b"<title>The old mill</title><meta name=author content='Jane Doe'><article><p>The mill by the river \
///              grinds no more, and swallows nest in its wheel since spring.</p></article>";
/// let document = reader.read(&Page::bytes("https://a.example/mill", html))?;
/// assert!(document.text().starts_with("The mill by the river"));
/// assert_eq!(document.title.as_deref(), Some("The old mill"));
/// println!("{:?}, {:?}", document.kind, document.metadata);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextReader {
    extractor: Extractor,
    work_max: u64,
}

impl TextReader {
    /// Creates a reader with the settings `extract` and `page.work_max` of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self { extractor: Extractor::new(&config.extract), work_max: config.page.work_max }
    }

    /// Returns the main text of `page`, its metadata and its kind.
    ///
    /// # Errors
    /// [`Refusal`] if the page has no main text, or takes more work than `page.work_max` allows.
    pub fn read(&mut self, page: &Page) -> Result<Document, Refusal> {
        Ok(self.decode(page)?.document)
    }

    /// Reads like [`Self::read`], and also returns how the page was decoded, and why its text is not compared.
    pub fn decode(&mut self, page: &Page) -> Result<DecodedDocument, Refusal> {
        document::read(page, &mut self.extractor, &mut Work::up_to(self.work_max))
    }
}
