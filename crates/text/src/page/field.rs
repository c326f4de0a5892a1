//! The fields of a page that a message may have.

use super::body::BodyForm;

/// A field of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The page's id.
    Id,
    /// The page's url.
    Url,
    /// The page's body in this format.
    Body(BodyForm),
    /// The WARC file that contains the body.
    WarcFile,
    /// The offset of the body's record in the WARC file.
    WarcOffset,
    /// The page's title according to the crawler.
    Title,
    /// The charset of the body's bytes.
    Charset,
    /// The `Content-Type`.
    ContentType,
    /// The HTTP status.
    Status,
    /// The time at which the page was fetched.
    FetchedAt,
}

impl Field {
    /// Returns the name of the field in `[input.fields]`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Url => "url",
            Self::Body(BodyForm::Content) => "content",
            Self::Body(BodyForm::Mixed) => "body",
            Self::Body(BodyForm::Base64) => "html_b64",
            Self::Body(BodyForm::Html) => "html",
            Self::Body(BodyForm::Text) => "text",
            Self::WarcFile => "warc_file",
            Self::WarcOffset => "warc_offset",
            Self::Title => "title",
            Self::Charset => "charset",
            Self::ContentType => "content_type",
            Self::Status => "status",
            Self::FetchedAt => "fetched_at",
        }
    }
}
