//! Turns the error of a store into one that says which object is concerned, where in it, why, and what to
//! change.

use std::io;

use object_store::Error;

use super::list::BrokenList;
use super::scheme::Scheme;
use crate::source::machine_error::MachineError;

/// Maximum number of characters of an unknown error response that are shown.
const SHOWN_MAX: usize = 400;

const REPLACED: &str = "the object was replaced while it was read; run again";

/// The object of a failed request.
pub(super) struct Failure<'a> {
    pub(super) scheme: &'static Scheme,
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
        let Scheme { container, check_container, check_credentials, set_credentials, check_address, .. } =
            self.scheme;
        // `object_store` does not classify the errors of all requests. The error codes of the protocols do.
        let says = |codes: &[&str]| codes.iter().any(|code| text.contains(&format!("<Code>{code}</Code>")));
        let (kind, advice) = match error {
            _ if says(&["NoSuchBucket", "ContainerNotFound"])
                || self.key.is_empty() && text.contains("status code: 404") =>
            {
                (io::ErrorKind::Other, format!("there is no such {container}; check its name, {check_container}"))
            }
            _ if says(&["InvalidRange"]) || text.contains("416 ") => {
                (io::ErrorKind::UnexpectedEof, "the object ends before this byte".to_owned())
            }
            Error::NotFound { .. } => {
                (io::ErrorKind::NotFound, "there is no such object; check its name".to_owned())
            }
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                (io::ErrorKind::PermissionDenied, (*check_credentials).to_owned())
            }
            _ if says(&["AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"])
                || ["401", "403"].iter().any(|status| text.contains(&format!("status code: {status}"))) =>
            {
                (io::ErrorKind::PermissionDenied, (*check_credentials).to_owned())
            }
            Error::Precondition { .. } => (io::ErrorKind::Other, REPLACED.to_owned()),
            // The server that gives credentials to programs on machines of the store's owner.
            _ if ["169.254.", "metadata.google"].iter().any(|server| text.contains(server)) => {
                (io::ErrorKind::PermissionDenied, format!("there are no credentials; {set_credentials}"))
            }
            _ if text.contains("certificate verify failed") => (
                io::ErrorKind::Other,
                "the store's certificate is not signed by an authority that this system trusts; name further ones with \
                 SSL_CERT_FILE"
                    .to_owned(),
            ),
            _ => (io::ErrorKind::Other, format!("{check_address}; then run again")),
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

    /// Creates an error that names the object.
    pub(super) fn error(&self, kind: io::ErrorKind, problem: &str) -> io::Error {
        let Self { scheme: Scheme { name, .. }, bucket, key, .. } = self;
        let at = self.offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
        let error = io::Error::new(kind, format!("{name}://{bucket}/{key}{at}: {problem}"));
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

/// Shortens the response of a store to the code and the message in its XML, or to the status and the error in its
/// JSON, if it has them.
fn shortened(text: &str) -> String {
    let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0);
    let retries =
        between("after ", " retries").map_or(String::new(), |count| format!(", after {count} retries"));
    match (between("<Code>", "</Code>"), between("<Message>", "</Message>")) {
        (Some(code), Some(message)) => {
            // Azure adds lines with numbers of the request.
            format!("{code}: {}{retries}", message.lines().next().unwrap_or_default().trim_end_matches('.'))
        }
        (Some(code), None) => format!("{code}{retries}"),
        _ if text.contains("{\"error\":\"") => {
            let status = between("status code: ", ": {").unwrap_or_default();
            let problem = between("{\"error\":\"", "\"").unwrap_or_default();
            format!("{status}: {}{retries}", problem.trim_end_matches('.'))
        }
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
        let (scheme, _) = Scheme::parse("s3://").expect("the feature is on");
        Failure { scheme, bucket: "crawl", key: "a.jsonl", offset: None }.to_io_error(&error).to_string()
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
