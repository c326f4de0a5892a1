//! Commands that make lists from many pages.

pub(crate) mod boilerplate;
#[cfg(feature = "kafka")]
pub(crate) mod boilerplate_of_site;
pub(crate) mod idf;
pub(crate) mod shared_paragraphs;
