//! Standard input and output, and text for people on standard output and standard error.
//!
//! Text from pages, messages and file names must not control a terminal, so control characters are written as
//! escapes such as `\u{1b}`. The program must run even if nobody reads its messages, so text that cannot be
//! written to standard error is dropped without a panic.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Stdin, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Escapes every control character, including line ends, so `text` stays on one line.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_if(text, is_control)
}

/// Escapes every control character except tabs and line feeds.
#[must_use]
pub fn escape_lines(text: &str) -> Cow<'_, str> {
    escape_if(text, |c| is_control(c) && c != '\n' && c != '\t')
}

/// Returns true for characters that may control a terminal: control characters, marks that reorder text (and
/// can make a line read differently than it is written), and Unicode's own line ends.
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

/// True if standard input cannot be read. Reading it would only give its end.
static INPUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// True if standard output cannot be written. The runtime of Rust would report no error.
static OUTPUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Standard input and output.
#[derive(Debug)]
pub struct Streams;

impl Streams {
    /// Records which streams were closed when the program started, or open in the other direction only.
    pub fn note_closed(input: bool, output: bool) {
        INPUT_IS_CLOSED.store(input, Ordering::Relaxed);
        OUTPUT_IS_CLOSED.store(output, Ordering::Relaxed);
    }

    /// Returns standard input.
    ///
    /// # Errors
    /// It is closed.
    pub fn input() -> io::Result<Stdin> {
        match INPUT_IS_CLOSED.load(Ordering::Relaxed) {
            true => Err(io::Error::other("it is closed, or not open for reading")),
            false => Ok(io::stdin()),
        }
    }

    /// Returns standard output.
    ///
    /// # Errors
    /// It is closed.
    pub fn output() -> io::Result<Stdout> {
        match OUTPUT_IS_CLOSED.load(Ordering::Relaxed) {
            true => Err(io::Error::other("standard output is closed, or not open for writing")),
            false => Ok(io::stdout()),
        }
    }

    /// Writes text for people to standard output. On a terminal, control characters become escapes; a file or
    /// another program gets the text unchanged.
    ///
    /// # Errors
    /// The error of the operating system, also if the reader is gone.
    pub fn print(text: &str) -> io::Result<()> {
        let mut out = Self::output()?.lock();
        let text = if out.is_terminal() { escape_lines(text) } else { Cow::Borrowed(text) };
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

/// True if messages are logged as events, so a reader of the JSON log finds nothing else on standard error.
static NOTES_ARE_EVENTS: AtomicBool = AtomicBool::new(false);

/// Turns messages into events of the log from now on.
pub fn notes_are_events() {
    NOTES_ARE_EVENTS.store(true, Ordering::Relaxed);
}

/// Logs the message as an event if messages are events, and returns true if it did.
fn log_as_event(message: &str) -> bool {
    let is_event = NOTES_ARE_EVENTS.load(Ordering::Relaxed);
    if is_event {
        tracing::info!("{}", message.trim_end());
    }
    is_event
}

/// Writes one message to standard error, on one line.
pub fn note(message: impl fmt::Display) {
    let message = message.to_string();
    if log_as_event(&message) {
        return;
    }
    write_to_standard_error(&format!("leitong: {}\n", escape(&message)));
}

/// Writes text of several lines to standard error, with control characters escaped.
pub fn note_lines(text: impl fmt::Display) {
    let text = text.to_string();
    if log_as_event(&text) {
        return;
    }
    write_to_standard_error(&escape_lines(&text));
}

/// Writes the text in one call, so lines of several threads do not mix. Errors are ignored: a missing
/// reader is not a reason to stop.
fn write_to_standard_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes_and_all_other_text_stays() {
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
}
