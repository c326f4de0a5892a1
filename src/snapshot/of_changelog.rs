//! A worker's local snapshot of one partition's changelog: what a restore would read of it, in one file, so that
//! only the changelog's tail has to be read from the broker.
//!
//! ```text
//! magic line │ centres, oldest first: log offset u64, length u32, value as in the changelog
//!            │ `Snapshot` (proto/leitong/v1/snapshot.proto), its length u32 │ XXH3-64 of all that, u64
//! ```
//! Numbers are big-endian. Invariants: a file that is not whole is never taken for one; it is replaced in one step; what is
//! in it was committed. Memory: one centre.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prost::Message;
use thiserror::Error;

use super::summed::{SUM_BYTES, SummedReader, SummedWriter};
use crate::changelog::Identity;
use crate::page::timestamp::Timestamp;
use crate::proto::{self, FORMAT_VERSION};

const MAGIC: &[u8] = b"leitong changelog snapshot\n";
/// Bytes of the footer's length.
const LENGTH_BYTES: u64 = 4;
/// Bytes of one message: far above any, so that a damaged length does not ask for the whole memory.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;
/// A clock may be wrong by this much, in milliseconds.
const CLOCK_TOLERANCE_MS: i64 = 5 * 60 * 1000;

/// Why a snapshot is not used.
#[derive(Debug, Error)]
pub enum Unusable {
    /// What the operating system says.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not what was written.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// Written by another version.
    #[error("its format version is {found}, and this version of Leitong knows {FORMAT_VERSION}")]
    Format {
        /// Its version.
        found: u32,
    },
    /// Made with other settings.
    #[error("it belongs to another configuration: its {which} is {found}, that of this instance is {wanted}")]
    OtherSettings {
        /// Which setting.
        which: &'static str,
        /// The snapshot's.
        found: String,
        /// Ours.
        wanted: String,
    },
    /// Tombstones behind it may be gone.
    #[error(
        "it is {age_s} s old, and the changelog keeps tombstones for delete.retention.ms = {retention_s} s only: centres \
         in it may have been let go without a trace"
    )]
    TooOld {
        /// Its age.
        age_s: i64,
        /// As the topic has it.
        retention_s: u64,
    },
    /// Its clock is not ours.
    #[error("it is from the future by {ahead_s} s, so its age is not known")]
    Future {
        /// By so much.
        ahead_s: i64,
    },
    /// The changelog is another one.
    #[error("it goes on at offset {offset} of the changelog, which begins at {start} and ends at {end}")]
    OtherChangelog {
        /// The snapshot's.
        offset: u64,
        /// The changelog's first offset.
        start: u64,
        /// The offset behind its last record.
        end: u64,
    },
}

/// What a snapshot must fit.
pub struct Wanted<'a> {
    /// The changelog's topic.
    pub topic: &'a str,
    /// What the table belongs to.
    pub identity: &'a Identity,
    /// First offset of the changelog, and the one behind its last record.
    pub bounds: (u64, u64),
    /// For how long the changelog keeps tombstones: its `delete.retention.ms`.
    pub delete_retention: Duration,
    /// The time.
    pub now: Timestamp,
}

/// Where the snapshots of one partition are.
#[derive(Debug, Clone)]
pub struct SnapshotPlace {
    folder: PathBuf,
    name: String,
}

impl SnapshotPlace {
    /// Of `log_partition` of the installation `app`, in `folder`.
    #[must_use]
    pub fn new(folder: &Path, app: &str, log_partition: u32) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let app: String = app.chars().map(plain).collect();
        Self { folder: folder.to_owned(), name: format!("{app}-{log_partition}") }
    }

    /// The snapshot's file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.with("snapshot")
    }

    fn with(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.name))
    }

    /// The lock for writing; none while another process writes.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub fn lock(&self) -> io::Result<Option<File>> {
        fs::create_dir_all(&self.folder)?;
        let lock = File::create(self.with("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Opens the snapshot, if there is one. It was whole when it was written; what has become of it since is known
    /// when all of it is read.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn open(&self) -> Result<Option<ChangelogSnapshot>, Unusable> {
        match File::open(self.path()) {
            Ok(file) => ChangelogSnapshot::open(file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Begins a new snapshot, beside the present one.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(&self) -> io::Result<SnapshotWriter> {
        let mut file = SummedWriter::create(&self.with("new"))?;
        file.all(MAGIC)?;
        Ok(SnapshotWriter { file, place: self.clone(), entries: 0 })
    }

    /// Puts the present snapshot out of the way, in place of the one before; where it is now.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn set_aside(&self) -> io::Result<PathBuf> {
        let aside = self.with("set-aside");
        fs::rename(self.path(), &aside)?;
        Ok(aside)
    }
}

/// Writes a snapshot.
pub struct SnapshotWriter {
    file: SummedWriter,
    place: SnapshotPlace,
    entries: u64,
}

impl SnapshotWriter {
    /// Adds a centre, younger than all before.
    ///
    /// # Errors
    /// The disk is full, and the like.
    pub fn add(&mut self, log_offset: u64, value: &[u8]) -> io::Result<()> {
        let length = u32::try_from(value.len()).map_err(io::Error::other)?;
        self.file.all(&log_offset.to_be_bytes())?;
        self.file.all(&length.to_be_bytes())?;
        self.entries += 1;
        self.file.all(value)
    }

    /// Puts the snapshot in place of the last one, in one step; `footer` says what it is.
    ///
    /// # Errors
    /// The disk is full, and the like; the last one is still there.
    pub fn finish(mut self, mut footer: proto::Snapshot) -> io::Result<()> {
        (footer.format_version, footer.entries) = (FORMAT_VERSION, self.entries);
        let bytes = footer.encode_to_vec();
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.file.all(&bytes)?;
        self.file.all(&length.to_be_bytes())?;
        self.file.finish()?;
        fs::rename(self.place.with("new"), self.place.path())?;
        // The rename itself is on disk once the folder is.
        File::open(&self.place.folder)?.sync_all()
    }
}

/// A snapshot that is being read.
pub struct ChangelogSnapshot {
    file: SummedReader,
    footer: proto::Snapshot,
    position: proto::Position,
    footer_bytes: usize,
}

impl ChangelogSnapshot {
    fn open(mut file: File) -> Result<Self, Unusable> {
        let damaged = |what: &str| Unusable::Damaged(what.to_owned());
        let bytes = file.metadata()?.len();
        let tail = LENGTH_BYTES + SUM_BYTES;
        let head = MAGIC.len() as u64;
        if bytes < head + tail {
            return Err(damaged("it is too short"));
        }
        let mut magic = vec![0; MAGIC.len()];
        file.read_exact(&mut magic)?;
        if magic != MAGIC {
            return Err(damaged("it is no snapshot"));
        }
        file.seek(SeekFrom::Start(bytes - tail))?;
        let mut length = [0; LENGTH_BYTES as usize];
        file.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length));
        if length > MESSAGE_BYTES_MAX || head + length + tail > bytes {
            return Err(damaged("its end has an impossible length"));
        }
        file.seek(SeekFrom::Start(bytes - tail - length))?;
        let mut encoded = vec![0; length as usize];
        file.read_exact(&mut encoded)?;
        let mut footer = proto::Snapshot::decode(&*encoded)
            .map_err(|error| Unusable::Damaged(format!("its end is broken: {error}")))?;
        if footer.format_version != FORMAT_VERSION {
            return Err(Unusable::Format { found: footer.format_version });
        }
        let position = footer.position.take().ok_or_else(|| damaged("it has no position"))?;
        file.seek(SeekFrom::Start(0))?;
        let mut file = SummedReader::new(file);
        file.exact(&mut magic)?;
        Ok(Self { file, footer, position, footer_bytes: encoded.len() })
    }

    /// The first offset of the changelog that is not part of it.
    #[must_use]
    pub fn changelog_offset(&self) -> u64 {
        self.footer.changelog_offset
    }

    /// The position record.
    #[must_use]
    pub fn position(&self) -> &proto::Position {
        &self.position
    }

    /// How old it is at `now`, in milliseconds.
    #[must_use]
    pub fn age_ms(&self, now: Timestamp) -> i64 {
        now.as_ms().saturating_sub(self.footer.as_of_ms)
    }

    /// Whether it is of this changelog and these settings, and young enough that no tombstone behind it is gone: a
    /// tenth of their time is kept as a margin, for reading it all and for clocks.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn check(&self, wanted: &Wanted<'_>) -> Result<(), Unusable> {
        let (footer, position, identity) = (&self.footer, &self.position, wanted.identity);
        let hex = |hash: u64| format!("{hash:016x}");
        let pairs = [
            ("changelog", footer.changelog_topic.clone(), wanted.topic.to_owned()),
            ("log partition", position.log_partition.to_string(), identity.log_partition.to_string()),
            (
                "number of log partitions",
                position.log_partition_count.to_string(),
                identity.log_partition_count.to_string(),
            ),
            ("cluster_hash", hex(position.cluster_hash), hex(identity.cluster_hash)),
        ];
        for (which, found, wanted) in pairs {
            if found != wanted {
                return Err(Unusable::OtherSettings { which, found, wanted });
            }
        }
        let age_ms = self.age_ms(wanted.now);
        if age_ms < -CLOCK_TOLERANCE_MS {
            return Err(Unusable::Future { ahead_s: -age_ms / 1000 });
        }
        let retention_ms = i64::try_from(wanted.delete_retention.as_millis()).unwrap_or(i64::MAX);
        if age_ms > retention_ms - retention_ms / 10 {
            let retention_s = wanted.delete_retention.as_secs();
            return Err(Unusable::TooOld { age_s: age_ms / 1000, retention_s });
        }
        let ((start, end), offset) = (wanted.bounds, footer.changelog_offset);
        if offset < start || offset > end {
            return Err(Unusable::OtherChangelog { offset, start, end });
        }
        Ok(())
    }

    /// Gives the log offset and value of each live centre to `take`, oldest first, and the position back, once the whole
    /// file is known to be sound; none if `take` says that it is enough.
    ///
    /// # Errors
    /// [`Unusable`], also where `take` says what is wrong. What it took until then must be thrown away.
    pub fn read(
        mut self,
        mut take: impl FnMut(u64, &[u8]) -> Result<bool, Unusable>,
    ) -> Result<Option<proto::Position>, Unusable> {
        let damaged = |what: &str| Unusable::Damaged(what.to_owned());
        let mut value = Vec::new();
        for _ in 0..self.footer.entries {
            let mut head = [0; 12];
            self.exact(&mut head)?;
            let [offset, length] = [&head[..8], &head[8..]]
                .map(|bytes| bytes.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte)));
            if length > MESSAGE_BYTES_MAX {
                return Err(damaged("a centre has an impossible length"));
            }
            value.resize(length as usize, 0);
            self.exact(&mut value)?;
            if offset >= self.footer.oldest_log_offset && !take(offset, &value)? {
                return Ok(None);
            }
        }
        let mut end = vec![0; self.footer_bytes + LENGTH_BYTES as usize];
        self.exact(&mut end)?;
        if !self.file.sum_fits()? {
            return Err(damaged("its checksum does not fit its contents"));
        }
        Ok(Some(self.position))
    }

    fn exact(&mut self, bytes: &mut [u8]) -> Result<(), Unusable> {
        self.file.exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Unusable::Damaged("it ends early".to_owned()),
            _ => Unusable::Io(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const AS_OF_MS: i64 = 1_000_000_000_000;

    fn identity() -> Identity {
        Identity {
            log_partition: 3,
            log_partition_count: 4,
            fingerprint_hash: 5,
            cluster_hash: 6,
            corpus_hash: 7,
        }
    }

    fn footer() -> proto::Snapshot {
        let position = proto::Position {
            log_partition: 3,
            log_partition_count: 4,
            cluster_hash: 6,
            next_log_offset: 99,
            centroid_count: 18,
            ..proto::Position::default()
        };
        proto::Snapshot {
            changelog_topic: "centroids".into(),
            changelog_offset: 40,
            as_of_ms: AS_OF_MS,
            oldest_log_offset: 4,
            position: Some(position),
            ..proto::Snapshot::default()
        }
    }

    /// Twenty centres, of which two were let go.
    fn write(place: &SnapshotPlace) {
        let mut writer = place.create().expect("a file");
        for i in 0..20 {
            writer.add(i * 2, format!("centre {i}").repeat(i as usize).as_bytes()).expect("written");
        }
        writer.finish(footer()).expect("in place");
    }

    type Contents = (Vec<(u64, Vec<u8>)>, proto::Position, u64, i64);

    fn read(place: &SnapshotPlace) -> Result<Contents, Unusable> {
        let snapshot = place.open()?.expect("a file");
        let (offset, age) = (snapshot.changelog_offset(), snapshot.age_ms(at(0)));
        let mut centres = Vec::new();
        let position = snapshot.read(|log_offset, value| {
            centres.push((log_offset, value.to_vec()));
            Ok(true)
        })?;
        Ok((centres, position.expect("read to its end"), offset, age))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_ms(AS_OF_MS + seconds * 1000).expect("a time")
    }

    #[test]
    fn gives_back_what_is_alive() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = SnapshotPlace::new(folder.path(), "lei/tong", 3);
        assert!(place.open().expect("no file, no error").is_none());
        write(&place);
        assert!(place.path().ends_with("lei_tong-3.snapshot"));
        let (centres, position, offset, age) = read(&place).expect("sound");
        assert_eq!((centres.len(), centres[0].0, offset, age), (18, 4, 40, 0));
        assert_eq!(centres[1], (6, b"centre 3centre 3centre 3".to_vec()));
        assert_eq!(Some(position), footer().position);
        let aside = place.set_aside().expect("renamed");
        assert!(aside.exists() && place.open().expect("no error").is_none());
    }

    #[test]
    fn any_flipped_byte_and_any_cut_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = SnapshotPlace::new(folder.path(), "app", 0);
        write(&place);
        let whole = fs::read(place.path()).expect("a file");
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut flipped = whole.clone();
                flipped[at] ^= flip;
                fs::write(place.path(), &flipped).expect("written");
                assert!(read(&place).is_err(), "byte {at} of {} xor {flip:#x}", whole.len());
            }
            fs::write(place.path(), &whole[..at]).expect("written");
            assert!(read(&place).is_err(), "cut at byte {at} of {}", whole.len());
        }
        // A file that was being written when the process died is not looked at.
        fs::write(place.path(), &whole).expect("written");
        fs::write(folder.path().join("app-0.new"), &whole[..whole.len() / 2]).expect("written");
        assert!(read(&place).is_ok());
        write(&place);
        assert_eq!(fs::read(place.path()).expect("a file"), whole);
    }

    #[test]
    fn only_one_process_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = SnapshotPlace::new(&folder.path().join("new"), "app", 0);
        let lock = place.lock().expect("a lock");
        assert!(lock.is_some() && place.lock().expect("no error").is_none());
        drop(lock);
        assert!(place.lock().expect("no error").is_some());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = SnapshotPlace::new(folder.path(), "app", 0);
        write(&place);
        let check = |topic, identity: &Identity, bounds, age_s| {
            let wanted = Wanted { topic, identity, bounds, delete_retention: HOUR, now: at(age_s) };
            place.open().expect("sound").expect("a file").check(&wanted).map_err(|why| why.to_string())
        };
        let ours = identity();
        assert_eq!(check("centroids", &ours, (0, 41), 0), Ok(()));
        assert_eq!(check("centroids", &ours, (40, 40), 3240), Ok(()), "nine tenths of the tombstones' time");
        for (topic, identity, bounds, age_s, why) in [
            ("other", ours, (0, 41), 0, "its changelog is centroids"),
            ("centroids", Identity { log_partition: 2, ..ours }, (0, 41), 0, "its log partition is 3"),
            (
                "centroids",
                Identity { log_partition_count: 5, ..ours },
                (0, 41),
                0,
                "its number of log partitions is 4",
            ),
            (
                "centroids",
                Identity { cluster_hash: 7, ..ours },
                (0, 41),
                0,
                "its cluster_hash is 0000000000000006",
            ),
            ("centroids", ours, (0, 41), 3241, "delete.retention.ms = 3600 s"),
            ("centroids", ours, (0, 41), -301, "from the future by 301 s"),
            (
                "centroids",
                ours,
                (0, 39),
                0,
                "at offset 40 of the changelog, which begins at 0 and ends at 39",
            ),
            ("centroids", ours, (41, 50), 0, "begins at 41"),
        ] {
            let refused = check(topic, &identity, bounds, age_s).expect_err(why);
            assert!(refused.contains(why), "{why:?} in {refused:?}");
        }
    }
}
