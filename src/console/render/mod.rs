//! Renders data as HTML. Pure: the output is a function of the data.
//!
//! Invariant: anything in pages, urls, ids and file names is text, and never opens a tag, an attribute or a
//! script. `maud` escapes everything that is not written as markup in these files. That is why it is a
//! dependency: manual escaping would be forgotten somewhere. `PreEscaped` is used in one place only, for our
//! own style; a test counts its uses.

pub mod cells;
pub mod comparison;
pub mod language;
pub mod layout;
pub mod live;
pub mod opinion;
pub mod saved;
pub mod start;
#[cfg(test)]
mod tests;
mod texts;

use super::comparison::Comparison;
use language::Language;
use layout::{Delivery, Frame};

/// Renders a comparison as a file that contains all it needs.
#[must_use]
pub fn file_of_comparison(comparison: &Comparison, language: Language) -> String {
    let title = comparison::title(comparison, language);
    let frame = Frame {
        language,
        title: &title,
        delivery: Delivery::File,
        links: &[],
        other_language: None,
        refresh_s: None,
    };
    layout::page(&frame, &comparison::body(comparison, language))
}
