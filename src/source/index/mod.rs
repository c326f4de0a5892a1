//! Indexes of WARC files (CDX with 9 or 11 columns, CDXJ as pywb and Common Crawl have it): only the records that an
//! index names are read, in its order.
//!
//! In: an index, and where the files lie that it names. Out: records, each with the number of its line ([`records`] for
//! pages, [`originals`] as they are), from ranges of bytes that are fetched side by side ([`ranges`]). A line that names no
//! record, and a range without one, cost only themselves.

mod line;
pub mod originals;
mod ranges;
pub mod records;

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::location::{Location, is_object};
use super::open::is_machine_error;

/// Where the WARC files lie that indexes name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcBase(PathBuf);

impl WarcBase {
    /// The folder `base`, or `s3://bucket/…`.
    #[must_use]
    pub fn new(base: &Path) -> Self {
        Self(base.to_owned())
    }

    /// The file that an index calls so, or why there is none.
    fn file(&self, name: &str) -> Result<Location, Missing> {
        // An index comes from elsewhere: what it names is below the base.
        let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return Err(Missing::Named("names no file below --warc-base".to_owned()));
        }
        let base = self.0.to_string_lossy();
        let path = PathBuf::from(format!("{}/{name}", base.trim_end_matches('/')));
        if !is_object(&self.0) {
            return Ok(Location::File(path));
        }
        Location::unseen_object(&path).map_err(Missing::of)
    }
}

impl fmt::Display for WarcBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Why bytes cannot be had.
#[derive(Debug)]
enum Missing {
    /// The index names what is not there: a dead letter.
    Named(String),
    /// The machine or the store cannot be read: the run ends.
    Machine(io::Error),
}

impl Missing {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => Self::Named(error.to_string()),
            _ if is_machine_error(&error) => Self::Machine(error),
            // The name leads to no file that can be read, which says nothing of other names.
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::PermissionDenied => Self::Named(error.to_string()),
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                Self::Named(error.to_string())
            }
            _ => Self::Machine(error),
        }
    }
}
