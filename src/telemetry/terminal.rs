//! Text for people, on standard error and standard output.
//!
//! What a page, a message or a file name holds must not steer a terminal, so control characters
//! are written as escapes such as `\u{1b}`. And nothing may hang on whether somebody reads the
//! messages: what cannot be written to standard error is dropped, without a panic.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::limits::LOG_LINE_BYTES_MAX;

/// `text` on one line: every control character, line ends as well, as an escape.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, is_control)
}

/// `text` as it stands in lines: tabs and line feeds stay,
/// every other control character becomes an escape.
#[must_use]
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| is_control(c) && c != '\n' && c != '\t')
}

/// Whether a terminal may obey it: control characters, the marks that reorder text (by which
/// a line can be made to read otherwise than it stands), and Unicode's own line ends.
#[must_use]
pub fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape_if(text: &str, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' if escaped(c) => out.extend(c.escape_default()),
            _ if escaped(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether whoever sits at a terminal wants colours, by the convention of <https://no-color.org>.
#[must_use]
pub fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether messages are events of the log, so that whoever reads it as JSON finds nothing else there.
static NOTES_ARE_EVENTS: AtomicBool = AtomicBool::new(false);

/// From now on messages are events of the log.
pub fn notes_are_events() {
    NOTES_ARE_EVENTS.store(true, Ordering::Relaxed);
}

/// Whether the message has become an event of the log.
fn is_event(message: &str) -> bool {
    let is_event = NOTES_ARE_EVENTS.load(Ordering::Relaxed);
    if is_event {
        tracing::info!("{}", message.trim_end());
    }
    is_event
}

/// Writes one message to standard error, on one line.
pub fn note(message: impl fmt::Display) {
    let message = message.to_string();
    if is_event(&message) {
        return;
    }
    write_to_standard_error(&format!("leitong: {}\n", escape(&message)));
}

/// Writes text of several lines to standard error, as it stands but for control characters.
pub fn note_lines(text: impl fmt::Display) {
    let text = text.to_string();
    if is_event(&text) {
        return;
    }
    write_to_standard_error(&escape_lines(&text));
}

/// All at once, so that lines of several threads do not
/// mix. That nobody can read them is no reason to stop.
fn write_to_standard_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes text for people to standard output. On a terminal, control characters
/// become escapes; a file or another program gets the text as it is.
///
/// # Errors
/// What the operating system says, a reader that is gone among it.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { escape_lines(text) } else { Cow::Borrowed(text) };
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Where log lines go: standard error, each of [`LOG_LINE_BYTES_MAX`] at most.
#[derive(Debug, Clone, Copy)]
pub enum LogLines {
    /// For people: cut, and without control characters but those that colour it.
    Text,
    /// JSON, which has no control characters: of a line that
    /// is too long the strings are cut, so that it is still JSON.
    Json,
}

impl Write for LogLines {
    /// `tracing-subscriber` hands each line over in one go.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        write_to_standard_error(&match self {
            Self::Text => Cow::Owned(log_line(&line)),
            Self::Json => json_log_line(&line),
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn json_log_line(line: &str) -> Cow<'_, str> {
    if line.len() <= LOG_LINE_BYTES_MAX {
        return Cow::Borrowed(line);
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else { return Cow::Borrowed(line) };
    // An eighth each: an event has few fields, and seldom two that are long.
    for value in fields.values_mut() {
        if let Value::String(text) = value
            && text.len() > LOG_LINE_BYTES_MAX / 8
        {
            let end = text.floor_char_boundary(LOG_LINE_BYTES_MAX / 8);
            *text = format!("{}… ({} bytes in all)", &text[..end], text.len());
        }
    }
    Cow::Owned(format!("{}\n", Value::Object(fields)))
}

/// The colours are `tracing-subscriber`'s own: it has made escapes of all others.
fn log_line(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let shown = escape_if(line, |c| is_control(c) && c != '\u{1b}');
    if shown.len() <= LOG_LINE_BYTES_MAX {
        return format!("{shown}\n");
    }
    let end = shown.floor_char_boundary(LOG_LINE_BYTES_MAX);
    let reset = if shown.contains('\u{1b}') { "\u{1b}[0m" } else { "" };
    format!("{}… ({} bytes in all){reset}\n", &shown[..end], shown.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes_and_all_else_stays() {
        for text in ["", "plain", "中文 \u{3000}é", "🦀 \\u{1b}"] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
        assert_eq!(
            escape("a\u{1b}[31m\u{7}\0\r\n\tb\u{7f}\u{9b}c"),
            r"a\u{1b}[31m\u{7}\u{0}\r\n\tb\u{7f}\u{9b}c"
        );
        assert_eq!(escape("gpj\u{202e}exe\u{2028}"), r"gpj\u{202e}exe\u{2028}");
        assert_eq!(escape_lines("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
    }

    #[test]
    fn json_log_lines_stay_json_when_they_are_cut() {
        let line = serde_json::json!({ "level": "WARN", "message": "长".repeat(100_000), "number": 7 });
        let cut: Value = serde_json::from_str(&json_log_line(&format!("{line}\n"))).expect("JSON");
        assert_eq!((&cut["level"], &cut["number"]), (&line["level"], &line["number"]));
        let message = cut["message"].as_str().expect("a string");
        assert!(message.len() < LOG_LINE_BYTES_MAX && message.ends_with("(300000 bytes in all)"));
    }

    #[test]
    fn log_lines_are_one_line_of_bounded_length() {
        assert_eq!(log_line("\u{1b}[32mINFO\u{1b}[0m a\nb\r\n"), "\u{1b}[32mINFO\u{1b}[0m a\\nb\\r\n");
        let long = log_line(&format!("url={}\n", "长".repeat(100_000)));
        assert!(
            long.len() < LOG_LINE_BYTES_MAX + 40 && long.ends_with("(300004 bytes in all)\n"),
            "{}",
            long.len()
        );
    }
}
