//! Chooses the messages to show by their fields.

use super::message::{Tapped, UNREADABLE};
use leitong_text::page::host;

/// Conditions on the messages to show. For each list that is not empty, a message must have one of its
/// values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Kinds of verdicts, or [`DEAD_LETTER`](super::DEAD_LETTER).
    pub kinds: Vec<&'static str>,
    /// Hosts of the page's url. Subdomains match as well (`a.b.example` matches `b.example`).
    pub hosts: Vec<String>,
}

impl Filter {
    /// Returns true if `tapped` matches. An [`UNREADABLE`] message matches only an empty filter, since its
    /// fields are not known.
    pub(crate) fn fits(&self, tapped: &Tapped) -> bool {
        let Self { kinds, hosts } = self;
        let (kind, found) = (tapped.text("kind"), host(tapped.text("url")));
        let is_in = |wanted: &String| {
            let above = found.strip_suffix(wanted.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('.')) && !found.is_empty()
        };
        (kind != UNREADABLE || kinds.is_empty() && hosts.is_empty())
            && (kinds.is_empty() || kinds.contains(&kind))
            && (hosts.is_empty() || hosts.iter().any(is_in))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_kafka::Received;

    #[test]
    fn values_of_a_list_are_alternatives_and_all_lists_must_match() {
        let [duplicate, undecidable, broken] = [
            r#"{"kind":"NEAR_DUPLICATE","url":"https://a.news.example/1"}"#,
            r#"{"kind":"UNDECIDABLE","url":"","reason":"NO_CONTENT"}"#,
            r#"{"kind":"LATER"}"#,
        ]
        .map(|json| Tapped::verdict(&Received { value: Some(json.into()), ..Received::default() }));
        let fits = |kinds: &[&'static str], hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            let filter = Filter { kinds: kinds.to_vec(), hosts };
            [&duplicate, &undecidable, &broken].map(|tapped| filter.fits(tapped))
        };
        assert_eq!(fits(&[], &[]), [true; 3]);
        assert_eq!(fits(&["NEAR_DUPLICATE", "UNDECIDABLE"], &[]), [true, true, false]);
        assert_eq!(fits(&["UNDECIDABLE"], &["news.example"]), [false; 3]);
        for (host, expected) in [
            ("news.example", true),
            ("a.news.example", true),
            ("ews.example", false),
            ("b.news.example", false),
            ("", false),
        ] {
            assert_eq!(fits(&[], &["x.example", host]), [expected, false, false], "{host}");
        }
    }
}
