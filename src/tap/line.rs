//! Formats a verdict or a dead letter as one line for people.
//!
//! Text from pages is escaped and cut. A field with white space is put in quotes, so text in a url cannot be
//! mistaken for text of this program.

use std::fmt::Write as _;

use serde_json::Value;

use super::message::{DEAD_LETTER, Tapped, UNREADABLE};
use leitong_base::terminal::escape;

/// Longest url, id or explanation that is shown, in characters.
const FIELD_CHARS_MAX: usize = 160;

/// Formats `tapped` as one line, without a line end. With `colours`, the kind has an ANSI colour.
pub(crate) fn format_line(tapped: &Tapped, colours: bool) -> String {
    let kind = tapped.text("kind");
    // People need no more than seconds. The time of a verdict is that of the decision; otherwise it is the
    // time of the message.
    let time = Some(tapped.text("decided_at")).filter(|time| !time.is_empty());
    let time = time.unwrap_or_else(|| tapped.text("time"));
    let time = time.get(..19).map_or_else(|| "-".repeat(19), |time| format!("{time}Z"));
    let mut out = format!("{} ", field(&time));
    let (begin, end) = if colours { (colour(kind), "\u{1b}[0m") } else { ("", "") };
    let _ = write!(out, "{begin}{:<15}{end}", field(kind));
    match kind {
        DEAD_LETTER => {
            let source = tapped.fields.get("source");
            let _ = write!(out, " {} {}", place(source), field(tapped.text("cause")));
            more(&mut out, " ", tapped.text("message"));
        }
        UNREADABLE => {
            let _ = write!(out, " {}", place(tapped.fields.get("source")));
            more(&mut out, " ", tapped.text("problem"));
        }
        _ => verdict(tapped, kind, &mut out),
    }
    out
}

fn verdict(tapped: &Tapped, kind: &str, out: &mut String) {
    let _ = write!(out, " {} {}", field(tapped.text("corpus")), field(tapped.text("url")));
    match kind {
        "UNIQUE" => more(out, " related to ", tapped.text("related_url")),
        "UNDECIDABLE" => more(out, " ", tapped.text("reason")),
        _ => {
            let is_itself = tapped.fields.get("same_url") == Some(&Value::Bool(true));
            more(out, if is_itself { " same page as " } else { " of " }, tapped.text("canonical_url"));
        }
    }
    more(out, " ", tapped.text("relation"));
    for (name, what) in [("distance", "distance"), ("similarity", "similarity")] {
        if let Some(Value::Number(number)) = tapped.fields.get(name) {
            let _ = write!(out, " {what}={number}");
        }
    }
    more(out, " replaces ", tapped.text("replaces_url"));
}

/// Appends `before` and a field, if the field is not empty.
fn more(out: &mut String, before: &str, text: &str) {
    if !text.is_empty() {
        let _ = write!(out, "{before}{}", field(text));
    }
}

/// Formats a place in a topic as `topic[partition]@offset`.
fn place(place: Option<&Value>) -> String {
    let Some(place) = place else { return "-".to_owned() };
    let number = |name: &str| place[name].as_u64().map_or("?".to_owned(), |number| number.to_string());
    let topic = place["topic"].as_str().unwrap_or("?");
    format!("{}[{}]@{}", field(topic), number("partition"), number("offset"))
}

/// Formats text from a page or crawler: escaped, cut, and in quotes if it is empty or contains white space.
fn field(text: &str) -> String {
    let cut = match text.char_indices().nth(FIELD_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    match cut.is_empty() || cut.contains(|c: char| c.is_whitespace() || c == '"') {
        true => format!("\"{}\"", escape(&cut).replace('"', "\\\"")),
        false => escape(&cut).into_owned(),
    }
}

fn colour(kind: &str) -> &'static str {
    match kind {
        "UNIQUE" => "\u{1b}[32m",
        "EXACT_DUPLICATE" => "\u{1b}[36m",
        "NEAR_DUPLICATE" => "\u{1b}[34m",
        "UNDECIDABLE" => "\u{1b}[33m",
        _ => "\u{1b}[31m",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use leitong_base::terminal::is_control;
    use leitong_kafka::Received;

    fn shown(verdict: &Value) -> String {
        let value = Some(verdict.to_string().into_bytes());
        format_line(&Tapped::verdict(&Received { value, ..Received::default() }), false)
    }

    #[test]
    fn lines_show_the_fields_that_matter() {
        let near = json!({
            "kind": "NEAR_DUPLICATE", "corpus": "default", "url": "https://b.example/1", "distance": 6,
            "similarity": 0.9062, "relation": "SAME", "canonical_url": "https://a.example/1",
            "decided_at": "2026-11-21T08:00:00.123Z",
        });
        assert_eq!(
            shown(&near),
            "2026-11-21T08:00:00Z NEAR_DUPLICATE  default https://b.example/1 of https://a.example/1 SAME \
             distance=6 similarity=0.9062"
        );
        let undecidable =
            json!({ "kind": "UNDECIDABLE", "corpus": "a b", "url": "", "reason": "NO_CONTENT" });
        assert_eq!(shown(&undecidable), "------------------- UNDECIDABLE     \"a b\" \"\" NO_CONTENT");
        let letter = Received {
            timestamp_ms: Some(0),
            headers: [("topic", "pages"), ("partition", "2"), ("offset", "7")]
                .map(|(name, value)| (format!("__connect.errors.{name}"), Some(value.into())))
                .into(),
            ..Received::default()
        };
        assert_eq!(
            format_line(&Tapped::dead_letter(&letter), false),
            "1970-01-01T00:00:00Z DEAD_LETTER     pages[2]@7 \"\""
        );
        assert!(
            format_line(&Tapped::dead_letter(&letter), true).contains("\u{1b}[31mDEAD_LETTER    \u{1b}[0m")
        );
    }

    proptest::proptest! {
        /// Urls, ids and reasons come from pages, so anybody may choose them.
        #[test]
        fn lines_contain_no_control_characters_and_are_short(text in "\\PC{0,9}[\u{0}-\u{ff}\u{202e}\u{2066} \"]{0,400}") {
            let verdict = json!({
                "kind": "NEAR_DUPLICATE", "corpus": text, "url": text, "canonical_url": text, "relation": text,
                "decided_at": text, "replaces_url": text,
            });
            let shown = shown(&verdict);
            proptest::prop_assert!(!shown.contains(is_control), "{shown:?}");
            // An escape is at most eight characters long.
            proptest::prop_assert!(shown.chars().count() < 7 * 8 * (FIELD_CHARS_MAX + 9), "{shown:?}");
            proptest::prop_assert!(!shown.contains(" distance="), "{shown:?}");
        }
    }
}
