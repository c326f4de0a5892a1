//! Opens an input for a second reading, and checks that it has the same bytes as in the first one.

use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};

use crate::source::open::Input;
use crate::source::reading::Reading;

/// Opens the input at `path` for a second reading. `first` is the record of the first one.
pub(super) fn open_again<T>(
    path: &Path,
    first: &Reading,
    into: impl FnOnce(Input) -> io::Result<T>,
) -> anyhow::Result<(Arc<Reading>, T)> {
    let open = || {
        let mut input = Input::open(path)?;
        let again = Arc::new(Reading::again(input.version()));
        input.reading = Some(Arc::clone(&again));
        Ok((again, into(input)?))
    };
    let opened: io::Result<_> = open();
    let (again, opened) = opened.with_context(|| format!("{}", path.display()))?;
    ensure!(!first.is_surely_another(&again), "{}: {REPLACED}", path.display());
    Ok((again, opened))
}

/// Compares a second reading that has ended with the `first` one.
pub(super) fn check_unchanged(path: &Path, first: &Reading, again: &Reading) -> anyhow::Result<()> {
    let is_same = first.is_same(again, path).with_context(|| format!("{}", path.display()))?;
    ensure!(is_same, "{}: {REPLACED}", path.display());
    Ok(())
}

/// Message about an input that has changed since the first reading.
pub(super) const REPLACED: &str = "the file was replaced or changed while this run read it, so some of its documents were never decided \
                        on, or have other columns, and the outputs are incomplete; run again";
