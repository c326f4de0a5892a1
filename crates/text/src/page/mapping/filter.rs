//! Selects the messages to read by status, content type, and literal values that mean failure.

use std::ops::RangeInclusive;

/// The reason why a message is skipped. The message is counted, and gets no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// The value is a literal that means failure.
    Literal,
    /// The message states that it has no page.
    NoPage,
    /// The message's status is not selected.
    Status,
    /// The message's content type is not selected.
    ContentType,
    /// The message deletes a page.
    Deletion,
    /// The message is of a kind that never has a page.
    OtherKind,
    /// The page's text is in a language that is not selected. Only runs over files select languages.
    Language,
}

impl Skip {
    /// All reasons of workers.
    pub const ALL: [Self; 6] =
        [Self::Literal, Self::NoPage, Self::Status, Self::ContentType, Self::Deletion, Self::OtherKind];

    /// Returns the reason as a label of a metric.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::NoPage => "no-page",
            Self::Status => "status",
            Self::ContentType => "content-type",
            Self::Deletion => "deletion",
            Self::OtherKind => "other-kind",
            Self::Language => "language",
        }
    }

    /// Returns the reason in words, for a list of counts.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Literal => "messages that only report a failure, skipped",
            Self::NoPage => "messages that state they have no page, skipped",
            Self::Status => "messages with other statuses, skipped",
            Self::ContentType => "messages with other content types, skipped",
            Self::Deletion => "deletions, skipped",
            Self::OtherKind => "messages of other kinds, skipped",
            Self::Language => "documents in other languages, skipped by --language",
        }
    }
}

/// The configured selection of messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    statuses: Vec<RangeInclusive<i64>>,
    content_types: Vec<String>,
    literals: Vec<String>,
}

impl Filter {
    /// Adds a status or a range of statuses. Returns false if `text` is not valid.
    pub(super) fn add_status(&mut self, text: &str) -> bool {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse()) else { return false };
        self.statuses.push(first..=last);
        first <= last
    }

    /// Adds a content type. Returns false if `text` is not valid.
    pub(super) fn add_content_type(&mut self, text: &str) -> bool {
        self.content_types.push(text.trim().to_ascii_lowercase());
        text.contains('/')
    }

    /// Adds a literal value that is not a message.
    pub(super) fn add_literal(&mut self, text: &str) {
        self.literals.push(text.trim().to_owned());
    }

    /// Returns the reason to skip a value because of its literal text, with or without quotes.
    pub(super) fn skip_value(&self, value: &[u8]) -> Option<Skip> {
        let value = value.trim_ascii();
        let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
        let is_literal = |literal: &String| literal.as_bytes() == unquoted;
        self.literals.iter().any(is_literal).then_some(Skip::Literal)
    }

    /// Returns the reason to skip a page with this status and content type.
    pub(super) fn skip_page(&self, status: Option<i64>, content_type: Option<&str>) -> Option<Skip> {
        let is_other = |status: i64| !self.statuses.iter().any(|range| range.contains(&status));
        if !self.statuses.is_empty() && status.is_some_and(is_other) {
            return Some(Skip::Status);
        }
        let media = content_type?.split(';').next()?.trim().to_ascii_lowercase();
        let fits = |wanted: &String| match wanted.strip_suffix('*') {
            Some(kind) => media.starts_with(kind),
            None => media == *wanted,
        };
        let is_other =
            !self.content_types.is_empty() && !media.is_empty() && !self.content_types.iter().any(fits);
        is_other.then_some(Skip::ContentType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_by_status_content_type_and_literal() {
        let mut filter = Filter::default();
        assert_eq!(filter.skip_page(Some(-5), Some("image/png")), None, "no filter");
        assert!(filter.add_status("200-299") && filter.add_status(" 304 "));
        assert!(filter.add_content_type("text/HTML") && filter.add_content_type("application/xhtml*"));
        filter.add_literal("json failed to parse");
        for (status, content_type, expected) in [
            (Some(200), Some("text/html; charset=gbk"), None),
            (Some(304), Some("Application/XHTML+xml"), None),
            (None, None, None),
            (None, Some(""), None),
            (Some(404), Some("text/html"), Some(Skip::Status)),
            (Some(-6), None, Some(Skip::Status)),
            (Some(200), Some("text/plain"), Some(Skip::ContentType)),
        ] {
            assert_eq!(filter.skip_page(status, content_type), expected, "{status:?} {content_type:?}");
        }
        assert_eq!(filter.skip_value(b" json failed to parse\n"), Some(Skip::Literal));
        assert_eq!(filter.skip_value(b"\"json failed to parse\""), Some(Skip::Literal));
        assert_eq!(filter.skip_value(b"{}"), None);
        for wrong in ["", "ok", "300-200", "200-"] {
            assert!(!Filter::default().add_status(wrong), "{wrong}");
        }
    }
}
