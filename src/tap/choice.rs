//! Chooses the messages to show: a [`Filter`] by their fields, and a sample of them.

use std::str::FromStr;

use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::message::{DEAD_LETTER, Tapped, UNREADABLE};
use leitong_cluster::verdict::Kind;
use leitong_kafka::Received;
use leitong_text::page::host;

/// Conditions on the messages to show. For each list that is not empty, a message must have one of its
/// values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Kinds of verdicts, or [`DEAD_LETTER`].
    pub kinds: Vec<&'static str>,
    /// Corpora.
    pub corpora: Vec<String>,
    /// Hosts of the page's url. Subdomains match as well (`a.b.example` matches `b.example`).
    pub hosts: Vec<String>,
    /// Page (id or url) or cluster (id) whose duplicates match.
    pub duplicate_of: Vec<String>,
    /// Reasons of undecidable pages, and causes of dead letters.
    pub reasons: Vec<String>,
}

impl Filter {
    /// Returns true if `tapped` matches. An [`UNREADABLE`] message matches only an empty filter, since its
    /// fields are not known.
    #[must_use]
    pub(crate) fn fits(&self, tapped: &Tapped) -> bool {
        let kind = tapped.text("kind");
        if kind == UNREADABLE {
            return self.is_empty();
        }
        let any = |wanted: &[String], found: &str| wanted.is_empty() || wanted.iter().any(|one| one == found);
        let reason = if kind == DEAD_LETTER { tapped.text("cause") } else { tapped.text("reason") };
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && any(&self.corpora, tapped.text("corpus"))
            && any(&self.reasons, reason)
            && self.fits_host(tapped)
            && self.fits_cluster(tapped)
    }

    fn is_empty(&self) -> bool {
        let Self { kinds, corpora, hosts, duplicate_of, reasons } = self;
        kinds.is_empty() && [corpora, hosts, duplicate_of, reasons].iter().all(|list| list.is_empty())
    }

    fn fits_host(&self, tapped: &Tapped) -> bool {
        if self.hosts.is_empty() {
            return true;
        }
        let found = host(tapped.text("url"));
        self.hosts.iter().any(|wanted| {
            let above = found.strip_suffix(wanted.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('.')) && !found.is_empty()
        })
    }

    fn fits_cluster(&self, tapped: &Tapped) -> bool {
        if self.duplicate_of.is_empty() {
            return true;
        }
        let duplicates = [Kind::ExactDuplicate, Kind::NearDuplicate].map(Kind::as_str);
        let names = ["canonical_page_id", "canonical_url", "cluster_id", "replaces_page_id"];
        duplicates.contains(&tapped.text("kind"))
            && self
                .duplicate_of
                .iter()
                .any(|wanted| !wanted.is_empty() && names.iter().any(|name| tapped.text(name) == wanted))
    }
}

/// A sample of one page in N. It is chosen by the key of the message, so the same pages are shown each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    one_in: u64,
}

/// The error for a malformed share.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a share; write 1/N with a whole number N of at least 1, such as 1/100")]
pub(crate) struct SampleError(String);

impl FromStr for Choice {
    type Err = SampleError;

    fn from_str(text: &str) -> Result<Self, SampleError> {
        let one_in = text.strip_prefix("1/").and_then(|number| number.parse().ok());
        let one_in = one_in.filter(|number| *number > 0);
        one_in.map(|one_in| Self { one_in }).ok_or_else(|| SampleError(text.to_owned()))
    }
}

impl Choice {
    /// Returns true if `message` is in the sample. A message without a key is chosen by its place.
    #[must_use]
    pub(crate) fn takes(self, message: &Received) -> bool {
        let hash = match &message.key {
            Some(key) => xxh3_64(key),
            None => {
                xxh3_64(format!("{}[{}]@{}", message.topic, message.partition, message.offset).as_bytes())
            }
        };
        hash.is_multiple_of(self.one_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(fields: &str) -> Tapped {
        let value = Some(format!("{{{fields}}}").into_bytes());
        Tapped::verdict(&Received { value, ..Received::default() })
    }

    #[test]
    fn values_of_a_list_are_alternatives_and_all_lists_must_match() {
        let duplicate = verdict(
            "\"kind\":\"NEAR_DUPLICATE\",\"corpus\":\"zh\",\"url\":\"https://a.news.example/1\",\
             \"canonical_page_id\":\"p\",\"cluster_id\":\"00\"",
        );
        let wall = verdict("\"kind\":\"UNDECIDABLE\",\"corpus\":\"en\",\"url\":\"\",\"reason\":\"WALL\"");
        let broken = verdict("\"kind\":\"LATER\"");
        let text = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let fits = |filter: Filter| [&duplicate, &wall, &broken].map(|tapped| filter.fits(tapped));
        assert_eq!(fits(Filter::default()), [true; 3]);
        let kinds = vec!["NEAR_DUPLICATE", "UNDECIDABLE"];
        assert_eq!(fits(Filter { kinds: kinds.clone(), ..Filter::default() }), [true, true, false]);
        let both = Filter { kinds, corpora: text(&["en", "de"]), ..Filter::default() };
        assert_eq!(fits(both), [false, true, false]);
        for (host, expected) in [
            ("news.example", true),
            ("a.news.example", true),
            ("ews.example", false),
            ("b.news.example", false),
            ("", false),
        ] {
            let filter = Filter { hosts: text(&[host]), ..Filter::default() };
            assert_eq!(fits(filter), [expected, false, false], "{host}");
        }
        for id in ["p", "00"] {
            let filter = Filter { duplicate_of: text(&[id]), ..Filter::default() };
            assert_eq!(fits(filter), [true, false, false], "{id}");
        }
        assert_eq!(fits(Filter { duplicate_of: text(&[""]), ..Filter::default() }), [false; 3]);
        assert_eq!(fits(Filter { reasons: text(&["WALL"]), ..Filter::default() }), [false, true, false]);
    }

    #[test]
    fn a_sample_is_the_right_share_and_the_same_pages_each_time() {
        for bad in ["", "1", "1/", "1/0", "2/3", "1/-4", "1/x"] {
            assert!(bad.parse::<Choice>().is_err(), "{bad}");
        }
        let tenth: Choice = "1/10".parse().expect("a share");
        let message =
            |number: u32| Received { key: Some(number.to_string().into_bytes()), ..Received::default() };
        let taken: Vec<u32> = (0..10_000).filter(|number| tenth.takes(&message(*number))).collect();
        // The standard deviation is 30.
        assert!((850..1150).contains(&taken.len()), "{}", taken.len());
        assert!(taken.iter().all(|number| tenth.takes(&message(*number))));
        let keyless =
            (0..10_000).filter(|offset| tenth.takes(&Received { offset: *offset, ..Received::default() }));
        assert!((850..1150).contains(&keyless.count()));
        let all: Choice = "1/1".parse().expect("a share");
        assert!((0..100).all(|number| all.takes(&message(number))));
    }
}
