//! Makes the texts that `dedup --as text` and `--as markdown` write.
//!
//! In: a page as it was read for its fingerprint. Out: the text to write, so a text is the one that was compared, and no
//! page is read twice.

use crate::document::{DecodedDocument, Refusal};
use leitong_base::record::Reason;
use leitong_keep::texts::Text;
use leitong_text::page::{Body, Page};

/// The form of the texts that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenForm {
    /// Without markup.
    Plain,
    /// Markdown.
    Markdown,
}

/// Returns the text to write for `page`, which was read with this result: the document, and its Markdown if it has
/// markup.
pub(super) fn written_text(
    page: &Page,
    read: &Result<(DecodedDocument, Option<String>), Refusal>,
    form: WrittenForm,
) -> Text {
    let (DecodedDocument { document, no_content, .. }, markdown) = match read {
        Ok(read) => read,
        Err(refusal) => {
            return Text { title: page.title.clone(), reason: Some(refusal.reason), ..Text::default() };
        }
    };
    let text = match (form, &page.body) {
        (WrittenForm::Markdown, _) => markdown.clone().unwrap_or_else(|| document.markdown()),
        // A text that needs no extraction stays as it is.
        (WrittenForm::Plain, Body::Text(text)) => text.clone(),
        (WrittenForm::Plain, _) => document.text_with_headline().trim_end().to_owned(),
    };
    let text = Some(text).filter(|text| !text.trim().is_empty());
    let reason = no_content.or_else(|| text.is_none().then_some(Reason::NoText));
    let is_plain = form == WrittenForm::Markdown && markdown.is_none();
    let written = Text { title: document.title.clone(), text, reason, is_plain, ..Text::default() };
    match &document.metadata {
        Some(metadata) => written.with_metadata(metadata),
        None => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::fingerprint_stage::FingerprintStage;
    use leitong_base::record::Place;

    /// Returns the steps of work for a page whose text is written in this form.
    fn work(form: Option<WrittenForm>) -> u64 {
        let stage = FingerprintStage::new(Config::default()).expect("a stage").writing_texts(form);
        let paragraph = |at: usize| {
            format!("<p>Paragraph {at} of the <b>page</b> is about the <a href=/x>river</a>.</p>")
        };
        let html =
            format!("<body><article><h1>River</h1>{}</article>", (0..200).map(paragraph).collect::<String>());
        let place = Place::Line { input: "pages".into(), line: 1 };
        let processed =
            stage.process_page(place, Page::html("https://a.example/1", html), &mut stage.workspace());
        let texts = &processed.texts;
        assert_eq!((texts.written.is_some(), texts.normalised.is_some()), (form.is_some(), false));
        processed.work
    }

    /// Kept pages were extracted a second time when their texts were written.
    #[test]
    fn texts_cost_no_second_extraction() {
        let without = work(None);
        for form in [WrittenForm::Plain, WrittenForm::Markdown] {
            let with = work(Some(form));
            assert!(with < without * 3 / 2, "{form:?}: {with} steps, without texts {without}");
        }
    }
}
