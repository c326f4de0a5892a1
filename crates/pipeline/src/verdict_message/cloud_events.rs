//! The message of a verdict as a CloudEvent: the context attributes become headers (CloudEvents 1.0.2, Kafka
//! Protocol Binding 1.0.2, section 3.2, binary content mode). The value is the unchanged verdict.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::log_origin::LogOrigin;
use leitong_cluster::verdict::Verdict;

/// Type of the events: verdicts of this major format version.
pub const TYPE: &str = "leitong.verdict.v1";

/// Names of the headers, in the order of their [`values`].
pub const NAMES: [&str; 6] = ["ce_specversion", "ce_type", "ce_source", "ce_id", "ce_subject", "ce_time"];

/// Returns the header values for a verdict of the installation `app`. Source and id together identify one
/// event: they name the log record, which has only one verdict.
#[must_use]
pub fn values(verdict: &Verdict, app: &str) -> [String; 6] {
    let origin = LogOrigin { partition: verdict.log_partition, offset: verdict.log_offset };
    [
        "1.0".to_owned(),
        TYPE.to_owned(),
        source(app),
        origin.to_string(),
        verdict.page_id.clone(),
        verdict.decided_at.to_string(),
    ]
}

/// All characters except the unreserved ones of RFC 3986, section 2.3.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns a URI reference for an installation, whose name may have any characters.
fn source(app: &str) -> String {
    format!("/leitong/{}", utf8_percent_encode(app, ESCAPED))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_source_is_a_uri_reference() {
        assert_eq!(super::source("crawl-7.eu_1"), "/leitong/crawl-7.eu_1");
        assert_eq!(super::source("a b/新"), "/leitong/a%20b%2F%E6%96%B0");
    }
}
