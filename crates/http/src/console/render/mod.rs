//! Renders data as HTML. Pure: the output is a function of the data.
//!
//! Invariant: anything in pages, urls, ids and file names is text, and never opens a tag, an attribute or a
//! script. `maud` escapes everything that is not written as markup in these files. That is why it is a
//! dependency: manual escaping would be forgotten somewhere. `PreEscaped` is used only for our own style
//! and script; a test counts its uses.

pub(crate) mod comparison;
pub(crate) mod language;
pub(crate) mod layout;
pub(crate) mod review;
pub(crate) mod saved;
pub(crate) mod start;
#[cfg(test)]
mod tests;
mod texts;

use language::Language;
use layout::{Delivery, Frame};
use leitong_pipeline::comparison::Comparison;

/// Renders a comparison as a file that contains all it needs.
#[must_use]
pub fn file_of_comparison(comparison: &Comparison, language: Language) -> String {
    let title = comparison::title(comparison, language);
    let frame =
        Frame { language, title: &title, delivery: Delivery::File, links: Vec::new(), other_language: None };
    layout::page(&frame, &comparison::body(comparison, language))
}
