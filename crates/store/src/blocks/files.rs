//! The operations that the store needs from its folder. They are few, so a test can replace the folder by a
//! simulated disk that is full, fails, or loses data that was not synced.

use std::fs::{self, File};
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of files.
pub trait Files: Send + Sync {
    /// Creates an empty file to write, replacing any file with this name.
    ///
    /// # Errors
    /// The error of the operating system, as for all other methods here.
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>>;
    /// Opens a file for reading.
    ///
    /// # Errors
    /// The file does not exist, or cannot be opened.
    fn open(&self, name: &str) -> io::Result<Arc<dyn Input>>;
    /// Renames a file, replacing any file with the new name.
    ///
    /// # Errors
    /// After an error both files are unchanged.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// After an error the file may still exist.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Syncs all file names to disk.
    ///
    /// # Errors
    /// After an error the names may or may not be on disk.
    fn sync(&self) -> io::Result<()>;
    /// Returns the names of all files.
    ///
    /// # Errors
    /// The folder cannot be read.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Returns the path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;
    /// Moves all files to another folder, replacing those that an earlier call moved. Returns that folder.
    ///
    /// # Errors
    /// After an error the files may or may not have been moved.
    fn set_aside(&self) -> io::Result<PathBuf>;
}

/// A file that is written from its beginning to its end.
pub trait Output: Send {
    /// Appends all of these bytes.
    ///
    /// # Errors
    /// After an error the file may have some of the bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Syncs the contents to disk.
    ///
    /// # Errors
    /// After an error the contents may or may not be on disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file that can be read at any position, by any number of threads at once.
pub trait Input: Send + Sync {
    /// Fills `bytes` with the contents from `at` on.
    ///
    /// # Errors
    /// The file cannot be read, or is too short.
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
    /// Announces that `count` bytes from `at` on will be read soon, so the disk can start reading them.
    fn will_need(&self, _at: u64, _count: usize) {}
    /// Returns the size of the file.
    ///
    /// # Errors
    /// The size cannot be read.
    fn bytes(&self) -> io::Result<u64>;
}

/// Creates the folder `path` and the missing ones above it. Each new folder's name is synced. Otherwise files
/// that are written there later could disappear with the folder's name after a power failure.
///
/// # Errors
/// The operating system's error.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
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
    /// A lock that is held until the folder is dropped.
    _lock: Option<File>,
}

impl Folder {
    /// Opens the folder at `path`, and creates it if it is missing.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn open(path: &Path) -> io::Result<Self> {
        create_folder(path)?;
        Ok(Self { path: path.to_owned(), _lock: None })
    }

    /// Opens the folder like [`Self::open`], and holds `lock` until the folder is dropped.
    ///
    /// # Errors
    /// The folder cannot be created.
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
            // If this fails, the read that follows reports it.
            let _ = fadvise(self, at, Some(count), Advice::WillNeed);
        }
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}
