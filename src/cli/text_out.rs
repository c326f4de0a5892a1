//! Converts records to plain text or Markdown, for `dedup --as text` and `markdown`.
//!
//! The steps are those of the fingerprint stage up to the document, so a text is the one that would be
//! compared.

use crate::config::Config;
use crate::config::load::ConfigError;
use crate::pipeline::document;
use crate::pipeline::fingerprint_stage::guarded;
use crate::pipeline::page_reader::PageReader;
use leitong_base::record::Reason;
use leitong_base::work::Work;
use leitong_corpora::keep::texts::{Converter, Text};
use leitong_corpora::source::Record;
use leitong_text::extract::{ExtractConfig, Extractor};
use leitong_text::page::mapping::MessageOutcome;
use leitong_text::page::{Body, Page};

/// A converter that reads records as `dedup` does.
pub(crate) struct TextConverter {
    reader: PageReader,
    extract: ExtractConfig,
    work_max: u64,
    /// True for Markdown, false for plain text.
    writes_markdown: bool,
}

impl TextConverter {
    /// Creates a converter to Markdown or plain text.
    ///
    /// # Errors
    /// The errors in `[input]`.
    pub(crate) fn new(config: &Config, writes_markdown: bool) -> Result<Self, ConfigError> {
        Ok(Self {
            reader: PageReader::new(config)?.quiet(),
            extract: config.extract.clone(),
            work_max: config.page.work_max,
            writes_markdown,
        })
    }

    fn text(&self, record: Record, url: &str, extractor: &mut Extractor) -> Text {
        let page = match self.reader.record_of_file(&record.place, record.payload) {
            Ok(MessageOutcome::Page(page)) => Page { url: url.to_owned(), ..*page },
            Ok(MessageOutcome::Skipped(_)) | Err(_) => return Text::default(),
        };
        let (reading, markdown) =
            match document::read_markdown(&page, extractor, &mut Work::up_to(self.work_max)) {
                Ok(read) => read,
                Err(refusal) => {
                    return Text { title: page.title, reason: Some(refusal.reason), ..Text::default() };
                }
            };
        let document = reading.document;
        let is_plain = self.writes_markdown && markdown.is_none();
        let text = match page.body {
            _ if self.writes_markdown => markdown.unwrap_or_else(|| document.markdown()),
            // A text that needs no extraction stays as it is.
            Body::Text(text) => text,
            _ => document.text_with_headline().trim_end().to_owned(),
        };
        let text = Some(text).filter(|text| !text.trim().is_empty());
        let reason = reading.no_content.or_else(|| text.is_none().then_some(Reason::NoText));
        Text { title: document.title, text, reason, credits: document.credits, is_plain }
    }
}

impl Converter for TextConverter {
    fn extractor(&self) -> Extractor {
        match self.writes_markdown {
            true => Extractor::for_markdown(&self.extract),
            false => Extractor::new(&self.extract),
        }
    }

    fn convert(&self, record: Record, url: &str, extractor: &mut Extractor) -> Text {
        guarded(|| self.text(record, url, extractor)).unwrap_or_else(|| {
            *extractor = self.extractor();
            Text { reason: Some(Reason::Internal), ..Text::default() }
        })
    }
}
