//! Errors as clients read them: RFC 9457 problem details, with a stable name for each kind.

use serde::Serialize;

/// Before the name of every kind.
const PREFIX: &str = "urn:leitong:problem:";

/// Declares the kinds: variant, name, status, title.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal $status:literal $title:literal,)*) => {
        /// What kinds of problems there are. Names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The last part of the `type`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The HTTP status.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

kinds! {
    /// A parameter of the query is unknown, or its value is wrong.
    BadOption "bad-option" 400 "A parameter of the query cannot be followed",
    /// The body cannot be cut into pages.
    BrokenBatch "broken-batch" 400 "The body cannot be cut into pages",
    /// The body cannot be read, such as one that breaks off.
    BrokenBody "broken-body" 400 "The body cannot be received",
    /// No token, or a wrong one.
    Unauthorized "unauthorized" 401 "A token is needed",
    /// A web page of another site, or one under another host name, sent the request.
    Forbidden "forbidden" 403 "The request comes from another site",
    /// There is nothing at this path.
    NoSuchPath "no-such-path" 404 "There is nothing at this path",
    /// No verdict on this page is kept.
    UnknownPage "unknown-page" 404 "Nothing is known of this page",
    /// No such cluster, or none any more.
    UnknownCluster "unknown-cluster" 404 "Nothing is known of this cluster",
    /// The path takes another method.
    MethodNotAllowed "method-not-allowed" 405 "The path takes another method",
    /// The body did not come in time.
    TooSlow "too-slow" 408 "The body did not come in time",
    /// The body has too many bytes or pages.
    TooLarge "too-large" 413 "The body is too large",
    /// The body is of a type that is not read.
    UnsupportedMediaType "unsupported-media-type" 415 "The body's type is not read",
    /// The page's corpus, or the cluster, is in a partition of the log that another instance has.
    NotHere "not-here" 421 "Another instance has the table",
    /// What was sent is no page.
    UnreadablePage "unreadable-page" 422 "This is no page",
    /// The configuration says that such pages are passed over.
    PassedOver "passed-over" 422 "The settings pass over such pages",
    /// The client asks more often than it may.
    TooManyRequests "too-many-requests" 429 "The client asks more often than it may",
    /// A fault in Leitong.
    Internal "internal" 500 "A fault in Leitong",
    /// Too much is in flight.
    Overloaded "overloaded" 503 "Too much is being worked on",
    /// The table is here, or is to be, and cannot be looked up now.
    NotReady "not-ready" 503 "The table cannot be looked up yet",
    /// The pages could not be made durable.
    NotDurable "not-durable" 503 "The pages could not be stored",
    /// The server is about to end.
    Stopping "stopping" 503 "The server is stopping",
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub kind: Kind,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// Of a page that cannot be read: the word that dead letters have; of one that is passed over:
    /// why.
    pub cause: Option<&'static str>,
}

impl Problem {
    /// A problem of this kind.
    #[must_use]
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), cause: None }
    }

    /// The problem details, `application/problem+json`.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers")
    }
}

impl Serialize for Problem {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Details<'a> {
            r#type: String,
            title: &'a str,
            status: u16,
            detail: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            cause: Option<&'static str>,
        }
        let details = Details {
            r#type: format!("{PREFIX}{}", self.kind.name()),
            title: self.kind.title(),
            status: self.kind.status(),
            detail: &self.detail,
            cause: self.cause,
        };
        details.serialize(serializer)
    }
}
