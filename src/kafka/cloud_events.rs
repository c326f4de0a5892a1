//! A verdict's message as a CloudEvent: the attributes of its context as headers (CloudEvents 1.0.2,
//! Kafka Protocol Binding 1.0.2, section 3.2, binary content mode). The value is the verdict itself,
//! as without them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::log_origin::LogOrigin;
use crate::verdict::Verdict;

/// What an event is about: a verdict, whose format this version belongs to.
pub const TYPE: &str = "leitong.verdict.v1";

/// The headers, in the order of their [`values`].
pub const NAMES: [&str; 6] = ["ce_specversion", "ce_type", "ce_source", "ce_id", "ce_subject", "ce_time"];

/// The values for a verdict of the installation `app`. Source and id together name one event: the
/// record of the log, of which there is one verdict.
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

/// All but the unreserved characters of RFC 3986, section 2.3.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URI reference, in which an installation's name may have any character.
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
