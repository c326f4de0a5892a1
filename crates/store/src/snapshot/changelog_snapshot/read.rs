//! Reads a snapshot of a changelog.
//!
//! First checks the footer: the snapshot must belong to this table and these settings, and the changelog must
//! still have the records after it. Then reads all centroids, and verifies the checksum at the end. Memory:
//! one centroid.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use prost::Message;

use super::{MAGIC, Unusable};
use crate::snapshot::SnapshotPlace;
use crate::snapshot::checksummed::{ChecksummedReader, SUM_BYTES};
use leitong_base::proto;
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::Identity;
use leitong_cluster::log::TopicIds;

/// Size in bytes of the field with the footer's length.
const LENGTH_BYTES: u64 = 4;
/// Maximum number of bytes of one message, far above any real one. It prevents a damaged length from using up
/// the memory.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

/// The table that a snapshot must be of.
pub struct ExpectedTable<'a> {
    /// The topic of the changelog.
    pub topic: &'a str,
    /// The identity of the table.
    pub identity: &'a Identity,
    /// The changelog's first offset, and the offset after its last record.
    pub bounds: (u64, u64),
    /// The id of the table in the changelog. `None` if the table has no id, or if no position is known.
    pub table_id: Option<u64>,
}

impl ExpectedTable<'_> {
    /// Checks that a copy belongs to this table and these settings, and that the changelog still has the
    /// records after it. The copy contains the changelog `topic` up to `offset`, and the table at `position`.
    pub(in crate::snapshot) fn compare(
        &self,
        topic: &str,
        position: &proto::Position,
        offset: u64,
    ) -> Result<(), Unusable> {
        let identity = self.identity;
        let hex = |hash: u64| format!("{hash:016x}");
        let pairs = [
            ("changelog", topic.to_owned(), self.topic.to_owned()),
            ("log partition", position.log_partition.to_string(), identity.log_partition.to_string()),
            (
                "number of log partitions",
                position.log_partition_count.to_string(),
                identity.log_partition_count.to_string(),
            ),
            ("cluster_hash", hex(position.cluster_hash), hex(identity.cluster_hash)),
            ("table", hex(position.table_id.unwrap_or(0)), hex(self.table_id.unwrap_or(0))),
        ];
        for (which, found, wanted) in pairs {
            if found != wanted {
                return Err(Unusable::OtherSettings { which, found, wanted });
            }
        }
        if let Err(replaced) = TopicIds::from_position(position).verify(&identity.topic_ids) {
            let (found, wanted) = (replaced.known.to_string(), replaced.found.to_string());
            return Err(Unusable::OtherSettings { which: "id of log or changelog", found, wanted });
        }
        let (start, end) = self.bounds;
        if offset < start || offset > end {
            return Err(Unusable::OtherChangelog { offset, start, end });
        }
        Ok(())
    }
}

/// A snapshot that is being read.
pub struct ChangelogSnapshot {
    file: ChecksummedReader,
    footer: proto::Snapshot,
    position: proto::Position,
    footer_bytes: usize,
}

impl ChangelogSnapshot {
    pub(super) fn open(mut file: File) -> Result<Self, Unusable> {
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
            return Err(damaged("it is not a snapshot"));
        }
        file.seek(SeekFrom::Start(bytes - tail))?;
        let mut length = [0; LENGTH_BYTES as usize];
        file.read_exact(&mut length)?;
        let length = u64::from(u32::from_be_bytes(length));
        if length > MESSAGE_BYTES_MAX || head + length + tail > bytes {
            return Err(damaged("its footer has an invalid length"));
        }
        file.seek(SeekFrom::Start(bytes - tail - length))?;
        let mut encoded = vec![0; length as usize];
        file.read_exact(&mut encoded)?;
        let mut footer = proto::Snapshot::decode(&*encoded)
            .map_err(|error| Unusable::Damaged(format!("its footer is broken: {error}")))?;
        if footer.format_version != SnapshotPlace::FORMAT_VERSION {
            let (found, known) = (footer.format_version, SnapshotPlace::FORMAT_VERSION);
            return Err(Unusable::Format { found, known });
        }
        let position = footer.position.take().ok_or_else(|| damaged("it has no position"))?;
        file.seek(SeekFrom::Start(0))?;
        let mut file = ChecksummedReader::new(file);
        file.exact(&mut magic)?;
        Ok(Self { file, footer, position, footer_bytes: encoded.len() })
    }

    /// Returns the first changelog offset that is not in the snapshot.
    #[must_use]
    pub fn changelog_offset(&self) -> u64 {
        self.footer.changelog_offset
    }

    /// Returns the position record.
    #[must_use]
    pub fn position(&self) -> &proto::Position {
        &self.position
    }

    /// Returns the age of the snapshot at `now`, in milliseconds.
    #[must_use]
    pub fn age_ms(&self, now: Timestamp) -> i64 {
        now.as_ms().saturating_sub(self.footer.as_of_ms)
    }

    /// Checks that the snapshot belongs to this table and these settings, and that the changelog still has
    /// the records after it.
    ///
    /// # Errors
    /// [`Unusable`] if it does not.
    pub fn check(&self, wanted: &ExpectedTable<'_>) -> Result<(), Unusable> {
        wanted.compare(&self.footer.changelog_topic, &self.position, self.footer.changelog_offset)
    }

    /// Passes the log offset and value of each unexpired centroid to `take`, oldest first. Returns the
    /// position when the whole file has been verified, or `None` if `take` returned false.
    ///
    /// # Errors
    /// [`Unusable`], also if `take` returns an error. The caller must then discard what `take` has received.
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
                return Err(damaged("a centroid has an invalid length"));
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
            return Err(damaged("its checksum does not match its contents"));
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
