//! The statements of a page about its own text: who published it first, who wrote it, when, in what language,
//! and its canonical link.
//!
//! These statements are not verified, so they may be false. The constants of [`Metadata`] limit all lengths. A
//! name that exceeds its limit is not accepted as a name, and is left out.

use serde::Serialize;

use super::publication_time::PublicationTime;

/// Publisher, authors, date and other statements that a page makes about its own text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// The first publisher of the text according to the page, as in `来源：新华社`, `新华社北京5月13日电` or "originally
    /// published by". At most [`PUBLISHER_BYTES_MAX`](Self::PUBLISHER_BYTES_MAX) bytes.
    pub publisher: Option<String>,
    /// The text on the page that names the publisher, unchanged. At most
    /// [`CREDIT_LINE_BYTES_MAX`](Self::CREDIT_LINE_BYTES_MAX) bytes.
    pub credit_line: Option<String>,
    /// The authors of the text. At most [`AUTHORS_MAX`](Self::AUTHORS_MAX) names of
    /// [`AUTHOR_BYTES_MAX`](Self::AUTHOR_BYTES_MAX) bytes each.
    pub authors: Vec<String>,
    /// The time of publication. Never later than a day after the page was fetched.
    pub published_at: Option<PublicationTime>,
    /// The `rel=canonical` link as an absolute url. At most
    /// [`CANONICAL_LINK_BYTES_MAX`](Self::CANONICAL_LINK_BYTES_MAX) bytes.
    pub canonical_link: Option<String>,
    /// The name of the page's web site. At most [`SITE_NAME_BYTES_MAX`](Self::SITE_NAME_BYTES_MAX)
    /// bytes.
    pub site_name: Option<String>,
    /// The language as a BCP 47 tag, such as `zh-CN`. At most
    /// [`LANGUAGE_BYTES_MAX`](Self::LANGUAGE_BYTES_MAX) bytes.
    pub language: Option<String>,
}

impl Metadata {
    /// Maximum length of a publisher's name. A longer text is not accepted as a name. Together with the limits
    /// below, this keeps the metadata in a log record within 4 KiB.
    pub const PUBLISHER_BYTES_MAX: usize = 128;
    /// Maximum length of the text that names the publisher. A longer text is truncated at a character boundary.
    pub const CREDIT_LINE_BYTES_MAX: usize = 256;
    /// Maximum number of authors per page. Further authors are left out.
    pub const AUTHORS_MAX: usize = 8;
    /// Maximum length of an author's name. A longer text is not accepted as a name.
    pub const AUTHOR_BYTES_MAX: usize = 96;
    /// Maximum length of a canonical link as an absolute url. A longer link is left out.
    pub const CANONICAL_LINK_BYTES_MAX: usize = 2 * 1024;
    /// Maximum length of a site's name. A longer text is not accepted as a name.
    pub const SITE_NAME_BYTES_MAX: usize = 128;
    /// Maximum length of a language tag: the longest one that BCP 47 requires programs to support.
    pub const LANGUAGE_BYTES_MAX: usize = 35;

    /// Returns the metadata in a box, or `None` if the page states nothing.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}
