//! Opens a file in the user's browser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::cli::files::documents;

/// Writes a page to a new temporary file. The file is not deleted, since the browser may read it later.
pub(crate) fn temporary(page: &str) -> anyhow::Result<PathBuf> {
    let mut file = tempfile::Builder::new().prefix("leitong-compare-").suffix(".html").tempfile()?;
    file.write_all(page.as_bytes()).context("cannot write the page")?;
    let (_, path) = file.keep().context("cannot keep the page")?;
    Ok(path)
}

/// Opens `path` with the browser, if there is one, and prints the path.
pub(crate) fn open(path: &Path) -> anyhow::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    // On a remote machine there is no browser, so the path is printed as well.
    let _ = Command::new(program)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    documents::print(&format!("{}\n", path.display()))
}
