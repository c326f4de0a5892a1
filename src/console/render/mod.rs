//! Data → HTML. Pure: what is shown is a function of what is given.
//!
//! Invariant: whatever pages, urls, ids and file names hold is text, and never opens a tag, an
//! attribute or a script. `maud` escapes all that is not written as markup in these files, which
//! is why it is a dependency: what has to be remembered at every place is forgotten at one.
//! `PreEscaped` stands at one place, round our own style; a test counts.

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

/// A comparison as a file that holds all it needs.
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
