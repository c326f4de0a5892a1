//! Why a page is undecidable.

use serde::Serialize;

/// Why a page is undecidable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    /// No body, or one of white space only.
    Empty,
    /// The body, or the line that holds it, is above the configured limit.
    TooLarge,
    /// The HTTP status is not 2xx.
    HttpStatus,
    /// The content type or the bytes say that it is no HTML and no text.
    NotHtml,
    /// The bytes are no text in any known encoding.
    NotText,
    /// The page has more nodes, or deeper ones, than the configured limit.
    TooComplex,
    /// No main text was found.
    NoText,
    /// The main text is shorter than the configured minimum.
    TooShort,
    /// A fault in Leitong, which is logged with the page's id.
    Internal,
    /// The fingerprint is of another detector than the one that decides.
    OtherDetector,
    /// The page shows a reason in place of content: an
    /// error, a captcha, a log-in, a question for consent, …
    Wall,
    /// The page is mainly links to other pages.
    Listing,
    /// The page was withdrawn: it is to be known no more.
    Withdrawn,
}

impl Reason {
    /// All reasons, in the order of their numbers on the wire.
    pub const ALL: [Self; 13] = [
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
    ];

    /// The number on the wire, from 1.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32 + 1
    }

    /// The reason of this number.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.number() == number)
    }

    /// The name as it stands in JSON.
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
        }
    }
}
