//! The fields of a page that a message may give.

use super::body::Form;

/// A field of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The page's id.
    Id,
    /// Its url.
    Url,
    /// Its body, of this form.
    Body(Form),
    /// The WARC file that holds the body.
    WarcFile,
    /// Where in the WARC file the body's record begins.
    WarcOffset,
    /// The title that the crawler knows.
    Title,
    /// The charset of the body's bytes.
    Charset,
    /// The `Content-Type`.
    ContentType,
    /// The HTTP status.
    Status,
    /// When it was fetched.
    FetchedAt,
}

impl Field {
    /// The name as it stands in `[input.fields]`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Url => "url",
            Self::Body(Form::Content) => "content",
            Self::Body(Form::Mixed) => "body",
            Self::Body(Form::Base64) => "html_b64",
            Self::Body(Form::Html) => "html",
            Self::Body(Form::Text) => "text",
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
