//! What the store asks of its folder: few operations, so that a test can stand in for a disk that
//! is full, fails, or loses what was not synced.

use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of files.
pub trait Files: Send + Sync {
    /// An empty file to write, in place of what has this name.
    ///
    /// # Errors
    /// As of the operating system; so are all others here.
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>>;
    /// A file to read.
    ///
    /// # Errors
    /// It is not there, or cannot be had.
    fn open(&self, name: &str) -> io::Result<Arc<dyn Input>>;
    /// Gives a file another name, in place of what has that.
    ///
    /// # Errors
    /// Both files are as they were.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// It may still be there.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Brings all names to disk.
    ///
    /// # Errors
    /// They may be there or not.
    fn sync(&self) -> io::Result<()>;
    /// The names of all files.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn names(&self) -> io::Result<Vec<String>>;
    /// What messages call a file.
    fn path(&self, name: &str) -> PathBuf;
    /// Moves all files out of the way, in place of those that were moved before; where they are.
    ///
    /// # Errors
    /// They may be there or not.
    fn set_aside(&self) -> io::Result<PathBuf>;
}

/// A file that is written from its beginning to its end.
pub trait Output: Send {
    /// Appends all of these bytes.
    ///
    /// # Errors
    /// Some of them may be in the file.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Brings the contents to disk.
    ///
    /// # Errors
    /// They may be there or not.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file that is read at any place, by any number of threads at once.
pub trait Input: Send + Sync {
    /// Fills `bytes` with what stands from `at` on.
    ///
    /// # Errors
    /// It cannot be read, or ends before.
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
    /// Says that `count` bytes from `at` on will be read soon, so that the disk may begin with them.
    fn will_need(&self, _at: u64, _count: usize) {}
    /// Bytes of the file.
    ///
    /// # Errors
    /// They cannot be told.
    fn bytes(&self) -> io::Result<u64>;
}

/// Creates the folder `path` and the missing ones above it. Each new folder is synced into its parent, so
/// that what is later written there does not disappear with the folder's name after a power failure.
///
/// # Errors
/// The operating system's error.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    create_folder(parent)?;
    match fs::create_dir(path) {
        // Another process may have created it in the meantime.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => return Err(error),
        _ => {}
    }
    File::open(parent)?.sync_all()
}

/// A folder of the file system.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Held as long as anybody has the folder.
    _lock: Option<File>,
}

impl Folder {
    /// The folder at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(path: &Path) -> io::Result<Self> {
        create_folder(path)?;
        Ok(Self { path: path.to_owned(), _lock: None })
    }

    /// The same, with a lock that is let go with the folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open_locked(path: &Path, lock: File) -> io::Result<Self> {
        Ok(Self { _lock: Some(lock), ..Self::open(path)? })
    }
}

impl Files for Folder {
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        Ok(Box::new(File::create(self.path.join(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Input>> {
        Ok(Arc::new(File::open(self.path.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn set_aside(&self) -> io::Result<PathBuf> {
        let mut aside = self.path.clone().into_os_string();
        aside.push("-set-aside");
        let aside = PathBuf::from(aside);
        match fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(&self.path, &aside)?;
        fs::create_dir_all(&self.path)?;
        Ok(aside)
    }
}

impl Output for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

impl Input for File {
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, at: u64, count: usize) {
        use rustix::fs::{Advice, fadvise};
        if let Some(count) = NonZeroU64::new(count as u64) {
            // What comes of it, the read says.
            let _ = fadvise(self, at, Some(count), Advice::WillNeed);
        }
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}
