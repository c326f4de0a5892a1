//! The location of an input: a file, or an object in a store.
//!
//! Only this module and [`object`](super::object) distinguish the two. Stores are available only in builds
//! with the feature `stores`.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
#[cfg(feature = "stores")]
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::fetch::Fetch;
use super::machine_error::MachineError;
#[cfg(feature = "stores")]
pub use super::object::output::OutputObject;
#[cfg(feature = "stores")]
use super::object::{Object, blocks::Blocks, blocks::BlocksReader};
use super::stamp::Stamp;

/// The part of object names before `://`.
const SCHEMES: [&str; 4] = ["s3", "gs", "az", "hf"];

/// Returns true if an input names one or several objects in a store.
#[must_use]
pub fn is_object(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    SCHEMES
        .iter()
        .any(|scheme| name.strip_prefix(scheme.as_bytes()).is_some_and(|rest| rest.starts_with(b"://")))
}

/// The location of an input that can be read more than once.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    /// A file.
    File(PathBuf),
    /// An object of a store.
    #[cfg(feature = "stores")]
    Object(Arc<Object>),
}

impl Location {
    /// Looks up the object with this name.
    ///
    /// # Errors
    /// There is no such object, or the request to its store fails.
    #[cfg(feature = "stores")]
    pub(crate) fn object(path: &Path) -> io::Result<Self> {
        Object::at(path).map(Self::Object)
    }

    /// Returns the location of an object without checking that it exists.
    ///
    /// # Errors
    /// The name is not valid.
    #[cfg(feature = "stores")]
    pub(crate) fn unseen_object(path: &Path) -> io::Result<Self> {
        Object::unseen(path).map(Self::Object)
    }

    /// Always fails, because this build does not support stores.
    ///
    /// # Errors
    /// This build does not support stores.
    #[cfg(not(feature = "stores"))]
    pub(crate) fn unseen_object(path: &Path) -> io::Result<Self> {
        Self::object(path)
    }

    /// Always fails, because this build does not support stores.
    ///
    /// # Errors
    /// This build does not support stores.
    #[cfg(not(feature = "stores"))]
    pub(crate) fn object(_: &Path) -> io::Result<Self> {
        Err(no_stores())
    }

    /// Returns the size in bytes. `None` if it is unknown, or the location is not a regular file.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::File(path) => {
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
            }
            #[cfg(feature = "stores")]
            Self::Object(object) => Some(object.bytes()),
        }
    }

    /// Returns the version of an object, if it has one. `None` for files.
    pub(crate) fn version(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "stores")]
            Self::Object(object) => object.version(),
        }
    }

    /// Returns the time of the last modification of an object without a version, in seconds since 1970, if its store
    /// gives it.
    pub(crate) fn modified(&self) -> Option<i64> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "stores")]
            Self::Object(object) => object.modified().filter(|_| object.version().is_none()),
        }
    }

    /// Returns the first answer of a store about an object. `None` for files, and before the store was asked.
    pub(crate) fn first_answer(&self) -> Option<String> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "stores")]
            Self::Object(object) => match (object.version(), object.modified()) {
                (None, None) if object.bytes() == 0 => None,
                (version, modified) => Some(format!("{version:?} {modified:?} {}", object.bytes())),
            },
        }
    }

    /// Opens the input for reading from start to end.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => Ok(Box::new(File::open(path)?)),
            #[cfg(feature = "stores")]
            Self::Object(object) => Ok(Box::new(BlocksReader::new(Arc::new(Blocks::in_order(object)), 0))),
        }
    }

    /// Opens the input like [`Self::reader`], and also returns the metadata of the opened file.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn stamped_reader(&self) -> io::Result<(Option<Stamp>, Box<dyn Read + Send>)> {
        match self {
            Self::File(path) => {
                let file = File::open(path)?;
                Ok((Some(Stamp::from_metadata(&file.metadata()?)), Box::new(file)))
            }
            #[cfg(feature = "stores")]
            Self::Object(_) => Ok((None, self.reader()?)),
        }
    }

    /// Starts to read the bytes at `range`. The result is shorter if the input ends within the range.
    ///
    /// # Errors
    /// The operating system's error, or the runtime's threads cannot be started.
    pub(crate) fn fetch(&self, range: Range<u64>) -> io::Result<Fetch> {
        match self {
            Self::File(path) => Fetch::start_read(path, range),
            #[cfg(feature = "stores")]
            Self::Object(object) => object.fetch(range),
        }
    }

    /// Opens the input for reading at any position.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn open(&self) -> io::Result<Stored> {
        match self {
            Self::File(path) => {
                let file = File::open(path)?;
                let bytes = file.metadata()?.len();
                Ok(Stored::File(file, bytes))
            }
            #[cfg(feature = "stores")]
            Self::Object(object) => Ok(Stored::Object(Arc::new(Blocks::at_any_place(object)))),
        }
    }
}

/// Creates the error for the name of an object.
#[cfg(not(feature = "stores"))]
fn no_stores() -> io::Error {
    let problem = "this program was built without the feature `stores` and knows only files; build it with \
                   `cargo build --release --features stores`, or copy the objects to files first";
    io::Error::new(io::ErrorKind::Unsupported, problem)
}

/// An object that is written. This build has none.
#[cfg(not(feature = "stores"))]
#[derive(Debug, Clone)]
pub enum OutputObject {}

#[cfg(not(feature = "stores"))]
impl OutputObject {
    /// Always fails, because this build does not support stores.
    ///
    /// # Errors
    /// This build does not support stores.
    pub fn new(_: &Path) -> io::Result<Self> {
        Err(no_stores())
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn check_bucket(&self) -> io::Result<()> {
        match *self {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn exists(&self) -> io::Result<bool> {
        match *self {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn remove(&self) -> io::Result<()> {
        match *self {}
    }

    /// Is never called.
    ///
    /// # Errors
    /// None.
    pub fn put(&self, _: &Path) -> io::Result<()> {
        match *self {}
    }
}

/// Creates the error for a file that loses bytes while it is read.
pub(super) fn shortened() -> io::Error {
    let problem =
        "the file became shorter while this run read it, so documents at its end were lost; run again";
    io::Error::other(MachineError::new(io::Error::other(problem)))
}

/// An open input that can be read at any position.
#[derive(Debug)]
pub(crate) enum Stored {
    /// A file, and its size when it was opened.
    File(File, u64),
    /// An object of a store.
    #[cfg(feature = "stores")]
    Object(Arc<Blocks>),
}

impl Stored {
    /// Creates another handle for the same input.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::File(file, bytes) => Ok(Self::File(file.try_clone()?, *bytes)),
            #[cfg(feature = "stores")]
            Self::Object(blocks) => Ok(Self::Object(Arc::clone(blocks))),
        }
    }

    /// Fills `buffer` with the bytes at `offset`. Returns false if the input ends before the buffer is full. Does not
    /// move a file position.
    ///
    /// # Errors
    /// The error of the operating system or the store.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<bool> {
        match self {
            Self::File(file, _) => match file.read_exact_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
                read => read.map(|()| true),
            },
            #[cfg(feature = "stores")]
            Self::Object(blocks) => {
                if offset.saturating_add(buffer.len() as u64) > blocks.bytes() {
                    return Ok(false);
                }
                buffer.copy_from_slice(&blocks.range(offset, buffer.len())?);
                Ok(true)
            }
        }
    }

    /// Returns the last error of the machine or the store, if there was one: libraries such as `parquet` only
    /// pass on its message. Also an error if the file has become shorter since it was opened.
    pub(crate) fn failure(&self) -> Option<io::Error> {
        match self {
            Self::File(file, bytes) => match file.metadata() {
                Ok(now) => (now.len() < *bytes).then(shortened),
                Err(error) => Some(error),
            },
            #[cfg(feature = "stores")]
            Self::Object(blocks) => blocks.failure(),
        }
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        match self {
            Self::File(file, _) => Length::len(file),
            #[cfg(feature = "stores")]
            Self::Object(blocks) => blocks.bytes(),
        }
    }
}

impl ChunkReader for Stored {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Self::File(file, _) => Ok(Box::new(file.get_read(start)?)),
            #[cfg(feature = "stores")]
            Self::Object(blocks) => Ok(Box::new(BlocksReader::new(Arc::clone(blocks), start))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::File(file, _) => file.get_bytes(start, length),
            #[cfg(feature = "stores")]
            Self::Object(blocks) if start.saturating_add(length as u64) > blocks.bytes() => {
                Err(ParquetError::EOF(format!("{length} bytes at {start} are after the end")))
            }
            #[cfg(feature = "stores")]
            Self::Object(blocks) => Ok(blocks.range(start, length)?),
        }
    }
}
