//! The log on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use serde_json::Value;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use leitong_base::terminal;

/// Maximum length of one line in the log, in bytes. Longer lines are truncated.
const LOG_LINE_BYTES_MAX: usize = 4 * 1024;

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    /// Lines of text
    Text,
    /// One JSON object per line
    Json,
}

/// Sets up the log on standard error. `RUST_LOG` chooses what is logged: a level, or modules with levels, as
/// in `info,leitong_kafka=debug`.
pub(super) fn to_standard_error(format: LogFormat) {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let default = Targets::new().with_default(LevelFilter::INFO);
    let (filter, refused) = match wanted.parse::<Targets>() {
        _ if wanted.is_empty() => (default, None),
        Ok(filter) => (filter, None),
        Err(error) => (default, Some(error)),
    };
    let colours = colours_wanted() && io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer().with_target(false);
    let layer = match format {
        LogFormat::Text => layer.with_writer(|| LogLines::Text).with_ansi(colours).boxed(),
        LogFormat::Json => {
            terminal::notes_are_events();
            layer.json().flatten_event(true).with_writer(|| LogLines::Json).boxed()
        }
    };
    tracing_subscriber::registry().with(layer).with(filter).init();
    if let Some(why) = refused {
        tracing::warn!(
            "RUST_LOG = {wanted:?} is ignored: {why}; use a level such as info, or modules with levels such as info,leitong_kafka=debug"
        );
    }
}

/// Returns true if the user wants colours on a terminal, by the convention of <https://no-color.org>.
pub(super) fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Writer of log lines to standard error. Lines have at most [`LOG_LINE_BYTES_MAX`] bytes.
#[derive(Debug, Clone, Copy)]
enum LogLines {
    /// Text: long lines are cut, and control characters other than those of colours are escaped.
    Text,
    /// JSON, which has no control characters. The strings of a long line are cut, so it stays valid JSON.
    Json,
}

impl Write for LogLines {
    /// Writes a line. `tracing-subscriber` passes each line in one call.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        let line = match self {
            Self::Text => Cow::Owned(log_line(&line)),
            Self::Json => json_log_line(&line),
        };
        // A missing reader is not a reason to stop.
        let _ = io::stderr().write_all(line.as_bytes());
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
    // Each long string gets an eighth of the line, because an event has few fields, and seldom two long ones.
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

/// Escapes and cuts a line of text. The line's escape characters belong to the colours of
/// `tracing-subscriber`, which has escaped all other control characters.
fn log_line(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let shown: Vec<_> = line.split('\u{1b}').map(terminal::escape).collect();
    let shown = shown.join("\u{1b}");
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
