//! What a store answers → an error that says which object, where in it, why, and what to change.

use std::io;

use object_store::Error;

use super::http::BrokenList;
use crate::source::open::MachineError;

/// Characters of an answer that are shown, where nobody knows its form.
const SHOWN_MAX: usize = 400;

const CHECK_CREDENTIALS: &str = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if there is one, AWS_SESSION_TOKEN; \
                                 for what anybody may read set AWS_SKIP_SIGNATURE=true";

/// What was asked for.
pub(super) struct Failure<'a> {
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    /// The first byte; none where no bytes were asked for.
    pub(super) offset: Option<u64>,
}

impl Failure<'_> {
    /// The error for what the store says. It is never taken for a fault of the object's contents.
    pub(super) fn of(&self, error: &Error) -> io::Error {
        if let Some(broken) = broken_list(error) {
            return self.error(io::ErrorKind::InvalidData, &broken.to_string());
        }
        let text = with_cause(error);
        // Not all requests tell errors apart; the codes of the protocol do.
        let says = |codes: &[&str]| codes.iter().any(|code| text.contains(&format!("<Code>{code}</Code>")));
        let (kind, advice) = match error {
            _ if says(&["NoSuchBucket"]) => (
                io::ErrorKind::Other,
                "there is no such bucket; check its name, AWS_ENDPOINT_URL and AWS_REGION",
            ),
            _ if says(&["InvalidRange"]) || text.contains("416 ") => {
                (io::ErrorKind::UnexpectedEof, "the object ends before")
            }
            Error::NotFound { .. } => (io::ErrorKind::NotFound, "there is no such object; check its name"),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                (io::ErrorKind::PermissionDenied, CHECK_CREDENTIALS)
            }
            _ if says(&["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"]) => {
                (io::ErrorKind::PermissionDenied, CHECK_CREDENTIALS)
            }
            Error::Precondition { .. } => {
                (io::ErrorKind::Other, "the object was replaced while it was read; run again")
            }
            _ if text.contains("169.254.") => (
                io::ErrorKind::PermissionDenied,
                "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true \
                 for what anybody may read",
            ),
            _ if text.contains("certificate verify failed") => (
                io::ErrorKind::Other,
                "no authority that this system trusts has signed the store's certificate; SSL_CERT_FILE names others",
            ),
            _ => (
                io::ErrorKind::Other,
                "check AWS_ENDPOINT_URL and AWS_REGION, and AWS_ALLOW_HTTP=true where the endpoint has no TLS; then run \
                 again",
            ),
        };
        self.error(kind, &format!("{}; {advice}", told(&text)))
    }

    /// The error for fewer bytes than were asked for.
    pub(super) fn short(&self, found: usize, expected: u64) -> io::Error {
        let problem = format!("the store gave {found} bytes where {expected} are to be; run again");
        self.error(io::ErrorKind::Other, &problem)
    }

    fn error(&self, kind: io::ErrorKind, problem: &str) -> io::Error {
        let Self { bucket, key, .. } = self;
        let at = self.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
        let error = io::Error::new(kind, format!("s3://{bucket}/{key}{at}: {problem}"));
        io::Error::new(kind, MachineError::of(error))
    }
}

/// The fault of a list of objects that has led to `error`.
fn broken_list(error: &Error) -> Option<&BrokenList> {
    let mut cause: &dyn std::error::Error = error;
    loop {
        if let Some(broken) = cause.downcast_ref() {
            return Some(broken);
        }
        cause = cause.source()?;
    }
}

/// What an error says, and what it came of: a refused connection or certificate is told by the innermost error alone.
fn with_cause(error: &Error) -> String {
    let text = error.to_string();
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let cause = cause.to_string();
    if text.contains(&cause) { text } else { format!("{text}: {cause}") }
}

/// What a store answers in a few words: the code and the message of its XML, if there are any.
fn told(text: &str) -> String {
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

    /// An error that says little, of one that says why.
    #[derive(Debug, thiserror::Error)]
    #[error("error sending request")]
    struct Request(#[source] io::Error);

    /// What is said of a request that failed for this cause.
    fn said(cause: &str) -> String {
        let error =
            Error::Generic { store: "S3", source: Box::new(Request(io::Error::other(cause.to_owned()))) };
        Failure { bucket: "crawl", key: "a.jsonl", offset: None }.of(&error).to_string()
    }

    #[test]
    fn an_error_says_what_it_came_of() {
        let refused = said("connection refused");
        assert!(
            refused.starts_with("s3://crawl/a.jsonl: ")
                && refused.contains(": connection refused; check AWS_")
        );
        let unknown =
            said("error:0A000086:SSL routines::certificate verify failed:: (unable to get local issuer)");
        assert!(
            unknown.contains("certificate verify failed") && unknown.contains("SSL_CERT_FILE"),
            "{unknown}"
        );
    }
}
