//! What a page says of itself: who published its text first, who wrote it, when, and in what
//! language; where it is to be linked to.
//!
//! All of it is said by the page and none of it is checked: a page may lie. Lengths
//! are bounded by [`crate::limits`]; what is longer is no name and is left out.

use serde::Serialize;

use super::publication_time::PublicationTime;

/// What a page says of its source and of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Credits {
    /// Who is said to have published the text first, as in `来源：新华社`,
    /// `新华社北京5月13日电` or "originally published by"; at most
    /// [`PUBLISHER_BYTES_MAX`](crate::limits::PUBLISHER_BYTES_MAX) bytes.
    pub publisher: Option<String>,
    /// The words that name it, as they stand on the page; at most
    /// [`CREDIT_LINE_BYTES_MAX`](crate::limits::CREDIT_LINE_BYTES_MAX) bytes.
    pub credit_line: Option<String>,
    /// Who wrote it; at most [`AUTHORS_MAX`](crate::limits::AUTHORS_MAX) names
    /// of [`AUTHOR_BYTES_MAX`](crate::limits::AUTHOR_BYTES_MAX) bytes.
    pub authors: Vec<String>,
    /// When it was published, never later than a day after it was fetched.
    pub published_at: Option<PublicationTime>,
    /// `rel=canonical` as an absolute url; at most
    /// [`CANONICAL_LINK_BYTES_MAX`](crate::limits::CANONICAL_LINK_BYTES_MAX) bytes.
    pub canonical_link: Option<String>,
    /// The name of the site that the page stands on; at most
    /// [`SITE_NAME_BYTES_MAX`](crate::limits::SITE_NAME_BYTES_MAX) bytes.
    pub site_name: Option<String>,
    /// BCP 47, as in `zh-CN`; at most
    /// [`LANGUAGE_BYTES_MAX`](crate::limits::LANGUAGE_BYTES_MAX) bytes.
    pub language: Option<String>,
}

impl Credits {
    /// None where nothing is said.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
