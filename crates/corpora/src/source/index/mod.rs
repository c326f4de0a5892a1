//! Reads WARC files through an index (CDX with 9 or 11 columns, or CDXJ in the format of pywb and Common
//! Crawl): only the records that the index names are read, in the order of the index.
//!
//! In: an index, and the folder of the WARC files. Out: records, numbered by their line in the index
//! ([`records`] for pages, [`originals`] for unchanged records). Several byte ranges are fetched at the same
//! time ([`ranges`]). If a line names no record, or a range contains none, only that line is lost.

mod line;
pub mod originals;
mod ranges;
pub mod records;

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::location::{Location, is_object};
use super::open::is_machine_error;

/// The folder, or prefix in a store, of the WARC files that indexes name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WarcBase(PathBuf);

impl WarcBase {
    /// Creates it from a folder, or from `s3://bucket/…`.
    #[must_use]
    pub fn new(base: &Path) -> Self {
        Self(base.to_owned())
    }

    /// Returns the location of a file that an index names, or the reason why there is none.
    fn file(&self, name: &str) -> Result<Location, Missing> {
        // Indexes come from outside, so they may only name files below the base.
        let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return Err(Missing::Named("the name does not lead to a file below --warc-base".to_owned()));
        }
        let base = self.0.to_string_lossy();
        let path = PathBuf::from(format!("{}/{name}", base.trim_end_matches('/')));
        if !is_object(&self.0) {
            return Ok(Location::File(path));
        }
        Location::unseen_object(&path).map_err(Missing::from_error)
    }
}

impl fmt::Display for WarcBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// The reason why bytes cannot be read.
#[derive(Debug)]
enum Missing {
    /// The index names something that does not exist. It becomes a dead letter.
    Named(String),
    /// The machine or the store fails. The run ends.
    Machine(io::Error),
}

impl Missing {
    fn from_error(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => Self::Named(error.to_string()),
            _ if is_machine_error(&error) => Self::Machine(error),
            // The name leads to no readable file. Other names may still be readable.
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
