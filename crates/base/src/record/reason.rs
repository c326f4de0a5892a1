//! Reasons why a page is undecidable.

use serde::{Deserialize, Serialize};

/// The reason why a page is undecidable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    /// The page has no body, or only white space.
    Empty,
    /// The body, or the line that contains it, exceeds the configured limit.
    TooLarge,
    /// The HTTP status is not 2xx.
    HttpStatus,
    /// The content type or the first bytes show that the page is neither HTML nor text.
    NotHtml,
    /// The bytes are not text in any known encoding.
    NotText,
    /// The page has more or deeper nodes than allowed, or costs more work than one page may.
    TooComplex,
    /// No main text was found.
    NoText,
    /// The main text is shorter than the configured minimum.
    TooShort,
    /// A bug in Leitong. A log event names the page's id.
    Internal,
    /// The fingerprint comes from another detector than the configured one.
    OtherDetector,
    /// Instead of content, the page shows an error, a captcha, a log-in form, a cookie consent form or the
    /// like.
    Wall,
    /// The page consists mainly of links to other pages.
    Listing,
    /// The page was withdrawn and is to be removed from the table.
    Withdrawn,
    /// The page announces an article, but only the frame of its site was found.
    NoArticle,
}

impl Reason {
    /// All reasons, in the order of their numbers on the wire.
    pub const ALL: [Self; 14] = [
        Self::Empty,
        Self::TooLarge,
        Self::HttpStatus,
        Self::NotHtml,
        Self::NotText,
        Self::TooComplex,
        Self::NoText,
        Self::TooShort,
        Self::Internal,
        Self::OtherDetector,
        Self::Wall,
        Self::Listing,
        Self::Withdrawn,
        Self::NoArticle,
    ];

    /// Returns the number on the wire, from 1.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32 + 1
    }

    /// Returns the reason with this number.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.number() == number)
    }

    /// Returns the name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "EMPTY",
            Self::TooLarge => "TOO_LARGE",
            Self::HttpStatus => "HTTP_STATUS",
            Self::NotHtml => "NOT_HTML",
            Self::NotText => "NOT_TEXT",
            Self::TooComplex => "TOO_COMPLEX",
            Self::NoText => "NO_TEXT",
            Self::TooShort => "TOO_SHORT",
            Self::Internal => "INTERNAL",
            Self::OtherDetector => "OTHER_DETECTOR",
            Self::Wall => "WALL",
            Self::Listing => "LISTING",
            Self::Withdrawn => "WITHDRAWN",
            Self::NoArticle => "NO_ARTICLE",
        }
    }
}
