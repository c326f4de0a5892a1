//! Turns the error of a store into one that says which object is concerned, where in it, why, and what to
//! change.

use std::io;

use object_store::Error;

use super::list::BrokenList;
use crate::source::machine_error::MachineError;

/// Maximum number of characters of an unknown error response that are shown.
const SHOWN_MAX: usize = 400;

const CHECK_CREDENTIALS: &str = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if there is one, AWS_SESSION_TOKEN; \
                                 for public data, set AWS_SKIP_SIGNATURE=true";

const REPLACED: &str = "the object was replaced while it was read; run again";

/// The object of a failed request.
pub(super) struct Failure<'a> {
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    /// The first requested byte. `None` for requests that do not read bytes, such as lists.
    pub(super) offset: Option<u64>,
}

impl Failure<'_> {
    /// Creates the error for an error of the store. It is never taken as a fault of the object's content.
    pub(super) fn to_io_error(&self, error: &Error) -> io::Error {
        if let Some(broken) = broken_list(error) {
            return self.error(io::ErrorKind::InvalidData, &broken.to_string());
        }
        let text = with_cause(error);
        // `object_store` does not classify the errors of all requests. The error codes of the protocol do.
        let says = |codes: &[&str]| codes.iter().any(|code| text.contains(&format!("<Code>{code}</Code>")));
        let (kind, advice) = match error {
            _ if says(&["NoSuchBucket"]) => (
                io::ErrorKind::Other,
                "there is no such bucket; check its name, AWS_ENDPOINT_URL and AWS_REGION",
            ),
            _ if says(&["InvalidRange"]) || text.contains("416 ") => {
                (io::ErrorKind::UnexpectedEof, "the object ends before this byte")
            }
            Error::NotFound { .. } => (io::ErrorKind::NotFound, "there is no such object; check its name"),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                (io::ErrorKind::PermissionDenied, CHECK_CREDENTIALS)
            }
            _ if says(&["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"]) => {
                (io::ErrorKind::PermissionDenied, CHECK_CREDENTIALS)
            }
            Error::Precondition { .. } => (io::ErrorKind::Other, REPLACED),
            _ if text.contains("169.254.") => (
                io::ErrorKind::PermissionDenied,
                "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true \
                 for public data",
            ),
            _ if text.contains("certificate verify failed") => (
                io::ErrorKind::Other,
                "the store's certificate is not signed by an authority that this system trusts; name further ones with SSL_CERT_FILE",
            ),
            _ => (
                io::ErrorKind::Other,
                "check AWS_ENDPOINT_URL and AWS_REGION, and set AWS_ALLOW_HTTP=true if the endpoint has no TLS; then run \
                 again",
            ),
        };
        self.error(kind, &format!("{}; {advice}", shortened(&text)))
    }

    /// Creates the error for a response with fewer bytes than requested.
    pub(super) fn short(&self, found: usize, expected: u64) -> io::Error {
        let problem = format!("the store returned {found} bytes instead of {expected}; run again");
        self.error(io::ErrorKind::Other, &problem)
    }

    /// Creates the error for an object that is not the one that was read before.
    pub(super) fn replaced(&self) -> io::Error {
        self.error(io::ErrorKind::Other, REPLACED)
    }

    fn error(&self, kind: io::ErrorKind, problem: &str) -> io::Error {
        let Self { bucket, key, .. } = self;
        let at = self.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
        let error = io::Error::new(kind, format!("s3://{bucket}/{key}{at}: {problem}"));
        io::Error::new(kind, MachineError::new(error))
    }
}

/// Returns the fault in a list of objects that caused `error`, if there was one.
fn broken_list(error: &Error) -> Option<&BrokenList> {
    let mut cause: &dyn std::error::Error = error;
    loop {
        if let Some(broken) = cause.downcast_ref() {
            return Some(broken);
        }
        cause = cause.source()?;
    }
}

/// Returns the text of an error with its innermost cause. Only the latter mentions a refused connection or
/// certificate.
fn with_cause(error: &Error) -> String {
    let text = error.to_string();
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let cause = cause.to_string();
    if text.contains(&cause) { text } else { format!("{text}: {cause}") }
}

/// Shortens the response of a store to the code and the message in its XML, if it has them.
fn shortened(text: &str) -> String {
    let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0);
    let retries =
        between("after ", " retries").map_or(String::new(), |count| format!(", after {count} retries"));
    match (between("<Code>", "</Code>"), between("<Message>", "</Message>")) {
        (Some(code), Some(message)) => format!("{code}: {}{retries}", message.trim_end_matches('.')),
        (Some(code), None) => format!("{code}{retries}"),
        _ => text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_MAX).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error without details, whose cause has them.
    #[derive(Debug, thiserror::Error)]
    #[error("error sending request")]
    struct Request(#[source] io::Error);

    /// Returns the message for a request that failed for this cause.
    fn message_for(cause: &str) -> String {
        let error =
            Error::Generic { store: "S3", source: Box::new(Request(io::Error::other(cause.to_owned()))) };
        Failure { bucket: "crawl", key: "a.jsonl", offset: None }.to_io_error(&error).to_string()
    }

    #[test]
    fn the_message_includes_the_cause_of_an_error() {
        let refused = message_for("connection refused");
        assert!(
            refused.starts_with("s3://crawl/a.jsonl: ")
                && refused.contains(": connection refused; check AWS_")
        );
        let unknown = message_for(
            "error:0A000086:SSL routines::certificate verify failed:: (unable to get local issuer)",
        );
        assert!(
            unknown.contains("certificate verify failed") && unknown.contains("SSL_CERT_FILE"),
            "{unknown}"
        );
    }
}
