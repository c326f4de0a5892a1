//! A folder in memory that fails as disks do: it loses what was not synced, is full, slow, or cannot be
//! written or read.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::Duration;

use super::files::{Files, Input, Output};
use leitong_base::random::Random;

/// A simulated folder.
#[derive(Clone, Default)]
pub struct SimFolder {
    state: Arc<Mutex<Disk>>,
    /// The lock, if this handle holds it.
    _lock: Option<Arc<()>>,
}

/// Files of a disk, and how it fails.
#[derive(Default)]
pub(crate) struct Disk {
    names: BTreeMap<String, SimFile>,
    /// The names when the folder was last synced.
    synced_names: BTreeMap<String, SimFile>,
    /// Number of write operations so far.
    pub(crate) operations: u64,
    /// Number of the write operation at which the power fails.
    pub(crate) power_until: Option<u64>,
    /// Number of bytes that fit on the disk.
    pub(crate) room: Option<u64>,
    /// Number of bytes that fit into one file.
    pub(crate) file_room: Option<u64>,
    /// Number of writes that were refused for lack of room.
    pub(crate) refused: u64,
    /// Duration of a write.
    pub(crate) pace: Option<Duration>,
    /// True if every write fails.
    pub(crate) read_only: bool,
    /// True if every read fails.
    pub(crate) fails_reading: bool,
    /// Number of reads so far.
    reads: u64,
    /// Number of the read that fails.
    failing_read: Option<u64>,
    lock: Weak<()>,
}

/// A file without its name.
#[derive(Clone, Default)]
struct SimFile(Arc<Mutex<Contents>>);

#[derive(Clone, Default)]
struct Contents {
    bytes: Vec<u8>,
    synced: usize,
}

/// An open file.
struct Opened {
    folder: SimFolder,
    file: SimFile,
}

impl SimFolder {
    fn with_files(names: BTreeMap<String, SimFile>) -> Self {
        let state = Disk { synced_names: names.clone(), names, ..Disk::default() };
        Self { state: Arc::new(Mutex::new(state)), _lock: None }
    }

    /// Returns the folder, locked until it is dropped; `None` if it is locked already.
    pub fn locked(&self) -> Option<Self> {
        let mut state = self.state();
        if state.lock.strong_count() > 0 {
            return None;
        }
        let lock = Arc::new(());
        state.lock = Arc::downgrade(&lock);
        Some(Self { state: Arc::clone(&self.state), _lock: Some(lock) })
    }

    /// Returns the folder as a killed process leaves it: everything that it has written is there, and nothing
    /// that it still does has any effect.
    pub fn after_kill(&self) -> Self {
        self.state().power_until = Some(0);
        self.copy()
    }

    /// Makes one read fail: the one with this number, counted from 0 since the folder was created. Later
    /// reads succeed again.
    pub fn fail_read(&self, number: u64) {
        self.state().failing_read = Some(number);
    }

    /// Returns the number of reads so far.
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// Returns another folder with the same files.
    pub fn copy(&self) -> Self {
        Self::with_files(
            self.state().names.iter().map(|(name, file)| (name.clone(), file.copied())).collect(),
        )
    }

    /// Returns the folder after the power is back. Everything that was synced is there; `seed` decides which
    /// other writes are there.
    pub fn after_power_loss(&self, seed: u64) -> Self {
        let state = self.state();
        let mut random = Random::from_seed(seed);
        let mut names = BTreeMap::new();
        let all = state.names.keys().chain(state.synced_names.keys());
        for name in all.collect::<std::collections::BTreeSet<_>>() {
            let which = if random.chance(0.5) { &state.names } else { &state.synced_names };
            let Some(file) = which.get(name) else { continue };
            let mut contents = file.contents().clone();
            let lost = contents.bytes.len() - contents.synced;
            let kept = contents.synced + if lost > 0 { random.below(lost + 1) } else { 0 };
            contents.bytes.truncate(kept);
            if random.chance(0.5) {
                // After a power loss, a file may have its length, but zeros as its contents.
                contents.bytes[contents.synced..].fill(0);
            }
            contents.synced = contents.bytes.len();
            names.insert(name.clone(), SimFile(Arc::new(Mutex::new(contents))));
        }
        Self::with_files(names)
    }

    /// Returns the contents of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.state().names[name].contents().bytes.clone()
    }

    /// Returns another folder with the same files, one of them with other contents.
    pub fn with(&self, name: &str, bytes: Vec<u8>) -> Self {
        let copy = self.copy();
        let contents = Contents { synced: bytes.len(), bytes };
        let file = SimFile(Arc::new(Mutex::new(contents)));
        let mut disk = copy.state();
        disk.names.insert(name.to_owned(), file.clone());
        disk.synced_names.insert(name.to_owned(), file);
        drop(disk);
        copy
    }

    /// Returns the names of all files.
    pub fn all_names(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    /// Returns the disk, to make it fail or to count.
    pub(crate) fn state(&self) -> MutexGuard<'_, Disk> {
        self.state.lock().expect("no test has panicked here")
    }

    /// Counts a write operation and returns the state, unless writing fails.
    fn to_write(&self) -> io::Result<MutexGuard<'_, Disk>> {
        let mut state = self.state();
        state.operations += 1;
        if state.power_until.is_some_and(|until| state.operations >= until) {
            return Err(io::Error::other("no power"));
        }
        if state.read_only {
            return Err(ErrorKind::ReadOnlyFilesystem.into());
        }
        Ok(state)
    }
}

impl SimFile {
    fn copied(&self) -> Self {
        Self(Arc::new(Mutex::new(self.contents().clone())))
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().expect("no test has panicked here")
    }
}

impl Disk {
    fn has_power(&self) -> io::Result<()> {
        let lost = self.power_until.is_some_and(|until| self.operations >= until);
        if lost { Err(io::Error::other("no power")) } else { Ok(()) }
    }
}

impl Files for SimFolder {
    fn create(&self, name: &str) -> io::Result<Box<dyn Output>> {
        let file = SimFile::default();
        self.to_write()?.names.insert(name.to_owned(), file.clone());
        Ok(Box::new(Opened { folder: self.clone(), file }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Input>> {
        let state = self.state();
        state.has_power()?;
        let file = state.names.get(name).ok_or(ErrorKind::NotFound)?.clone();
        Ok(Arc::new(Opened { folder: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.to_write()?;
        let file = state.names.remove(from).ok_or(ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.to_write()?.names.remove(name).map(drop).ok_or(ErrorKind::NotFound.into())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.to_write()?;
        state.synced_names = state.names.clone();
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let state = self.state();
        state.has_power()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new("sim").join(name)
    }

    fn set_aside(&self) -> io::Result<PathBuf> {
        let mut state = self.to_write()?;
        state.names.clear();
        state.synced_names.clear();
        Ok(PathBuf::from("sim-set-aside"))
    }
}

impl Output for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.folder.to_write()?;
        let pace = state.pace;
        let used: usize = state.names.values().map(|file| file.contents().bytes.len()).sum();
        let mut contents = self.file.contents();
        let left =
            |room: Option<u64>, used: usize| room.map(|room| room.saturating_sub(used as u64) as usize);
        let room =
            left(state.room, used).into_iter().chain(left(state.file_room, contents.bytes.len())).min();
        if let Some(left) = room.filter(|left| *left < bytes.len()) {
            contents.bytes.extend_from_slice(&bytes[..left]);
            state.refused += 1;
            return Err(ErrorKind::StorageFull.into());
        }
        contents.bytes.extend_from_slice(bytes);
        drop((state, contents));
        if let Some(pace) = pace {
            thread::park_timeout(pace);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let _state = self.folder.to_write()?;
        let mut contents = self.file.contents();
        contents.synced = contents.bytes.len();
        Ok(())
    }
}

impl Input for Opened {
    fn read(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let mut state = self.folder.state();
        state.has_power()?;
        let number = state.reads;
        state.reads += 1;
        if state.fails_reading || state.failing_read == Some(number) {
            return Err(io::Error::other("cannot read"));
        }
        let contents = self.file.contents();
        let from = contents.bytes.get(at as usize..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(from.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.contents().bytes.len() as u64)
    }
}
