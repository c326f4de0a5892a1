//! A file in the browser of whoever sits before this machine.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use super::documents;

/// Writes a page to a file of its own, which stays: the browser reads it when it likes.
pub(super) fn temporary(page: &str) -> anyhow::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("leitong-compare-").suffix(".html").tempfile()?;
    file.write_all(page.as_bytes()).context("cannot write the page")?;
    let (_, path) = file.keep().context("cannot keep the page")?;
    Ok(path)
}

/// Opens `path` with the browser, if there is one, and prints where it is.
pub(super) fn open(path: &Path) -> anyhow::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // Who is at the other end of a line has no browser here; the path is for them.
    let _ = Command::new(program)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    documents::print(&format!("{}\n", path.display()))
}
