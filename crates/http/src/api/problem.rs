//! The errors that the API returns: RFC 9457 problem details, with a stable name for each kind.

use serde::Serialize;

/// Prefix of the name of every kind.
const PREFIX: &str = "urn:leitong:problem:";

/// Declares the kinds: variant, name, status, title.
macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal $status:literal $title:literal,)*) => {
        /// The kinds of problems. Their names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ProblemKind {
            $($(#[$doc])* $variant,)*
        }

        impl ProblemKind {
            /// All kinds.
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the last part of the `type`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the HTTP status.
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
    /// A query parameter is unknown, or its value is invalid.
    BadOption "bad-option" 400 "Invalid query parameter",
    /// The body cannot be split into pages.
    BrokenBatch "broken-batch" 400 "The body cannot be split into pages",
    /// The body cannot be received, for example because it ends early.
    BrokenBody "broken-body" 400 "The body cannot be received",
    /// The token is missing or wrong.
    Unauthorized "unauthorized" 401 "A token is needed",
    /// A web page of another site sent the request, or the `Host` header does not name this server.
    Forbidden "forbidden" 403 "The request comes from another site",
    /// The path does not exist.
    NoSuchPath "no-such-path" 404 "Unknown path",
    /// No verdict on this page is kept.
    UnknownPage "unknown-page" 404 "No verdict on this page is kept",
    /// The cluster does not exist, or not any more.
    UnknownCluster "unknown-cluster" 404 "Unknown cluster",
    /// The path does not allow this method.
    MethodNotAllowed "method-not-allowed" 405 "The path does not allow this method",
    /// The body did not arrive in time.
    TooSlow "too-slow" 408 "The body did not arrive in time",
    /// The body has too many bytes or pages.
    TooLarge "too-large" 413 "The body is too large",
    /// The content type or a content coding of the body is not supported.
    UnsupportedMediaType "unsupported-media-type" 415 "The content type or coding is not supported",
    /// The page's corpus, or the cluster, is in a log partition of another instance.
    NotHere "not-here" 421 "Another instance has the table",
    /// The body or record is not a valid page.
    UnreadablePage "unreadable-page" 422 "This is not a valid page",
    /// The settings skip such pages.
    PassedOver "passed-over" 422 "The settings skip this page",
    /// The client sends requests too often.
    TooManyRequests "too-many-requests" 429 "The client sends requests too often",
    /// There is a fault in Leitong.
    Internal "internal" 500 "Internal error in Leitong",
    /// Too many requests are in progress.
    Overloaded "overloaded" 503 "Too many requests are in progress",
    /// The table belongs to this instance, but cannot be looked up yet.
    NotReady "not-ready" 503 "The table cannot be looked up yet",
    /// The pages could not be made durable.
    NotDurable "not-durable" 503 "The pages could not be stored",
    /// The server is about to stop.
    Stopping "stopping" 503 "The server is stopping",
}

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// Explanation of what is wrong with this request, and how to fix it.
    pub detail: String,
    /// The cause of a page that cannot be read, as in dead letters, or the reason for skipping a page.
    pub cause: Option<&'static str>,
}

impl Problem {
    /// Returns a problem of this kind.
    #[must_use]
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), cause: None }
    }

    /// Returns the problem details, `application/problem+json`.
    pub(crate) fn to_json(&self) -> Vec<u8> {
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::ProblemKind;

    #[test]
    fn the_openapi_document_names_all_kinds() {
        let document = std::fs::read_to_string("../../docs/openapi.yaml").expect("the document");
        let api: Value = serde_saphyr::from_str(&document).expect("YAML");
        let named =
            api["components"]["schemas"]["Problem"]["properties"]["type"]["enum"].as_array().expect("names");
        let mut named: Vec<&str> =
            named.iter().filter_map(|name| name.as_str()?.rsplit(':').next()).collect();
        let mut all: Vec<&str> = ProblemKind::ALL.iter().map(|kind| kind.name()).collect();
        named.sort_unstable();
        all.sort_unstable();
        assert_eq!(named, all);
    }
}
