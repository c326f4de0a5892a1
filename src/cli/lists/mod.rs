//! Commands that make lists from many pages.

pub(in crate::cli) mod boilerplate;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod boilerplate_of_site;
pub(in crate::cli) mod idf;
#[cfg(feature = "kafka")]
pub(in crate::cli) mod shared_paragraphs;
