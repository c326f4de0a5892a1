//! Where an input lies, and what can be read there at any place: a file, or an object of a store.
//!
//! All that knows the one from the other is in this module and in [`object`](super::object), which only builds with the
//! feature `s3` have.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
#[cfg(feature = "s3")]
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::fetch::Fetch;
#[cfg(feature = "s3")]
use super::object::{Object, blocks::Blocks, blocks::BlocksReader};
use super::reading::Stamp;

/// How the name of an object begins.
const OBJECT: &str = "s3://";

/// Whether an input is named as an object of a store, or as many of them.
#[must_use]
pub fn is_object(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.starts_with(OBJECT))
}

/// Whether an input can be read as often as one likes.
#[must_use]
pub fn can_be_read_again(path: &Path) -> bool {
    is_object(path) || path.is_file()
}

/// Where an input lies that can be read as often as one likes.
#[derive(Debug, Clone)]
pub enum Location {
    /// A file.
    File(PathBuf),
    /// An object of a store.
    #[cfg(feature = "s3")]
    Object(Arc<Object>),
}

impl Location {
    /// The object that is called so.
    ///
    /// # Errors
    /// There is none, or its store does not say.
    #[cfg(feature = "s3")]
    pub fn object(path: &Path) -> io::Result<Self> {
        Object::at(path).map(Self::Object)
    }

    /// The same without a look whether it is there.
    ///
    /// # Errors
    /// There can be none.
    #[cfg(feature = "s3")]
    pub fn unseen_object(path: &Path) -> io::Result<Self> {
        Object::unseen(path).map(Self::Object)
    }

    /// The same without a look whether it is there.
    ///
    /// # Errors
    /// This build knows no stores.
    #[cfg(not(feature = "s3"))]
    pub fn unseen_object(_: &Path) -> io::Result<Self> {
        Err(without_stores())
    }

    /// The object that is called so.
    ///
    /// # Errors
    /// This build knows no stores.
    #[cfg(not(feature = "s3"))]
    pub fn object(_: &Path) -> io::Result<Self> {
        Err(without_stores())
    }

    /// Bytes there; none where that is not known, or it is no file.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::File(path) => {
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
            }
            #[cfg(feature = "s3")]
            Self::Object(object) => Some(object.bytes()),
        }
    }

    /// What tells one version from another, where that is known without reading.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "s3")]
            Self::Object(object) => object.version(),
        }
    }

    /// Opens it to be read from its beginning to its end.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn reader(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => Ok(Box::new(File::open(path)?)),
            #[cfg(feature = "s3")]
            Self::Object(object) => Ok(Box::new(BlocksReader::new(Arc::new(Blocks::in_order(object)), 0))),
        }
    }

    /// The same, with what the operating system says of the file that was opened.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn stamped_reader(&self) -> io::Result<(Option<Stamp>, Box<dyn Read + Send>)> {
        match self {
            Self::File(path) => {
                let file = File::open(path)?;
                Ok((Some(Stamp::of(&file.metadata()?)), Box::new(file)))
            }
            #[cfg(feature = "s3")]
            Self::Object(_) => Ok((None, self.reader()?)),
        }
    }

    /// Begins to read the bytes at `range`, or what there is of them.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub fn fetch(&self, range: Range<u64>) -> io::Result<Fetch> {
        match self {
            Self::File(path) => Fetch::of_file(path.clone(), range),
            #[cfg(feature = "s3")]
            Self::Object(object) => object.fetch(range),
        }
    }

    /// Opens it to be read at any place.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open(&self) -> io::Result<Stored> {
        match self {
            Self::File(path) => File::open(path).map(Stored::File),
            #[cfg(feature = "s3")]
            Self::Object(object) => Ok(Stored::Object(Arc::new(Blocks::at_any_place(object)))),
        }
    }
}

/// What to do about a program that reads no stores.
#[cfg(not(feature = "s3"))]
pub(super) fn without_stores() -> io::Error {
    let problem = "this program was built without the feature `s3`, and reads files only; build it with \
                   `cargo build --release --features s3`, or fetch the objects first";
    io::Error::new(io::ErrorKind::Unsupported, problem)
}

/// An input that is open, and can be read at any place.
#[derive(Debug)]
pub enum Stored {
    /// A file.
    File(File),
    /// An object of a store.
    #[cfg(feature = "s3")]
    Object(Arc<Blocks>),
}

impl Stored {
    /// Another handle of the same.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::File(file) => file.try_clone().map(Self::File),
            #[cfg(feature = "s3")]
            Self::Object(blocks) => Ok(Self::Object(Arc::clone(blocks))),
        }
    }

    /// Fills `buffer` with what stands at `offset`; false if there is less. Moves no position.
    ///
    /// # Errors
    /// What the operating system or the store says.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<bool> {
        match self {
            Self::File(file) => match file.read_exact_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
                read => read.map(|()| true),
            },
            #[cfg(feature = "s3")]
            Self::Object(blocks) => {
                if offset.saturating_add(buffer.len() as u64) > blocks.bytes() {
                    return Ok(false);
                }
                buffer.copy_from_slice(&blocks.range(offset, buffer.len())?);
                Ok(true)
            }
        }
    }

    /// Why the machine or a store could not be read, if that was so: libraries hand on no more than the words.
    #[must_use]
    pub fn failure(&self) -> Option<io::Error> {
        match self {
            Self::File(_) => None,
            #[cfg(feature = "s3")]
            Self::Object(blocks) => blocks.failure(),
        }
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => Length::len(file),
            #[cfg(feature = "s3")]
            Self::Object(blocks) => blocks.bytes(),
        }
    }
}

impl ChunkReader for Stored {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        match self {
            Self::File(file) => Ok(Box::new(file.get_read(start)?)),
            #[cfg(feature = "s3")]
            Self::Object(blocks) => Ok(Box::new(BlocksReader::new(Arc::clone(blocks), start))),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self {
            Self::File(file) => file.get_bytes(start, length),
            #[cfg(feature = "s3")]
            Self::Object(blocks) if start.saturating_add(length as u64) > blocks.bytes() => {
                Err(ParquetError::EOF(format!("{length} bytes at {start} are behind the end")))
            }
            #[cfg(feature = "s3")]
            Self::Object(blocks) => Ok(blocks.range(start, length)?),
        }
    }
}
