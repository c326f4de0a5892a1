//! Paragraphs that come without markup → Markdown: plain text, and text in linked data.

use crate::extract::document::{Paragraph, ParagraphKind};
use crate::extract::markdown::inline;
use crate::extract::markdown::outline::Part;
use crate::extract::markdown::write::write;

/// Writes `paragraphs` as Markdown.
pub(in crate::extract) fn of_paragraphs(paragraphs: &[Paragraph]) -> String {
    let parts = paragraphs.iter().map(|Paragraph { kind, text, .. }| match kind {
        ParagraphKind::Heading(level) => Part::Heading((*level).clamp(1, 6), inline::plain(text)),
        ParagraphKind::Quote => Part::Quote(vec![Part::Paragraph(vec![inline::plain(text)])]),
        ParagraphKind::Code => Part::Code { text: text.clone(), language: None },
        ParagraphKind::Paragraph | ParagraphKind::ListItem | ParagraphKind::TableCell => {
            Part::Paragraph(vec![inline::plain(text)])
        }
    });
    write(&parts.collect::<Vec<_>>())
}
