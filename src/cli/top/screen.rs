//! A terminal screen that is redrawn, and its keyboard; or plain text if standard output is not a terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Read, Stdout, Write};
use std::time::Duration;

use anyhow::Context;
use leitong_base::terminal;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use unicode_width::UnicodeWidthChar;

use crate::backoff::backoff;
use crate::cli::documents;

/// Maximum wait for a key, in tenths of a second.
const KEY_WAIT: u8 = 2;

/// Output for frames of lines.
pub(super) struct Screen {
    is_terminal: bool,
    /// The keyboard's former settings; `None` if there is no keyboard.
    keyboard: Option<Termios>,
    /// True if a frame was printed, so the next one needs an empty line before it.
    printed: bool,
}

impl Screen {
    pub(super) fn open() -> anyhow::Result<Self> {
        let is_terminal = io::stdout().is_terminal();
        let mut screen = Self { is_terminal, keyboard: None, printed: false };
        if is_terminal {
            // Switches to the alternate screen, so the shell's lines stay as they are, and hides the cursor.
            write(b"\x1b[?1049h\x1b[?25l")?;
        }
        if is_terminal && io::stdin().is_terminal() {
            let before = tcgetattr(io::stdin()).context("cannot read the settings of the terminal")?;
            let mut keys = before.clone();
            // Keys arrive at once and are not echoed; Ctrl-C stays a signal. A read ends after a while.
            keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            keys.special_codes[SpecialCodeIndex::VMIN] = 0;
            keys.special_codes[SpecialCodeIndex::VTIME] = KEY_WAIT;
            screen.keyboard = Some(before);
            tcsetattr(io::stdin(), OptionalActions::Now, &keys).context("cannot set up the terminal")?;
        }
        Ok(screen)
    }

    /// Shows these lines. On a terminal they replace the last frame; otherwise they are printed after it.
    pub(super) fn show(&mut self, lines: &[String]) -> anyhow::Result<()> {
        if !self.is_terminal {
            let between = if self.printed { "\n" } else { "" };
            self.printed = true;
            return documents::print(&format!("{between}{}\n", lines.join("\n")));
        }
        let size = tcgetwinsize(io::stdout()).ok();
        let or =
            |found: Option<u16>, usual: usize| found.filter(|found| *found > 0).map_or(usual, usize::from);
        let (columns, rows) = (or(size.map(|size| size.ws_col), 80), or(size.map(|size| size.ws_row), 24));
        let mut out = "\x1b[H".to_owned();
        for (at, line) in lines.iter().take(rows).enumerate() {
            let _ = write!(out, "{}{}\x1b[K", if at == 0 { "" } else { "\r\n" }, cut(line, columns));
        }
        out.push_str("\x1b[J");
        write(out.as_bytes())
    }

    /// Waits for a moment. Returns true if `q` was typed.
    pub(super) fn wait_for_quit(&self) -> anyhow::Result<bool> {
        if self.keyboard.is_none() {
            backoff(Duration::from_millis(u64::from(KEY_WAIT) * 100));
            return Ok(false);
        }
        let mut keys = [0; 64];
        match io::stdin().lock().read(&mut keys) {
            Ok(count) => Ok(keys[..count].iter().any(|key| matches!(key, b'q' | b'Q'))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error).context("cannot read the keyboard"),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(before) = &self.keyboard {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
        if self.is_terminal {
            let _ = write(b"\x1b[?25h\x1b[?1049l");
        }
    }
}

fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let write = |mut out: Stdout| out.write_all(bytes).and_then(|()| out.flush());
    terminal::Streams::output().and_then(write).context("cannot write to standard output")
}

/// Returns the part of a line that fits into `columns` columns.
fn cut(line: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in line.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &line[..at];
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn lines_are_cut_by_columns() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc");
        assert_eq!(cut("雷同a", 4), "雷同");
        assert_eq!(cut("雷同", 3), "雷");
        assert_eq!(cut("abc", 0), "");
    }
}
