//! The statements of a page about its own text: who published it first, who wrote it, when, in what language,
//! and its canonical link.
//!
//! Nothing here is verified, so it may be false. [`crate::limits`] bounds all lengths. Names above these
//! limits are not accepted as names, and are left out.

use serde::Serialize;

use super::publication_time::PublicationTime;

/// Publisher, authors, date and other statements that a page makes about its own text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Credits {
    /// The first publisher of the text according to the page, as in `来源：新华社`, `新华社北京5月13日电` or "originally
    /// published by". At most [`PUBLISHER_BYTES_MAX`](crate::limits::PUBLISHER_BYTES_MAX) bytes.
    pub publisher: Option<String>,
    /// The text on the page that names the publisher, unchanged. At most
    /// [`CREDIT_LINE_BYTES_MAX`](crate::limits::CREDIT_LINE_BYTES_MAX) bytes.
    pub credit_line: Option<String>,
    /// The authors of the text. At most [`AUTHORS_MAX`](crate::limits::AUTHORS_MAX) names of
    /// [`AUTHOR_BYTES_MAX`](crate::limits::AUTHOR_BYTES_MAX) bytes each.
    pub authors: Vec<String>,
    /// The time of publication. Never later than a day after the page was fetched.
    pub published_at: Option<PublicationTime>,
    /// The `rel=canonical` link as an absolute url. At most
    /// [`CANONICAL_LINK_BYTES_MAX`](crate::limits::CANONICAL_LINK_BYTES_MAX) bytes.
    pub canonical_link: Option<String>,
    /// The name of the page's web site. At most [`SITE_NAME_BYTES_MAX`](crate::limits::SITE_NAME_BYTES_MAX)
    /// bytes.
    pub site_name: Option<String>,
    /// The language as a BCP 47 tag, such as `zh-CN`. At most
    /// [`LANGUAGE_BYTES_MAX`](crate::limits::LANGUAGE_BYTES_MAX) bytes.
    pub language: Option<String>,
}

impl Credits {
    /// Returns the credits in a box, or `None` if the page states nothing.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
