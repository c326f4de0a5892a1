//! The place of the WARC files that indexes name.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use super::location::{Location, is_object};
use super::machine_error::is_machine_error;
use super::stamp::Stamp;

/// The folder, or prefix in a store, of the WARC files that indexes name. A run reads its inputs twice. Both passes
/// share this value, so the run ends if a file is replaced in the meantime.
#[derive(Debug)]
pub struct WarcBase {
    base: PathBuf,
    /// A hash of the metadata of each file or object when it was first used. Memory: about 80 bytes per file.
    first: Mutex<HashMap<Box<str>, u64>>,
}

impl WarcBase {
    /// Creates the base from a folder, or from a prefix in a store, such as `s3://bucket/…`.
    #[must_use]
    pub fn new(base: &Path) -> Self {
        Self { base: base.to_owned(), first: Mutex::default() }
    }

    /// Returns the hashes of all files that were used so far, for a checkpoint.
    #[must_use]
    pub fn used(&self) -> BTreeMap<String, u64> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.iter().map(|(name, hash)| (name.to_string(), *hash)).collect()
    }

    /// Restores what [`Self::used`] returned in an earlier process.
    pub fn restore(&self, used: &BTreeMap<String, u64>) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.extend(used.iter().map(|(name, hash)| (name.as_str().into(), *hash)));
    }

    /// Returns the location of a file that an index names, or the reason why there is none.
    pub(crate) fn file(&self, name: &str) -> Result<Location, Missing> {
        // Indexes come from outside, so they may only name files below the base.
        let name = name.trim_start_matches("./");
        let is_below = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return Err(Missing::Named("the name does not lead to a file below --warc-base".to_owned()));
        }
        self.verify(name)?;
        if !is_object(&self.base) {
            return Ok(Location::File(self.path(name)));
        }
        Location::unseen_object(&self.path(name)).map_err(Missing::from_error)
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.base.to_string_lossy().trim_end_matches('/')))
    }

    /// Compares a file or object with its first use.
    ///
    /// # Errors
    /// The file or object was replaced or changed, which ends the run.
    pub(crate) fn verify(&self, name: &str) -> Result<(), Missing> {
        let path = self.path(name);
        let now = match is_object(&self.base) {
            // The store is not asked before the first range is read.
            true => Location::unseen_object(&path).map_err(Missing::from_error)?.first_answer(),
            // A missing file is reported when it is opened.
            false => std::fs::metadata(&path).ok().map(|file| format!("{:?}", Stamp::from_metadata(&file))),
        };
        let Some(now) = now.map(|now| xxh3_64(now.as_bytes())) else { return Ok(()) };
        let mut used = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        match used.get(name) {
            Some(first) if *first != now => {
                let error = format!(
                    "{}: the file was replaced or changed while this run read it, so its records differ from \
                     those that were decided on; run again, without a checkpoint",
                    path.display()
                );
                Err(Missing::Machine(io::Error::other(error)))
            }
            Some(_) => Ok(()),
            None => {
                used.insert(name.into(), now);
                Ok(())
            }
        }
    }
}

impl fmt::Display for WarcBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.display().fmt(f)
    }
}

/// The reason why bytes cannot be read.
#[derive(Debug)]
pub(crate) enum Missing {
    /// The index names something that does not exist. It becomes a dead letter.
    Named(String),
    /// The machine or the store fails. The run ends.
    Machine(io::Error),
}

impl Missing {
    pub(crate) fn from_error(error: io::Error) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// If only the index were compared, documents of a WARC file that is replaced between the two readings would be
    /// kept without a decision on them.
    #[test]
    fn a_file_that_is_replaced_while_it_is_read_ends_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.warc");
        std::fs::write(&path, "one record").expect("written");
        let base = WarcBase::new(folder.path());
        for _ in 0..2 {
            assert!(base.file("a.warc").is_ok() && base.verify("a.warc").is_ok());
        }
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "two record").expect("written");
        let Err(Missing::Machine(error)) = base.file("a.warc") else { panic!("it is another file") };
        assert!(error.to_string().contains("a.warc: the file was replaced"), "{error}");
        assert!(base.verify("a.warc").is_err());
        assert!(base.file("b.warc").is_ok(), "its reader reports that it is missing");
    }

    /// A run that is killed and continued must know which WARC files it has read before, so it does not read
    /// replaced ones.
    #[test]
    fn a_file_that_is_replaced_before_a_run_continues_ends_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.warc");
        std::fs::write(&path, "one record").expect("written");
        let before = WarcBase::new(folder.path());
        assert!(before.file("a.warc").is_ok());
        let resumed = || {
            let base = WarcBase::new(folder.path());
            base.restore(&before.used());
            base
        };
        assert!(resumed().file("a.warc").is_ok());
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "two record").expect("written");
        assert!(matches!(resumed().file("a.warc"), Err(Missing::Machine(_))));
    }
}
