//! Reasons why a page is undecidable.

use serde::{Deserialize, Serialize};

crate::named! {
    /// The reason why a page is undecidable.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Reason {
        /// The page has no body, or only white space.
        Empty = "EMPTY",
        /// The body, or the line that contains it, exceeds the configured limit.
        TooLarge = "TOO_LARGE",
        /// The HTTP status is not 2xx.
        HttpStatus = "HTTP_STATUS",
        /// The content type or the first bytes show that the page is neither HTML nor text.
        NotHtml = "NOT_HTML",
        /// The bytes are not text in any known encoding.
        NotText = "NOT_TEXT",
        /// The page has more or deeper nodes than allowed, or costs more work than one page may.
        TooComplex = "TOO_COMPLEX",
        /// No main text was found.
        NoText = "NO_TEXT",
        /// The main text is shorter than the configured minimum.
        TooShort = "TOO_SHORT",
        /// A bug in Leitong. A log event names the page's id.
        Internal = "INTERNAL",
        /// The fingerprint comes from another detector than the configured one.
        OtherDetector = "OTHER_DETECTOR",
        /// Instead of content, the page shows an error, a captcha, a log-in form, a cookie consent form or the
        /// like.
        NoContent = "NO_CONTENT",
        /// The page consists mainly of links to other pages.
        Listing = "LISTING",
        /// The page was withdrawn and is to be removed from the table.
        Withdrawn = "WITHDRAWN",
        /// The page announces an article, but only the frame of its site was found.
        NoArticle = "NO_ARTICLE",
    }
}

impl Reason {
    /// Returns the reason with this number.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.number() == number)
    }
}
